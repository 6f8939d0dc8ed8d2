"""The native verbs: owners, fences, queues, and what clients see when something goes wrong."""

import signal
import socket
import struct
import threading
import time
import unittest

from support import ON_FLEET, Client, Error, Lockkeeper, main

NOT_INTEGER = Error("ERR value is not an integer or out of range")
SYNTAX = Error("ERR syntax error")


def until(condition, what):
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.005)


def as_map(flat):
    """RESP2 has no maps: names and values take turns."""
    return dict(zip([name.decode() for name in flat[::2]], flat[1::2]))


class Server(unittest.TestCase):
    CORES = 2
    CONFIG = None

    @classmethod
    def setUpClass(cls):
        cls.server = Lockkeeper(cores=cls.CORES, config=cls.CONFIG)
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def setUp(self):
        self.clients = []
        self.one = self.client()
        self.one.call("FLUSHALL")

    def tearDown(self):
        for client in self.clients:
            client.close()

    def client(self, resp3=False):
        client = Client(self.server.port)
        self.clients.append(client)
        if resp3:
            client.call("HELLO", 3)
        return client

    def waiters(self, key):
        return [w for w in map(as_map, self.one.call("LK.WAITERS", key)) if w["kind"] != b"polling"]

    def wait_for_waiters(self, key, count):
        until(lambda: len(self.waiters(key)) == count, f"{count} waiters of {key}")


