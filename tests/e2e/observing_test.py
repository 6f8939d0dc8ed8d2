"""LK.SLOWLOG, SLOWLOG and LK.LINT: what was slow, who was in whose way, and habits that somebody should talk about."""

import time
import unittest

from support import PATIENCE, Client, Error, Lockkeeper, encode, main

RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'


class WithServer(unittest.TestCase):
    config = "slow: {wait: 20ms, hold: 20ms, entries: 8}\n"

    def setUp(self):
        self.server = self.enterContext(Lockkeeper(config=self.config))

    def client(self, name=None):
        client = self.enterContext(Client(self.server.port))
        client.call("HELLO", 3)
        if name:
            client.call("CLIENT", "SETNAME", name)
        return client

    def wait_until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)


class SlowLog(WithServer):
    def make_a_slow_wait(self):
        holder, waiter, looker = self.client("holder"), self.client("waiter"), self.client()
        holder.call("LK.ACQUIRE", "k", "h-token", "TTL", 60000)
        waiter.send("LK.ACQUIRE", "k", "w-token", "TTL", 60000, "WAIT", 0)
        self.wait_until(lambda: any(one[b"waited"] > 25 for one in looker.call("LK.WAITERS", "k")))
        holder.call("LK.RELEASE", "k", "h-token")
        waiter.read()
        return looker, holder, waiter

    def test_a_long_wait_tells_who_held_the_lock(self):
        looker, _, _ = self.make_a_slow_wait()
        rows = looker.call("LK.SLOWLOG", "GET")
        (wait,) = [row for row in rows if row[b"kind"] == b"wait"]
        self.assertEqual((wait[b"key"], wait[b"owner"], wait[b"client"], wait[b"end"]),
                         (b"k", b"w-token", b"waiter", b"granted"))
        self.assertEqual((wait[b"blocked-by"], wait[b"blocked-by-client"]), (b"h-token", b"holder"))
        self.assertGreater(wait[b"us"], 20000)
        self.assertGreaterEqual(wait[b"blocked-by-us"], wait[b"us"])
        self.assertLess(abs(wait[b"time"] / 1000 - time.time()), 60)
        (hold,) = [row for row in rows if row[b"kind"] == b"hold"]
        self.assertEqual((hold[b"owner"], hold[b"end"], hold[b"blocked"], hold[b"blocked-client"], hold[b"in-line"]),
                         (b"h-token", b"released", b"w-token", b"waiter", 1))

    def test_it_is_told_in_the_form_of_redis_too(self):
        looker, _, _ = self.make_a_slow_wait()
        rows = looker.call("SLOWLOG", "GET", -1)
        self.assertEqual(len(rows), 2)
        wait = next(row for row in rows if row[3][0] == b"WAIT")
        self.assertIsInstance(wait[0], int)
        self.assertLess(abs(wait[1] - time.time()), 60)
        self.assertGreater(wait[2], 20000)
        self.assertEqual(wait[3], [b"WAIT", b"k", b"w-token", b"granted", b"BLOCKED-BY", b"h-token"])
        self.assertRegex(wait[4], rb"^127\.0\.0\.1:\d+$")
        self.assertEqual(wait[5], b"waiter")

    def test_a_wait_in_vain_tells_who_has_the_lock(self):
        holder, waiter = self.client("holder"), self.client("waiter")
        holder.call("LK.ACQUIRE", "k", "h-token", "TTL", 60000)
        self.assertIsNone(waiter.call("LK.ACQUIRE", "k", "w-token", "TTL", 60000, "WAIT", 30))
        (wait,) = waiter.call("LK.SLOWLOG", "GET")
        self.assertEqual((wait[b"end"], wait[b"blocked-by"]), (b"timed_out", b"h-token"))

    def test_it_is_counted_cut_and_forgotten(self):
        client = self.client()
        for _ in range(30):
            client.call("SET", "k", "x", "NX", "PX", 25)
            self.wait_until(lambda: client.call("EXISTS", "k") == 0)
        self.assertTrue(8 <= client.call("SLOWLOG", "LEN") <= 16)  # 8 on a core
        self.assertEqual(client.call("LK.SLOWLOG", "LEN"), client.call("SLOWLOG", "LEN"))
        rows = client.call("LK.SLOWLOG", "GET", 3)
        self.assertEqual([row[b"end"] for row in rows], [b"expired"] * 3)
        self.assertEqual(sorted({row[b"id"] for row in rows}, reverse=True), [row[b"id"] for row in rows])
        self.assertEqual(client.call("SLOWLOG", "RESET"), "OK")
        self.assertEqual(client.call("SLOWLOG", "LEN"), 0)
        self.assertEqual(client.call("SLOWLOG", "GET"), [])

    def test_mistakes_are_said_as_redis_says_them(self):
        client = self.client()
        self.assertEqual(client.call("SLOWLOG", "GET", -2), Error("ERR count should be greater than or equal to -1"))
        self.assertEqual(client.call("SLOWLOG", "NOSUCH"), Error("ERR unknown subcommand 'NOSUCH'. Try SLOWLOG HELP."))
        self.assertIsInstance(client.call("SLOWLOG"), Error)

    def test_what_is_quick_is_not_written_down(self):
        with Lockkeeper(config="slow: {wait: 1h, hold: 1h}\n") as server, Client(server.port) as client:
            client.call("SET", "k", "x", "NX", "PX", 60000)
            client.call("DEL", "k")
            self.assertEqual(client.call("SLOWLOG", "GET"), [])


