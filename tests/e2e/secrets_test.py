"""Secrets and bytes of clients: neither gets where it does not belong."""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from admin_support import ask
from support import PATIENCE, Client, Error, Lockkeeper, Redis, free_port, lockkeeper_binary, main

CANARIES = {
    "LOCKKEEPER_TEST_SECRET": "canary-of-a-user-4711",
    "LOCKKEEPER_TEST_MASTER": "canary-of-a-master-4712",
    "LOCKKEEPER_TEST_DATA": "canary-of-data-4713",
    "LOCKKEEPER_TEST_PROXIES": "canary-of-proxies-4715",
}
GUESS = "canary-of-a-guess-4714"
USERS = """
users:
  - {name: root, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~* &* +@all'}
  - {name: other, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~o:* +@all -@admin'}
"""


class Secrets(unittest.TestCase):
    def setUp(self):
        os.environ.update(CANARIES)

    def expect_no_canary(self, text, where):
        text = text if isinstance(text, str) else repr(text)
        for secret in (*CANARIES.values(), GUESS):
            self.assertNotIn(secret, text, where)

    def ask_everything(self, client):
        for command in (["INFO", "everything"], ["CONFIG", "GET", "*"], ["ACL", "LIST"], ["ACL", "GETUSER", "root"],
                        ["ACL", "LOG"], ["CLIENT", "LIST"], ["LK.STRIPES"], ["LK.TOP"], ["LK.LIST"], ["COMMAND", "LIST"],
                        ["LK.SLOWLOG", "GET", -1], ["SLOWLOG", "GET", -1], ["LK.LINT"], ["LK.PROXIES"], ["LK.RELOAD"],
                        ["AUTH"], ["HELLO", 3, "AUTH", "root"], ["ACL", "SETUSER", "root", ">" + GUESS],
                        ["ACL", "DRYRUN", "root", "AUTH", GUESS], ["ACL", "LOG", "RESET"],
                        ["CONFIG", "SET", "requirepass", GUESS, "maxclients", GUESS]):
            self.expect_no_canary(client.call(*command), command)

    def look_at_everything(self, server):
        """What the port for operators shows, to whoever comes."""
        for path in ("/metrics", "/", "/healthz", "/readyz", "/api/live", "/api/lock?key=lock:a",
                     "/api/search?match=lock", "/api/notes"):
            status, headers, body = ask(server.http_port, path)
            self.assertEqual(status, 200, path)
            self.expect_no_canary(body + repr(headers), path)

    def try_wrongly(self, port):
        with Client(port) as stranger:
            for command in (["AUTH", "root", GUESS], ["AUTH", GUESS], ["HELLO", 3, "AUTH", "root", GUESS],
                            ["AUTH", "nobody", GUESS], ["AUTH", "root", GUESS]):
                self.expect_no_canary(stranger.call(*command), command[0])
            self.assertEqual(stranger.read_all(), b"")

    def test_the_embedded_server_keeps_them(self):
        with Lockkeeper(config=USERS + "log: {level: trace}\n", http=True) as server:
            self.try_wrongly(server.port)
            with Client(server.port) as client:
                self.assertEqual(client.call("AUTH", "root", CANARIES["LOCKKEEPER_TEST_SECRET"]), "OK")
                self.ask_everything(client)
                self.look_at_everything(server)
            server.signal(signal.SIGHUP)
            self.expect_no_canary(server.output(), "log")
            # What was tried is told.
            self.assertRegex(server.output(), r"audit - .*: config 'SET' 'requirepass' 'maxclients'\n")

    def test_a_proxy_of_masters_keeps_them(self):
        master, data = CANARIES["LOCKKEEPER_TEST_MASTER"], CANARIES["LOCKKEEPER_TEST_DATA"]
        with Redis("--requirepass", master) as one, Redis("--requirepass", data) as other:
            config = USERS + (f"stripes: [{{name: main, masters: ['redis://127.0.0.1:{one.port}']}}]\n"
                              "masters: {admission: quick, password: env:LOCKKEEPER_TEST_MASTER}\n"
                              f"data: redis://:env:LOCKKEEPER_TEST_DATA@127.0.0.1:{other.port}\nlocks: ['lock:*']\n"
                              "proxies: {secret: env:LOCKKEEPER_TEST_PROXIES}\n"
                              "log: {level: trace, format: json}\nslow: {wait: 1ms, hold: 1ms}\n")
            with Lockkeeper(config=config, cores=1, http=True) as server:
                server.wait_for_votes(1)
                self.try_wrongly(server.port)
                with Client(server.port) as client:
                    self.assertEqual(client.call("AUTH", "root", CANARIES["LOCKKEEPER_TEST_SECRET"]), "OK")
                    self.assertEqual(client.call("SET", "lock:a", "me", "NX", "PX", 60_000), "OK")
                    self.assertEqual(client.call("DEL", "lock:a"), 1)
                    self.assertEqual(client.call("SET", "lock:a", "me", "NX", "PX", 60_000), "OK")
                    self.assertEqual(client.call("SET", "data", "x"), "OK")
                    self.ask_everything(client)
                    self.look_at_everything(server)
                    # What only the upstream knows is for those who may do everything.
                    self.assertEqual(client.call("APPEND", "data", "y"), 2)
                with Client(server.port) as client:
                    self.assertEqual(client.call("AUTH", "other", CANARIES["LOCKKEEPER_TEST_SECRET"]), "OK")
                    self.assertEqual(client.call("APPEND", "o:data", "y"),
                                     Error("NOPERM this user has no permissions to run the 'append' command"))
                    self.assertEqual(client.call("EVAL", "return redis.call('get', 'data')", 0),
                                     Error("NOPERM this user has no permissions to run the 'eval' command"))
                # Masters that let nobody in are a reason to say a lot.
                with Client(one.port) as admin:
                    admin.call("AUTH", master)
                    admin.call("CONFIG", "SET", "requirepass", "another")
                    admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
                self.expect_no_canary(server.output(), "log")

    def test_check_prints_references_only(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(USERS + "data: redis://:plain-canary@127.0.0.1\n"
                               "stripes: [{name: a, masters: ['redis://me:env:LOCKKEEPER_TEST_MASTER@10.0.0.1']}]\n"
                               "proxies: {secret: env:LOCKKEEPER_TEST_PROXIES}\n")
            file.flush()
            said = subprocess.run([lockkeeper_binary(), "--config", file.name, "--check"], capture_output=True,
                                  text=True, timeout=PATIENCE)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("env:LOCKKEEPER_TEST_SECRET", said.stdout)
        self.expect_no_canary(said.stdout + said.stderr, "--check")
        self.assertNotIn("plain-canary", said.stdout)


def is_release():
    with open(os.path.join(os.path.dirname(lockkeeper_binary()), "CMakeCache.txt")) as cache:
        return "\nCMAKE_BUILD_TYPE:STRING=Release\n" in cache.read()


class Memory(unittest.TestCase):
    def test_what_is_in_it_is_for_nobody_of_the_same_user(self):
        if not is_release():
            self.skipTest("debuggers look into other builds")
        nobody = 65_534 if os.geteuid() == 0 else None
        port = free_port()
        with tempfile.TemporaryDirectory() as folder:
            binary = lockkeeper_binary()
            if nobody:
                # Where nobody else may go, as in a home.
                os.chmod(folder, 0o755)
                binary = shutil.copy(binary, folder)
            server = subprocess.Popen([binary, "--port", str(port), "--http-port", "0", "-c", "1", "-m", "64M",
                                       "--overprovisioned"],
                                      user=nobody, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                end = time.monotonic() + PATIENCE
                while True:
                    self.assertIsNone(server.poll(), "it ended")
                    self.assertLess(time.monotonic(), end, "it does not answer")
                    with contextlib.suppress(ConnectionError), Client(port) as client:
                        self.assertEqual(client.call("PING"), "PONG")
                        break
                    time.sleep(0.02)
                # The kernel gives the files of such a process to root, and writes no core dump of it.
                self.assertEqual(os.stat(f"/proc/{server.pid}/mem").st_uid, 0)
                with Client(port) as client:
                    self.assertIn(b"used_memory_rss:", client.call("INFO", "memory"))
                    self.assertNotIn(b"used_memory_rss:0\r\n", client.call("INFO", "memory"))
            finally:
                server.terminate()
                self.assertEqual(server.wait(PATIENCE), 0)


class Log(unittest.TestCase):
    EVIL = b"a\r\nALERT 2026-01-01 fake line\x1b[31m\x00\n"

    def test_what_is_done_to_others_is_told(self):
        told = (["LK.LINT", "RESET"], ["LK.SLOWLOG", "reset"], ["SLOWLOG", "RESET"], ["CLIENT", "KILL", "ID", 4711],
                ["CONFIG", "RESETSTAT"], ["ACL", "LOG", "RESET"], ["FLUSHDB"], ["LK.BREAK", "k"])
        looked = (["LK.LINT"], ["LK.SLOWLOG", "GET"], ["SLOWLOG", "LEN"], ["CLIENT", "LIST"], ["LK.PROXIES"],
                  ["LK.STRIPES"], ["DBSIZE"])
        with Lockkeeper(cores=1) as server, Client(server.port) as client:
            for command in (*looked, *told):
                client.call(*command)
            lines = re.findall(r"audit - user 'default', client \d+ at \S+: (.*)", server.output())
        self.assertEqual(lines, [" ".join([command[0].lower(), *(f"'{word}'" for word in command[1:])])
                                 for command in told])

    def test_bytes_of_clients_make_no_lines(self):
        with Lockkeeper(config=f"log: {{level: debug}}\nusers: [{{name: default, rules: 'nopass ~* &* +@all'}}]\n"
                               "limits: {failed_logins: 2}\npolicies: [{keys: '*', deadlocks: refuse}]\n") as server:
            with Client(server.port) as client, Client(server.port) as other:
                for command in (["SET", self.EVIL, self.EVIL, "NX", "PX", 60_000], ["GET", self.EVIL],
                                ["LK.ACQUIRE", self.EVIL + b"x", self.EVIL], ["LK.BREAK", self.EVIL + b"x"],
                                ["CLIENT", "SETNAME", self.EVIL], ["CLIENT", "KILL", "ADDR", self.EVIL],
                                ["SUBSCRIBE", self.EVIL], ["UNSUBSCRIBE", self.EVIL], [self.EVIL, self.EVIL],
                                ["EVAL", self.EVIL, 1, self.EVIL], ["CONFIG", "SET", "a", self.EVIL], ["FLUSHALL"]):
                    client.call(*command)
                # A circle of waits is logged with its keys.
                client.call("LK.ACQUIRE", self.EVIL + b"1", "a")
                other.call("LK.ACQUIRE", self.EVIL + b"2", "b")
                client.send("LK.ACQUIRE", self.EVIL + b"2", "a", "WAIT", 30_000)
                other.send("LK.ACQUIRE", self.EVIL + b"1", "b", "WAIT", 30_000)
                ready, _, _ = select.select([client.socket, other.socket], [], [], PATIENCE)
                self.assertTrue(ready, "one of them is refused")
                for name in (self.EVIL, self.EVIL):
                    with Client(server.port) as stranger:
                        stranger.call("AUTH", name, name)
                        stranger.call("AUTH", name, name)
            output = server.output()
        self.assertIn("audit - user 'default'", output)
        self.assertRegex(output, r"audit - .*: lk\.break 'a\\x0d\\x0aALERT")
        for line in output.splitlines():
            self.assertFalse(line.startswith("ALERT"), line)
        self.assertNotRegex(output, r"[\x00\x1b]")
        # What the runtime says before the server is there has no form.
        served = output.split(" serves ", 1)[1].split("\n", 1)[1]
        self.assertFalse(re.search(r"^(?!TRACE|DEBUG|INFO|WARN)\S", served, re.M), "every line is one of ours")


if __name__ == "__main__":
    main()
