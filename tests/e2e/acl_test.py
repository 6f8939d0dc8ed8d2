"""Users: who may log in, what they may do, and what is told about it."""

import os
import tempfile
import time
import unittest

from support import Client, Error, Lockkeeper, main

WRONGPASS = Error("WRONGPASS invalid username-password pair or user is disabled.")
NOAUTH = Error("NOAUTH Authentication required.")
NO_KEY = Error("NOPERM this user has no permissions to access one of the keys used as arguments")
NO_CHANNEL = Error("NOPERM this user has no permissions to access one of the channels used as arguments")


def no_command(name):
    return Error(f"NOPERM this user has no permissions to run the '{name}' command")


os.environ["LOCKKEEPER_TEST_SECRET"] = "canary-4711"
# sha256 of "test"
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
USERS = f"""
users:
  - name: root
    passwords: ['sha256:{DIGEST}', env:LOCKKEEPER_TEST_SECRET]
    rules: '~* &* +@all'
  - name: worker
    passwords: env:LOCKKEEPER_TEST_SECRET
    rules: ['~job:* %R~shared:* &job:*', '+@all -@admin -@dangerous']
  - name: reader
    rules: 'nopass %R~* +@read +@connection'
  - name: gone
    rules: 'off nopass +@all'
"""


class Guessing(unittest.TestCase):
    def test_answers_to_an_address_that_guesses_are_late(self):
        config = USERS + "limits: {failed_logins: 0, failed_logins_per_address: 3}\n"
        with Lockkeeper(cores=1, config=config) as server:
            for _ in range(3):
                with Client(server.port) as client:
                    self.assertEqual(client.call("AUTH", "root", "guess"), WRONGPASS)
            for command in (["AUTH", "root", "guess"], ["HELLO", 3, "AUTH", "root", "guess"]):
                with Client(server.port) as client:
                    began = time.monotonic()
                    client.send(*command)
                    client.send("GET", "k")
                    self.assertEqual(client.read(), WRONGPASS)
                    self.assertGreater(time.monotonic() - began, 0.9)
                    self.assertEqual(client.read(), NOAUTH)
                    # Who knows it is let in.
                    self.assertEqual(client.call("AUTH", "root", "canary-4711"), "OK")
                    self.assertEqual(client.call("HELLO", 2, "AUTH", "worker", "canary-4711")[1], b"redis")
            # Nobody waits while others have to; a transaction has the turns of all.
            with Client(server.port) as client:
                self.assertEqual(client.call("AUTH", "root", "canary-4711"), "OK")
                self.assertEqual(client.call("MULTI"), "OK")
                self.assertEqual(client.call("AUTH", "root", "guess"), "QUEUED")
                client.send("EXEC")
                self.assertNotIn(b"+", client.read_all())
            self.assertIn("access - 127.0.0.1: 3 wrong passwords within a minute, answers to further ones are late",
                          server.output())
            # A client that leaves leaves nothing behind; nor does a stop wait for it.
            with Client(server.port) as client:
                client.send("AUTH", "root", "guess")


