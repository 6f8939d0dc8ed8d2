#!/usr/bin/env python3
"""Lockkeeper and redis-server side by side, in one run, with the same load: commands a second and their ratio.

The load is redis-benchmark's, on loopback. The servers take turns and every pair is repeated; the median of the
ratios is what counts, the spread says how noisy the machine was.
"""

import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from support import Lockkeeper, Redis  # noqa: E402

ROUNDS = 5
CONNECTIONS = 50
WORKLOADS = [
    ("SET k v NX PX 30000, then DEL k", [["SET", "lock:__rand_int__", "token", "NX", "PX", "30000"],
                                         ["DEL", "lock:__rand_int__"]]),
    ("GET", [["GET", "lock:__rand_int__"]]),
    ("PING", [["PING"]]),
]


def rate(port, command, pipeline, requests):
    """Commands a second of one redis-benchmark run."""
    out = subprocess.run(
        ["redis-benchmark", "-p", str(port), "-c", str(CONNECTIONS), "-P", str(pipeline), "-n", str(requests),
         "-r", "100000", "-q", *command],
        capture_output=True, text=True, check=True, timeout=120).stdout
    return float(re.findall(r"([\d.]+) requests per second", out)[-1])


def cycle_rate(port, commands, pipeline, requests):
    """The commands one after the other; the time of all of them counts."""
    return len(commands) / sum(1 / rate(port, command, pipeline, requests) for command in commands)


def main():
    os.environ["LOCKKEEPER"] = os.path.abspath(sys.argv[1])
    with Redis() as redis, Lockkeeper(cores=1, overprovisioned=False) as ours:
        print(f"{'workload':34} {'pipeline':>8} {'redis/s':>10} {'ours/s':>10} {'ratio':>6}   spread")
        for name, commands in WORKLOADS:
            for pipeline, requests in ((1, 100_000), (32, 1_000_000)):
                pairs = []
                for _ in range(ROUNDS):
                    theirs = cycle_rate(redis.port, commands, pipeline, requests)
                    mine = cycle_rate(ours.port, commands, pipeline, requests)
                    pairs.append((theirs, mine))
                ratios = sorted(mine / theirs for theirs, mine in pairs)
                print(f"{name:34} {pipeline:8} {statistics.median(p[0] for p in pairs):10.0f} "
                      f"{statistics.median(p[1] for p in pairs):10.0f} {statistics.median(ratios):6.2f}   "
                      f"{ratios[0]:.2f}-{ratios[-1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
