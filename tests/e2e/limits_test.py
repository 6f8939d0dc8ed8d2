"""Limits: one below, at, and one beyond. And clients that mean no good, or do not know better."""

import re
import socket
import time
import unittest

from support import PATIENCE, Client, Error, Lockkeeper, encode, main

LIMIT = 16 * 1024  # of query_bytes and output_bytes in these tests: the least that can be configured


def fields(line):
    return dict(pair.split("=", 1) for pair in line.split(" "))


def listed(port, number):
    """What CLIENT LIST says about a client; None if it has gone."""
    with Client(port) as client:
        text = client.call("CLIENT", "LIST", "ID", number).decode()
    return fields(text.rstrip("\n")) if text else None


def wait_for(port, number, field, value):
    while listed(port, number)[field] != str(value):
        pass


class OneCommand(unittest.TestCase):
    """What a command may be. The connection ends, for what follows cannot be understood."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(cores=1))

    def answer(self, data):
        with Client(self.server.port) as client:
            try:
                client.send_bytes(data)
                client.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has closed while we were still talking
            return client.read_all()

    def test_arguments(self):
        for count in (1023, 1024):
            self.assertEqual(self.answer(encode("EXISTS", *["k"] * (count - 1))), b":0\r\n")
        self.assertEqual(self.answer(encode("EXISTS", *["k"] * 1024)),
                         b"-ERR Protocol error: invalid multibulk length\r\n")

    def test_bytes_of_an_argument(self):
        for size in (65535, 65536):
            self.assertEqual(self.answer(encode("STRLEN", "none") + encode("ECHO", "x" * size)),
                             b":0\r\n" + b"$%d\r\n%s\r\n" % (size, b"x" * size))
        self.assertEqual(self.answer(b"*2\r\n$4\r\nECHO\r\n$65537\r\n"), b"-ERR Protocol error: invalid bulk length\r\n")

    def test_bytes_of_a_line(self):
        for size in (65535, 65536):  # nothing to say before its end
            self.assertEqual(self.answer(b"x" * size), b"")
            self.assertEqual(self.answer(b"*" + b"1" * (size - 1)), b"")
            self.assertEqual(self.answer(b"*1\r\n$" + b"1" * (size - 1)), b"")
        self.assertEqual(self.answer(b"x" * 65537), b"-ERR Protocol error: too big inline request\r\n")
        self.assertEqual(self.answer(b"*" + b"1" * 65537), b"-ERR Protocol error: too big mbulk count string\r\n")
        self.assertEqual(self.answer(b"*1\r\n$" + b"1" * 65537), b"-ERR Protocol error: too big bulk count string\r\n")

    def test_bytes_of_a_key(self):
        with Client(self.server.port) as client:
            for size in (8191, 8192):
                self.assertEqual(client.call("SET", "k" * size, "v", "NX", "PX", 30000), "OK")
                self.assertEqual(client.call("GET", "k" * size), b"v")
            self.assertEqual(client.call("SET", "k" * 8193, "v", "NX", "PX", 30000),
                             Error("ERR KEYTOOLONG the name of a lock is longer than limits.key_bytes"))
            self.assertEqual(client.call("PING"), "PONG")


class WhatIsKept(unittest.TestCase):
    """What the table of locks may hold. The command is refused, the connection goes on, nothing is half done."""

    def test_keys(self):
        refused = Error("ERR TOOMANYLOCKS this core holds as many lock keys as it may")
        with Lockkeeper(cores=1, config="limits: {locks: 3}") as server, Client(server.port) as client:
            for key in "abc":  # one below, and at the limit
                self.assertEqual(client.call("SET", key, "v", "NX", "PX", 100_000), "OK")
            for command in (["SET", "d", "v"], ["SETNX", "d", "v"], ["RPUSH", "d", "v"]):
                self.assertEqual(client.call(*command), refused)
            self.assertEqual(client.call("DBSIZE"), 3)
            self.assertEqual(client.call("SET", "a", "w"), "OK", "this one is there already")
            self.assertEqual(client.call("DEL", "b"), 1)
            self.assertEqual(client.call("SETNX", "d", "v"), 1)
            self.assertEqual(client.call("SETNX", "e", "v"), refused)

    def test_elements_of_a_key(self):
        refused = Error("ERR TOOMANYMEMBERS this key has as many fields or elements as it may")
        with Lockkeeper(cores=1) as server, Client(server.port) as client:
            for size in (1_000, 2_000, 2_040):
                self.assertEqual(client.call("RPUSH", "list", *["x"] * (size - (client.call("LLEN", "list")))), size)
            self.assertEqual(client.call("RPUSH", "list", *["x"] * 9), refused)
            self.assertEqual(client.call("RPUSH", "list", *["x"] * 7), 2_047)
            self.assertEqual(client.call("RPUSH", "list", "x", "x"), refused)
            self.assertEqual(client.call("LLEN", "list"), 2_047, "all or nothing")
            self.assertEqual(client.call("RPUSH", "list", "x"), 2_048)
            self.assertEqual(client.call("RPUSH", "list", "x"), refused)
            self.assertEqual(client.call("LPOP", "list"), b"x")
            self.assertEqual(client.call("RPUSH", "list", "x"), 2_048)


class BetweenCommands(unittest.TestCase):
    """What may lie around in the server on behalf of a connection."""

    def start(self, limits, **more):
        return self.enterContext(Lockkeeper(cores=1, config=f"limits: {{{limits}}}", **more))

    def test_an_incomplete_command(self):
        server = self.start(f"query_bytes: {LIMIT // 1024}KiB, argument_bytes: {LIMIT // 1024}KiB")
        for size in (LIMIT - 1, LIMIT):
            command = encode("ECHO", "x" * (size - len(b"*2\r\n$4\r\nECHO\r\n$16384\r\n")))
            self.assertEqual(len(command), size + 2)
            with Client(server.port) as client:
                number = client.call("CLIENT", "ID")
                client.send_bytes(command[:-2])
                wait_for(server.port, number, "qbuf", size)
                client.send_bytes(command[-2:])
                self.assertEqual(len(client.read()), size - 22)
        with Client(server.port) as client:
            client.send_bytes(encode("EXISTS", "x" * 9_000, "y" * 9_000)[:LIMIT + 1])
            self.assertEqual(client.read_all(), b"")

    def test_a_transaction_before_its_exec(self):
        server = self.start(f"query_bytes: {LIMIT // 1024}KiB, argument_bytes: {LIMIT // 1024}KiB")
        around = 128 + 2 * 8 + len("ECHO")
        for size in (LIMIT - 1, LIMIT):
            with Client(server.port) as client:
                number = client.call("CLIENT", "ID")
                client.call("MULTI")
                self.assertEqual(client.call("ECHO", "x" * (size - around)), "QUEUED")
                self.assertEqual(listed(server.port, number)["multi-mem"], str(size))
                self.assertEqual(client.call("EXEC"), [b"x" * (size - around)])
        with Client(server.port) as client:
            client.call("MULTI")
            client.send("ECHO", "x" * (LIMIT + 1 - around))
            self.assertEqual(client.read_all(), b"")

    def test_replies_of_a_transaction(self):
        server = self.start(f"output_bytes: {LIMIT // 1024}KiB")

        def run(size):
            client = self.enterContext(Client(server.port))
            around = len(b"*2\r\n$16384\r\n\r\n")
            client.call("MULTI")
            client.call("ECHO", "x" * (size - around))
            client.call("SET", "done", size)
            client.send("EXEC")
            return client, size - around

        for size in (LIMIT - 1, LIMIT):
            client, length = run(size - len(b"+OK\r\n"))
            self.assertEqual(client.read(), [b"x" * length, "OK"])
        client, _ = run(LIMIT + 1)
        self.assertEqual(client.read_all(), b"")
        # It was carried out in full, for a transaction is one step.
        with Client(server.port) as other:
            self.assertEqual(other.call("GET", "done"), b"%d" % (LIMIT + 1))

    def test_messages(self):
        server = self.start(f"output_bytes: {LIMIT // 1024}KiB")

        def publish(size):
            """To itself in a transaction: so many bytes are there at once, the head of EXEC's reply included."""
            client = self.enterContext(Client(server.port))
            client.call("HELLO", 3)
            client.call("SUBSCRIBE", "c")
            around = len(b"*1\r\n" + b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$16384\r\n\r\n")
            client.call("MULTI")
            client.call("PUBLISH", "c", "x" * (size - around))
            client.send("EXEC")
            return client, size - around

        for size in (LIMIT - 1, LIMIT):
            client, length = publish(size)
            self.assertEqual(client.read(), [1])
            self.assertEqual(client.read(), [b"message", b"c", b"x" * length])
            client.call("UNSUBSCRIBE", "c")
        client, _ = publish(LIMIT + 1)
        self.assertEqual(client.read_all(), b"")

    def test_subscriptions(self):
        server = self.start("subscriptions: 5")
        with Client(server.port) as client:
            client.call("HELLO", 3)
            client.send("SUBSCRIBE", "a", "b", "c")
            self.assertEqual([client.read()[2] for _ in range(3)], [1, 2, 3])
            self.assertEqual(client.call("PSUBSCRIBE", "p*")[2], 4)
            refused = Error("ERR TOOMANYSUBSCRIPTIONS this connection listens to as many channels as it may")
            self.assertEqual(client.call("SSUBSCRIBE", "s", "t"), refused)
            self.assertEqual(client.call("SSUBSCRIBE", "s")[2], 1)
            self.assertEqual(client.call("SUBSCRIBE", "d"), refused)
            self.assertEqual(client.call("SUBSCRIBE", "a")[2], 4, "this one is there already")
            client.call("UNSUBSCRIBE", "a")
            self.assertEqual(client.call("SUBSCRIBE", "d")[2], 4)

    def test_watched_keys(self):
        server = self.start("watched_keys: 3")
        with Client(server.port) as client:
            self.assertEqual(client.call("WATCH", "a", "b"), "OK")
            self.assertEqual(client.call("WATCH", "c", "a"), "OK")
            self.assertEqual(client.call("WATCH", "d"),
                             Error("ERR TOOMANYWATCHED this connection watches as many keys as it may"))
            client.call("UNWATCH")
            self.assertEqual(client.call("WATCH", "d"), "OK")

    def test_commands_under_way(self):
        for limit in (1, 2, 3):
            server = self.enterContext(Lockkeeper(cores=2, config=f"limits: {{pipelined_commands: {limit}}}"))
            with Client(server.port) as client:
                count = 200
                client.send_bytes(b"".join(encode("SET", f"k{i}", i) + encode("GET", f"k{i}") for i in range(count)))
                self.assertEqual([client.read() for _ in range(2 * count)],
                                 [reply for i in range(count) for reply in ("OK", b"%d" % i)])


class Time(unittest.TestCase):
    def test_a_first_command_must_come_to_its_end(self):
        with Lockkeeper(cores=1, config="limits: {handshake: 300ms}") as server, Client(server.port) as silent, \
                Client(server.port) as late, Client(server.port) as slow, Client(server.port) as encrypted:
            self.assertEqual(late.call("PING"), "PONG")
            late.send_bytes(b"*1\r\n$4\r\nPI")
            encrypted.send_bytes(bytes.fromhex("16030100") + b"\xff" + bytes(100))  # how TLS begins
            slow.send_bytes(b"*1\r\n$4\r\n")
            self.assertEqual(slow.read_all(), b"")
            self.assertEqual(encrypted.read_all(), b"")
            self.assertEqual(silent.call("PING"), "PONG", "who has not begun is not late")
            late.send_bytes(b"NG\r\n")
            self.assertEqual(late.read(), "PONG", "only the first command counts")

    def test_hundreds_that_send_byte_by_byte_hurt_nobody(self):
        with Lockkeeper(cores=1, config="limits: {handshake: 500ms}") as server, Client(server.port) as other:
            slow = [self.enterContext(Client(server.port)) for _ in range(300)]
            whole = encode("SET", "key", "value")
            for byte in whole[:20]:
                for client in slow:
                    try:
                        client.send_bytes(bytes([byte]))
                    except OSError:
                        pass  # it is over
                self.assertEqual(other.call("PING"), "PONG")
            for client in slow:
                self.assertEqual(client.read_all(), b"")

    def test_silent_connections_are_closed_and_those_that_wait_or_listen_are_not(self):
        with Lockkeeper(cores=1, config="limits: {idle: 300ms}") as server, Client(server.port) as idle, \
                Client(server.port) as waiting, Client(server.port) as listening:
            listening.call("SUBSCRIBE", "news")
            waiting.send("BLPOP", "list", 0)
            idle.call("PING")
            self.assertEqual(idle.read_all(), b"")
            with Client(server.port) as other:
                other.call("RPUSH", "list", "x")
                self.assertEqual(waiting.read(), [b"list", b"x"])
                other.call("PUBLISH", "news", "m")
                self.assertEqual(listening.read(), [b"message", b"news", b"m"])

    def test_one_that_does_not_read_its_replies_is_closed(self):
        limits = "{output_slow: 300ms, output_slow_bytes: 64KiB, output_bytes: 1MiB}"
        with Lockkeeper(cores=1, config=f"limits: {limits}") as server, Client(server.port) as greedy:
            number = greedy.call("CLIENT", "ID")
            try:
                greedy.flood(encode("ECHO", b"x" * 60_000), 256 * 1024 * 1024, pause=60)
            except ConnectionError:
                pass  # cut while we were still sending
            while listed(server.port, number):
                pass
            end = time.monotonic() + PATIENCE
            while "does not read its replies" not in (output := server.output()):
                self.assertLess(time.monotonic(), end, output)
                time.sleep(0.05)

    def test_a_little_may_lie_unread_for_long(self):
        limits = "{output_slow: 100ms, output_slow_bytes: 1GiB, idle: 500ms}"
        with Lockkeeper(cores=1, config=f"limits: {limits}") as server, Client(server.port) as greedy:
            number = greedy.call("CLIENT", "ID")
            greedy.flood(encode("ECHO", b"x" * 60_000), 256 * 1024 * 1024)
            with Client(server.port) as idle:
                self.assertEqual(idle.read_all(), b"")  # so the others have been looked at, many times
            self.assertGreater(int(listed(server.port, number)["omem"]), 0)


class Hostile(unittest.TestCase):
    def test_a_claimed_size_takes_no_memory(self):
        config = "limits: {argument_bytes: 512MiB, query_bytes: 1GiB, arguments: 1048576}"
        with Lockkeeper(cores=1, memory="128M", config=config) as server, Client(server.port) as other:
            def used():
                return int(re.search(rb"used_memory:(\d+)", other.call("INFO", "memory")).group(1))

            clients = [self.enterContext(Client(server.port)) for _ in range(400)]
            for client in clients:
                self.assertEqual(client.call("PING"), "PONG")
            before = used()
            for client in clients[::2]:
                client.send_bytes(b"*2\r\n$4\r\nECHO\r\n$536870912\r\n")
            for client in clients[1::2]:
                client.send_bytes(b"*1048576\r\n$4\r\nECHO\r\n$536870912\r\nabc")
            # Until all of it has arrived.
            while len(re.findall(rb"qbuf=[1-9]", other.call("CLIENT", "LIST"))) < len(clients):
                pass
            self.assertLess(used() - before, 400 * 16 * 1024)

    def test_http_is_told_of_once_a_minute(self):
        with Lockkeeper(cores=1) as server:
            for _ in range(20):
                with Client(server.port) as client:
                    client.send_bytes(b"POST / HTTP/1.1\r\nHost: here\r\n\r\n")
                    self.assertEqual(client.read_all(), b"")
            self.assertEqual(server.output().count("speaks HTTP"), 1)

    def test_without_memory_new_locks_are_refused_and_the_rest_works(self):
        full = Error("OOM command not allowed when used memory > 'maxmemory'.")
        release = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end'
        for cores in (1, 2):
            with Lockkeeper(cores=cores, memory=f"{64 * cores}M") as server, Client(server.port) as client:
                value, count = "x" * 60_000, 0
                self.assertEqual(client.call("SET", "mine", "token", "PX", 600_000), "OK")
                while (reply := client.call("SET", f"k{count}", value)) == "OK":
                    count += 1
                self.assertEqual(reply, full)
                self.assertEqual(client.call("MULTI"), "OK")
                self.assertEqual(client.call("GET", "mine"), "QUEUED")
                self.assertEqual(client.call("EXEC"), [b"token"])
                self.assertEqual(client.call("PEXPIRE", "mine", 500_000), 1)
                self.assertEqual(client.call("EVAL", release, 1, "mine", "token"), 1)
                self.assertEqual(client.call("PING"), "PONG")
                self.assertEqual(client.call("DEL", *[f"k{i}" for i in range(min(count, 500))]), min(count, 500))
                self.assertEqual(client.call("SET", "k0", value), "OK")


if __name__ == "__main__":
    main()
