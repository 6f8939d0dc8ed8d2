#!/usr/bin/env python3
"""What does a lock, a waiter and a connection cost in memory, and does the memory come back?

A million locks (names of 16 bytes, owners of 32) are taken over one pipelined connection and given back, with SET NX
PX on Lockkeeper's embedded store and on redis-server, and with native verbs where the server knows them. Then as many
clients as the limit of open files allows wait in queues of a thousand.

Columns: bytes per item by INFO used_memory and by the process' resident memory, and what was still there after all of
it was given back, in MiB over the empty server. Resident memory moves in pages, and allocators give little of it back:
used_memory is the figure of the store, resident memory that of the machine.
"""

import resource
import signal
import subprocess
import time

from common import (RELEASE, Client, Lockkeeper, Redis, arguments, encode, info, keep, machine, parse,
                    progress, resident, speaks_native)

TTL = 600_000  # the longest lease that Lockkeeper gives by default
BATCH = 1_000
PATIENCE = 300


def key(number):
    return b"lock:%011d" % number


def owner(number):
    return b"%032x" % number


class SetNx:
    name = "SET NX PX"

    def __init__(self, client):
        self.sha = client.call("SCRIPT", "LOAD", RELEASE)

    def take(self, number):
        return encode("SET", key(number), owner(number), "NX", "PX", TTL)

    def give_back(self, number):
        return encode("EVALSHA", self.sha, 1, key(number), owner(number))

    taken, given_back = b"+OK\r\n", b":1\r\n"


class Native:
    name = "LK.ACQUIRE"

    def __init__(self, client):
        pass

    def take(self, number):
        return encode("LK.ACQUIRE", key(number), owner(number), "TTL", TTL)

    def give_back(self, number):
        return encode("LK.RELEASE", key(number), owner(number))

    taken, given_back = b"*3\r\n", b":0\r\n"  # a grant has three numbers


def pipeline(client, count, command, good, lines):
    """Sends `count` commands in batches; every reply must begin with `good` and have `lines` lines."""
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        client.send_bytes(b"".join(command(start + i) for i in range(size)))
        for _ in range(size):
            reply = client.stream.readline()
            assert reply == good, f"the reply is {reply!r} and not {good!r}"
            for _ in range(lines - 1):
                client.stream.readline()


class Memory:
    """used_memory and resident memory of a server, relative to a moment."""

    def __init__(self, server):
        self.server = server
        self.used, self.resident = self.look()

    def look(self):
        return info(self.server.port, "memory", "used_memory")[0], resident(self.server.process.pid)

    def growth(self):
        used, in_memory = self.look()
        return used - self.used, in_memory - self.resident

    def settled(self, enough):
        """The growth, once it is below `enough` bytes or has stopped to fall: memory is freed little by little."""
        used, in_memory = self.growth()
        for _ in range(20):
            if used <= enough:
                break
            time.sleep(0.25)
            before, (used, in_memory) = used, self.growth()
            if used >= before:
                break
        return used, in_memory


def show(options, what, where, count, full, left):
    keep(options, {"benchmark": "memory", "contender": where, "what": what, "count": count,
                   "used_bytes_each": full[0] / count, "resident_bytes_each": full[1] / count,
                   "used_bytes_after": left[0], "resident_bytes_after": left[1]})
    print(f"{what:28} {where:12} {count:8} {full[0] / count:10.0f} {full[1] / count:10.0f}"
          f" {left[0] / 2**20:12.1f} {left[1] / 2**20:12.1f}", flush=True)


def locks(options, server, where, words):
    count = options.locks
    with Client(server.port, timeout=PATIENCE) as client:
        protocol = words(client)
        # One of each first: what the server keeps for ever (scripts, buffers) is not the locks'.
        pipeline(client, 1, protocol.take, protocol.taken, 4 if words is Native else 1)
        pipeline(client, 1, protocol.give_back, protocol.given_back, 1)
        memory = Memory(server)
        progress(f"{protocol.name} on {where}: taking {count} locks")
        pipeline(client, count, protocol.take, protocol.taken, 4 if words is Native else 1)
        full = memory.growth()
        progress(f"{protocol.name} on {where}: giving them back")
        pipeline(client, count, protocol.give_back, protocol.given_back, 1)
        show(options, f"locks by {protocol.name}", where, count, full, memory.settled(count))
        progress("")


