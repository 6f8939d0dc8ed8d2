#!/usr/bin/env python3
"""Locks on masters: beside clients that take them there themselves, and beside our own store in memory.

All in one run on the same five redis-servers, in turns, repeated; ratios are taken within a round.

  one hot key     hand-offs/s of 100 clients: RedLock of the clients (random pauses of 0-100 ms), our embedded store, and
                  Lockkeeper on five masters; commands that a master carried out per critical section
  distinct keys   acquire and release, 200 connections, nobody waits: RedLock of the clients against Lockkeeper on five
                  masters; SET NX and compare-and-delete at one redis-server against Lockkeeper on that one
  failures        how long 50 clients wait for distinct keys while a minority is frozen, from its first moment on; how long
                  an error takes when a majority is, and how long after its end locks are given again
"""

import signal
import subprocess
import threading
import time

from common import Client, Error, Lockkeeper, Redis, arguments, json, machine, median, parse, progress, spread, sys

from support import stripe_of


def run(options, servers, *words):
    """Like common.load, on several servers."""
    command = [options.lockbench]
    for server in servers:
        command += ["--server", f"127.0.0.1:{server.port}"]
    done = subprocess.run([*command, "--duration", f"{round(options.seconds * 1000)}ms", "--warmup", "500ms", *map(str, words)],
                          capture_output=True, text=True, timeout=300)
    if not done.stdout or done.returncode not in (0, 1):
        sys.exit(f"lockbench failed with code {done.returncode}: {' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


def commands_of(masters):
    total = 0
    for master in masters:
        with Client(master.port) as client:
            text = client.call("INFO", "stats").decode()
            total += int(text.split("total_commands_processed:")[1].split("\r")[0])
    return total


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


def with_minority_frozen(options, fleet, masters):
    """99th percentile and most of the waits, in ms; two of five freeze while the load runs, and stay so."""
    freezing = threading.Timer(1.0, freeze, [masters[:2]])
    freezing.start()
    try:
        report = run(options, [fleet], "--protocol", "set-nx", "--mode", "uncontended", "--clients", 50)
    finally:
        freezing.join()
        thaw(masters[:2])
    return report["wait_us"]["p99"] / 1000, report["wait_us"]["max"] / 1000


def with_majority_frozen(fleet, masters):
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
    return errors, again


def show(title, rates, base):
    print(title)
    for name, values in rates.items():
        ratios = [mine / theirs if theirs else float("inf") for mine, theirs in zip(values, rates[base])]
        print(f"  {name:34} {median(values):>9.0f}/s {spread(values, '{:.0f}'):>15}   ratio {median(ratios):7.2f}"
              f" {spread(ratios):>15}")


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
    hot, spent, five, one = {}, [], {}, {}
    waits, errors, recoveries = [], [], []
    try:
        for number in range(options.rounds):
            progress(f"round {number + 1} of {options.rounds}")
            for name, servers, words in (("RedLock of the clients", masters, ["--protocol", "redlock"]),
                                         ("embedded store", [embedded], ["--protocol", "native"]),
                                         ("Lockkeeper on five masters", [fleet], ["--protocol", "native"])):
                before = commands_of(masters)
                report = run(options, servers, *words, "--mode", "hot", "--clients", 100)
                hot.setdefault(name, []).append(report["hand_offs_per_s"])
                if servers == [fleet]:
                    spent.append((commands_of(masters) - before) / max(report["sections"], 1))
            for name, servers, words in (("RedLock of the clients", masters, ["--protocol", "redlock"]),
                                         ("Lockkeeper on five masters", [fleet], ["--protocol", "set-nx"])):
                report = run(options, servers, *words, "--mode", "uncontended", "--clients", 200)
                five.setdefault(name, []).append(report["sections_per_s"])
            for name, servers in (("redis-server", [alone]), ("Lockkeeper on that one", [single]),
                                  ("the same without fences", [unfenced])):
                report = run(options, servers, "--protocol", "set-nx", "--mode", "uncontended", "--clients", 200)
                one.setdefault(name, []).append(report["sections_per_s"])
            waits.append(with_minority_frozen(options, fleet, masters))
            took, again = with_majority_frozen(fleet, masters)
            errors += took
            recoveries.append(again)
    finally:
        progress("")
        for server in (embedded, fleet, single, unfenced, alone, *masters):
            server.kill()
    show("one hot key, 100 clients", hot, "RedLock of the clients")
    print(f"  against the embedded store: {median([a / b for a, b in zip(hot['Lockkeeper on five masters'], hot['embedded store'])]):.2f};"
          f" commands of masters per section: {median(spent):.4f} ({spread(spent, '{:.4f}')})")
    show("distinct keys, 200 connections, five masters", five, "RedLock of the clients")
    show("distinct keys, 200 connections, one master", one, "redis-server")
    print(f"failures\n  two of five frozen: waits p99 {median([p99 for p99, _ in waits]):.1f} ms"
          f" ({spread([p99 for p99, _ in waits], '{:.1f}')}), longest {max(most for _, most in waits):.1f} ms\n"
          f"  three of five frozen: an error after {median(errors):.0f} ms ({spread(errors, '{:.0f}')});"
          f" a lock {median(recoveries):.0f} ms after they are back ({spread(recoveries, '{:.0f}')})")


if __name__ == "__main__":
    main()