class Verbs(Server):
    def test_a_grant_has_a_fence_a_time_and_holds(self):
        fence, ttl, holds = self.one.call("LK.ACQUIRE", "a", "alice", "TTL", 30000)
        self.assertGreater(fence, 0)
        self.assertTrue(29000 < ttl <= 30000, ttl)
        self.assertEqual(holds, 1)
        self.assertIsNone(self.one.call("LK.ACQUIRE", "a", "bob", "TTL", 1000))
        again = self.one.call("LK.ACQUIRE", "a", "alice", "TTL", 30000)
        self.assertEqual([again[0], again[2]], [fence, 2])
        self.assertEqual(self.one.call("LK.RELEASE", "a", "bob"), None)
        self.assertEqual(self.one.call("LK.RELEASE", "a", "alice"), 1)
        self.assertEqual(self.one.call("LK.RELEASE", "a", "alice"), 0)
        self.assertEqual(self.one.call("LK.RELEASE", "a", "alice"), None)
        self.assertGreater(self.one.call("LK.ACQUIRE", "a", "bob", "TTL", 1000)[0], fence)

    def test_fences_of_redis_clients_grow_too(self):
        last = 0
        for i in range(5):
            self.assertEqual(self.one.call("SET", "a", f"t{i}", "NX", "PX", 10000), "OK")
            fence = self.one.call("LK.FENCE", "a")
            self.assertGreater(fence, last)
            last = fence
            self.assertEqual(self.one.call("DELEX", "a", "IFEQ", f"t{i}"), 1)
        self.assertIsNone(self.one.call("LK.FENCE", "a"))

    def test_native_locks_and_those_of_redis_are_the_same(self):
        self.one.call("LK.ACQUIRE", "a", "alice", "TTL", 30000)
        self.assertEqual(self.one.call("GET", "a"), b"alice")
        self.assertIsNone(self.one.call("SET", "a", "bob", "NX", "PX", 1000))
        self.assertIsNone(self.one.call("SET", "a", "alice", "NX", "PX", 1000))
        self.assertTrue(29000 < self.one.call("PTTL", "a") <= 30000)
        self.assertEqual(self.one.call("DELEX", "a", "IFEQ", "alice"), 1)
        self.assertEqual(self.one.call("SET", "a", "bob", "NX", "PX", 30000), "OK")
        self.assertIsNone(self.one.call("LK.ACQUIRE", "a", "alice"))
        self.assertEqual(self.one.call("LK.RELEASE", "a", "bob"), 0)
        self.assertEqual(self.one.call("EXISTS", "a"), 0)

    def test_extending_is_for_owners(self):
        self.one.call("LK.ACQUIRE", "a", "alice", "TTL", 1000)
        self.assertTrue(59000 < self.one.call("LK.EXTEND", "a", "alice", 60000) <= 60000)
        self.assertIsNone(self.one.call("LK.EXTEND", "a", "bob", 60000))
        self.assertIsNone(self.one.call("LK.EXTEND", "b", "alice", 60000))
        self.assertTrue(59000 < self.one.call("PTTL", "a") <= 60000)

    def test_shared_owners_and_an_exclusive_one(self):
        self.one.call("LK.ACQUIRE", "a", "r1", "SHARED", "TTL", 30000)
        self.one.call("LK.ACQUIRE", "a", "r2", "SHARED", "TTL", 30000)
        self.assertIsNone(self.one.call("LK.ACQUIRE", "a", "w", "TTL", 30000))
        upgrade = self.one.call("LK.ACQUIRE", "a", "r1", "TTL", 30000)
        self.assertTrue(upgrade.args[0].startswith("ERR UPGRADE"), upgrade)
        self.assertEqual([h["owner"] for h in map(as_map, self.one.call("LK.HOLDERS", "a"))], [b"r1", b"r2"])
        self.assertEqual(self.one.call("TYPE", "a"), "lock")
        self.one.call("LK.RELEASE", "a", "r1")
        self.one.call("LK.RELEASE", "a", "r2")
        self.assertEqual(self.one.call("LK.ACQUIRE", "a", "w", "TTL", 30000)[2], 1)
        self.assertEqual(self.one.call("LK.ACQUIRE", "a", "w", "SHARED", "TTL", 30000)[2], 1)  # downgrade
        self.assertEqual(self.one.call("LK.ACQUIRE", "a", "r1", "SHARED", "TTL", 30000)[2], 1)

    def test_a_waiting_writer_is_not_overtaken_by_readers(self):
        writer, reader = self.client(), self.client()
        self.one.call("LK.ACQUIRE", "a", "r1", "SHARED", "TTL", 30000)
        writer.send("LK.ACQUIRE", "a", "w", "TTL", 30000, "WAIT", 0)
        self.wait_for_waiters("a", 1)
        self.assertIsNone(self.one.call("LK.ACQUIRE", "a", "r2", "SHARED", "TTL", 30000))
        reader.send("LK.ACQUIRE", "a", "r2", "SHARED", "TTL", 30000, "WAIT", 0)
        self.wait_for_waiters("a", 2)
        self.one.call("LK.RELEASE", "a", "r1")
        first = writer.read()
        self.one.call("LK.RELEASE", "a", "w")
        self.assertGreater(reader.read()[0], first[0])

    def test_a_semaphore_gives_no_more_than_it_has(self):
        for owner in ("a", "b"):
            self.assertEqual(self.one.call("LK.ACQUIRE", "s", owner, "PERMITS", 2, "OF", 5, "TTL", 30000)[2], 1)
        self.assertIsNone(self.one.call("LK.ACQUIRE", "s", "c", "PERMITS", 2, "OF", 5, "TTL", 30000))
        self.assertEqual(self.one.call("LK.ACQUIRE", "s", "c", "PERMITS", 1, "OF", 5, "TTL", 30000)[2], 1)
        waiting = self.client()
        waiting.send("LK.ACQUIRE", "s", "d", "PERMITS", 3, "OF", 5, "TTL", 30000, "WAIT", 0)
        self.wait_for_waiters("s", 1)
        self.assertEqual(self.one.call("LK.RELEASE", "s", "c"), 0)
        self.assertEqual(len(self.waiters("s")), 1)
        self.assertEqual(self.one.call("LK.RELEASE", "s", "a"), 0)
        self.assertEqual(waiting.read()[2], 1)

    def test_several_locks_are_taken_together_or_not_at_all(self):
        keys = [f"k{i}" for i in range(6)]
        fences, ttl = self.one.call("LK.ACQUIREALL", 6, *keys, "me", "TTL", 5000)
        self.assertEqual(len(fences), 6)
        self.assertTrue(0 < ttl <= 5000)
        self.assertEqual(self.one.call("LK.RELEASEALL", 6, *keys, "me"), 6)
        self.one.call("LK.ACQUIRE", "k3", "you", "TTL", 30000)
        self.assertIsNone(self.one.call("LK.ACQUIREALL", 6, *keys, "me", "TTL", 5000))
        self.assertEqual(self.one.call("EXISTS", *keys), 1)
        self.assertEqual(self.one.call("LK.ACQUIREALL", 2, "k1", "k1", "me"), Error("ERR the same key is given twice"))
        self.assertEqual(self.one.call("LK.ACQUIREALL", 0, "k1", "me"), Error("ERR numkeys should be greater than 0"))

    def test_one_of_several_locks_that_is_lost_meanwhile_loses_all(self):
        for options in (), ("TTL", 5000):
            with self.subTest(options):
                first, taker, thief = self.client(), self.client(), self.client()
                self.assertTrue(first.call("LK.ACQUIRE", "b", "Y", "TTL", 60000))
                taker.send("LK.ACQUIREALL", 2, "a", "b", "X", *options, "WAIT", 0)
                self.wait_for_waiters("b", 1)
                self.assertEqual(thief.call("DEL", "a"), 1)
                fence = thief.call("LK.ACQUIRE", "a", "X" if options else "Z", "TTL", 60000)[0]
                self.assertEqual(first.call("LK.RELEASE", "b", "Y"), 0)
                self.assertIsNone(taker.read())
                self.assertEqual(self.one.call("EXISTS", "b"), 0)
                self.assertEqual(self.one.call("LK.FENCE", "a"), fence)
                self.one.call("DEL", "a")

    def test_several_locks_leave_alone_what_their_owner_had_before(self):
        self.one.call("LK.ACQUIRE", "a", "X", "TTL", 60000)
        taker = self.client()
        fences, ttl = taker.call("LK.ACQUIREALL", 2, "a", "b", "X", "TTL", 1000)
        self.assertTrue(0 < ttl <= 1000, ttl)
        self.assertGreater(self.one.call("PTTL", "a"), 55000)
        self.assertEqual(as_map(self.one.call("LK.HOLDERS", "a")[0])["holds"], 2)
        self.assertEqual(self.one.call("LK.RELEASEALL", 2, "a", "b", "X"), 2)
        self.one.call("LK.ACQUIRE", "b", "Y", "TTL", 60000)
        number = taker.call("CLIENT", "ID")
        self.assertIsNone(taker.call("LK.ACQUIREALL", 2, "a", "b", "X", "TTL", 1000))
        self.assertIsNone(taker.call("LK.ACQUIREALL", 2, "a", "b", "X"))
        taker.close()
        until(lambda: b"id=%d " % number not in self.one.call("CLIENT", "LIST"), "the client has left")
        self.assertTrue(50000 < self.one.call("PTTL", "a") <= 60000)
        self.assertEqual(self.one.call("LK.RELEASE", "a", "X"), 0)

    def test_the_time_that_was_told_outlives_another_connection(self):
        for mode in (), ("SHARED",):
            with self.subTest(mode):
                another = self.client()
                self.one.call("LK.ACQUIRE", "a", "X", *mode, "TTL", 60000)
                another.call("LK.ACQUIRE", "a", "X", *mode)
                number = another.call("CLIENT", "ID")
                another.close()
                until(lambda: b"id=%d " % number not in self.one.call("CLIENT", "LIST"), "the client has left")
                until(lambda: 0 < self.one.call("PTTL", "a") <= 60000, "it lives by no connection")
                self.assertGreater(self.one.call("PTTL", "a"), 50000)
                self.one.call("DEL", "a")

    def test_a_poller_of_a_plain_lock_does_not_keep_others_from_a_semaphore(self):
        self.one.call("LK.ACQUIRE", "s", "A", "PERMITS", 1, "OF", 10, "TTL", 60000)
        poller, worker = self.client(), self.client()
        for i in range(8):
            poller.send("SET", "s", "tok", "NX", "PX", 1000)
            owner = f"w{i}"
            self.assertTrue(worker.call("LK.ACQUIRE", "s", owner, "PERMITS", 1, "OF", 10, "TTL", 1000, "WAIT", 1000))
            self.assertEqual(worker.call("LK.RELEASE", "s", owner), 0)
            self.assertIsNone(poller.read())
            time.sleep(0.02)  # as one does that polls

    def test_takers_of_several_locks_never_wait_for_each_other(self):
        done = []

        def work(keys, owner):
            with Client(self.server.port) as client:
                for _ in range(40):
                    answer = client.call("LK.ACQUIREALL", len(keys), *keys, owner, "TTL", 30000, "WAIT", 0)
                    assert len(answer[0]) == len(keys), answer
                    assert client.call("LK.RELEASEALL", len(keys), *keys, owner) == len(keys)
                done.append(owner)

        threads = [threading.Thread(target=work, args=(keys, f"o{i}"))
                   for i, keys in enumerate([["x", "y", "z"], ["z", "y", "x"], ["y", "z"], ["z", "x"]])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(len(done), 4)

    def test_locks_can_be_listed_and_broken(self):
        for i in range(30):
            self.one.call("LK.ACQUIRE", f"list:{i}", "me", "TTL", 30000)
        seen, cursor = set(), b"0"
        while True:
            cursor, rows = self.one.call("LK.LIST", "MATCH", "list:*", "COUNT", 5, "CURSOR", cursor)
            seen |= {as_map(row)["key"] for row in rows}
            if cursor == b"0":
                break
        self.assertEqual(len(seen), 30)
        self.assertEqual(self.one.call("LK.BREAK", "list:1"), 1)
        self.assertEqual(self.one.call("LK.BREAK", "list:1"), 0)
        fence = self.one.call("LK.FENCE", "list:2")
        self.assertIsNone(self.one.call("LK.BREAK", "list:2", "FENCE", fence - 1))
        self.assertEqual(self.one.call("LK.BREAK", "list:2", "fence", fence), 1)
        self.assertEqual(self.one.call("LK.BREAK", "list:2", "FENCE", fence), 0)
        self.assertIn("syntax", str(self.one.call("LK.BREAK", "list:2", "FENCE")))
        self.assertIn("syntax", str(self.one.call("LK.BREAK", "list:2", "TTL", fence)))
        self.assertIn("integer", str(self.one.call("LK.BREAK", "list:2", "FENCE", "x")))
        self.assertIsNone(self.one.call("LK.RELEASE", "list:1", "me"))

    def test_top_shows_what_most_clients_wait_for(self):
        self.one.call("LK.ACQUIRE", "hot", "me", "TTL", 30000)
        for i in range(3):
            self.client().send("LK.ACQUIRE", "hot", f"o{i}", "TTL", 1000, "WAIT", 0)
        self.wait_for_waiters("hot", 3)
        top = as_map(self.one.call("LK.TOP", 1)[0])
        self.assertEqual([top["key"], top["owner"], top["waiters"]], [b"hot", b"me", 3])

    def test_databases_are_separate(self):
        other = self.client()
        other.call("SELECT", 3)
        self.one.call("LK.ACQUIRE", "a", "alice", "TTL", 30000)
        self.assertEqual(other.call("LK.ACQUIRE", "a", "bob", "TTL", 30000)[2], 1)
        self.assertEqual(other.call("LK.RELEASE", "a", "bob"), 0)

    def test_nothing_waits_in_a_transaction(self):
        self.one.call("LK.ACQUIRE", "a", "alice", "TTL", 30000)
        other = self.client()
        other.call("MULTI")
        other.call("LK.ACQUIRE", "a", "bob", "TTL", 1000, "WAIT", 0)
        other.call("LK.ACQUIRE", "b", "bob", "TTL", 1000, "WAIT", 0)
        other.call("LK.RELEASE", "b", "bob")
        replies = other.call("EXEC")
        self.assertEqual([replies[0], replies[1][2], replies[2]], [None, 1, 0])


class OneCoreVerbs(Verbs):
    CORES = 1


class BadInput(Server):
    def test_what_makes_no_sense_is_refused_and_changes_nothing(self):
        acquire = ["LK.ACQUIRE", "a", "alice"]
        invalid = Error("ERR invalid expire time in 'lk.acquire' command")
        cases = [
            (["LK.ACQUIRE", "a"], Error("ERR wrong number of arguments for 'lk.acquire' command")),
            (["LK.RELEASE", "a"], Error("ERR wrong number of arguments for 'lk.release' command")),
            (["LK.EXTEND", "a", "b"], Error("ERR wrong number of arguments for 'lk.extend' command")),
            (acquire + ["TTL", 0], invalid),
            (acquire + ["TTL", -5], invalid),
            (acquire + ["TTL", "9223372036854775808"], NOT_INTEGER),
            (acquire + ["TTL", "x"], NOT_INTEGER),
            (acquire + ["TTL", 600001],
             Error("ERR invalid expire time in 'lk.acquire' command: at most 600000 ms (leases.max_ttl)")),
            (acquire + ["TTL"], SYNTAX),
            (acquire + ["TTL", 5, "TTL", 5], SYNTAX),
            (acquire + ["WAIT", -1], Error("ERR timeout is negative")),
            (acquire + ["WAIT", "1.5"], NOT_INTEGER),
            (acquire + ["EX", 5], SYNTAX),
            (acquire + ["SHARED", "SHARED"], SYNTAX),
            (acquire + ["SHARED", "PERMITS", 1, "OF", 2], SYNTAX),
            (acquire + ["PERMITS", 3, "OF", 2], Error("ERR PERMITS is above OF: that many can never be granted")),
            (acquire + ["PERMITS", 0, "OF", 2], Error("ERR PERMITS and OF must be positive")),
            (acquire + ["PERMITS", 1], SYNTAX),
            (acquire + ["PRIORITY", 5000000], Error("ERR PRIORITY is not between -1000000 and 1000000")),
            (["LK.ACQUIRE", "a", "x" * 1025], Error("ERR OWNERTOOLONG an owner has at most 1024 bytes")),
            (["LK.ACQUIRE", "k" * 8193, "alice"], Error("ERR KEYTOOLONG the name of a lock is longer than limits.key_bytes")),
            (["LK.EXTEND", "a", "alice", 0], Error("ERR invalid expire time in 'lk.extend' command")),
            (["LK.LIST", "COUNT", 0], NOT_INTEGER),
            (["LK.LIST", "FOO", 1], SYNTAX),
            (["LK.TOP", 0], NOT_INTEGER),
        ]
        for command, expected in cases:
            with self.subTest(command=[str(part)[:40] for part in command]):
                self.assertEqual(self.one.call(*command), expected)
                self.assertEqual(self.one.call("DBSIZE"), 0)
        self.assertEqual(self.one.call("LK.ACQUIRE", "k" * 8192, "x" * 1024, "TTL", 600000)[2], 1)

    def test_lock_types_are_not_mixed(self):
        self.one.call("LK.ACQUIRE", "a", "alice", "TTL", 30000)
        self.assertTrue(self.one.call("LK.ACQUIRE", "a", "b", "PERMITS", 1, "OF", 2).args[0].startswith("ERR LOCKTYPE"))
        self.one.call("LK.ACQUIRE", "s", "alice", "PERMITS", 1, "OF", 2, "TTL", 30000)
        self.assertTrue(self.one.call("LK.ACQUIRE", "s", "b").args[0].startswith("ERR LOCKTYPE"))
        self.assertTrue(self.one.call("LK.ACQUIRE", "s", "b", "PERMITS", 1, "OF", 3).args[0].startswith("ERR PERMITS"))
        self.assertTrue(self.one.call("GET", "s").args[0].startswith("WRONGTYPE"))
        self.one.call("RPUSH", "list", "x")
        self.assertTrue(self.one.call("LK.ACQUIRE", "list", "b").args[0].startswith("WRONGTYPE"))


class Waiting(Server):
    def test_waiters_are_served_in_the_order_of_their_arrival(self):
        self.one.call("LK.ACQUIRE", "a", "me", "TTL", 30000)
        waiting = []
        for i in range(60):
            client = self.client()
            client.send("LK.ACQUIRE", "a", f"o{i}", "TTL", 30000, "WAIT", 0)
            waiting.append(client)
            self.wait_for_waiters("a", i + 1)
        self.assertEqual(self.one.call("LK.RELEASE", "a", "me"), 0)
        last = 0
        for i, client in enumerate(waiting):
            fence, _, holds = client.read()
            self.assertGreater(fence, last)
            self.assertEqual(holds, 1)
            self.assertEqual(self.one.call("GET", "a"), b"o%d" % i)
            last = fence
            self.assertEqual(client.call("LK.RELEASE", "a", f"o{i}"), 0)

    def test_priorities_go_first(self):
        self.one.call("LK.ACQUIRE", "a", "me", "TTL", 30000)
        low, high = self.client(), self.client()
        low.send("LK.ACQUIRE", "a", "low", "TTL", 30000, "WAIT", 0)
        self.wait_for_waiters("a", 1)
        high.send("LK.ACQUIRE", "a", "high", "TTL", 30000, "WAIT", 0, "PRIORITY", 5)
        self.wait_for_waiters("a", 2)
        self.one.call("LK.RELEASE", "a", "me")
        self.assertEqual(high.read()[2], 1)
        self.assertEqual(len(self.waiters("a")), 1)

    def test_a_wait_ends_in_time_and_an_expiry_serves_the_next(self):
        self.one.call("LK.ACQUIRE", "a", "me", "TTL", 600)
        short, long = self.client(), self.client()
        short.send("LK.ACQUIRE", "a", "short", "TTL", 1000, "WAIT", 50)
        long.send("LK.ACQUIRE", "a", "long", "TTL", 1000, "WAIT", 20000)
        self.assertIsNone(short.read())
        self.assertEqual(long.read()[2], 1)

    def test_whatever_frees_a_lock_serves_the_next(self):
        ways = [("DEL", "a"), ("UNLINK", "a"), ("PEXPIRE", "a", 0), ("GETDEL", "a"), ("FLUSHALL",), ("LK.BREAK", "a"),
                ("EVAL", 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) '
                         'else return 0 end', 1, "a", "me")]
        for way in ways:
            with self.subTest(way=way[0]):
                self.one.call("DEL", "a")
                self.assertEqual(self.one.call("SET", "a", "me", "NX", "PX", 30000), "OK")
                waiting = self.client()
                waiting.send("LK.ACQUIRE", "a", "next", "TTL", 30000, "WAIT", 0)
                self.wait_for_waiters("a", 1)
                self.one.call(*way)
                self.assertEqual(waiting.read()[2], 1)
                self.one.call("LK.RELEASE", "a", "next")

    def test_a_dead_waiter_costs_the_others_nothing(self):
        self.one.call("LK.ACQUIRE", "a", "me", "TTL", 30000)
        dead, alive = self.client(), self.client()
        dead.send("LK.ACQUIRE", "a", "dead", "TTL", 30000, "WAIT", 0)
        self.wait_for_waiters("a", 1)
        alive.send("LK.ACQUIRE", "a", "alive", "TTL", 30000, "WAIT", 0)
        self.wait_for_waiters("a", 2)
        dead.close()
        self.wait_for_waiters("a", 1)
        self.one.call("LK.RELEASE", "a", "me")
        self.assertEqual(alive.read()[2], 1)

    def test_an_operator_can_end_a_wait(self):
        self.one.call("LK.ACQUIRE", "a", "me", "TTL", 30000)
        for mode, expected in (("TIMEOUT", None), ("ERROR", Error("UNBLOCKED client unblocked via CLIENT UNBLOCK"))):
            waiting = self.client()
            number = waiting.call("CLIENT", "ID")
            waiting.send("LK.ACQUIRE", "a", "next", "TTL", 30000, "WAIT", 0)
            self.wait_for_waiters("a", 1)
            self.assertEqual(self.one.call("CLIENT", "UNBLOCK", number, mode), 1)
            self.assertEqual(waiting.read(), expected)
            self.assertEqual(self.waiters("a"), [])

    def test_commands_behind_a_wait_are_carried_out_after_it(self):
        self.one.call("LK.ACQUIRE", "a", "me", "TTL", 30000)
        waiting = self.client()
        waiting.send("LK.ACQUIRE", "a", "next", "TTL", 30000, "WAIT", 0)
        waiting.send("LK.RELEASE", "a", "next")
        waiting.send("PING")
        self.wait_for_waiters("a", 1)
        self.one.call("LK.RELEASE", "a", "me")
        self.assertEqual([waiting.read()[2], waiting.read(), waiting.read()], [1, 0, "PONG"])

    def test_a_lock_without_a_time_lives_by_its_connection(self):
        holder, waiting = self.client(), self.client()
        self.assertEqual(holder.call("LK.ACQUIRE", "a", "holder")[2], 1)
        waiting.send("LK.ACQUIRE", "a", "next", "TTL", 30000, "WAIT", 0)
        self.wait_for_waiters("a", 1)
        holder.close()
        self.assertEqual(waiting.read()[2], 1)

    def test_a_promise_outlives_the_connection(self):
        holder = self.client()
        holder.call("LK.ACQUIRE", "a", "holder", "TTL", 30000)
        holder.call("SET", "b", "holder", "NX", "PX", 30000)
        number = holder.call("CLIENT", "ID")
        holder.close()
        until(lambda: b"id=%d " % number not in self.one.call("CLIENT", "LIST"), "the client has left")
        self.assertIsNone(self.one.call("LK.ACQUIRE", "a", "next", "TTL", 1000))
        self.assertIsNone(self.one.call("SET", "b", "next", "NX", "PX", 1000))

    def test_who_never_heard_that_it_won_wins_when_it_asks_again(self):
        """As after a time-out: the client has closed its socket before there was an answer."""
        with Lockkeeper(cores=2) as server, Client(server.port) as other:
            first = Client(server.port)
            number = first.call("CLIENT", "ID")
            server.signal(signal.SIGSTOP)
            first.send("SET", "asked twice", "token", "NX", "PX", 30000)
            first.close()
            server.signal(signal.SIGCONT)
            until(lambda: b"id=%d " % number not in other.call("CLIENT", "LIST"), "the client has left")
            self.assertIsNone(other.call("SET", "asked twice", "other", "NX", "PX", 30000))

            def tries():
                with Client(server.port) as again:
                    return again.call("SET", "asked twice", "token", "NX", "PX", 30000)

            until(lambda: tries() == "OK", "it is known to have left")
            self.assertIsNone(tries())

    def test_who_resets_its_connection_when_it_leaves_has_won_once(self):
        """Some libraries close every connection so; their answer was there."""
        for name in "one", "two":
            with self.subTest(name):
                first = self.client()
                number = first.call("CLIENT", "ID")
                self.assertEqual(first.call("SET", name, "token", "NX", "PX", 30000), "OK")
                first.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                time.sleep(0.1)  # a delayed acknowledgement takes 40 ms
                first.close()
                until(lambda: b"id=%d " % number not in self.one.call("CLIENT", "LIST"), "the client has left")
                time.sleep(0.3)  # longer than an answer is waited for to be acknowledged
                self.assertIsNone(self.client().call("SET", name, "token", "NX", "PX", 30000))

    def test_a_lost_lock_is_told(self):
        loser, listener = self.client(resp3=True), self.client()
        listener.call("SUBSCRIBE", "lockkeeper:lost")
        fence = loser.call("LK.ACQUIRE", "a", "loser", "TTL", 300)[0]
        self.assertEqual(loser.read(), [b"lk.lost", b"a", b"loser", fence])
        while listener.read() != [b"message", b"lockkeeper:lost", b"a loser %d" % fence]:
            pass  # of locks that ended with the test before
        fence = loser.call("LK.ACQUIRE", "b", "loser", "TTL", 30000)[0]
        self.one.call("LK.BREAK", "b")
        self.assertEqual(loser.read(), [b"lk.lost", b"b", b"loser", fence])

    def test_waiters_go_when_the_server_stops(self):
        with Lockkeeper() as server:
            with Client(server.port) as holder:
                holder.call("LK.ACQUIRE", "a", "me", "TTL", 30000)
                waiting = [Client(server.port) for _ in range(200)]
                for i, client in enumerate(waiting):
                    client.send("LK.ACQUIRE", "a", f"o{i}", "TTL", 1000, "WAIT", 0)
                until(lambda: len(holder.call("LK.WAITERS", "a")) == 200, "200 waiters")
                server.signal(15)
                self.assertEqual(server.wait(), 0)
                for client in waiting:
                    client.close()


