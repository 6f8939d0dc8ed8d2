#!/usr/bin/env python3
"""Loads that are neither a hot key nor a key for each: on redis-server, in Lockkeeper's memory and on five masters.

  popular keys    200 clients want any of 1,000 keys, some far more often than others (Zipf), and hold them for 1 ms
  everybody once  500 clients stand in line before the first release, and each gets the lock once: in which order?
  renewals        1,000 clients hold a key each and renew it every 100 ms: figures are renewals
  pauses          100 clients of one key that hold it for 100 us and think for 10 ms between two sections
  backing off     100 clients of one key that poll after 1 to 64 ms, twice as long after each refusal
  idle            50 clients with a key each, while 10,000 other connections do nothing

redis-server has a BLPOP token where clients wait, else SET NX PX and a script for the release; Lockkeeper has its native verbs,
but where the load is one of clients that poll. Exclusion and the order of fences are verified in each run.
"""

import contextlib
import os
import resource
import sys

from common import Broken, Failed, arguments, is_noisy, keep, lockbench, machine, median, parse, progress, spread

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
from harness import Redis  # noqa: E402
from servers import lockkeeper_on, masters  # noqa: E402

MANY = "limits: {clients: 20000}\n"
POLLS = ["--protocol", "set-nx"]
# Name, words, the protocol on redis-server and on Lockkeeper, the figure.
MODES = [
    ("popular keys", ["--mode", "zipf", "--keys", 1000, "--clients", 200, "--hold", "1ms"], POLLS, ["--protocol", "native"],
     "sections_per_s"),
    ("everybody once", ["--mode", "once", "--clients", 500], ["--protocol", "blpop"], ["--protocol", "native"], "sections_per_s"),
    ("renewals", ["--mode", "renew", "--clients", 1000, "--renew-every", "100ms"], POLLS, ["--protocol", "native"],
     "renewals_per_s"),
    ("pauses", ["--mode", "hot", "--clients", 100, "--hold", "100us", "--think", "10ms"], ["--protocol", "blpop"],
     ["--protocol", "native"], "hand_offs_per_s"),
    ("backing off", ["--mode", "hot", "--clients", 100, "--retry", "exponential:1ms-64ms"], POLLS, POLLS, "hand_offs_per_s"),
    ("idle", ["--mode", "uncontended", "--clients", 50, "--idle", 10_000, "--sources", 4], POLLS, POLLS, "sections_per_s"),
]


def run(options, mode, servers, ours, processes, stores):
    _, words, on_redis, on_ours, unit = mode
    if "once" not in words:
        words = ["--duration", f"{options.seconds * 1000:.0f}ms", "--warmup", "500ms", *words]
    report = lockbench(options, servers, *words, *(on_ours if ours else on_redis), processes=processes, masters=stores)
    if stores:
        report["store_commands_per_section"] = sum(one["commands_per_section"] for one in report["masters"])
    # In mode `renew` nobody waits for a lock: the time of a renewal is what counts.
    return {**report, "unit": unit, "value": report[unit], "times_us": report.get("renewal_us", report["wait_us"]),
            "noisy": is_noisy(report)}


def show(name, place, lines):
    title = f"{name:15} {place:22}"
    good = [one for one in lines if "failed" not in one]
    for one in lines:
        if "failed" in one:
            print(f"{title} FAILED: {one['failed']}")
    if not good:
        return
    rates = [one["value"] for one in good]
    order = f"{max(one['order']['inversions'] for one in good):>10}" if "order" in good[0] else f"{'':10}"
    print(f"{title} {median(rates):9.0f} {spread(rates, '{:.0f}'):>15} {median([one['times_us']['p50'] for one in good]) / 1e3:8.2f}"
          f" {median([one['times_us']['p99'] for one in good]) / 1e3:8.2f} {median([one['jain'] for one in good]):6.3f}"
          f" {max(one['starved'] for one in good):7} {order} {sum(one['noisy'] for one in good)}/{len(good)}", flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2)
    options = parse(parser)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(machine())
    found, broken = {}, False
    with contextlib.ExitStack() as stack:
        # To redis-server other addresses of loopback are strangers.
        redis = stack.enter_context(Redis("--maxclients", "20000", "--tcp-backlog", "4096", "--protected-mode", "no"))
        voters = stack.enter_context(masters(5))
        memory = stack.enter_context(lockkeeper_on([], MANY, memory="1G"))
        fleet = stack.enter_context(lockkeeper_on(voters, MANY, memory="1G"))
        everybody = [redis, memory, fleet, *voters]
        for number in range(1, options.rounds + 1):
            for mode in MODES:
                for place, server, stores in (("redis-server", redis, [redis]), ("Lockkeeper, memory", memory, []),
                                              ("Lockkeeper, 5 masters", fleet, voters)):
                    progress(f"round {number} of {options.rounds}: {mode[0]}, {place}")
                    line = {"benchmark": "modes", "group": mode[0], "contender": place, "round": number}
                    try:
                        line.update(run(options, mode, [server], server is not redis, everybody, stores))
                    except Failed as error:
                        line["failed"] = f"{mode[0]}: {error}"
                        broken |= isinstance(error, Broken) and server is not redis
                    keep(options, line)
                    found.setdefault((mode[0], place), []).append(line)
        progress("")
    print(f"{'':15} {'on':22} {'a second':>9} {'least-most':>15} {'p50 ms':>8} {'p99 ms':>8} {'Jain':>6} {'starved':>7}"
          f" {'inversions':>10} noisy")
    for (name, place), lines in found.items():
        show(name, place, lines)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
