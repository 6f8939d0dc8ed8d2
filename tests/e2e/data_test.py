"""An upstream for data: what is a lock is ours, everything else behaves as on the real redis-server behind us."""

import threading
import unittest

from support import Client, Error, Lockkeeper, Redis, encode, main


def in_front_of(redis, **options):
    return Lockkeeper(config=f"data: redis://127.0.0.1:{redis.port}/0\nlocks: ['lock:*']\n", **options)


class Data(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = cls.enterClassContext(Redis())
        cls.server = cls.enterClassContext(in_front_of(cls.redis))

    def setUp(self):
        self.direct = self.enterContext(Client(self.redis.port))
        self.direct.call("FLUSHALL")
        self.client = self.enterContext(Client(self.server.port))

    def test_data_goes_to_the_upstream_and_locks_do_not(self):
        self.assertEqual(self.client.call("SET", "user:1", "ann"), "OK")
        self.assertEqual(self.client.call("SET", "lock:1", "me", "NX", "PX", 30000), "OK")
        self.assertEqual(self.direct.call("GET", "user:1"), b"ann")
        self.assertIsNone(self.direct.call("GET", "lock:1"))
        self.assertEqual(self.client.call("GET", "lock:1"), b"me")
        self.assertEqual(self.client.call("DEL", "lock:1"), 1)

    def test_commands_that_only_redis_knows_work(self):
        self.assertEqual(self.client.call("ZADD", "scores", 1.5, "a", 2, "b"), 2)
        self.assertEqual(self.client.call("ZRANGE", "scores", 0, -1, "WITHSCORES"), [b"a", b"1.5", b"b", b"2"])
        self.assertEqual(self.client.call("HELLO", 3)[b"proto"], 3)
        self.assertEqual(self.client.call("ZRANGE", "scores", 0, -1, "WITHSCORES"), [[b"a", 1.5], [b"b", 2.0]])
        self.assertEqual(self.client.call("HSET", "h", "f", "v"), 1)
        self.assertEqual(self.client.call("HGETALL", "h"), {b"f": b"v"})
        self.assertIsInstance(self.client.call("NOSUCHCOMMAND"), Error)
        self.assertEqual(self.client.call("EVAL", "return {KEYS[1], ARGV[1]}", 1, "k", "v"), [b"k", b"v"])

    def test_a_pipeline_of_both_keeps_its_order(self):
        commands, expected = [], []
        for i in range(300):
            commands += [encode("SET", "lock:p", i, "PX", 30000), encode("SET", "p", i), encode("GET", "lock:p"),
                         encode("GET", "p"), encode("DEL", "lock:p")]
            expected += ["OK", "OK", b"%d" % i, b"%d" % i, 1]
        self.client.send_bytes(b"".join(commands))
        self.assertEqual([self.client.read() for _ in expected], expected)

    def test_keys_of_both_in_one_command_are_refused(self):
        refusal = Error("ERR keys of locks and of data cannot be mixed in one command")
        self.assertEqual(self.client.call("DEL", "lock:a", "a"), refusal)
        self.assertEqual(self.client.call("MULTI"), "OK")
        self.assertEqual(self.client.call("DEL", "lock:a", "a"), refusal)
        self.assertIsInstance(self.client.call("EXEC"), Error)

    def test_transactions_on_data_run_upstream(self):
        self.client.call("MULTI")
        self.assertEqual(self.client.call("LPUSH", "list", "x"), "QUEUED")
        self.assertEqual(self.client.call("RPOPLPUSH", "list", "other"), "QUEUED")
        self.assertEqual(self.client.call("EXEC"), [1, b"x"])
        self.assertEqual(self.client.call("WATCH", "balance"), "OK")
        self.direct.call("SET", "balance", 7)
        self.client.call("MULTI")
        self.client.call("SET", "balance", 1)
        self.assertIsNone(self.client.call("EXEC"))
        self.assertEqual(self.direct.call("GET", "balance"), b"7")

    def test_transactions_on_locks_run_here_and_mixed_ones_are_refused(self):
        self.client.call("SET", "lock:t", "me")
        self.client.call("WATCH", "lock:t")
        self.client.call("MULTI")
        self.client.call("DEL", "lock:t")
        self.assertEqual(self.client.call("EXEC"), [1])
        self.client.call("MULTI")
        self.client.call("SET", "lock:t", "me")
        self.client.call("SET", "data", 1)
        self.assertEqual(self.client.call("EXEC"),
                         Error("EXECABORT Transaction discarded because it mixes locks and data."))
        self.assertEqual(self.client.call("EXISTS", "lock:t"), 0)
        self.assertEqual(self.direct.call("EXISTS", "data"), 0)

    def test_unwatch_and_discard_reach_the_upstream(self):
        for end in ("UNWATCH", "DISCARD"):
            self.client.call("WATCH", "k")
            if end == "DISCARD":
                self.client.call("MULTI")
            self.assertEqual(self.client.call(end), "OK")
            self.direct.call("INCR", "k")
            self.client.call("MULTI")
            self.client.call("INCR", "k")
            self.assertEqual(len(self.client.call("EXEC")), 1)

    def test_databases_are_those_of_the_upstream(self):
        self.client.call("SELECT", 3)
        self.client.call("SET", "k", "three")
        self.direct.call("SELECT", 3)
        self.assertEqual(self.direct.call("GET", "k"), b"three")
        self.client.call("SELECT", 0)
        self.assertIsNone(self.client.call("GET", "k"))

    def test_blocking_calls_block_upstream_and_wake(self):
        woken = []
        waiting = threading.Thread(target=lambda: woken.append(self.client.call("BLPOP", "jobs", 0)))
        waiting.start()
        while b"blocked_clients:1" not in self.direct.call("INFO", "clients"):
            pass
        self.direct.call("LPUSH", "jobs", "one")
        waiting.join()
        self.assertEqual(woken, [[b"jobs", b"one"]])

    def test_a_client_that_leaves_while_blocked_upstream_is_gone_there_too(self):
        leaving = Client(self.server.port)
        leaving.send("BLPOP", "jobs", 0)
        while b"blocked_clients:1" not in self.direct.call("INFO", "clients"):
            pass
        leaving.close()
        while b"blocked_clients:0" not in self.direct.call("INFO", "clients"):
            pass

    def test_messages_of_the_upstream_and_of_locks_are_both_heard(self):
        for version in (2, 3):
            with self.subTest(version=version), Client(self.server.port) as listener:
                listener.call("HELLO", version)
                self.assertEqual(listener.call("SUBSCRIBE", "news"), [b"subscribe", b"news", 1])
                while self.direct.call("PUBSUB", "NUMSUB", "news") != [b"news", 1]:
                    pass
                self.assertEqual(self.client.call("PUBLISH", "news", "hello"), 1)
                self.assertEqual(listener.read(), [b"message", b"news", b"hello"])
                self.assertEqual(listener.call("UNSUBSCRIBE", "news"), [b"unsubscribe", b"news", 0])
                self.assertEqual(listener.call("SET", "after", version), "OK")
                while self.direct.call("PUBSUB", "NUMSUB", "news") != [b"news", 0]:
                    pass

    def test_a_value_of_many_megabytes_comes_through(self):
        self.direct.call("SET", "large", b"x" * (8 << 20))
        self.assertEqual(len(self.client.call("GET", "large")), 8 << 20)

    def test_replies_off_mutes_the_upstream_too(self):
        self.client.send_bytes(encode("CLIENT", "REPLY", "OFF") + encode("SET", "a", 1) + encode("GET", "a")
                               + encode("CLIENT", "REPLY", "ON"))
        self.assertEqual(self.client.read(), "OK")
        self.assertEqual(self.client.call("GET", "a"), b"1")


class Trouble(unittest.TestCase):
    def test_an_upstream_that_is_not_there_is_named_and_locks_go_on(self):
        with Redis() as redis, in_front_of(redis) as server, Client(server.port) as client:
            self.assertEqual(client.call("SET", "k", "v"), "OK")
            redis.kill_process()
            self.assertIsInstance(client.call("GET", "k"), Error)
            reply = client.call("GET", "k")
            self.assertIn(f"ERR upstream redis://127.0.0.1:{redis.port}/0: ", reply.args[0])
            self.assertEqual(client.call("SET", "lock:x", "me", "NX", "PX", 30000), "OK")
            with Redis(port=redis.port):
                self.assertEqual(client.call("SET", "k", "again"), "OK")
                self.assertEqual(client.call("GET", "k"), b"again")

    def test_a_subscriber_is_closed_when_the_upstream_goes(self):
        with Redis() as redis, in_front_of(redis) as server, Client(server.port) as client:
            client.call("SUBSCRIBE", "news")
            with Client(redis.port) as direct:
                while direct.call("PUBSUB", "NUMSUB", "news") != [b"news", 1]:
                    pass
            redis.kill_process()
            self.assertEqual(client.read_all(), b"")

    def test_a_wrong_password_is_told_by_its_refusal_and_never_shown(self):
        with Redis("--requirepass", "right") as redis, Lockkeeper(
                config=f"data: redis://:wrongsecret@127.0.0.1:{redis.port}\nlocks: ['lock:*']\n") as server:
            with Client(server.port) as client:
                reply = client.call("GET", "k").args[0]
                self.assertIn("WRONGPASS", reply)
                self.assertNotIn("wrongsecret", reply + server.output())

    def test_the_right_password_is_used(self):
        with Redis("--requirepass", "right") as redis, Lockkeeper(
                config=f"data: redis://:right@127.0.0.1:{redis.port}/2\nlocks: ['lock:*']\n") as server:
            with Client(server.port) as client, Client(redis.port) as direct:
                self.assertEqual(client.call("SET", "k", "v"), "OK")
                direct.call("AUTH", "right")
                direct.call("SELECT", 2)
                self.assertEqual(direct.call("GET", "k"), b"v")

    def test_it_stops_cleanly_with_clients_blocked_upstream(self):
        with Redis() as redis, in_front_of(redis) as server, Client(redis.port) as direct:
            clients = [Client(server.port) for _ in range(20)]
            for client in clients:
                client.send("BLPOP", "jobs", 0)
            while b"blocked_clients:20" not in direct.call("INFO", "clients"):
                pass
            for client in clients:
                client.close()


if __name__ == "__main__":
    main()
