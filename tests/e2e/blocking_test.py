"""BLPOP and BRPOP: first come, first served; nothing is lost and nobody waits on when its client has gone."""

import socket
import threading
import unittest

from support import Client, Error, Lockkeeper, Redis, encode, main

# Lists that are of both cores, whatever the seed of the hash is (but for one time in 2^11).
LISTS = [f"list:{i}" for i in range(12)]


class Blocking(unittest.TestCase):
    cores = 2

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(cores=cls.cores))

    def setUp(self):
        self.control = self.client()
        self.control.call("FLUSHALL")
        self.wait_for_blocked(0)

    def client(self):
        return self.enterContext(Client(self.server.port))

    def blocked(self):
        lines = self.control.call("INFO", "clients").decode().split("\r\n")
        return int(next(line for line in lines if line.startswith("blocked_clients:")).split(":")[1])

    def wait_for_blocked(self, count):
        while self.blocked() != count:
            pass

    def block(self, *arguments):
        """A new client that waits already."""
        before = self.blocked()
        client = self.client()
        client.send(*arguments)
        self.wait_for_blocked(before + 1)
        return client

    def test_an_element_that_is_there_is_taken_at_once(self):
        for name in LISTS:
            self.control.call("RPUSH", name, "a", "b", "c")
            self.assertEqual(self.control.call("BLPOP", name, 0), [name.encode(), b"a"])
            self.assertEqual(self.control.call("BRPOP", name, 0), [name.encode(), b"c"])

    def test_first_come_first_served(self):
        waiters = [self.block("BLPOP", "queue", 0) for _ in range(20)]
        for number in range(20):
            self.control.call("RPUSH", "queue", number)
        for number, waiter in enumerate(waiters):
            self.assertEqual(waiter.read(), [b"queue", b"%d" % number])
        self.assertEqual(self.control.call("LLEN", "queue"), 0)

    def test_one_push_of_several_serves_several(self):
        waiters = [self.block("BLPOP", "queue", 0) for _ in range(3)]
        self.assertEqual(self.control.call("RPUSH", "queue", "a", "b", "c", "d"), 4)
        self.assertEqual([waiter.read()[1] for waiter in waiters], [b"a", b"b", b"c"])
        self.assertEqual(self.control.call("LLEN", "queue"), 1)

    def test_each_takes_from_its_own_end(self):
        left, right = self.block("BLPOP", "queue", 0), self.block("BRPOP", "queue", 0)
        self.control.call("RPUSH", "queue", "a", "b", "c")
        self.assertEqual((left.read()[1], right.read()[1]), (b"a", b"c"))

    def test_the_keys_are_looked_at_in_their_order(self):
        for name in LISTS:
            self.control.call("RPUSH", name, "x")
        for name in LISTS:
            self.assertEqual(self.control.call("BLPOP", "none", *LISTS, 0), [name.encode(), b"x"])

    def test_one_of_several_lists_is_enough(self):
        for name in LISTS:
            waiter = self.block("BLPOP", *LISTS, 0)
            self.assertEqual(self.control.call("RPUSH", name, "x"), 1)
            self.assertEqual(waiter.read(), [name.encode(), b"x"])
            self.wait_for_blocked(0)
            self.assertEqual(self.control.call("EXISTS", *LISTS), 0)
            # It stands in no queue any more: elements stay.
            for other in LISTS:
                self.control.call("RPUSH", other, "y")
            self.assertEqual(self.control.call("DEL", *LISTS), len(LISTS))

    def test_time_runs_out(self):
        self.assertIsNone(self.control.call("BLPOP", "none", "0.05"))
        self.assertIsNone(self.control.call("BRPOP", *LISTS, "0.05"))
        self.assertEqual(self.control.call("RPUSH", LISTS[0], "x"), 1)
        self.assertEqual(self.control.call("LLEN", LISTS[0]), 1, "nobody waits any more")

    def test_a_key_of_another_kind_that_comes_meanwhile_is_no_element(self):
        waiter = self.block("BLPOP", "k", 0)
        self.control.call("SET", "k", "v")
        self.assertEqual(self.blocked(), 1)
        self.control.call("DEL", "k")
        self.control.call("RPUSH", "k", "x")
        self.assertEqual(waiter.read(), [b"k", b"x"])

    def test_databases_are_separate(self):
        waiter = self.block("BLPOP", "k", 0)
        other = self.client()
        other.call("SELECT", 1)
        other.call("RPUSH", "k", "other")
        self.assertEqual(other.call("LLEN", "k"), 1)
        self.control.call("RPUSH", "k", "mine")
        self.assertEqual(waiter.read(), [b"k", b"mine"])

    def test_client_unblock(self):
        for name in (["none"], LISTS):
            for how, expected in ((["TIMEOUT"], None), ([], None),
                                  (["ERROR"], Error("UNBLOCKED client unblocked via CLIENT UNBLOCK"))):
                waiter = self.client()
                number = waiter.call("CLIENT", "ID")
                self.assertEqual(self.control.call("CLIENT", "UNBLOCK", number, *how), 0)
                waiter.send("BLPOP", *name, 0)
                self.wait_for_blocked(1)
                self.assertEqual(self.control.call("CLIENT", "UNBLOCK", number, *how), 1)
                self.assertEqual(waiter.read(), expected)
                self.assertEqual(waiter.call("PING"), "PONG")
                self.assertEqual(self.control.call("CLIENT", "UNBLOCK", number, *how), 0)

    def test_who_hangs_up_takes_no_element(self):
        for leave in (lambda client: client.close(), lambda client: client.socket.shutdown(socket.SHUT_WR)):
            for names in (["queue"], LISTS + ["queue"]):
                leaving = self.block("BLPOP", *names, 0)
                staying = self.block("BLPOP", "queue", 0)
                leave(leaving)
                self.wait_for_blocked(1)
                self.control.call("RPUSH", "queue", "x")
                self.assertEqual(staying.read(), [b"queue", b"x"])
                self.wait_for_blocked(0)

    def test_who_half_closes_while_it_waits_is_done(self):
        """As in Redis: the connection is closed, and what stood behind the pop is not executed."""
        waiter = self.block("BLPOP", "none", 0)
        waiter.send("SET", "must not be", "there")
        waiter.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(waiter.read_all(), b"")
        self.assertEqual(self.control.call("EXISTS", "must not be"), 0)

    def test_a_half_closed_client_gets_an_element_that_is_there(self):
        for name in LISTS:
            self.control.call("RPUSH", name, "x")
            client = self.client()
            client.send_bytes(encode("PING") + encode("BLPOP", "none", name, 0) + encode("PING"))
            client.socket.shutdown(socket.SHUT_WR)
            size = len(name)
            self.assertEqual(client.read_all(), b"+PONG\r\n*2\r\n$%d\r\n%s\r\n$1\r\nx\r\n+PONG\r\n" % (size, name.encode()))

    def test_no_element_is_lost_or_given_twice_while_clients_come_and_go(self):
        count, got, lock = 600, [], threading.Lock()

        def pop():
            while True:
                with Client(self.server.port) as client:
                    for turn in range(5):
                        client.send("BLPOP", *LISTS, 0)
                        _, value = client.read()
                        if value == b"stop":
                            return
                        with lock:
                            got.append(int(value))

        poppers = [threading.Thread(target=pop) for _ in range(4)]
        for popper in poppers:
            popper.start()
        for number in range(count):
            self.control.call("RPUSH", LISTS[number % len(LISTS)], number)
        while True:
            with lock:
                if len(got) >= count:
                    break
        for _ in poppers:
            self.control.call("RPUSH", LISTS[0], "stop")
        for popper in poppers:
            popper.join()
        self.assertEqual(sorted(got), list(range(count)))
        self.assertEqual(self.control.call("EXISTS", *LISTS), 0)

    def test_many_that_leave_leave_nothing_behind(self):
        for _ in range(5):
            waiters = [self.block("BLPOP", *LISTS[: 1 + i % 5], 0) for i in range(20)]
            for waiter in waiters:
                waiter.close()
            self.wait_for_blocked(0)
        for name in LISTS:
            self.control.call("RPUSH", name, "x")
        self.assertEqual(self.control.call("EXISTS", *LISTS), len(LISTS))

    def test_inside_a_transaction_it_does_not_wait(self):
        for command in (("BLPOP", "none", 0), ("BRPOP", *LISTS, 0)):
            self.control.call("MULTI")
            self.control.call(*command)
            self.control.call("RPUSH", "k", "a", "b")
            self.control.call("BLPOP", "none", "k", 0)
            self.assertEqual(self.control.call("EXEC"), [None, 2, [b"k", b"a"]])
            self.control.call("DEL", "k")

    def test_a_transaction_serves_waiters_when_it_is_done(self):
        waiter = self.block("BLPOP", "k", 0)
        for command in (("MULTI",), ("RPUSH", "k", "a"), ("RPUSH", "k", "b"), ("LPOP", "k"), ("LLEN", "k")):
            self.control.call(*command)
        self.assertEqual(self.control.call("EXEC"), [1, 2, b"a", 1])
        self.assertEqual(waiter.read(), [b"k", b"b"])

    def test_replies_before_it_do_not_wait_for_it(self):
        client = self.client()
        client.send_bytes(encode("PING") + encode("SET", "k", "v") + encode("BLPOP", "list", 0) + encode("PING"))
        self.assertEqual([client.read(), client.read()], ["PONG", "OK"])
        self.control.call("RPUSH", "list", "x")
        self.assertEqual([client.read(), client.read()], [[b"list", b"x"], "PONG"])

    def test_killing_a_blocked_client(self):
        waiter = self.client()
        number = waiter.call("CLIENT", "ID")
        waiter.send("BLPOP", *LISTS, 0)
        self.wait_for_blocked(1)
        self.assertEqual(self.control.call("CLIENT", "KILL", "ID", number), 1)
        self.assertEqual(waiter.read_all(), b"")
        self.wait_for_blocked(0)

    def test_shutting_down_does_not_wait_for_the_blocked(self):
        with Lockkeeper(cores=self.cores) as server, Client(server.port) as waiter:
            waiter.send_bytes(encode("PING") + encode("BLPOP", *LISTS, 0))
            self.assertEqual(waiter.read(), "PONG")
            server.signal(15)
            self.assertEqual(server.wait(), 0)

    def test_the_idiom_of_python_redis_lock(self):
        """A waiter blocks on the signal list; the release pushes one signal, which wakes one waiter."""
        self.control.call("SET", "lock:n", "holder", "EX", 100, "NX")
        waiters = [self.block("BLPOP", "lock-signal:n", 0) for _ in range(3)]
        for _ in range(3):
            for command in (("MULTI",), ("DEL", "lock-signal:n"), ("LPUSH", "lock-signal:n", 1),
                            ("PEXPIRE", "lock-signal:n", 1000), ("DEL", "lock:n"), ("EXEC",)):
                last = self.control.call(*command)
            self.assertEqual(last[1:3], [1, 1])
            woken = waiters.pop(0)
            self.assertEqual(woken.read(), [b"lock-signal:n", b"1"])
            self.assertEqual(woken.call("SET", "lock:n", "next", "EX", 100, "NX"), "OK")
            self.assertEqual(self.blocked(), len(waiters))


class BlockingOnOneCore(Blocking):
    cores = 1


class SameAsRedis(unittest.TestCase):
    def test_mistakes(self):
        lines = ["BLPOP", "BLPOP k", "BLPOP k abc", "BLPOP k -1", "BLPOP k -0.5", "BRPOP k 1x", "BLPOP k 0.01",
                 "BLPOP a b c 0.01", "BLPOP k 1e-2", "BRPOP k +0.01", "BLPOP k .01"]
        with Redis() as redis, Lockkeeper(cores=2) as server, Client(redis.port) as theirs, Client(server.port) as ours:
            for line in lines:
                with self.subTest(line):
                    self.assertEqual(ours.call(*line.split()), theirs.call(*line.split()))


if __name__ == "__main__":
    main()
