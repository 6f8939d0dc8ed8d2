#!/usr/bin/env python3
"""Locks on masters: beside clients that take them there themselves, and beside our own store in memory.

All in one run on the same five redis-servers, in turns, repeated; ratios are taken within a round.

  one hot key     hand-offs/s of 100 clients: client-side RedLock (random pauses of 0-100 ms), our embedded store, and
                  Lockkeeper on five masters; commands that a master carried out per critical section
  distinct keys   acquire and release, 200 connections, nobody waits: client-side RedLock against Lockkeeper on five
                  masters; SET NX and compare-and-delete at one redis-server against Lockkeeper on that one
  failures        how long 50 clients wait for distinct keys while a minority is frozen, from its first moment on; how long
                  an error takes when a majority is, and how long after its end locks are given again
"""

import signal
import threading
import time

from common import (Client, Error, Lockkeeper, Redis, arguments, info, is_noisy, keep, lockbench, machine, median, parse, progress,
                    spread)

from support import stripe_of


class Bench:
    """Lines by group and contender; each is kept as it comes."""

    def __init__(self, options, processes):
        self.options, self.processes, self.number = options, processes, 0
        self.lines = {}

    def keep(self, group, contender, line):
        line = {**line, "benchmark": "fleet", "group": group, "contender": contender, "round": self.number}
        self.lines.setdefault(group, {}).setdefault(contender, []).append(line)
        keep(self.options, line)

    def load(self, group, contender, servers, *words, masters=()):
        before = commands_of(masters)
        report = lockbench(self.options, servers, "--duration", f"{round(self.options.seconds * 1000)}ms", "--warmup", "500ms",
                           *words, processes=self.processes)
        # The warm-up included, in both.
        commands = (commands_of(masters) - before) / max(report["sections"], 1)
        self.keep(group, contender, {**report, "noisy": is_noisy(report), "store_commands_per_section": commands})


def commands_of(masters):
    return sum(info(master.port, "stats", "total_commands_processed")[0] for master in masters)


def proxy_on(masters, more=""):
    proxy = Lockkeeper(cores=1, memory="512M", config=stripe_of(masters) + more, overprovisioned=False)
    proxy.wait_until_ready()
    proxy.wait_for_votes(len(masters))
    return proxy


def freeze(masters):
    for master in masters:
        master.signal(signal.SIGSTOP)


def thaw(masters):
    for master in masters:
        master.signal(signal.SIGCONT)


def with_minority_frozen(bench, fleet, masters):
    """Two of five freeze while the load runs, and stay so."""
    freezing = threading.Timer(1.0, freeze, [masters[:2]])
    freezing.start()
    try:
        bench.load("frozen", "two of five", [fleet], "--protocol", "set-nx", "--mode", "uncontended", "--clients", 50)
    finally:
        freezing.join()
        thaw(masters[:2])


def with_majority_frozen(bench, fleet, masters):
    """How long errors take, and how long it is until locks are given again; in ms."""
    errors = []
    with Client(fleet.port) as client:
        freeze(masters[:3])
        try:
            for number in range(10):
                began = time.monotonic()
                answer = client.call("SET", f"lock:{number}", "me", "NX", "PX", 5000)
                assert isinstance(answer, Error) and "NOQUORUM" in str(answer), answer
                errors.append((time.monotonic() - began) * 1000)
        finally:
            thaw(masters[:3])
        began = time.monotonic()
        while client.call("SET", "lock:again", "me", "NX", "PX", 5000) != "OK":
            assert time.monotonic() - began < 60, "it did not recover"
            time.sleep(0.01)
        again = (time.monotonic() - began) * 1000
        client.call("DEL", "lock:again")
    bench.keep("frozen", "three of five", {"errors_ms": errors, "error_ms": median(errors), "again_ms": again})


