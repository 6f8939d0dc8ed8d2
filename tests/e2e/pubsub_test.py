"""Channels and patterns: who is told what, on whichever core; and that messages never get into a reply."""

import threading
import unittest

from support import Client, Error, Lockkeeper, Redis, encode, main

FORBIDDEN = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"

# name -> commands of one connection and how many replies each brings; compared with a real redis-server.
SEQUENCES = {
    "subscribe": [("SUBSCRIBE a b a", 3), ("UNSUBSCRIBE b nobody", 2), ("UNSUBSCRIBE", 1), ("UNSUBSCRIBE", 1), ("PING", 1)],
    "psubscribe": [("PSUBSCRIBE a* b?", 2), ("SUBSCRIBE a", 1), ("PUNSUBSCRIBE a*", 1), ("PUNSUBSCRIBE", 1), ("UNSUBSCRIBE", 1)],
    "ssubscribe": [("SSUBSCRIBE s t", 2), ("SUBSCRIBE a", 1), ("SUNSUBSCRIBE s", 1), ("SUNSUBSCRIBE", 1), ("UNSUBSCRIBE", 1),
                   ("SUNSUBSCRIBE", 1)],
    "what a listener may say": [("SUBSCRIBE a", 1), ("PING", 1), ("PING hi", 1), ("GET k", 1), ("SET k v", 1),
                                ("PUBLISH other x", 1), ("MULTI", 1), ("ECHO x", 1), ("NOSUCH", 1), ("GET", 1),
                                ("UNSUBSCRIBE", 1), ("GET k", 1), ("SUBSCRIBE a", 1), ("RESET", 1), ("GET k", 1)],
    "a listener of patterns or shards": [("PSUBSCRIBE a", 1), ("GET k", 1), ("PUNSUBSCRIBE", 1), ("GET k", 1),
                                         ("SSUBSCRIBE a", 1), ("GET k", 1), ("SUNSUBSCRIBE", 1), ("GET k", 1)],
    "a wrong number of arguments": [("SUBSCRIBE", 1), ("PSUBSCRIBE", 1), ("SSUBSCRIBE", 1), ("PUBLISH a", 1),
                                    ("SPUBLISH a", 1), ("PUBLISH a b c", 1), ("PUBSUB", 1)],
    "nobody listens": [("PUBLISH a x", 1), ("SPUBLISH a x", 1), ("PUBSUB CHANNELS", 1), ("PUBSUB NUMSUB", 1),
                       ("PUBSUB NUMSUB a b", 1), ("PUBSUB NUMPAT", 1), ("PUBSUB SHARDCHANNELS", 1),
                       ("PUBSUB SHARDNUMSUB a", 1), ("PUBSUB NOSUCH", 1), ("PUBSUB NUMPAT x", 1)],
    "leave within a listener": [("SUBSCRIBE a", 1), ("QUIT", 1)],
}


def run(port, version, steps):
    with Client(port) as client:
        client.call("HELLO", version)
        replies = []
        for line, count in steps:
            client.send(*line.split())
            replies.append([client.read() for _ in range(count)])
        return replies


