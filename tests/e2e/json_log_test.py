"""The log as JSON: one object a line, whatever clients send, and the same words as for people."""

import json
import os
import re
import signal
import unittest

from fleet_support import wait_until
from support import Client, Lockkeeper, Redis, main, stripe_of

EVIL = b'a"}\r\n{"level":"error","message":"fake"}\x1b[31m\x1f"user":"fake"\x00\\\xff\n'
SECRET = "canary-of-a-user-4711"
USERS = """
users:
  - {name: default, rules: 'nopass ~* &* +@all'}
  - {name: root, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~* &* +@all'}
"""


class JsonLog(unittest.TestCase):
    def setUp(self):
        os.environ["LOCKKEEPER_TEST_SECRET"] = SECRET

    def lines(self, server):
        """Every line as an object. What the runtimes say from within a signal handler, or before us, has no form."""
        found = []
        for line in server.output().splitlines():
            if re.match(r"Reactor stalled|kernel callstack|==\d+==WARNING: ASan", line):
                continue
            try:
                one = json.loads(line)
            except ValueError:
                self.fail(f"not JSON: {line!r}")
            self.assertRegex(one["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(one["level"], ("trace", "debug", "info", "warn"))
            self.assertIsInstance(one["message"], str)
            found.append(one)
        return found

    def of(self, server, logger):
        return [one for one in self.lines(server) if one.get("logger") == logger]

    def stop(self, server):
        server.signal(signal.SIGTERM)
        server.wait()

    def test_every_line_of_a_run_is_an_object(self):
        with Lockkeeper(config="log: {format: json, level: trace}\nlimits: {failed_logins: 2}\n" + USERS) as server:
            with Client(server.port) as client:
                for command in (["SET", EVIL, EVIL, "NX", "PX", 60_000], ["LK.ACQUIRE", EVIL + b"x", EVIL],
                                ["LK.BREAK", EVIL + b"x"], ["CLIENT", "SETNAME", EVIL], [EVIL, EVIL],
                                ["CLIENT", "KILL", "ADDR", EVIL], ["EVAL", EVIL, 1, EVIL], ["FLUSHALL"]):
                    client.call(*command)
                self.assertEqual(client.call("AUTH", "root", SECRET), "OK")
                client.call("LK.BREAK", "plain")
            for name in (EVIL, EVIL):
                with Client(server.port) as stranger:
                    stranger.call("AUTH", name, SECRET + "x")
                    stranger.call("AUTH", "root", SECRET + "x")
            with Client(server.port) as stranger:
                stranger.send_bytes(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                stranger.read_all()
            self.stop(server)
            lines = self.lines(server)
            self.assertNotIn(SECRET, server.output())
            said = [one["message"] for one in lines]
            self.assertTrue(any("serves" in one for one in said), said)
            self.assertIn("stopped", said)
            self.assertTrue(all("core" in one for one in lines if one.get("logger") == "lockkeeper"))
            audit = self.of(server, "audit")
            breaks = [one for one in audit if one["command"] == "lk.break"]
            self.assertEqual([one["user"] for one in breaks], ["default", "root"])
            self.assertEqual(breaks[1]["arguments"], ["plain"])
            self.assertIn("\\x0d\\x0a", breaks[0]["arguments"][0])
            self.assertTrue(all(isinstance(one["client"], int) and one["address"].startswith("127.0.0.1:")
                                for one in audit))
            self.assertFalse(any(one.get("user") == "fake" for one in lines))

    def test_masters_and_what_is_wrong_with_them_too(self):
        with Redis() as master:
            with Lockkeeper(config="log: {format: json}\n" + stripe_of([master]), cores=2) as server:
                wait_until(lambda: len([one for one in self.of(server, "stripes")
                                        if one["message"].endswith(": votes")]) == 2, "it votes")
                self.assertEqual({one["core"] for one in self.of(server, "stripes")}, {0, 1})
                master.kill_process()
                wait_until(lambda: [one for one in self.of(server, "masters") if one["level"] == "warn"], "it is gone")
                self.stop(server)
                self.lines(server)

    def test_it_changes_with_a_reload(self):
        with Lockkeeper(config="log: {format: json}\n") as server:
            def reload(text, told):
                with open(server.file.name, "w") as file:
                    file.write(text)
                server.signal(signal.SIGHUP)
                return wait_until(lambda: [one for one in server.output().splitlines() if told in one], told)[-1]

            self.lines(server)
            self.assertRegex(reload("log: {format: text}\n", "changed: log.format"), r"^INFO .* reload - changed")
            line = reload("log: {format: json, level: warn}\nlimits: {locks: 5}\n", "need a restart")
            self.assertRegex(line, "^WARN ")
            line = reload("log: {format: json}\nlimits: {idle: 1h}\n", "changed: log.format, limits.idle")
            self.assertEqual(json.loads(line)["logger"], "reload")


if __name__ == "__main__":
    main()
