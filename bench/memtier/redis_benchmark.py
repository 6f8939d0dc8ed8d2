#!/usr/bin/env python3
"""Lockkeeper and redis-server side by side, in one run, with the same load: commands a second and their ratio.

The load is redis-benchmark's, on loopback, unmodified. The servers take turns and every pair is repeated; the median of
the ratios is what counts. "best" is the ratio of each server's best round: on a busy machine it is the better guess.
"CPU us" is the CPU time that each server took for a command: whoever needs less has more left when its core is full. A
round in which others used more than 0.15 cores is noisy.

--realtime asks the kernel to prefer the servers and the load to all ordinary processes; it takes root, and makes
ratios on a busy machine worth reading.
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common import NOISE, RELEASE_SHA, Lockkeeper, Redis, keep, load_release, machine, spread  # noqa: E402

CONNECTIONS = 50
WORKLOADS = [
    ("SET k v NX PX, then EVALSHA", [["SET", "lock:__rand_int__", "token", "NX", "PX", "30000"],
                                     ["EVALSHA", RELEASE_SHA, "1", "lock:__rand_int__", "token"]]),
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


def cpu_of(pid):
    """Seconds of CPU that a process has used, all of its threads."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_all():
    """Seconds of CPU that the machine has used, idle time aside."""
    with open("/proc/stat") as file:
        fields = [int(field) for field in file.readline().split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def cpu_of_load():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Round:
    """All commands of a workload, one after the other, to one server."""

    def __init__(self, server, commands, pipeline, requests):
        pid = server.process.pid
        began, all_before, own_before, load_before = time.monotonic(), cpu_of_all(), cpu_of(pid), cpu_of_load()
        seconds = sum(1 / rate(server.port, command, pipeline, requests) for command in commands)
        own, load = cpu_of(pid) - own_before, cpu_of_load() - load_before
        self.rate = len(commands) / seconds
        self.cpu_us = own / (len(commands) * requests) * 1e6
        self.noisy = (cpu_of_all() - all_before - own - load) / (time.monotonic() - began) > NOISE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lockkeeper", help="the server's binary, e.g. build/release/lockkeeper")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--first", action="store_true", help="only the first workload, the one of lock libraries")
    parser.add_argument("--json", metavar="FILE", help="append every run as a JSON line to this file")
    parser.add_argument("--realtime", action="store_true", help="prefer servers and load to other processes (root)")
    options = parser.parse_args()
    os.environ["LOCKKEEPER"] = os.path.abspath(options.lockkeeper)
    if options.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    print(machine())
    with Redis() as redis, Lockkeeper(cores=1, overprovisioned=False) as ours:
        for server in (redis, ours):
            load_release(server.port)
        print(f"{'workload':32} {'pipeline':>8} {'redis/s':>9} {'ours/s':>9} {'ratio':>6}  {'least-most':10} {'best':>5}  "
              f"{'CPU us':>13}  noisy")
        for name, commands in WORKLOADS[:1] if options.first else WORKLOADS:
            for pipeline, requests in ((1, 100_000), (32, 1_000_000)):
                pairs = []
                for number in range(1, options.rounds + 1):
                    pairs.append([Round(server, commands, pipeline, requests) for server in (redis, ours)])
                    for contender, one in zip(("redis-server", "Lockkeeper"), pairs[-1]):
                        keep(options, {"benchmark": "beside-redis", "group": f"{name}, {pipeline} at a time", "contender": contender,
                                       "round": number, "commands_per_s": one.rate, "cpu_us": one.cpu_us, "noisy": one.noisy})
                theirs, mine = ([pair[i] for pair in pairs] for i in (0, 1))
                ratios = [b.rate / a.rate for a, b in pairs]
                best = max(one.rate for one in mine) / max(one.rate for one in theirs)
                cpu = " ".join(f"{statistics.median(one.cpu_us for one in side):6.2f}" for side in (theirs, mine))
                print(f"{name:32} {pipeline:8} {statistics.median(one.rate for one in theirs):9.0f} "
                      f"{statistics.median(one.rate for one in mine):9.0f} {statistics.median(ratios):6.2f}  "
                      f"{spread(ratios):10} {best:5.2f}  {cpu}  {sum(one.noisy for one in theirs + mine)}/{2 * len(pairs)}",
                      flush=True)


if __name__ == "__main__":
    sys.exit(main())