class SameAsRedis(unittest.TestCase):
    def test_every_sequence_is_answered_as_redis_does(self):
        with Redis() as redis, Lockkeeper(cores=1) as one, Lockkeeper(cores=2) as two:
            for name, steps in SEQUENCES.items():
                for version in (2, 3):
                    expected = run(redis.port, version, steps)
                    for server, cores in ((one, 1), (two, 2)):
                        with self.subTest(name, version=version, cores=cores):
                            self.assertEqual(run(server.port, version, steps), expected)

    def test_confirmations_and_messages_are_the_same_bytes(self):
        answers = {}
        with Redis() as redis, Lockkeeper(cores=2) as server:
            for version in (2, 3):
                for port in (redis.port, server.port):
                    with Client(port) as listener, Client(port) as speaker:
                        listener.call("HELLO", version)
                        listener.send_bytes(encode("SUBSCRIBE", "ch") + encode("PSUBSCRIBE", "c*") + encode("SSUBSCRIBE", "sh"))
                        for _ in range(3):
                            listener.read()
                        self.assertEqual(speaker.call("PUBLISH", "ch", "\r\nm"), 2)
                        self.assertEqual(speaker.call("SPUBLISH", "sh", ""), 1)
                        listener.send("QUIT")
                        answers.setdefault(version, []).append(listener.read_all())
        for version, (theirs, ours) in answers.items():
            self.assertEqual(ours, theirs, version)


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(cores=2))

    def client(self, version=2):
        client = self.enterContext(Client(self.server.port))
        client.call("HELLO", version)
        return client

    def test_clients_of_all_cores_hear_each_other(self):
        clients = [self.client() for _ in range(16)]
        for client in clients:
            self.assertEqual(client.call("SUBSCRIBE", "all"), [b"subscribe", b"all", 1])
        speakers = [self.client() for _ in range(8)]
        for number, speaker in enumerate(speakers):
            self.assertEqual(speaker.call("PUBLISH", "all", number), len(clients))
        for client in clients:
            heard = [client.read() for _ in speakers]
            self.assertEqual(heard, [[b"message", b"all", b"%d" % i] for i in range(len(speakers))])

    def test_messages_of_one_speaker_come_in_order(self):
        listener, speaker = self.client(), self.client()
        listener.call("SUBSCRIBE", "order")
        count = 5000
        speaker.send_bytes(b"".join(encode("PUBLISH", "order", i) for i in range(count)))
        self.assertEqual([int(listener.read()[2]) for _ in range(count)], list(range(count)))
        self.assertEqual({speaker.read() for _ in range(count)}, {1})

    def test_a_channel_and_a_pattern_tell_the_same_message_twice(self):
        listener, speaker = self.client(), self.client()
        listener.call("SUBSCRIBE", "news")
        listener.call("PSUBSCRIBE", "n*")
        self.assertEqual(speaker.call("PUBLISH", "news", "x"), 2)
        heard = [listener.read(), listener.read()]
        self.assertCountEqual(heard, [[b"message", b"news", b"x"], [b"pmessage", b"n*", b"news", b"x"]])
        self.assertEqual(speaker.call("SPUBLISH", "news", "x"), 0, "channels of shards are a space of their own")

    def test_who_has_left_is_not_counted(self):
        listener, speaker = Client(self.server.port), self.client()
        listener.call("SUBSCRIBE", "left")
        self.assertEqual(speaker.call("PUBLISH", "left", "x"), 1)
        listener.close()
        while speaker.call("PUBSUB", "NUMSUB", "left") != [b"left", 0]:
            pass
        self.assertEqual(speaker.call("PUBLISH", "left", "x"), 0)
        self.assertNotIn(b"left", speaker.call("PUBSUB", "CHANNELS"))

    def test_pubsub_tells_about_all_cores(self):
        listeners = [self.client() for _ in range(8)]
        for number, listener in enumerate(listeners):
            listener.call("SUBSCRIBE", "shared")
            listener.call("SUBSCRIBE", f"own:{number}")
            listener.call("PSUBSCRIBE", f"pattern:{number % 2}")
            listener.call("SSUBSCRIBE", "shard")
        asker = self.client()
        self.assertEqual(sorted(asker.call("PUBSUB", "CHANNELS", "own:*")), [b"own:%d" % i for i in range(8)])
        self.assertEqual(asker.call("PUBSUB", "NUMSUB", "shared", "own:3", "none"), [b"shared", 8, b"own:3", 1, b"none", 0])
        self.assertEqual(asker.call("PUBSUB", "NUMPAT"), 2)
        self.assertEqual(asker.call("PUBSUB", "SHARDCHANNELS"), [b"shard"])
        self.assertEqual(asker.call("PUBSUB", "SHARDNUMSUB", "shard", "shared"), [b"shard", 8, b"shared", 0])

    def test_resp2_listeners_are_restricted_and_resp3_ones_are_not(self):
        two, three = self.client(2), self.client(3)
        for client in (two, three):
            client.call("SUBSCRIBE", "ch")
        refusal = two.call("GET", "k")
        self.assertEqual(refusal, Error(f"ERR Can't execute 'get': {FORBIDDEN}"))
        self.assertIsNone(three.call("GET", "k"))
        self.assertEqual(two.call("PING"), [b"pong", b""])
        self.assertEqual(three.call("PING"), "PONG")

    def test_pushes_come_between_replies_and_never_within(self):
        """A RESP3 client works on keys of both cores in pipelines and transactions while messages rain on it."""
        worker, done, told = self.client(3), threading.Event(), []
        clouds = threading.Semaphore(0)  # so that it rains as fast as the worker works, or it would be cut
        worker.call("SUBSCRIBE", "rain")
        worker.call("PSUBSCRIBE", "ra*")

        def rain():
            with Client(self.server.port) as speaker:
                while clouds.acquire() and not done.is_set():
                    speaker.send_bytes(b"".join(encode("PUBLISH", "rain", i) for i in range(50)))
                    told.append(sum(speaker.read() for _ in range(50)))

        speakers = [threading.Thread(target=rain) for _ in range(2)]
        for speaker in speakers:
            speaker.start()
        heard = 0

        def reply():
            nonlocal heard
            while True:
                value = worker.read()
                if isinstance(value, list) and value and value[0] in (b"message", b"pmessage"):
                    self.assertEqual(value[-2], b"rain")
                    heard += 1
                else:
                    return value

        try:
            for turn in range(150):
                clouds.release(2)
                keys = [f"key:{turn % 5}:{i}" for i in range(20)]
                worker.send_bytes(
                    b"".join(encode("SET", key, f"{turn}") + encode("GET", key) for key in keys) + encode("MULTI") +
                    b"".join(encode("GET", key) for key in keys) + encode("EXEC") + encode("EXISTS", *keys) +
                    encode("DEL", *keys) + encode("BLPOP", "no list", "0.001"))
                for _ in keys:
                    self.assertEqual([reply(), reply()], ["OK", b"%d" % turn])
                self.assertEqual([reply() for _ in range(len(keys) + 1)], ["OK"] + ["QUEUED"] * len(keys))
                self.assertEqual(reply(), [b"%d" % turn] * len(keys))
                self.assertEqual([reply(), reply(), reply()], [len(keys), len(keys), None])
        finally:
            done.set()
            clouds.release(2)
            for speaker in speakers:
                speaker.join()
        worker.send("UNSUBSCRIBE")
        worker.send("PUNSUBSCRIBE")
        left = 2
        while left:
            value = worker.read()
            heard += value[0] in (b"message", b"pmessage")
            left -= value[0] in (b"unsubscribe", b"punsubscribe")
        self.assertEqual(heard, sum(told))

    def test_a_blocked_resp3_client_hears_messages_while_it_waits(self):
        waiter, speaker = self.client(3), self.client()
        waiter.call("SUBSCRIBE", "ch")
        waiter.send("BLPOP", "list", 0)
        speaker.call("PUBLISH", "ch", "now")
        self.assertEqual(waiter.read(), [b"message", b"ch", b"now"])
        speaker.call("RPUSH", "list", "x")
        self.assertEqual(waiter.read(), [b"list", b"x"])

    def test_reset_ends_all_subscriptions(self):
        listener, speaker = self.client(3), self.client()
        listener.call("SUBSCRIBE", "reset me")
        self.assertEqual(listener.call("RESET"), "RESET")
        self.assertEqual(speaker.call("PUBLISH", "reset me", "x"), 0)
        self.assertEqual(listener.call("PING"), "PONG")


class SlowListeners(unittest.TestCase):
    def test_one_that_does_not_read_is_cut_and_the_others_are_not(self):
        with Lockkeeper(cores=2, config="limits: {output_bytes: 256KiB}") as server:
            with Client(server.port) as slow, Client(server.port) as good, Client(server.port) as speaker:
                slow.call("SUBSCRIBE", "ch")
                good.call("SUBSCRIBE", "ch")
                payload = b"x" * 50_000
                sent, listeners = 0, 2
                while listeners == 2:
                    listeners = speaker.call("PUBLISH", "ch", payload)
                    sent += 1
                    self.assertEqual(good.read()[2], payload)
                    self.assertLess(sent, 20_000, "it is never cut")
                self.assertEqual(speaker.call("PUBLISH", "ch", payload), 1)
                self.assertEqual(good.read()[2], payload)
                # What it had not read is lost to it: its connection is over.
                self.assertLess(len(slow.read_all()), sent * len(payload))


if __name__ == "__main__":
    main()
