"""Other credentials towards masters while a server runs: votes and locks stay."""

import signal
import tempfile
import threading
import unittest

from fleet_support import Master, masters_of, wait_until
from support import Client, Lockkeeper, main

# Both users may do everything, so that either serves.
USERS = ["--user", "old", "on", ">first-4711", "~*", "&*", "+@all", "--user", "new", "on", ">second-4712", "~*", "&*",
         "+@all"]


class Credentials(unittest.TestCase):
    cores = 2

    def setUp(self):
        self.masters = [self.enterContext(Master(*USERS)) for _ in range(3)]
        self.secret = self.enterContext(tempfile.NamedTemporaryFile("w"))

    def stripes(self, credentials="", masters=None):
        addresses = ", ".join(f"'redis://{credentials}127.0.0.1:{one.port}'" for one in masters or self.masters)
        return f"stripes: [{{name: main, masters: [{addresses}]}}]\n"

    def start(self, credentials):
        server = self.enterContext(Lockkeeper(config=credentials, cores=self.cores))
        server.wait_for_votes(3 * self.cores)
        return server

    def reload(self, server, config):
        with open(server.file.name, "w") as file:
            file.write(config)
        before = self.told(server)
        server.signal(signal.SIGHUP)
        return wait_until(lambda: self.told(server)[len(before):], "the log tells of the reload")[0]

    def told(self, server):
        return [line.split(" reload - ", 1)[1] for line in server.output().splitlines() if " reload - " in line]

    def connections(self, master):
        """Those of the proxy for votes: their numbers, each with its user."""
        lines = master.call("CLIENT", "LIST").decode().splitlines()
        found = [dict(word.partition("=")[::2] for word in line.split(" ")) for line in lines]
        return {one["id"]: one["user"] for one in found if one["name"].startswith("lockkeeper-main-")}

    def test_connections_log_in_anew_and_nothing_is_lost(self):
        server = self.start(self.stripes("old:first-4711@") + "masters: {admission: quick}\n")
        over, problems, rounds = threading.Event(), [], [0]

        def work():
            try:
                with Client(server.port) as client:
                    while not over.is_set():
                        grant = client.call("LK.ACQUIRE", f"k{rounds[0] % 97}", "me", "TTL", 60_000)
                        if not isinstance(grant, list):
                            problems.append(grant)
                            return
                        client.call("LK.RELEASE", f"k{rounds[0] % 97}", "me")
                        rounds[0] += 1
            except Exception as problem:  # pylint: disable=broad-except
                problems.append(problem)

        with Client(server.port) as holder:
            fence = holder.call("LK.ACQUIRE", "held", "holder")[0]
            worker = threading.Thread(target=work)
            worker.start()
            before = [self.connections(one) for one in self.masters]
            votes = server.output().count(": votes")
            self.assertEqual(self.reload(server, self.stripes("new:second-4712@") + "masters: {admission: quick}\n"),
                             "changed: credentials of masters")
            for master, known in zip(self.masters, before):
                self.assertEqual(len(known), self.cores)
                wait_until(lambda one=master, them=known: self.connections(one) == dict.fromkeys(them, "new"),
                           "the same connections are the new user's")
            # Whoever the old one was, it may go now.
            for master in self.masters:
                self.assertEqual(master.call("ACL", "DELUSER", "old"), 1)
            seen = rounds[0]
            wait_until(lambda: rounds[0] > seen + 100 or problems, "locks are taken")
            over.set()
            worker.join()
            self.assertEqual(problems, [])
            self.assertEqual(server.output().count(": votes"), votes)  # nobody had to be admitted again
            self.assertEqual(holder.call("LK.FENCE", "held"), fence)
            self.assertEqual(holder.call("LK.RELEASE", "held", "holder"), 0)
            # New connections are the new user's.
            for master in self.masters:
                master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            wait_until(lambda: server.output().count(": votes") >= 2 * votes, "they vote again")
            for master in self.masters:
                self.assertEqual(set(self.connections(master).values()), {"new"})
        self.assertNotIn("4711", server.output())
        self.assertNotIn("4712", server.output())

    def test_a_secret_that_has_changed_behind_its_reference_is_read_again(self):
        def write(text):
            self.secret.seek(0)
            self.secret.truncate()
            self.secret.write(text)
            self.secret.flush()

        write("first-4711\n")
        config = self.stripes() + f"masters: {{admission: quick, user: old, password: 'file:{self.secret.name}'}}\n"
        server = self.start(config)
        for master in self.masters:
            master.call("ACL", "SETUSER", "old", ">third-4713", "<first-4711")
        write("third-4713\n")
        self.assertEqual(self.reload(server, config), "changed: credentials of masters")
        self.assertEqual(self.reload(server, config), "the configuration is the same")
        for master in self.masters:
            master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        server.wait_for_votes(2 * 3 * self.cores)

    def test_credentials_that_a_master_refuses_change_nothing(self):
        more = "masters: {admission: quick}\n"
        server = self.start(self.stripes("old:first-4711@") + more)
        self.masters[1].call("ACL", "DELUSER", "new")
        said = self.reload(server, self.stripes("new:second-4712@") + more + "limits: {subscriptions: 1}\n")
        self.assertTrue(said.startswith("nothing has changed, these masters would be lost: "
                                        f"127.0.0.1:{self.masters[1].port}: it refuses user 'new'"), said)
        self.assertNotIn(str(self.masters[0].port), said)
        for master in self.masters:
            self.assertEqual(set(self.connections(master).values()), {"old"})
        with Client(server.port) as client:
            self.assertEqual(client.call("SUBSCRIBE", "a"), [b"subscribe", b"a", 1])
            self.assertEqual(client.call("SUBSCRIBE", "b"), [b"subscribe", b"b", 2])
            self.assertEqual(client.call("UNSUBSCRIBE", "a")[0], b"unsubscribe")
        with Client(server.port) as client:
            self.assertEqual(len(client.call("LK.ACQUIRE", "k", "me", "TTL", 1000)), 3)

    def test_a_user_who_may_not_vote_changes_nothing(self):
        more = "masters: {admission: quick}\n"
        server = self.start(self.stripes("old:first-4711@") + more)
        for rule, word in (("-evalsha", "evalsha"), ("-info", "info")):
            self.masters[1].call("ACL", "SETUSER", "new", "+@all", rule)
            said = self.reload(server, self.stripes("new:second-4712@") + more)
            self.assertTrue(said.startswith("nothing has changed, these masters would be lost: "
                                            f"127.0.0.1:{self.masters[1].port}: "), said)
            self.assertIn(word, said.lower())
        for master in self.masters:
            self.assertEqual(set(self.connections(master).values()), {"old"})
            self.assertEqual(master.call("EXISTS", "lk:{main}:rights"), 0)

    def test_a_master_that_is_down_is_no_obstacle_and_comes_back_to_the_new_user(self):
        more = "masters: {admission: quick}\n"
        server = self.start(self.stripes("old:first-4711@") + more)
        self.masters[2].kill_process()
        wait_until(lambda: masters_of(server.port)[self.masters[2].port]["state"] == b"disconnected", "it is gone")
        self.assertEqual(self.reload(server, self.stripes("new:second-4712@") + more),
                         "changed: credentials of masters")
        back = self.enterContext(self.masters[2].come_back())
        wait_until(lambda: set(self.connections(back).values()) == {"new"}, "it is met by the new user")
        with Client(server.port) as client:
            self.assertEqual(len(client.call("LK.ACQUIRE", "k", "me", "TTL", 1000)), 3)

    def test_other_masters_need_a_restart(self):
        more = "masters: {admission: quick}\n"
        server = self.start(self.stripes("old:first-4711@") + more)
        self.assertEqual(self.reload(server, self.stripes("new:second-4712@", self.masters[:1]) + more),
                         "nothing has changed, these need a restart: stripes")
        self.assertEqual(self.reload(server, self.stripes("new:second-4712@")
                                     + "masters: {admission: quick, ping: 5s}\n"),
                         "nothing has changed, these need a restart: masters.ping")
        for master in self.masters:
            self.assertEqual(set(self.connections(master).values()), {"old"})


class CredentialsOnOneCore(Credentials):
    cores = 1


if __name__ == "__main__":
    main()
