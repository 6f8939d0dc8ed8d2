#!/usr/bin/env python3
"""Lockkeeper and redis-server side by side under memtier_benchmark, unmodified: commands a second and their ratio.

Locks as most libraries have them (SET with NX and PX, then EVALSHA of a script that deletes what is ours, on the same keys),
SET NX on random keys, and a mix of SET and GET; over RESP2 and RESP3, one command at a time and 32.
The servers take turns; the median of the ratios counts. memtier_benchmark is no Debian package: without it on the PATH
this says so and ends well.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common import RELEASE_SHA, Lockkeeper, Redis, Watch, keep, load_release, machine, median, progress, spread  # noqa: E402

CLIENTS = 50
WORKLOADS = [
    # P: each connection walks through keys of its own, with both commands.
    ("SET NX PX, then EVALSHA", ["--command", "SET __key__ __data__ NX PX 30000", "--command-key-pattern", "P",
                                 "--command", f"EVALSHA {RELEASE_SHA} 1 __key__ __data__", "--command-key-pattern", "P"]),
    ("SET and GET, 1 to 10", ["--ratio", "1:10", "--key-pattern", "R:R"]),
    ("SET key data NX PX 30000", ["--command", "SET __key__ __data__ NX PX 30000", "--command-key-pattern", "R"]),
]


def rate(port, protocol, pipeline, seconds, words):
    """Commands a second, and the 99th percentile in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        done = subprocess.run(
            ["memtier_benchmark", "--server", "127.0.0.1", "--port", str(port), "--protocol", protocol, "--threads", "1",
             "--clients", str(CLIENTS), "--pipeline", str(pipeline), "--test-time", str(seconds), "--key-maximum", "100000",
             "--hide-histogram", "--json-out-file", report, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 300)
        if done.returncode != 0:
            sys.exit(f"memtier_benchmark failed with code {done.returncode}:\n{done.stderr[-2000:]}")
        with open(report) as file:
            totals = json.load(file)["ALL STATS"]["Totals"]
    return totals["Ops/sec"], totals["Percentile Latencies"]["p99.00"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lockkeeper", help="the server's binary, e.g. build/release/lockkeeper")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3, help="of each run")
    parser.add_argument("--json", metavar="FILE", help="append every run as a JSON line to this file")
    options = parser.parse_args()
    if not shutil.which("memtier_benchmark"):
        print("memtier_benchmark is not on the PATH: left out")
        return
    os.environ["LOCKKEEPER"] = os.path.abspath(options.lockkeeper)
    print(machine())
    with Redis() as redis, Lockkeeper(cores=1, overprovisioned=False) as ours:
        for server in (redis, ours):
            load_release(server.port)
        print(f"{'workload':26} {'protocol':>8} {'pipeline':>8} {'redis/s':>9} {'ours/s':>9} {'ratio':>6}  {'least-most':10} "
              f"{'p99 ms, redis and ours':>22}")
        for name, words in WORKLOADS:
            for protocol in ("resp2", "resp3"):
                for pipeline in (1, 32):
                    pairs = []
                    for number in range(options.rounds):
                        progress(f"{name}, {protocol}, pipeline {pipeline}, round {number + 1} of {options.rounds}")
                        watch = Watch(redis.process.pid, ours.process.pid)
                        pairs.append([rate(server.port, protocol, pipeline, options.seconds, words)
                                      for server in (redis, ours)])
                        noisy = watch.is_noisy()
                        for contender, (each, p99) in zip(("redis-server", "Lockkeeper"), pairs[-1]):
                            keep(options, {"benchmark": "memtier", "group": f"{name}, {protocol}, {pipeline} at a time",
                                           "contender": contender, "round": number + 1, "commands_per_s": each, "p99_ms": p99, "noisy": noisy})
                    ratios = [mine[0] / theirs[0] for theirs, mine in pairs]
                    rates, slowest = ([median([pair[side][what] for pair in pairs]) for side in (0, 1)] for what in (0, 1))
                    print(f"{name:26} {protocol:>8} {pipeline:8} {rates[0]:9.0f} {rates[1]:9.0f} {median(ratios):6.2f}  "
                          f"{spread(ratios):10} {slowest[0]:13.2f} {slowest[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