class OneCoreWaiting(Waiting):
    CORES = 1


class Policies(Server):
    CONFIG = """
policies:
  - keys: 'park:*'
    pollers: park
    park: 10s
  - keys: 'reserve:*'
    pollers: reserve
  - keys: 'delay:*'
    lock_delay: 300ms
  - keys: 'renew:*'
    renew: true
  - keys: 'few:*'
    max_waiters: 2
  - keys: 'dead:*'
    deadlocks: refuse
  - keys: 'hold:*'
    max_hold: 1s
"""

    def test_a_parked_try_gets_the_lock_at_its_release(self):
        self.assertEqual(self.one.call("SET", "park:a", "me", "NX", "PX", 30000), "OK")
        waiting = self.client()
        waiting.send("SET", "park:a", "next", "NX", "PX", 30000)
        self.wait_for_waiters("park:a", 1)
        self.assertEqual(self.one.call("DEL", "park:a"), 1)
        self.assertEqual(waiting.read(), "OK")
        self.assertEqual(self.one.call("GET", "park:a"), b"next")

    def test_the_next_byte_ends_a_parked_try(self):
        self.one.call("SET", "park:a", "me", "NX", "PX", 30000)
        waiting = self.client()
        waiting.send("SET", "park:a", "next", "NX", "PX", 30000)
        self.wait_for_waiters("park:a", 1)
        waiting.send("PING")
        self.assertEqual([waiting.read(), waiting.read()], [None, "PONG"])
        self.assertEqual(self.waiters("park:a"), [])

    def test_a_holder_that_tries_again_is_refused_at_once(self):
        self.one.call("SET", "park:a", "me", "NX", "PX", 30000)
        self.assertIsNone(self.client().call("SET", "park:a", "me", "NX", "PX", 30000))
        self.assertEqual(self.waiters("park:a"), [])

    def test_a_pipeline_is_not_parked(self):
        self.one.call("SET", "park:a", "me", "NX", "PX", 30000)
        other = self.client()
        other.send_bytes(b"SET park:a next NX PX 1000\r\nPING\r\n")
        self.assertEqual([other.read(), other.read()], [None, "PONG"])

    def test_an_unclean_end_delays_the_next(self):
        self.one.call("SET", "delay:a", "me", "NX", "PX", 100)
        waiting = self.client()
        waiting.send("LK.ACQUIRE", "delay:a", "next", "TTL", 30000, "WAIT", 0)
        until(lambda: self.one.call("EXISTS", "delay:a") == 0, "it has expired")
        self.assertIsNone(self.one.call("SET", "delay:a", "other", "NX", "PX", 1000))
        self.assertEqual(waiting.read()[2], 1)

    def test_a_policy_renews_while_the_client_is_there(self):
        holder = self.client()
        self.assertEqual(holder.call("SET", "renew:a", "me", "NX", "PX", 200), "OK")
        number = holder.call("CLIENT", "ID")
        time.sleep(0.5)  # longer than its TTL: that is the point
        self.assertEqual(self.one.call("GET", "renew:a"), b"me")
        holder.close()
        until(lambda: b"id=%d " % number not in self.one.call("CLIENT", "LIST"), "the client has left")
        until(lambda: self.one.call("EXISTS", "renew:a") == 0, "its lock ends with its TTL")

    def test_a_renewed_lock_ends_with_its_client_however_it_was_taken(self):
        holder = self.client()
        holder.call("MULTI")
        holder.call("SET", "renew:b", "me", "NX", "PX", 200)
        self.assertEqual(holder.call("EXEC"), ["OK"])
        holder.close()
        until(lambda: self.one.call("EXISTS", "renew:b") == 0, "its lock ends with its TTL")

    def test_a_lock_is_held_no_longer_than_max_hold(self):
        holder = self.client(resp3=True)
        fence, ttl, _ = holder.call("LK.ACQUIRE", "hold:a", "me")
        self.assertTrue(0 < ttl <= 1000)
        self.assertEqual(holder.read(), [b"lk.lost", b"hold:a", b"me", fence])

    def test_a_queue_has_a_bound(self):
        self.one.call("LK.ACQUIRE", "few:a", "me", "TTL", 30000)
        for i in range(2):
            self.client().send("LK.ACQUIRE", "few:a", f"o{i}", "TTL", 1000, "WAIT", 0)
            self.wait_for_waiters("few:a", i + 1)
        refused = self.one.call("LK.ACQUIRE", "few:a", "o3", "TTL", 1000, "WAIT", 0)
        self.assertTrue(refused.args[0].startswith("ERR TOOMANYWAITERS"), refused)
        self.assertEqual(len(self.waiters("few:a")), 2)

    def test_a_deadlock_is_shown(self):
        self.make_circle("circle:a", "circle:b")
        until(lambda: all(w["deadlock"] == 1 for key in ("circle:a", "circle:b") for w in self.waiters(key)),
              "both waits are marked")
        until(lambda: "wait for each other" in self.server.output(), "a line in the log")

    def test_a_policy_refuses_the_wait_that_closes_a_circle(self):
        first, second = self.make_circle("dead:a", "dead:b")
        refused = second.read()
        self.assertTrue(refused.args[0].startswith("ERR DEADLOCK"), refused)
        self.assertEqual(second.call("LK.RELEASE", "dead:b", "second"), 0)
        self.assertEqual(first.read()[2], 1)

    def make_circle(self, a, b):
        first, second = self.client(), self.client()
        first.call("LK.ACQUIRE", a, "first", "TTL", 60000)
        second.call("LK.ACQUIRE", b, "second", "TTL", 60000)
        first.send("LK.ACQUIRE", b, "first", "TTL", 60000, "WAIT", 0)
        self.wait_for_waiters(b, 1)
        second.send("LK.ACQUIRE", a, "second", "TTL", 60000, "WAIT", 0)
        return first, second

    def test_a_reserved_lock_goes_to_the_poller_that_came_first(self):
        self.one.call("SET", "reserve:a", "me", "NX", "PX", 60000)
        first, second = self.client(), self.client()
        for _ in range(3):  # both are known, and how often they ask
            self.assertIsNone(first.call("SET", "reserve:a", "first", "NX", "PX", 60000))
            self.assertIsNone(second.call("SET", "reserve:a", "second", "NX", "PX", 60000))
            time.sleep(0.2)
        self.one.call("DEL", "reserve:a")
        self.assertIsNone(second.call("SET", "reserve:a", "second", "NX", "PX", 60000))
        self.assertEqual(first.call("SET", "reserve:a", "first", "NX", "PX", 60000), "OK")


@unittest.skipIf(ON_FLEET, "about locks in memory")
class Restart(unittest.TestCase):
    def test_fences_grow_over_restarts(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            config = f"embedded: {{state: '{folder}'}}\n"
            last = 0
            for _ in range(3):
                with Lockkeeper(config=config) as server, Client(server.port) as client:
                    for i in range(5):
                        fence = client.call("LK.ACQUIRE", f"a{i}", "me", "TTL", 1000)[0]
                        self.assertGreater(fence, last)
                    last = max(last, fence)

    def test_nothing_is_granted_too_soon_after_a_start(self):
        with Lockkeeper(config="embedded: {start_delay: 1s}\n") as server, Client(server.port) as client:
            refused = client.call("LK.ACQUIRE", "a", "me", "TTL", 1000)
            self.assertTrue(refused.args[0].startswith("ERR STARTING"), refused)
            self.assertEqual(client.call("LK.ACQUIRE", "a", "me", "TTL", 1000, "WAIT", 20000)[2], 1)


if __name__ == "__main__":
    main()
