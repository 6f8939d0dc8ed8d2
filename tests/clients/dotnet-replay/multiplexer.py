"""What StackExchange.Redis 3 sends when it connects, and the life of one of its connections.

A replay: the commands are those of the library, in its order and with its pipelining, but the library itself is not here.
"""

import os

from scenarios import HOST, PORT
from support import Client, Error, encode

assert HOST == "127.0.0.1"
# It proves that the server answers with the bytes that it was sent; they are no text.
TRACER = bytes(range(0xF0, 0x100))


class Multiplexer:
    """A connection that has shaken hands. The second one, for messages, is opened by `listen`."""

    def __init__(self, port=PORT, protocol=3, user=None, password=None, name="suite", database=0):
        self.client = Client(port)
        words = [["AUTH", user, password]] if user else []
        words += [
            ["HELLO", str(protocol)], ["CLIENT", "SETNAME", name], ["CLIENT", "SETINFO", "lib-name", "SE.Redis"],
            ["CLIENT", "SETINFO", "lib-ver", "3.1.31"], ["CLIENT", "ID"], ["CONFIG", "GET", "timeout"],
            ["CONFIG", "GET", "replica-read-only"], ["CONFIG", "GET", "databases"], ["SENTINEL", "MASTERS"],
            ["INFO", "replication"], ["INFO", "server"], ["CLUSTER", "NODES"], ["GET", "__Booksleeve_TieBreak"],
        ]
        self.handshake = self.pipeline(*words, ["ECHO", TRACER])
        assert self.handshake[-1] == TRACER, "the tracer came back as something else"
        # Success would make it believe in a cluster.
        assert isinstance(self.handshake[-3], Error), "this is no cluster"
        if database:
            assert self.call("SELECT", str(database)) == "OK"

    def pipeline(self, *commands):
        self.client.send_bytes(b"".join(encode(*words) for words in commands))
        return [self.client.read() for _ in commands]

    def call(self, *words):
        return self.pipeline(words)[0]

    def close(self):
        self.client.close()


def listen(port=PORT):
    """The second connection, which is told when masters change."""
    client = Client(port)
    client.send_bytes(encode("HELLO", "3") + encode("ECHO", TRACER) + encode("SUBSCRIBE", "__Booksleeve_MasterChanged"))
    hello, echo, subscribed = client.read(), client.read(), client.read()
    assert not isinstance(hello, Error) and echo == TRACER
    assert subscribed[:2] == [b"subscribe", b"__Booksleeve_MasterChanged"], subscribed
    return client


def token():
    """As a Guid looks."""
    return os.urandom(16).hex().encode()