def clients(options, server, where, what, words, count, is_there):
    """`count` clients of lockbench, until `is_there()`; then they leave."""
    memory = Memory(server)
    progress(f"{what} on {where}: {count} connections")
    load = subprocess.Popen(
        [options.lockbench, "--server", f"127.0.0.1:{server.port}", "--warmup", "0", "--duration", "1000s",
         "--drain", "60s", "--ttl", "10m", "--hold", "1000s", "--sources", "8", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + PATIENCE
        while not is_there():
            assert load.poll() is None, load.stderr.read()
            assert time.monotonic() < end, "they did not all come"
            time.sleep(0.1)
        full = memory.growth()
        load.send_signal(signal.SIGTERM)
        load.communicate(timeout=PATIENCE)
    finally:
        load.kill()
    show(options, what, where, count, full, memory.settled(count))
    progress("")


def waiters(options, start, where, native, count):
    """Each on a server of its own, made by `start`: freed memory would hide what the next ones need."""
    # Queues of a thousand, for a server may limit their length; each has a holder besides.
    queues = max(1, count // 1_000)
    hot = ["--mode", "spread", "--keys", str(queues), "--clients", str(count + queues)]
    rows = [("idle connections", ["--clients", "1", "--idle", str(count)], "connected_clients"),
            ("waiters by BLPOP", [*hot, "--protocol", "blpop"], "blocked_clients")]
    if native:
        rows.append(("waiters by LK.ACQUIRE", [*hot, "--protocol", "native"], "blocked_clients"))
    for what, words, field in rows:
        with start() as server:
            clients(options, server, where, what, words, count,
                    lambda: info(server.port, "clients", field)[0] >= count)


def raise_open_files(wanted):
    """The limit of open files that is really possible, for us and for what we start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (max(hard, wanted), hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            return limit
        except (ValueError, OSError):
            continue
    return soft


def main():
    parser = arguments(__doc__)
    parser.add_argument("--locks", type=int, default=1_000_000)
    parser.add_argument("--waiters", type=int, default=100_000,
                        help="at most; fewer if the limit of open files says so (100000)")
    parser.add_argument("--memory", default="4G", help="of Lockkeeper (4G)")
    options = parse(parser)
    # Both the server and the generator have some files besides.
    files = raise_open_files(options.waiters + 1_000)
    count = min(options.waiters, files - 500)
    print(machine())
    if count < options.waiters:
        print(f"{count} waiters instead of {options.waiters}: the limit of open files is {files}")
    print(f"{'':28} {'on':12} {'count':>8} {'used each':>10} {'RSS each':>10} {'used after':>12} {'RSS after':>12}")

    ours = {"cores": 1, "memory": options.memory, "overprovisioned": False,
            "config": f"limits: {{clients: {count + 400}}}\n"}
    with Lockkeeper(**ours) as server:
        native = speaks_native(server)
        locks(options, server, "Lockkeeper", SetNx)
    if native:
        with Lockkeeper(**ours) as server:
            locks(options, server, "Lockkeeper", Native)
    else:
        print("this Lockkeeper does not know LK.ACQUIRE: no native verbs")
    with Redis() as server:
        locks(options, server, "redis-server", SetNx)

    waiters(options, lambda: Lockkeeper(**ours), "Lockkeeper", native, count)
    # To redis-server the other addresses of loopback are strangers.
    waiters(options, lambda: Redis("--maxclients", str(count + 400), "--tcp-backlog", "4096", "--protected-mode", "no"),
            "redis-server", False, count)


if __name__ == "__main__":
    main()