class Users(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(config=USERS))

    def client(self, user=None, password="canary-4711"):
        client = self.enterContext(Client(self.server.port))
        if user:
            self.assertEqual(client.call("AUTH", user, password), "OK")
        return client

    def test_nobody_does_anything_before_logging_in(self):
        client = self.client()
        for command in (["PING"], ["GET", "k"], ["SET", "k", "v"], ["MULTI"], ["ACL", "WHOAMI"], ["INFO"],
                        ["LK.ACQUIRE", "k", "me"], ["SUBSCRIBE", "c"], ["CLIENT", "ID"]):
            self.assertEqual(client.call(*command), NOAUTH, command)
        self.assertEqual(client.call("GET"), Error("ERR wrong number of arguments for 'get' command"))
        self.assertIn("unknown command", str(client.call("NOPE")))
        self.assertIn("NOAUTH HELLO must be called", str(client.call("HELLO", 3)))
        self.assertEqual(client.call("RESET"), "RESET")
        self.assertEqual(client.call("QUIT"), "OK")

    def test_a_stranger_cannot_send_much(self):
        client = self.client()
        client.send_bytes(b"*11\r\n")
        self.assertEqual(client.read_all(), b"-ERR Protocol error: unauthenticated multibulk length\r\n")
        client = self.client()
        client.send_bytes(b"*2\r\n$4\r\nAUTH\r\n$16385\r\n")
        self.assertEqual(client.read_all(), b"-ERR Protocol error: unauthenticated bulk length\r\n")
        # The same on a connection that has said who it is.
        client = self.client("root")
        self.assertEqual(client.call("EXISTS", *[f"k{i}" for i in range(20)]), 0)
        self.assertEqual(client.call("ECHO", b"x" * 20_000), b"x" * 20_000)

    def test_a_user_logs_in_by_any_of_its_passwords(self):
        self.client("root")
        self.client("root", "test")
        client = self.client()
        for user, password in (("root", "tes"), ("root", ""), ("nobody", "test"), ("gone", "x")):
            self.assertEqual(client.call("AUTH", user, password), WRONGPASS)
        self.assertEqual(client.call("PING"), NOAUTH)
        self.assertEqual(self.client("reader", "whatever").call("ACL", "WHOAMI"), no_command("acl|whoami"))

    def test_hello_logs_in(self):
        client = self.client()
        self.assertEqual(client.call("HELLO", 3, "AUTH", "worker", "no"), WRONGPASS)
        answer = client.call("HELLO", 3, "AUTH", "worker", "canary-4711", "SETNAME", "me")
        self.assertEqual(answer[b"proto"], 3)
        self.assertEqual(client.call("ACL", "WHOAMI"), b"worker")
        self.assertEqual(client.call("CLIENT", "GETNAME"), b"me")

    def test_who_guesses_too_often_is_shown_the_door(self):
        client = self.client()
        for _ in range(5):
            self.assertEqual(client.call("AUTH", "root", "guess"), WRONGPASS)
        self.assertEqual(client.read_all(), b"")

    def test_rules_hold_for_commands_keys_and_channels(self):
        worker = self.client("worker")
        self.assertEqual(worker.call("SET", "job:1", "me", "NX", "PX", 60_000), "OK")
        self.assertEqual(worker.call("SET", "other", "me"), NO_KEY)
        self.assertIsNone(worker.call("GET", "shared:1"))
        self.assertEqual(worker.call("SET", "shared:1", "me"), NO_KEY)
        self.assertEqual(worker.call("DEL", "job:1", "other"), NO_KEY)
        self.assertEqual(worker.call("DEL", "job:1"), 1)
        self.assertEqual(worker.call("FLUSHALL"), no_command("flushall"))
        self.assertEqual(worker.call("LK.BREAK", "job:1"), no_command("lk.break"))
        self.assertEqual(worker.call("CLIENT", "KILL", "ID", "1"), no_command("client|kill"))
        self.assertEqual(worker.call("CLIENT", "NOPE"), Error("ERR unknown subcommand 'NOPE'. Try CLIENT HELP."))
        self.assertEqual(worker.call("PUBLISH", "job:done", "x"), 0)
        self.assertEqual(worker.call("PUBLISH", "other", "x"), NO_CHANNEL)
        self.assertEqual(worker.call("BLPOP", "job:list", "other", "1"), NO_KEY)
        self.assertEqual(worker.call("WATCH", "other"), NO_KEY)
        self.assertEqual(worker.call("SUBSCRIBE", "job:a", "other"), NO_CHANNEL)
        self.assertEqual(worker.call("PSUBSCRIBE", "job:a*"), NO_CHANNEL)
        self.assertEqual(worker.call("PSUBSCRIBE", "job:*"), [b"psubscribe", b"job:*", 1])

    def test_rules_hold_for_native_verbs(self):
        worker = self.client("worker")
        self.assertEqual(worker.call("LK.ACQUIRE", "other", "me", "TTL", 1000), NO_KEY)
        self.assertEqual(worker.call("LK.ACQUIREALL", 2, "job:1", "other", "me", "TTL", 1000), NO_KEY)
        self.assertIsInstance(worker.call("LK.ACQUIREALL", 2, "job:3", "job:4", "me", "TTL", 60_000), list)
        self.assertEqual(worker.call("LK.HOLDERS", "other"), NO_KEY)
        self.assertEqual(worker.call("LK.RELEASEALL", 2, "job:3", "job:4", "me"), 2)
        reader = self.client("reader", "")
        self.assertEqual(reader.call("LK.ACQUIRE", "job:1", "me", "TTL", 1000), no_command("lk.acquire"))
        self.assertIsNone(reader.call("LK.FENCE", "job:never"))

    def test_rules_hold_for_scripts(self):
        release = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"
        worker = self.client("worker")
        self.assertEqual(worker.call("EVAL", release, 1, "other", "me"), NO_KEY)
        self.assertEqual(worker.call("EVAL", release, 1, "job:5", "me"), 0)
        # A script may write.
        self.assertEqual(worker.call("EVAL", release, 1, "shared:5", "me"), NO_KEY)
        self.assertEqual(self.client("reader", "").call("EVAL", release, 1, "job:5", "me"), no_command("eval"))

    def test_a_refusal_spoils_a_transaction(self):
        worker = self.client("worker")
        self.assertEqual(worker.call("MULTI"), "OK")
        self.assertEqual(worker.call("GET", "job:1"), "QUEUED")
        self.assertEqual(worker.call("GET", "other"), NO_KEY)
        self.assertEqual(worker.call("EXEC"),
                         Error("EXECABORT Transaction discarded because of previous errors."))

    def test_who_changes_in_a_transaction_is_judged_as_the_new_user(self):
        root = self.client("root")
        self.assertEqual(root.call("MULTI"), "OK")
        self.assertEqual(root.call("AUTH", "worker", "canary-4711"), "QUEUED")
        self.assertEqual(root.call("SET", "other", "x"), "QUEUED")
        login, refused = root.call("EXEC")
        self.assertEqual(login, "OK")
        self.assertIn("NOPERM ACLs rules changed", str(refused))

    def test_reset_forgets_who_it_was(self):
        worker = self.client("worker")
        self.assertEqual(worker.call("RESET"), "RESET")
        self.assertEqual(worker.call("PING"), NOAUTH)

    def test_users_are_told_to_admins(self):
        root = self.client("root")
        self.assertEqual(root.call("ACL", "WHOAMI"), b"root")
        self.assertEqual(root.call("ACL", "USERS"), [b"default", b"gone", b"reader", b"root", b"worker"])
        listed = root.call("ACL", "LIST")
        self.assertEqual(listed[0], b"user default off resetchannels -@all")
        self.assertEqual(listed[2], b"user reader on nopass %R~* resetchannels -@all +@read +@connection")
        told = root.call("ACL", "GETUSER", "worker")
        told = dict(zip(told[::2], told[1::2]))
        self.assertEqual(told[b"flags"], [b"on"])
        self.assertEqual(told[b"commands"], b"+@all -@admin -@dangerous")
        self.assertEqual(told[b"keys"], b"~job:* %R~shared:*")
        self.assertEqual(told[b"channels"], b"&job:*")
        self.assertIsNone(root.call("ACL", "GETUSER", "nobody"))
        for verb in ("LIST", "USERS", "LOG"):
            self.assertEqual(self.client("worker").call("ACL", verb), no_command(f"acl|{verb.lower()}"))

    def test_users_cannot_be_changed_here(self):
        for verb in ("SETUSER", "DELUSER", "LOAD", "SAVE"):
            self.assertIn(f"ERR ACL {verb} is not supported", str(self.client("root").call("ACL", verb, "worker")))

    def test_a_dry_run_tells_what_would_be_refused(self):
        root = self.client("root")
        self.assertEqual(root.call("ACL", "DRYRUN", "worker", "GET", "job:1"), "OK")
        self.assertEqual(root.call("ACL", "DRYRUN", "worker", "GET", "b"),
                         b"This user has no permissions to access the 'b' key")
        self.assertEqual(root.call("ACL", "DRYRUN", "worker", "FLUSHALL"),
                         b"This user has no permissions to run the 'flushall' command")
        self.assertEqual(root.call("ACL", "DRYRUN", "worker", "PUBLISH", "c", "x"),
                         b"This user has no permissions to access the 'c' channel")
        self.assertEqual(root.call("ACL", "DRYRUN", "nobody", "GET", "b"), Error("ERR User 'nobody' not found"))
        self.assertEqual(root.call("ACL", "DRYRUN", "worker", "NOPE", "b"), Error("ERR Command 'NOPE' not found"))

    def test_categories_are_told(self):
        root = self.client("root")
        self.assertIn(b"lock", root.call("ACL", "CAT"))
        self.assertIn(b"lk.acquire", root.call("ACL", "CAT", "lock"))
        self.assertEqual(root.call("ACL", "CAT", "nope"), Error("ERR Unknown category 'nope'"))
        admins = root.call("COMMAND", "LIST", "FILTERBY", "ACLCAT", "admin")
        for name in (b"lk.break", b"lk.lint", b"lk.proxies", b"lk.reload", b"lk.slowlog", b"lk.stripes"):
            self.assertIn(name, admins)
        self.assertIn("@read", root.call("COMMAND", "INFO", "get")[0][6])

    def test_passwords_are_drawn(self):
        root = self.client("root")
        one, other = root.call("ACL", "GENPASS"), root.call("ACL", "GENPASS")
        self.assertEqual(len(one), 64)
        self.assertNotEqual(one, other)
        self.assertEqual(len(root.call("ACL", "GENPASS", 5)), 2)
        self.assertIn("up to 4096", str(root.call("ACL", "GENPASS", 0)))

    def test_refusals_are_remembered(self):
        root, worker = self.client("root"), self.client("worker")
        self.assertEqual(root.call("ACL", "LOG", "RESET"), "OK")
        worker.call("CLIENT", "SETNAME", "the-one")
        for _ in range(3):
            worker.call("GET", "forbidden-key")
        worker.call("FLUSHALL")
        worker.call("PUBLISH", "elsewhere", "x")
        worker.call("MULTI")
        worker.call("GET", "forbidden-key")
        worker.call("AUTH", "root", "guess")
        worker.call("DISCARD")
        worker.call("AUTH", "root", "guess")
        entries = [dict(zip(one[::2], one[1::2])) for one in root.call("ACL", "LOG", 100)]
        told = {(one[b"reason"], one[b"context"], one[b"object"], one[b"username"]): one[b"count"] for one in entries}
        self.assertEqual(told[(b"key", b"toplevel", b"forbidden-key", b"worker")], 3)
        self.assertEqual(told[(b"key", b"multi", b"forbidden-key", b"worker")], 1)
        self.assertEqual(told[(b"command", b"toplevel", b"flushall", b"worker")], 1)
        self.assertEqual(told[(b"channel", b"toplevel", b"elsewhere", b"worker")], 1)
        self.assertEqual(told[(b"auth", b"toplevel", b"AUTH", b"root")], 1)
        self.assertIn(b"name=the-one", entries[0][b"client-info"])
        self.assertEqual(len(root.call("ACL", "LOG", 1)), 1)

    def test_clients_are_listed_and_ended_by_their_user(self):
        root, reader = self.client("root"), self.client("reader", "")
        me = reader.call("CLIENT", "ID")
        line = root.call("CLIENT", "LIST", "ID", me)
        self.assertIn(b" user=reader ", line)
        self.assertEqual(root.call("CLIENT", "KILL", "USER", "reader", "ID", me), 1)
        self.assertEqual(reader.read_all(), b"")
        self.assertEqual(root.call("CLIENT", "KILL", "USER", "nobody"), Error("ERR No such user 'nobody'"))


