#!/usr/bin/env python3
"""PostgreSQL: advisory locks of sessions (pg_advisory_lock, pg_advisory_unlock), which wait in the server.

A cluster of its own, its files in memory and without fsync: advisory locks write nothing anyway. Each client is a session
with two prepared statements, spoken to in PostgreSQL's own protocol over loopback.
"""

import glob
import hashlib
import pwd
import re
import socket
import struct
import subprocess
import sys

import closed_loop
from harness import Failed, Server, call, free_port, main, measure, os, packages, scratch_folder

USER = "postgres"


def message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def execute(statement):
    """Bind without parameters, Execute, Sync."""
    return (message(b"B", b"\0" + statement + b"\0" + struct.pack("!hhh", 0, 0, 0)) +
            message(b"E", b"\0" + struct.pack("!i", 0)) + message(b"S", b""))


class Dialect:
    def connect(self):
        connection = socket.create_connection(("127.0.0.1", int(os.environ["PEER_PORT"])))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = struct.pack("!i", 196608) + b"user\0" + USER.encode() + b"\0database\0postgres\0\0"
        connection.sendall(struct.pack("!i", len(start) + 4) + start)
        self.finish(connection)
        # Advisory locks have numbers, not names.
        number = int.from_bytes(hashlib.sha256(os.environ["PEER_KEY"].encode()).digest()[:7], "big")
        for name, text in ((b"take", f"SELECT pg_advisory_lock({number})"), (b"give", f"SELECT pg_advisory_unlock({number})")):
            connection.sendall(message(b"P", name + b"\0" + text.encode() + b"\0" + struct.pack("!h", 0)) + message(b"S", b""))
            self.finish(connection)
        return connection

    def finish(self, connection):
        buffer = bytearray()
        while not self.complete(buffer):
            data = connection.recv(65536)
            if not data:
                raise ConnectionError("the server has closed a connection")
            buffer += data

    def acquire(self, request=execute(b"take")):
        return request

    def release(self, request=execute(b"give")):
        return request

    def complete(self, buffer):
        """A reply ends with ReadyForQuery."""
        at = 0
        while len(buffer) >= at + 5:
            kind, length = buffer[at], int.from_bytes(buffer[at + 1:at + 5], "big") + 1
            if kind == ord("E") and len(buffer) >= at + length:
                raise ConnectionError(bytes(buffer[at + 5:at + length]).replace(b"\0", b" ").decode(errors="replace"))
            at += length
            if kind == ord("Z"):
                return at if len(buffer) >= at else 0
        return 0


def programs():
    """The newest that Debian has installed, or the one on the PATH."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda one: int(one.split("/")[4]))
    for folder in [*reversed(folders), *os.get_exec_path()]:
        if all(os.access(os.path.join(folder, one), os.X_OK) for one in ("postgres", "initdb")):
            return folder
    raise Failed("there are no programs of PostgreSQL")


def as_somebody():
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        entry = pwd.getpwnam("nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def advisory_locks(options):
    folder_of_programs = programs()
    version = re.search(r"\d+[.\d]*", call([os.path.join(folder_of_programs, "postgres"), "--version"], 30)).group()
    port, somebody = free_port(), as_somebody()
    with scratch_folder() as folder:
        if somebody:
            os.chown(folder, somebody["user"], somebody["group"])
        call([os.path.join(folder_of_programs, "initdb"), "-D", folder, "-U", USER, "--auth=trust", "--no-sync",
              "--no-locale", "--encoding=UTF8"], 120, cwd="/", **somebody)
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": "", "fsync": "off",
                    "max_connections": options.clients + 10}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with Server([os.path.join(folder_of_programs, "postgres"), "-D", folder, *words], port, cwd="/", **somebody) as server:
            server.wait_for(lambda: "ready to accept connections" in server.output())
            report = measure(options, [[sys.executable, "-B", __file__, "worker"]], {"PEER_PORT": str(port)}, [server])
            # A fast shutdown: sessions that are there do not keep it.
            server.process.send_signal(subprocess.signal.SIGINT)
    return "PostgreSQL, advisory locks", f"PostgreSQL {version}", report


def setup():
    try:
        programs()
    except Failed:
        packages("bench-postgresql")
        programs()


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        closed_loop.run(Dialect)
    sys.exit(main(__doc__, {"postgresql": advisory_locks}, setup))
