"""Reading the configuration again: all of it or nothing, while clients go on working."""

import os
import signal
import socket
import struct
import threading
import time
import unittest

from support import PATIENCE, Client, Error, Lockkeeper, main


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)


class Reload(unittest.TestCase):
    def start(self, config):
        os.environ["LOCKKEEPER_TEST_SECRET"] = "canary-4711"
        return self.enterContext(Lockkeeper(config=config))

    def rewrite(self, server, config):
        """As an editor does: the same file with other words."""
        with open(server.file.name, "w") as file:
            file.write(config)

    def reload(self, server, config):
        """By signal; the line of the log that tells what became of it."""
        self.rewrite(server, config)
        before = len(self.told(server))
        server.signal(signal.SIGHUP)
        wait_for(lambda: len(self.told(server)) > before, "the log tells of the reload")
        return self.told(server)[-1]

    def told(self, server):
        return [line.split(" reload - ", 1)[1] for line in server.output().splitlines() if " reload - " in line]

    def test_limits_change_for_connections_that_are_there(self):
        server = self.start("limits: {subscriptions: 10}\n")
        with Client(server.port) as client:
            self.assertEqual(self.reload(server, "limits: {subscriptions: 1, idle: 1h}\n"),
                             "changed: limits.subscriptions, limits.idle")
            self.assertIn("TOOMANYSUBSCRIPTIONS", str(client.call("SUBSCRIBE", "a", "b")))
            self.assertEqual(client.call("CONFIG", "GET", "timeout"), [b"timeout", b"3600"])

    def test_users_come_change_and_go(self):
        everybody = "{name: default, rules: 'nopass ~* &* +@all'}"
        server = self.start(f"users: [{everybody}, {{name: a, rules: 'nopass ~* &* +@all'}},"
                            " {name: b, rules: 'nopass ~* &* +@all'}]\n")
        admin, a, b = (self.enterContext(Client(server.port)) for _ in range(3))
        listener = self.enterContext(Client(server.port))
        self.assertEqual(a.call("AUTH", "a", ""), "OK")
        self.assertEqual(b.call("AUTH", "b", ""), "OK")
        self.assertEqual(listener.call("AUTH", "a", ""), "OK")
        self.assertEqual(listener.call("SUBSCRIBE", "news")[0], b"subscribe")
        self.assertEqual(self.reload(server, f"users: [{everybody}, {{name: a, rules: 'nopass ~a:* +@all'}},"
                                             " {name: c, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '+@all'}]\n"),
                         "changed: users")
        self.assertIn("NOPERM", str(a.call("GET", "b:1")))
        self.assertIsNone(a.call("GET", "a:1"))
        self.assertEqual(b.read_all(), b"")  # there is no such user any more
        self.assertEqual(listener.read_all(), b"")  # may not hear that channel any more
        self.assertEqual(admin.call("ACL", "USERS"), [b"a", b"c", b"default"])
        with Client(server.port) as c:
            self.assertEqual(c.call("AUTH", "c", "canary-4711"), "OK")

    def test_what_needs_a_restart_refuses_the_whole_file(self):
        server = self.start("limits: {subscriptions: 10}\n")
        before = server.port
        said = self.reload(server, "limits: {subscriptions: 1, locks: 5}\nserver: {backlog: 7}\nlocks: ['a*']\n"
                                   "data: redis://127.0.0.1:1\npolicies: [{keys: '*', max_waiters: 1}]\n")
        self.assertEqual(said, "nothing has changed, these need a restart: server.backlog, limits.locks, data, locks")
        with Client(before) as client, Client(before) as other, Client(before) as third:
            client.call("LK.ACQUIRE", "k", "holder", "TTL", 60_000)
            for one, owner in ((other, "a"), (third, "b")):
                one.send("LK.ACQUIRE", "k", owner, "WAIT", 60_000)
            wait_for(lambda: len(client.call("LK.WAITERS", "k")) == 2, "both wait")
            self.assertEqual(client.call("SUBSCRIBE", "a"), [b"subscribe", b"a", 1])
            self.assertEqual(client.call("SUBSCRIBE", "b"), [b"subscribe", b"b", 2])

    def test_policies_change_for_what_is_decided_next(self):
        server = self.start("policies: [{keys: 'q:*', max_waiters: 5}, {keys: 'b:*', grace: 1h}]\n")
        with (Client(server.port) as holder, Client(server.port) as first, Client(server.port) as second,
              Client(server.port) as bound, Client(server.port) as late):
            fence = holder.call("LK.ACQUIRE", "q:1", "holder", "TTL", 600_000)[0]
            first.send("LK.ACQUIRE", "q:1", "first", "TTL", 600_000, "WAIT", 0)
            wait_for(lambda: len(holder.call("LK.WAITERS", "q:1")) == 1, "the first waits")
            second.send("LK.ACQUIRE", "q:1", "second", "TTL", 600_000, "WAIT", 0)
            wait_for(lambda: len(holder.call("LK.WAITERS", "q:1")) == 2, "both wait")
            bound.call("LK.ACQUIRE", "b:old", "bound")
            self.assertEqual(self.reload(server, "policies: [{keys: 'q:*', max_waiters: 1},"
                                                 " {keys: 'b:*', grace: 0}]\n"), "changed: policies")
            # Who is in line stays there, and newcomers are too many.
            self.assertIn("TOOMANYWAITERS", str(late.call("LK.ACQUIRE", "q:1", "late", "WAIT", 1000)))
            self.assertEqual(len(holder.call("LK.WAITERS", "q:1")), 2)
            # What was given keeps its grace, what is given now has the new one.
            bound.call("LK.ACQUIRE", "b:new", "bound")
            bound.close()
            wait_for(lambda: not late.call("LK.HOLDERS", "b:new"), "the new one ends with its connection")
            self.assertEqual(len(late.call("LK.HOLDERS", "b:old")), 1)
            self.assertEqual(holder.call("LK.RELEASE", "q:1", "holder"), 0)
            granted = first.read()[0]
            self.assertGreater(granted, fence)
            self.assertEqual(self.reload(server, "{}\n"), "changed: policies")
            self.assertEqual(first.call("LK.RELEASE", "q:1", "first"), 0)
            self.assertGreater(second.read()[0], granted)

    def test_a_renewed_lock_stays_renewed_and_ends_with_its_connection(self):
        server = self.start("{}\n")
        with Client(server.port) as holder, Client(server.port) as other:
            holder.call("SET", "r:before", "me", "NX", "PX", 300)
            self.assertEqual(self.reload(server, "policies: [{keys: 'r:*', renew: true}]\n"), "changed: policies")
            holder.call("SET", "r:1", "me", "NX", "PX", 300)
            self.assertEqual(self.reload(server, "{}\n"), "changed: policies")
            # The one from before was promised for its TTL, and not more; of the other that has passed as well by then.
            wait_for(lambda: other.call("EXISTS", "r:before") == 0, "the one from before has ended")
            other.call("SET", "r:after", "me", "NX", "PX", 300)
            wait_for(lambda: other.call("EXISTS", "r:after") == 0, "the one from after has ended")
            self.assertEqual(other.call("GET", "r:1"), b"me")
            holder.close()
            wait_for(lambda: other.call("EXISTS", "r:1") == 0, "it ends with its TTL")

    def test_mistakes_change_nothing_and_are_all_told(self):
        server = self.start("limits: {subscriptions: 1}\n")
        said = self.reload(server, "limits:\n  subscriptions: 10\n  idel: 5s\nusers: [{name: a, passwords: secret}]\n")
        self.assertTrue(said.startswith("nothing has changed, the configuration has mistakes: "), said)
        self.assertIn(":3:3: unknown option 'idel' in 'limits'; did you mean 'idle'?", said)
        self.assertIn("no password stands in this file itself", said)
        said = self.reload(server, "limits: {subscriptions: 10}\nusers: [{name: a, rules: 'nopass +gett'}]\n")
        self.assertIn("did you mean 'get'?", said)
        with Client(server.port) as client:
            self.assertIn("TOOMANYSUBSCRIPTIONS", str(client.call("SUBSCRIBE", "a", "b")))

    def test_a_file_that_is_gone_changes_nothing(self):
        server = self.start("limits: {subscriptions: 1}\n")
        os.rename(server.file.name, server.file.name + ".away")
        try:
            server.signal(signal.SIGHUP)
            wait_for(lambda: self.told(server), "the log tells of the reload")
            self.assertIn("cannot be read: No such file or directory", self.told(server)[-1])
        finally:
            os.rename(server.file.name + ".away", server.file.name)
        with Client(server.port) as client:
            self.assertEqual(client.call("PING"), "PONG")

    def test_the_log_level_changes(self):
        server = self.start("log: {level: info}\n")
        self.assertEqual(self.reload(server, "log: {level: debug}\n"), "changed: log.level")
        with Client(server.port) as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.assertEqual(client.call("PING"), "PONG")
        # A connection that ended without a farewell is worth a line to those who want to know everything.
        wait_for(lambda: "DEBUG" in server.output(), "a line of that level")

    def test_admins_reload_by_a_command(self):
        server = self.start("limits: {subscriptions: 1}\n")
        with Client(server.port) as client:
            self.assertEqual(client.call("LK.RELOAD"), "the configuration is the same")
            self.rewrite(server, "limits: {subscriptions: 2}\n")
            self.assertEqual(client.call("LK.RELOAD"), "changed: limits.subscriptions")
            self.rewrite(server, "limits: {locks: 2}\n")
            self.assertEqual(client.call("LK.RELOAD"),
                             Error("ERR nothing has changed, these need a restart: limits.locks"))
        self.assertIn("audit - user 'default'", server.output())

    def test_without_a_file_there_is_nothing_to_read(self):
        with Lockkeeper() as server:
            server.signal(signal.SIGHUP)
            wait_for(lambda: self.told(server), "the log tells of the reload")
            self.assertIn("there is no --config file", self.told(server)[-1])

    def test_under_load_no_lock_and_no_connection_is_lost(self):
        """Clients take and give back locks of their own; one holds a lock all the time and one waits for it."""
        configs = ["limits: {idle: 0}\nusers: [{name: default, rules: 'nopass ~* &* +@all'}]\n",
                   "limits: {idle: 1h}\nusers: [{name: default, rules: 'nopass ~* &* +@all'}, {name: x, rules: off}]\n"
                   "policies: [{keys: 'k*', pollers: reserve, grace: 3s}, {keys: '*', max_waiters: 2}]\n",
                   "limits: {idle: oops}\n"]
        server = self.start(configs[0])
        over, problems, rounds = threading.Event(), [], [0] * 8

        def work(number):
            try:
                with Client(server.port) as client:
                    key = f"k{number}"
                    while not over.is_set():
                        grant = client.call("LK.ACQUIRE", key, "me", "TTL", 60_000)
                        if not isinstance(grant, list) or client.call("LK.RELEASE", key, "me") != 0:
                            problems.append((number, grant))
                            return
                        rounds[number] += 1
            except Exception as problem:  # pylint: disable=broad-except
                problems.append((number, problem))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(rounds))]
        with Client(server.port) as holder, Client(server.port) as waiter:
            fence = holder.call("LK.ACQUIRE", "held", "holder")[0]
            waiter.send("LK.ACQUIRE", "held", "waiter", "WAIT", 0)
            for thread in threads:
                thread.start()
            for turn in range(12):
                self.reload(server, configs[turn % len(configs)])
            seen = list(rounds)
            wait_for(lambda: all(now > then for now, then in zip(rounds, seen)) or problems, "everybody goes on")
            over.set()
            for thread in threads:
                thread.join()
            self.assertEqual(problems, [])
            self.assertEqual(holder.call("LK.FENCE", "held"), fence)
            self.assertEqual(holder.call("LK.RELEASE", "held", "holder"), 0)
            self.assertGreater(waiter.read()[0], fence)
        self.assertEqual(sum("mistakes" in line for line in self.told(server)), 4)


if __name__ == "__main__":
    main()
