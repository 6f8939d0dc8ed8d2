#!/usr/bin/env python3
"""etcd: its own lock recipe, as its lock service offers it (v3lock, over the HTTP gateway).

One node, so that nothing has to be replicated, with its files in memory: the kindest case. Each client has a connection and
a lease of its own. The server runs the recipe of etcd's concurrency package: a key for each waiter under the lock's name,
and a watch on the one before it. etcdctl would start a process for each section, which takes longer than the lock.
"""

import base64
import json
import re
import socket
import sys

import closed_loop
from harness import Failed, Server, call, free_port, main, measure, os, packages, scratch_folder


class Dialect:
    """Requests over HTTP/1.1 with keep-alive."""

    def connect(self):
        self.name = base64.b64encode(os.environ["PEER_KEY"].encode()).decode()
        connection = socket.create_connection(("127.0.0.1", int(os.environ["PEER_PORT"])))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request("/v3/lease/grant", {"TTL": 60}))
        buffer = bytearray()
        while not (length := reply_length(buffer)):
            buffer += connection.recv(65536)
        lease = json.loads(body_of(buffer[:length]))["ID"]
        self.acquire_bytes = request("/v3/lock/lock", {"name": self.name, "lease": lease})
        return connection

    def acquire(self):
        return self.acquire_bytes

    def release(self):
        return request("/v3/lock/unlock", {"key": self.key})

    def complete(self, buffer):
        length = reply_length(buffer)
        if length:
            if not buffer.startswith(b"HTTP/1.1 200"):
                raise ConnectionError(bytes(buffer[:length]).decode(errors="replace"))
            key = re.search(rb'"key":"([^"]+)"', buffer[:length])
            if key:
                self.key = key.group(1).decode()
        return length


def request(path, what):
    body = json.dumps(what)
    return (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def reply_length(buffer):
    """Of the first reply; 0 if it is not complete."""
    head = buffer.find(b"\r\n\r\n")
    if head < 0:
        return 0
    length = re.search(rb"(?i)content-length: *(\d+)", buffer[:head])
    if not length:
        raise ConnectionError("a reply without a length")
    whole = head + 4 + int(length.group(1))
    return whole if len(buffer) >= whole else 0


def body_of(reply):
    return reply[reply.index(b"\r\n\r\n") + 4:]


def lock_service(options):
    version = re.search(r"etcd Version: (\S+)", call(["etcd", "--version"], 30)).group(1)
    port, peer_port = free_port(), free_port()
    here, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    with scratch_folder() as folder, Server(
            ["etcd", "--data-dir", folder, "--listen-client-urls", here, "--advertise-client-urls", here,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
             "--log-level", "error"], port) as server:
        server.wait_for(lambda: is_healthy(port))
        report = measure(options, [[sys.executable, "-B", __file__, "worker"]], {"PEER_PORT": str(port)}, [server])
    return "etcd, its lock service, one node", f"etcd {version}", report


def is_healthy(port):
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        answer = b""
        while data := connection.recv(4096):
            answer += data
        return b'"true"' in answer


def setup():
    packages("bench-etcd")
    if not any(os.access(os.path.join(one, "etcd"), os.X_OK) for one in os.get_exec_path()):
        raise Failed("there is no etcd on the PATH")


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        closed_loop.run(Dialect)
    sys.exit(main(__doc__, {"etcd": lock_service}, setup))