class Limits(unittest.TestCase):
    def test_a_user_has_so_many_connections(self):
        config = "users: [{name: default, rules: 'nopass ~* +@all'}, {name: few, rules: 'nopass ~* +@all', connections: 2}]"
        with Lockkeeper(config=config) as server:
            clients = [self.enterContext(Client(server.port)) for _ in range(3)]
            answers = [one.call("AUTH", "few", "") for one in clients]
            self.assertEqual(answers[:2], ["OK", "OK"])
            self.assertEqual(answers[2], Error("ERR TOOMANYCONNECTIONS user 'few' has as many connections as it may"))
            # It is still who it was, and a place that is left is free.
            self.assertEqual(clients[2].call("ACL", "WHOAMI"), b"default")
            self.assertEqual(clients[0].call("AUTH", "few", ""), "OK")
            self.assertEqual(clients[0].call("RESET"), "RESET")
            self.assertEqual(clients[2].call("AUTH", "few", ""), "OK")

    def test_a_user_sends_so_many_commands_a_second(self):
        config = "users: [{name: default, rules: 'nopass ~* &* +@all', rate: 10}]"
        with Lockkeeper(config=config) as server, Client(server.port) as client:
            answers = [client.call("GET", "k") for _ in range(100)]
            refused = Error("ERR RATELIMITED user 'default' sends more commands than it may, try again in a second")
            self.assertIn(None, answers)
            self.assertIn(refused, answers)
            # What gives a lock back is never refused.
            self.assertEqual({client.call("DEL", "k") for _ in range(100)}, {0})


