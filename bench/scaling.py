#!/usr/bin/env python3
"""Curves: what becomes of the rate when there are more waiters, keys, masters, cores or connections?

  waiters      1 to 10,000 on one key, hand-offs/s: a BLPOP token on redis-server, Lockkeeper's memory and on five masters
  keys         1 to 1,000,000, 200 clients that choose any of them, sections/s: the same servers, native verbs and SET NX
               that polls every 10 ms
  masters      1, 3, 5, each client with a key of its own, sections/s: client-side RedLock and Lockkeeper
  cores        1 and 2 of Lockkeeper's memory, keys of their own and one hot key
  connections  1 to 10,000, each with a key of its own, sections/s: redis-server and Lockkeeper's memory

Exclusion and the order of fences are verified in every run. A broken promise is no figure but a failure; one of Lockkeeper's
ends this program.

The generator shares the machine: on two cores a second core of Lockkeeper's takes the generator's. A point that cannot be
reached (open files, for example) is told, and left out.
"""

import contextlib
import os
import resource
import sys

from common import (Broken, Failed, Lockkeeper, arguments, is_noisy, keep, lockbench, machine, median, parse, progress,
                    spread)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
from harness import Redis  # noqa: E402
from servers import lockkeeper_on, masters  # noqa: E402

STEPS = [1, 10, 100, 1_000, 10_000]
KEYS = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
CLIENTS = 200
MANY = "limits: {clients: 20000}\npolicies: [{keys: ['*'], max_waiters: 20000}]\n"


class Point:
    """One measurement: which curve, at which value, of whom."""

    def __init__(self, curve, x, contender, servers, words, processes=None, unit="hand_offs_per_s"):
        self.curve, self.x, self.contender, self.servers, self.words = curve, x, contender, servers, words
        self.processes, self.unit = processes or servers, unit


def load(options, point):
    seconds, words = options.seconds, point.words
    if point.curve in ("waiters", "connections") and point.x >= 10_000:
        # Everybody shall have had a turn; and one address has 28,000 ports for this run and the last ones.
        seconds = max(seconds, 3)
        words = [*words, "--sources", "4"]
    try:
        return lockbench(options, point.servers, "--duration", f"{seconds * 1000:.0f}ms", "--warmup", "500ms", "--drain", "10s",
                         *words, processes=point.processes, patience=seconds + 180)
    except Broken as error:
        return {"failed": str(error), "ours": any(isinstance(server, Lockkeeper) for server in point.servers)}
    except Failed as error:
        return {"failed": str(error)}


class Servers:
    def __init__(self, stack):
        # To redis-server other addresses of loopback are strangers.
        self.redis = stack.enter_context(Redis("--maxclients", "20000", "--tcp-backlog", "4096", "--protected-mode", "no"))
        self.memory = stack.enter_context(lockkeeper_on([], MANY, memory="2G"))
        self.voters = {count: stack.enter_context(masters(count)) for count in (1, 3, 5)}
        self.fleet = {count: stack.enter_context(lockkeeper_on(voters, MANY, memory="2G"))
                      for count, voters in self.voters.items()}


def points(servers, chosen):
    redis, memory, fleet = servers.redis, servers.memory, servers.fleet[5]
    five = [fleet, *servers.voters[5]]
    if "waiters" in chosen:
        for count in STEPS:
            hot = ["--mode", "hot", "--clients", count + 1]  # one holds it
            yield Point("waiters", count, "Redis, BLPOP token", [redis], [*hot, "--protocol", "blpop"])
            yield Point("waiters", count, "Lockkeeper, memory", [memory], [*hot, "--protocol", "native"])
            yield Point("waiters", count, "Lockkeeper, 5 masters", [fleet], [*hot, "--protocol", "native"], five)
    if "keys" in chosen:
        for count in KEYS:
            any_of = ["--mode", "spread", "--keys", count, "--clients", CLIENTS]
            for name, server, protocol, processes in (
                    ("Redis, SET NX", redis, "set-nx", [redis]), ("Lockkeeper, memory", memory, "native", [memory]),
                    ("Lockkeeper, 5 masters", fleet, "native", five)):
                yield Point("keys", count, name, [server], [*any_of, "--protocol", protocol], processes, "sections_per_s")
    if "masters" in chosen:
        for count in (1, 3, 5):
            voters, own = servers.voters[count], ["--mode", "uncontended", "--clients", CLIENTS]
            yield Point("masters", count, "client-side RedLock", voters, [*own, "--protocol", "redlock"], voters,
                        "sections_per_s")
            yield Point("masters", count, "Lockkeeper", [servers.fleet[count]], [*own, "--protocol", "set-nx"],
                        [servers.fleet[count], *voters], "sections_per_s")
    if "connections" in chosen:
        for count in STEPS:
            own = ["--mode", "uncontended", "--clients", count, "--protocol", "set-nx"]
            yield Point("connections", count, "Redis", [redis], own, unit="sections_per_s")
            yield Point("connections", count, "Lockkeeper, memory", [memory], own, unit="sections_per_s")
    if "cores" in chosen:
        yield from points_of_cores(servers)


def points_of_cores(servers):
    """The server of two cores lives only here: another one that polls would disturb the rest."""
    with lockkeeper_on([], MANY, cores=2, memory="1G") as two:
        for cores, server in ((1, servers.memory), (2, two)):
            yield Point("cores", cores, "keys of their own", [server], ["--mode", "uncontended", "--clients", CLIENTS,
                        "--protocol", "native"], unit="sections_per_s")
            yield Point("cores", cores, "keys of their own, 32 at a time", [server], ["--mode", "uncontended", "--clients", 20,
                        "--depth", 32, "--protocol", "native"], unit="sections_per_s")
            yield Point("cores", cores, "one hot key", [server], ["--mode", "hot", "--clients", 100, "--protocol", "native"])


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--curves", type=lambda text: text.split(","), metavar="NAME,NAME",
                        default=["waiters", "keys", "masters", "connections", "cores"])
    options = parse(parser)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(machine())
    found = {}
    with contextlib.ExitStack() as stack:
        servers = Servers(stack)
        for number in range(1, options.rounds + 1):
            for point in points(servers, options.curves):
                progress(f"round {number} of {options.rounds}: {point.curve}, {point.x}, {point.contender}")
                report = load(options, point)
                line = {**report, "benchmark": "scaling", "curve": point.curve, "x": point.x, "contender": point.contender,
                        "round": number, "unit": point.unit}
                if "failed" not in line:
                    line.update(value=report[point.unit], noisy=is_noisy(report))
                found.setdefault((point.curve, point.contender, point.x), []).append(line)
                keep(options, line)
                if line.get("ours"):
                    sys.exit(f"{point.curve}, {point.x}, {point.contender}: {line['failed']}")
        progress("")
    print(f"{'curve':12} {'':32} {'at':>8} {'a second':>10} {'least-most':>17} {'p99 ms':>8}  noisy")
    for (curve, contender, x), runs in sorted(found.items(), key=lambda one: one[0]):
        good = [one for one in runs if "failed" not in one]
        if not good:
            print(f"{curve:12} {contender:32} {x:8} FAILED: {runs[-1]['failed']}")
            continue
        values = [one["value"] for one in good]
        print(f"{curve:12} {contender:32} {x:8} {median(values):10.0f} {spread(values, '{:.0f}'):>17}"
              f" {median([one['wait_us']['p99'] for one in good]) / 1e3:8.2f}  {sum(one['noisy'] for one in good)}/{len(good)}")


if __name__ == "__main__":
    main()
