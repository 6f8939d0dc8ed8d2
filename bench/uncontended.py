#!/usr/bin/env python3
"""Locks that nobody else wants: what does the way through Lockkeeper cost, or save?

Each client acquires and releases a key of its own, SET NX PX and a script for the release, in a closed loop. Pairs that
are compared run one after the other, in turns, repeated; ratios are taken within a round.

  five, three masters   client-side RedLock beside Lockkeeper on the same masters
  one master            redis-server directly beside Lockkeeper on it, with fences and without
  memory                redis-server beside Lockkeeper's own memory, one request at a time and 32 at a time
"""

import contextlib
import json
import subprocess
import sys
from os import path

from common import arguments, is_noisy, keep, machine, median, parse, progress, spread

sys.path.insert(0, path.join(path.dirname(path.abspath(__file__)), "peers"))
from servers import lockkeeper_on, masters  # noqa: E402

NO_FENCES = "leases: {fences: false}\n"
PIPELINE = 32


def load(options, servers, processes, watched, words):
    command = [options.lockbench]
    for server in servers:
        command += ["--server", f"127.0.0.1:{server.port}"]
    for one in processes:
        command += ["--server-pid", str(one.process.pid)]
    for one in watched:
        command += ["--master", f"127.0.0.1:{one.port}"]
    done = subprocess.run([*command, "--mode", "uncontended", "--verify", "--duration", f"{options.seconds * 1000:.0f}ms",
                           "--warmup", "500ms", *map(str, words)], capture_output=True, text=True, timeout=options.seconds + 120)
    if not done.stdout or done.returncode not in (0, 1):
        sys.exit(f"lockbench failed with code {done.returncode}: {' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


class Servers:
    """Everything that is compared, started once: idle, each takes next to nothing."""

    def __init__(self, stack):
        self.voters = {count: stack.enter_context(masters(count)) for count in (5, 3)}
        self.on = {count: stack.enter_context(lockkeeper_on(voters)) for count, voters in self.voters.items()}
        self.alone, self.plain = stack.enter_context(masters(2))
        self.fenced = stack.enter_context(lockkeeper_on([self.alone]))
        self.unfenced = stack.enter_context(lockkeeper_on([self.alone], NO_FENCES))
        self.memory = stack.enter_context(lockkeeper_on([]))


def groups(servers, clients):
    """Name, and contenders: (name, servers to ask, processes that work, Redis to count, words). The first is the yardstick."""
    set_nx, redlock = ["--protocol", "set-nx", "--clients", clients], ["--protocol", "redlock", "--clients", clients]
    piped = ["--protocol", "set-nx", "--clients", 10, "--depth", PIPELINE]
    for count in (5, 3):
        voters, proxy = servers.voters[count], servers.on[count]
        yield f"{count} masters", [("client-side RedLock", voters, voters, voters, redlock),
                                   ("Lockkeeper", [proxy], [proxy, *voters], voters, set_nx)]
    alone = servers.alone
    yield "one master", [("redis-server", [alone], [alone], [alone], set_nx),
                         ("Lockkeeper, fences", [servers.fenced], [servers.fenced, alone], [alone], set_nx),
                         ("Lockkeeper, no fences", [servers.unfenced], [servers.unfenced, alone], [alone], set_nx)]
    for name, words in (("memory", set_nx), (f"memory, {PIPELINE} at a time", piped)):
        yield name, [("redis-server", [servers.plain], [servers.plain], [], words),
                     ("Lockkeeper", [servers.memory], [servers.memory], [], words)]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--clients", type=int, default=200)
    options = parse(parser)
    print(machine())
    runs = {}
    with contextlib.ExitStack() as stack:
        servers = Servers(stack)
        for number in range(1, options.rounds + 1):
            for group, contenders in groups(servers, options.clients):
                for name, asked, processes, watched, words in contenders:
                    progress(f"round {number} of {options.rounds}: {group}, {name}")
                    report = load(options, asked, processes, watched, words)
                    report.update(benchmark="uncontended", group=group, contender=name, round=number, noisy=is_noisy(report))
                    runs.setdefault(group, {}).setdefault(name, []).append(report)
                    keep(options, report)
        progress("")
    print(f"{'':46} {'sections/s':>10} {'least-most':>15} {'ratio':>6} {'least-most':>11} {'p50 us':>7} {'p99 us':>7}  noisy")
    for group, contenders in runs.items():
        base = [one["sections_per_s"] for one in next(iter(contenders.values()))]
        for name, reports in contenders.items():
            rates = [one["sections_per_s"] for one in reports]
            ratios = [mine / its for mine, its in zip(rates, base)]
            print(f"{group:22} {name:23} {median(rates):10.0f} {spread(rates, '{:.0f}'):>15} {median(ratios):6.2f}"
                  f" {spread(ratios):>11} {median([one['wait_us']['p50'] for one in reports]):7.0f}"
                  f" {median([one['wait_us']['p99'] for one in reports]):7.0f}"
                  f"  {sum(one['noisy'] for one in reports)}/{len(reports)}")


if __name__ == "__main__":
    main()