class ProtectedMode(unittest.TestCase):
    def own_address(self):
        """One of this machine that is not loopback; a socket that sends nothing finds it."""
        import socket
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
            except OSError:
                self.skipTest("this machine has no address but loopback")
            return probe.getsockname()[0]

    def ask(self, server):
        import socket
        with socket.create_connection((self.own_address(), server.port), 30) as one:
            one.sendall(b"PING\r\n")
            return one.makefile("rb").readline()

    def test_without_a_password_only_this_machine_may_connect(self):
        with Lockkeeper("--address", "0.0.0.0") as server, Client(server.port) as client:
            self.assertTrue(self.ask(server).startswith(b"-DENIED Lockkeeper is running in protected mode"))
            self.assertEqual(client.call("PING"), "PONG")
        with Lockkeeper("--address", "0.0.0.0", "--no-protected-mode") as server:
            self.assertEqual(self.ask(server), b"+PONG\r\n")
        with Lockkeeper("--address", "0.0.0.0", config=USERS) as server:
            self.assertEqual(self.ask(server), b"-NOAUTH Authentication required.\r\n")


class Configuration(unittest.TestCase):
    def test_rules_are_checked_with_the_file(self):
        import subprocess
        from support import PATIENCE, lockkeeper_binary
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("users:\n  - name: a\n    rules: 'nopass +gett +@lok'\n")
            file.flush()
            said = subprocess.run([lockkeeper_binary(), "--config", file.name, "--check"], capture_output=True,
                                  text=True, timeout=PATIENCE)
        self.assertEqual(said.returncode, 2)
        self.assertIn(":3:12: user 'a': '+gett': there is no such command; did you mean 'get'?", said.stderr)
        self.assertIn("user 'a': '+@lok': there is no such category; did you mean '@lock'?", said.stderr)


if __name__ == "__main__":
    main()