def show(title, contenders, name):
    """The first one is the yardstick."""
    print(title)
    base = [one[name] for one in next(iter(contenders.values()))]
    for contender, lines in contenders.items():
        rates = [one[name] for one in lines]
        ratios = [mine / theirs if theirs else float("inf") for mine, theirs in zip(rates, base)]
        print(f"  {contender:34} {median(rates):>9.0f}/s {spread(rates, '{:.0f}'):>15}   ratio {median(ratios):7.2f}"
              f" {spread(ratios):>15}   {sum(one['noisy'] for one in lines)}/{len(lines)} noisy")


def measure(bench, masters, alone, embedded, fleet, single, unfenced):
    redlock, native, set_nx = (["--protocol", name] for name in ("redlock", "native", "set-nx"))
    hot, own = ["--mode", "hot", "--clients", 100], ["--mode", "uncontended", "--clients", 200]
    bench.load("hot", "client-side RedLock", masters, *redlock, *hot, masters=masters)
    bench.load("hot", "embedded store", [embedded], *native, *hot)
    bench.load("hot", "Lockkeeper on five masters", [fleet], *native, *hot, masters=masters)
    bench.load("five", "client-side RedLock", masters, *redlock, *own)
    bench.load("five", "Lockkeeper on five masters", [fleet], *set_nx, *own)
    bench.load("one", "redis-server", [alone], *set_nx, *own)
    bench.load("one", "Lockkeeper on that one", [single], *set_nx, *own)
    bench.load("one", "the same without fences", [unfenced], *set_nx, *own)
    with_minority_frozen(bench, fleet, masters)
    with_majority_frozen(bench, fleet, masters)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    options = parse(parser)
    print(machine())
    masters, alone = [Redis() for _ in range(5)], Redis()
    for master in (*masters, alone):
        master.wait_until_ready()
    embedded = Lockkeeper(cores=1, memory="512M", overprovisioned=False)
    embedded.wait_until_ready()
    fleet, single, unfenced = proxy_on(masters), proxy_on([alone]), proxy_on([alone], "leases: {fences: false}\n")
    everybody = (embedded, fleet, single, unfenced, alone, *masters)
    bench = Bench(options, everybody)
    try:
        for bench.number in range(1, options.rounds + 1):
            progress(f"round {bench.number} of {options.rounds}")
            measure(bench, masters, alone, embedded, fleet, single, unfenced)
    finally:
        progress("")
        for server in everybody:
            server.kill()
    hot = bench.lines["hot"]
    show("one hot key, 100 clients", hot, "hand_offs_per_s")
    ours = hot["Lockkeeper on five masters"]
    beside = [one["hand_offs_per_s"] / other["hand_offs_per_s"] for one, other in zip(ours, hot["embedded store"])]
    spent = [one["store_commands_per_section"] for one in ours]
    print(f"  against the embedded store: {median(beside):.2f}; commands of masters per section: {median(spent):.4f}"
          f" ({spread(spent, '{:.4f}')})")
    show("distinct keys, 200 connections, five masters", bench.lines["five"], "sections_per_s")
    show("distinct keys, 200 connections, one master", bench.lines["one"], "sections_per_s")
    minority, majority = bench.lines["frozen"]["two of five"], bench.lines["frozen"]["three of five"]
    p99 = [one["wait_us"]["p99"] / 1e3 for one in minority]
    errors = [one for line in majority for one in line["errors_ms"]]
    again = [line["again_ms"] for line in majority]
    print(f"failures\n  two of five frozen: waits p99 {median(p99):.1f} ms ({spread(p99, '{:.1f}')}),"
          f" longest {max(one['wait_us']['max'] for one in minority) / 1e3:.1f} ms\n"
          f"  three of five frozen: an error after {median(errors):.0f} ms ({spread(errors, '{:.0f}')});"
          f" a lock {median(again):.0f} ms after they are back ({spread(again, '{:.0f}')})")


if __name__ == "__main__":
    main()
