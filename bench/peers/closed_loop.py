"""A worker's loop for protocols of requests and replies: many connections on one thread, nothing but the standard library.

A dialect is a class with an object for each client:

    connect()           returns a connected socket, blocking; whatever the protocol wants said first has been said
    acquire(), release() the bytes of a request
    complete(buffer)    the length of the first whole reply at the beginning of `buffer` (a bytearray), 0 if it is not
                        all there yet; raises if it is an error. What release() needs of it the client keeps.
"""

import os
import select
import sys
import time


class Loop:
    def __init__(self, clients):
        self.poll = select.epoll()
        self.clients = {}
        for client in clients:
            client.socket = client.connect()
            client.socket.setblocking(False)
            client.buffer = bytearray()
            self.clients[client.socket.fileno()] = client
            self.poll.register(client.socket, select.EPOLLIN)
        self.rows = []
        self.requests = 0

    def run(self, end):
        for client in self.clients.values():
            self.ask(client)
        while (left := end - time.monotonic_ns()) > 0:
            for number, _ in self.poll.poll(left / 1e9):
                self.on_readable(self.clients[number], end)

    def ask(self, client):
        client.granted = None
        client.asked = time.monotonic_ns()
        self.send(client, client.acquire())

    def send(self, client, data):
        # Small, and one at a time: it always has room.
        client.socket.send(data)
        self.requests += 1

    def on_readable(self, client, end):
        data = client.socket.recv(65536)
        if not data:
            raise ConnectionError("the server has closed a connection")
        client.buffer += data
        while client.buffer:
            length = client.complete(client.buffer)
            if length == 0:
                return
            del client.buffer[:length]
            self.on_reply(client, end)

    def on_reply(self, client, end):
        now = time.monotonic_ns()
        if client.granted is None:
            client.granted = now
            # Nothing is done in a section: it ends when it begins.
            self.send(client, client.release())
            self.rows.append((client.number, client.asked, now, now))
        elif now < end:
            self.ask(client)

    def waiting(self):
        return [one for one in self.clients.values() if one.granted is None]


def run(dialect):
    """`dialect(number)` makes a client."""
    first, count = int(os.environ["PEER_FIRST"]), int(os.environ["PEER_CLIENTS"])
    clients = []
    for number in range(first, first + count):
        client = dialect()
        client.number = number
        clients.append(client)
    loop = Loop(clients)
    print("ready", flush=True)
    loop.run(int(sys.stdin.readline()))
    print("# requests", loop.requests)
    for row in loop.rows:
        print(*row)
    for client in loop.waiting():
        print(client.number, client.asked, "-", "-")
    sys.stdout.flush()
    os._exit(0)
