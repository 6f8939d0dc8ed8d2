#!/usr/bin/env python3
"""One hot key: how often a second does a contended lock change hands, and how fairly?

Side by side in one run: a BLPOP token and SET NX polling on redis-server, and Lockkeeper's embedded store on one core.
The contenders take turns, every turn is repeated, and ratios are taken within a round, so that a slow moment of the
machine hits both. Each client releases at once and asks again at once; a hand-off is a grant to another client than
the one before.

Columns: hand-offs/s (median, least-most), ratio to the BLPOP token on redis-server (likewise), Jain's index (1: all
clients were served equally), waits in ms, p99 over the ideal wait (waiters / hand-offs a second: what a perfect queue
would take), clients that waited for 3 s and more, CPU of the server per section in us, and how many rounds were noisy,
that is, others used the machine.
"""

from common import (Lockkeeper, Redis, arguments, is_noisy, load, machine, median, parse, progress, speaks_native,
                    spread)

REDIS, OURS = "redis-server", "Lockkeeper"
CONTENDERS = [
    ("BLPOP token", REDIS, ["--protocol", "blpop"]),
    ("SET NX, polls every 10 ms", REDIS, ["--protocol", "set-nx", "--retry", "fixed:10ms"]),
    ("SET NX, polls every 50 ms", REDIS, ["--protocol", "set-nx", "--retry", "fixed:50ms"]),
    ("SET NX, polls after 0-100 ms", REDIS, ["--protocol", "set-nx", "--retry", "random:0-100ms"]),
    ("BLPOP token", OURS, ["--protocol", "blpop"]),
    ("native verbs", OURS, ["--protocol", "native"]),
]


def measure(options, servers):
    """Reports by (waiters, contender), one for each round."""
    runs = {}
    for round_number in range(options.rounds):
        for waiters in options.waiters:
            for number, (name, where, words) in enumerate(CONTENDERS):
                if words[1] == "native" and not options.native:
                    continue
                progress(f"round {round_number + 1} of {options.rounds}, {waiters} waiters: {name} on {where}")
                report = load(options, servers[where], *words, "--mode", "hot", "--clients", waiters, "--verify",
                              "--duration", f"{options.seconds}s", "--warmup", "500ms", "--spin", options.spin,
                              "--label", f"hot_key: {name} on {where}")
                runs.setdefault((waiters, number), []).append(report)
    progress("")
    return runs


def show(options, runs):
    print(f"{'':30} {'on':12} {'hand-offs/s':>12} {'least-most':>15} {'ratio':>6} {'least-most':>13} {'Jain':>6}"
          f" {'mean':>8} {'p99':>8} {'max':>8} {'p99/ideal':>9} {'starved':>7} {'CPU us':>6}  noisy")
    for waiters in options.waiters:
        print(f"{waiters} waiters")
        yardstick = [run["hand_offs_per_s"] for run in runs[waiters, 0]]
        for number, (name, where, _) in enumerate(CONTENDERS):
            if (waiters, number) not in runs:
                continue
            rounds = runs[waiters, number]
            rates = [run["hand_offs_per_s"] for run in rounds]
            ratios = [mine / theirs for mine, theirs in zip(rates, yardstick)]
            # Who still waits at the end has waited, too.
            longest = [max(run["wait_us"]["max"], run["longest_wait_at_end_us"]) / 1e3 for run in rounds]
            ideal = [waiters / run["hand_offs_per_s"] * 1e6 if run["hand_offs"] else float("inf") for run in rounds]
            over = median([run["wait_us"]["p99"] / one for run, one in zip(rounds, ideal)])
            print(f"  {name:28} {where:12} {median(rates):12.0f} {spread(rates, '{:.0f}'):>15} {median(ratios):6.2f}"
                  f" {spread(ratios):>13} {median([run['jain'] for run in rounds]):6.3f}"
                  f" {median([run['wait_us']['mean'] / 1e3 for run in rounds]):8.2f}"
                  f" {median([run['wait_us']['p99'] / 1e3 for run in rounds]):8.2f} {median(longest):8.1f}"
                  f" {over:9.2f} {max(run['starved'] for run in rounds):7}"
                  f" {median([run['servers'][0]['cpu_us_per_section'] for run in rounds]):6.1f}"
                  f"  {sum(map(is_noisy, rounds))}/{len(rounds)}", flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4,
                        help="of each measurement (4); nobody can starve for 3 s in less")
    parser.add_argument("--waiters", type=lambda text: [int(one) for one in text.split(",")], default=[10, 100, 1000],
                        metavar="N,N", help="(10,100,1000)")
    parser.add_argument("--spin", default="0", metavar="TIME",
                        help="the generator looks for replies this long before it sleeps, for every contender (0)")
    options = parse(parser)
    with Redis() as redis, Lockkeeper(cores=1, overprovisioned=False) as ours:
        options.native = speaks_native(ours)
        print(machine())
        if not options.native:
            print("this Lockkeeper does not know LK.ACQUIRE: no native verbs")
        show(options, measure(options, {REDIS: redis, OURS: ours}))


if __name__ == "__main__":
    main()
