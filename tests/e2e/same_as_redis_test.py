"""The same bytes to a real redis-server and to Lockkeeper: the same answers and the same end of the connection."""

import socket
import unittest

from support import Client, Lockkeeper, Redis, encode, main

LONG = b"x" * 70_000

# name -> bytes sent. The client then half-closes, so that both servers answer and close in their own way.
SAME = {
    "ping": encode("PING"),
    "ping in mixed case": encode("pInG"),
    "ping with a message": encode("PING", "hi"),
    "ping with too many": encode("PING", "a", "b"),
    "echo": encode("ECHO", "hello"),
    "echo without argument": encode("ECHO"),
    "echo of the empty string": encode("ECHO", ""),
    "inline": b"PING\r\n",
    "inline, LF only": b"PING\n",
    "inline with blanks": b"   PING    hi   \r\n",
    "inline with quotes": b'ECHO "a b\\x41\\n"\r\n',
    "inline with single quotes": b"ECHO 'it\\'s'\r\n",
    "inline with unbalanced quotes": b'ECHO "abc\r\n',
    "inline with text after a quote": b'ECHO "a"b\r\n',
    "empty lines": b"\r\n\r\n" + encode("PING"),
    "no arguments": b"*0\r\n" + encode("PING"),
    "minus one arguments": b"*-1\r\n" + encode("PING"),
    "count that is no number": b"*abc\r\n",
    "count with a plus": b"*+1\r\n",
    "count with a zero before it": b"*01\r\n",
    "count too large": b"*2147483648\r\n",
    "bulk of minus one": b"*1\r\n$-1\r\n",
    "bulk that is no number": b"*1\r\n$blabla\r\n",
    "bulk too large": b"*1\r\n$536870913\r\n",
    "argument that is no bulk": b"*1\r\n:1\r\n",
    "argument that is a word": b"*1\r\nfoo\r\n",
    "inline too long": LONG,
    "count line too long": b"*" + b"1" * 70_000,
    "bulk line too long": b"*1\r\n$" + b"1" * 70_000,
    "good, good, bad": encode("PING") + encode("ECHO", "x") + b"*x\r\n",
    "cut in the middle": encode("PING") + b"*2\r\n$4\r\nECHO\r\n$10\r\nabc",
    "unknown command": encode("NOSUCH"),
    "unknown command with arguments": encode("NOSUCH", "a", "b c", ""),
    "unknown command of 300 letters": encode("N" * 300, "a"),
    "unknown command with long arguments": encode("NOSUCH", *["y" * 60] * 5),
    "unknown command with line ends": encode("NO\r\nSUCH", "a\r\nb"),
    "empty command": encode("") + encode("PING"),
    "hello four": encode("HELLO", 4),
    "hello word": encode("HELLO", "abc"),
    "hello with half an option": encode("HELLO", 3, "AUTH", "default"),
    "hello with an unknown option": encode("HELLO", 3, "NOSUCH", "a"),
    "hello with a bad name": encode("HELLO", 3, "SETNAME", "a b"),
    "hello with an unknown user": encode("HELLO", 3, "AUTH", "nobody", "secret"),
    "quit": encode("PING") + encode("QUIT") + encode("PING"),
    "quit with arguments": encode("QUIT", "now"),
    "post": b"POST / HTTP/1.1\r\nHost: here\r\n\r\n",
    "host": b"Host: here\r\n" + encode("PING"),
}


def answer(port, data):
    with Client(port) as client:
        try:
            client.send_bytes(data)
            client.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server closed while we were still talking
        return client.read_all()


class SameAsRedis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = cls.enterClassContext(Redis())
        cls.lockkeeper = cls.enterClassContext(Lockkeeper(cores=1))

    def test_answers_are_the_same(self):
        for name, data in SAME.items():
            with self.subTest(name):
                self.assertEqual(answer(self.lockkeeper.port, data), answer(self.redis.port, data))

    def test_hello_has_the_same_fields(self):
        for version in (2, 3):
            with Client(self.redis.port) as theirs, Client(self.lockkeeper.port) as ours:
                expected, got = theirs.call("HELLO", version), ours.call("HELLO", version)
                if version == 2:
                    expected, got = expected[::2], got[::2]
                self.assertEqual(list(got), list(expected))


if __name__ == "__main__":
    main()