class Lint(WithServer):
    def lint(self, client):
        return {row[b"habit"]: row for row in client.call("LK.LINT")}

    def test_each_habit_is_seen_with_keys_client_and_advice(self):
        bad, other = self.client("billing"), self.client("cron")
        bad.call("SET", "order:4711:pay", "t", "NX")
        other.call("DEL", "order:4711:pay")
        bad.call("SET", "order:4712:pay", "t", "NX", "PX", 60000)
        bad.call("DEL", "order:4712:pay")
        bad.call("EVAL", RELEASE, 1, "order:4713:pay", "t")
        other.call("SET", "busy", "x", "NX", "PX", 60000)
        bad.send_bytes(encode("SET", "busy", "y", "NX", "PX", 60000))
        bad.read()
        end = time.monotonic() + PATIENCE
        while b"retry-storm" not in self.lint(other) and time.monotonic() < end:
            bad.send_bytes(encode("SET", "busy", "y", "NX", "PX", 60000) * 50)
            for _ in range(50):
                bad.read()
        seen = self.lint(other)
        self.assertEqual(set(seen), {b"no-ttl", b"foreign-delete", b"blind-delete", b"late-release", b"retry-storm"})
        for habit, keys, client in ((b"no-ttl", b"order:*:pay", b"billing"), (b"foreign-delete", b"order:*:pay", b"cron"),
                                    (b"blind-delete", b"order:*:pay", b"billing"),
                                    (b"late-release", b"order:*:pay", b"billing"), (b"retry-storm", b"busy", b"billing")):
            with self.subTest(habit):
                row = seen[habit]
                self.assertEqual((row[b"keys"], row[b"client"]), (keys, client))
                self.assertGreaterEqual(row[b"count"], 1)
                self.assertGreater(len(row[b"advice"]), 40)
        self.assertEqual(seen[b"no-ttl"][b"example"], b"order:4711:pay")
        self.assertEqual(other.call("LK.LINT", "RESET"), "OK")
        self.assertEqual(other.call("LK.LINT"), [])
        self.assertIsInstance(other.call("LK.LINT", "NOSUCH"), Error)

    def test_a_client_that_does_it_right_is_not_named(self):
        client = self.client("good")
        for i in range(20):
            client.call("SET", f"k{i}", "t", "NX", "PX", 60000)
            client.call("EVAL", RELEASE, 1, f"k{i}", "t")
            client.call("LK.ACQUIRE", f"n{i}", "t")
            client.call("LK.RELEASE", f"n{i}", "t")
        self.assertEqual(client.call("LK.LINT"), [])


if __name__ == "__main__":
    main()
