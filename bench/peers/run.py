#!/usr/bin/env python3
"""One hot key at all that one could use instead of Lockkeeper, and at Lockkeeper: in turns, repeated.

In each round every peer starts its servers, is measured and stops them, so that nothing of the others runs meanwhile. A peer
that fails is named with the reason, in the table and in the JSON lines; the others are measured all the same. Ratios to
Lockkeeper on five masters are taken within a round. A round in which others used the machine is marked as noisy.
"""

import argparse
import collections
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from common import machine, median, spread  # noqa: E402

from setup import add_setup_options, run, set_up_once  # noqa: E402

# Those that are compared most come one after the other.
SCRIPTS = ["redis_server.py", "lockkeeper.py", "client_redlock.py", "redisson.py", "etcd.py", "zookeeper.py",
           "postgresql.py", "redis_py.py", "node_libraries.py", "redsync.py"]
# A crowd of a thousand, for those that the load generator can be: it shows who starves.
CROWD = [("redis_server.py", "redis-blpop,redis-poll-10ms"), ("lockkeeper.py", "lockkeeper-5,lockkeeper-memory"),
         ("client_redlock.py", "redlock-5")]
YARDSTICK = "lockkeeper-5"
# Seconds.
QUICK_FAILURE = 60


class Bench:
    def __init__(self, options):
        self.options = options
        self.lines = []

    def keep(self, lines, **more):
        for line in lines:
            line = {**more, **line}
            self.lines.append(line)
            if self.options.json:
                with open(self.options.json, "a") as file:
                    file.write(json.dumps(line) + "\n")

    def setup(self):
        """The peers that can be measured."""
        found = set_up_once(self.options.scripts, self.options)
        for lines in found.values():
            self.keep(lines, benchmark="hot-key", clients=self.options.clients, round=1)
        return [script for script, lines in found.items() if not lines]

    def measure(self, script, number, clients, benchmark, only=None):
        began = time.monotonic()
        lines = self.lines_of(script, number, clients, benchmark, only)
        failed = [line["contender"] for line in lines if "failed" in line]
        # A port may have been taken between looking and listening; what takes long to fail would do so again.
        if failed and time.monotonic() - began < QUICK_FAILURE:
            print(f"  once more: {', '.join(failed)}", file=sys.stderr, flush=True)
            lines = [line for line in lines if "failed" not in line]
            lines += self.lines_of(script, number, clients, benchmark, ",".join(failed))
        self.keep(lines, benchmark=benchmark, clients=clients, round=number)

    def lines_of(self, script, number, clients, benchmark, only):
        options = self.options
        words = [options.lockkeeper, "--no-setup", "--clients", clients, "--seconds", options.seconds, "--round", number,
                 "--benchmark", benchmark, *(["--only", only] if only else []),
                 *(["--lockbench", options.lockbench] if options.lockbench else [])]
        contenders = len(only.split(",")) if only else 4
        _, lines = run(script, words, contenders * (2 * options.seconds + 60))
        return lines

    def run(self):
        options = self.options
        scripts = self.setup()
        for number in range(1, options.rounds + 1):
            print(f"round {number} of {options.rounds}, {options.clients} clients", file=sys.stderr, flush=True)
            for script in scripts:
                self.measure(script, number, options.clients, "hot-key")
            for script, only in CROWD if options.crowd else []:
                if script in scripts:
                    self.measure(script, number, options.crowd, "hot-key-crowd", only)


def show(lines):
    by_name, failures = collections.defaultdict(list), {}
    for line in lines:
        if "failed" in line:
            failures[line["contender"]] = line["failed"]
        else:
            by_name[line["contender"]].append(line)
    ours = {line["round"]: line["hand_offs_per_s"] for line in by_name[YARDSTICK]}
    print(f"{'':40} {'hand-offs/s':>11} {'least-most':>15} {'ours/its':>9} {'p50 ms':>9} {'p99 ms':>9} {'Jain':>6}"
          f" {'starved':>7} {'commands':>8} {'intrusions':>10}  noisy")
    for runs in sorted(by_name.values(), key=lambda runs: -median([run["hand_offs_per_s"] for run in runs] or [0])):
        if not runs:
            continue
        rates = [run["hand_offs_per_s"] for run in runs]
        ratios = [ours[run["round"]] / run["hand_offs_per_s"] if run["hand_offs"] else float("inf")
                  for run in runs if run["round"] in ours]
        print(f"{runs[0]['title']:40} {median(rates):11.1f} {spread(rates, '{:.0f}'):>15}"
              f" {median(ratios) if ratios else float('nan'):9.2f}"
              f" {median([run['wait_us']['p50'] for run in runs]) / 1e3:9.2f}"
              f" {median([run['wait_us']['p99'] for run in runs]) / 1e3:9.2f} {median([run['jain'] for run in runs]):6.3f}"
              f" {max(run['starved'] for run in runs):7} {median([run.get('commands_per_section', 0) for run in runs]):8.2f}"
              f" {sum(run['verify']['intrusions'] for run in runs):10}  {sum(run['noisy'] for run in runs)}/{len(runs)}")
    for name, why in failures.items():
        print(f"{name:40} FAILED: {why}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lockkeeper", help="the server's binary, e.g. build/release/lockkeeper")
    parser.add_argument("--lockbench", help="the load generator's binary (default: beside the server's)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement; nobody can starve for 3 s in less")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--crowd", type=int, default=1000, help="clients of the second part; 0: none")
    parser.add_argument("--json", metavar="FILE", help="append every run as a JSON line to this file")
    add_setup_options(parser)
    parser.add_argument("scripts", nargs="*", default=SCRIPTS, help="some of them only")
    options = parser.parse_args()
    if options.setup:
        set_up_once(options.scripts, options)
        return
    bench = Bench(options)
    print(machine(), flush=True)
    bench.run()
    for benchmark, clients in (("hot-key", options.clients), ("hot-key-crowd", options.crowd)):
        chosen = [line for line in bench.lines if line["benchmark"] == benchmark]
        if chosen:
            print(f"one hot key, {clients} clients")
            show(chosen)


if __name__ == "__main__":
    main()
