#!/usr/bin/env python3
"""One hot key: how often a second does a contended lock change hands, and how fairly?

Side by side in one run: a BLPOP token and SET NX polling on redis-server, and Lockkeeper's embedded store on one core.
The contenders take turns, every turn is repeated, and ratios are taken within a round, so that a slow moment of the
machine hits both. A round in which others used the machine (other processes, or other guests of the host) is noisy and
tried again, up to three times as often as asked for; figures are of the calm rounds if there are at least three, else of
all, and the last column says which. Each client releases at once and asks again at once; a hand-off is a grant to another client than
the one before.

Columns: hand-offs/s (median, least-most), ratio to the BLPOP token on redis-server (likewise), Jain's index (1: all
clients were served equally), waits in ms, p99 over the ideal wait (waiters / hand-offs a second: what a perfect queue
would take), the longest wait over the mean one, in time and in turns (grants in between: what a slow machine cannot
stretch), clients that waited for 3 s and more, CPU of the server per section in us, and how many rounds were noisy.
"""

from common import (Lockkeeper, Redis, arguments, is_noisy, load, machine, median, parse, progress, spread)

REDIS, OURS = "redis-server", "Lockkeeper"
# Those that are compared with one another come one after the other.
CONTENDERS = [
    ("BLPOP token", REDIS, ["--protocol", "blpop"]),
    ("native verbs", OURS, ["--protocol", "native"]),
    ("BLPOP token", OURS, ["--protocol", "blpop"]),
    ("SET NX, polls every 10 ms", REDIS, ["--protocol", "set-nx", "--retry", "fixed:10ms"]),
    ("SET NX, polls every 50 ms", REDIS, ["--protocol", "set-nx", "--retry", "fixed:50ms"]),
    ("SET NX, polls after 0-100 ms", REDIS, ["--protocol", "set-nx", "--retry", "random:0-100ms"]),
]
# Of these both must be calm for a round to be; the others tell their story in any weather.
COMPARED = 2


def measure_round(options, servers, waiters, what):
    """One report for each contender."""
    reports = []
    for name, where, words in CONTENDERS[:COMPARED] if options.pair else CONTENDERS:
        progress(f"{what}, {waiters} waiters: {name} on {where}")
        reports.append(load(options, servers[where], *words, "--mode", "hot", "--clients", waiters, "--verify",
                            "--duration", f"{options.seconds}s", "--warmup", "500ms", "--spin", options.spin,
                            "--label", f"hot_key: {name} on {where}"))
    return reports


def measure(options, servers):
    """Rounds by waiters; a round is one report for each contender."""
    rounds = {waiters: [] for waiters in options.waiters}
    calm = dict.fromkeys(options.waiters, 0)
    for number in range(3 * options.rounds):
        for waiters in options.waiters:
            if calm[waiters] < options.rounds:
                one = measure_round(options, servers, waiters, f"round {number + 1}, {calm[waiters]} calm so far")
                calm[waiters] += not is_noisy_round(one)
                rounds[waiters].append(one)
    progress("")
    return rounds


def is_noisy_round(reports):
    return any(map(is_noisy, reports[:COMPARED]))


def show(options, measured):
    print(f"{'':30} {'on':12} {'hand-offs/s':>12} {'least-most':>15} {'ratio':>6} {'least-most':>13} {'Jain':>6}"
          f" {'mean':>8} {'p99':>8} {'p99/ideal':>9} {'max/mean':>9} {'in turns':>8} {'starved':>7} {'CPU us':>6}  noisy")
    for waiters in options.waiters:
        calm = [one for one in measured[waiters] if not is_noisy_round(one)]
        rounds = calm if len(calm) >= 3 else measured[waiters]
        kind = "calm rounds" if rounds is calm else "rounds, noisy ones too"
        print(f"{waiters} waiters, {len(rounds)} {kind}")
        for number, (name, where, _) in enumerate(CONTENDERS[:len(rounds[0])]):
            show_contender(f"  {name:28} {where:12}", [one[number] for one in rounds], [one[0] for one in rounds], waiters)


def show_contender(title, runs, yardstick, waiters):
    rates = [run["hand_offs_per_s"] for run in runs]
    ratios = [mine / theirs["hand_offs_per_s"] for mine, theirs in zip(rates, yardstick)]
    # Who still waits at the end has waited, too.
    longest = [max(run["wait_us"]["max"], run["longest_wait_at_end_us"]) / run["wait_us"]["mean"] for run in runs]
    turns = [run["wait_turns"]["max"] / run["wait_turns"]["mean"] for run in runs]
    ideal = [waiters / run["hand_offs_per_s"] * 1e6 if run["hand_offs"] else float("inf") for run in runs]
    over = median([run["wait_us"]["p99"] / one for run, one in zip(runs, ideal)])
    print(f"{title} {median(rates):12.0f} {spread(rates, '{:.0f}'):>15} {median(ratios):6.2f}"
          f" {spread(ratios):>13} {median([run['jain'] for run in runs]):6.3f}"
          f" {median([run['wait_us']['mean'] / 1e3 for run in runs]):8.2f}"
          f" {median([run['wait_us']['p99'] / 1e3 for run in runs]):8.2f} {over:9.2f} {median(longest):9.2f}"
          f" {median(turns):8.2f} {max(run['starved'] for run in runs):7}"
          f" {median([run['servers'][0]['cpu_us_per_section'] for run in runs]):6.1f}"
          f"  {sum(map(is_noisy, runs))}/{len(runs)}", flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4,
                        help="of each measurement (4); nobody can starve for 3 s in less")
    parser.add_argument("--waiters", type=lambda text: [int(one) for one in text.split(",")], default=[10, 100, 1000],
                        metavar="N,N", help="(10,100,1000)")
    parser.add_argument("--spin", default="0", metavar="TIME",
                        help="the generator looks for replies this long before it sleeps, for every contender (0)")
    parser.add_argument("--pair", action="store_true", help="only the native verbs beside the BLPOP token")
    options = parse(parser)
    with Redis() as redis, Lockkeeper(cores=1, overprovisioned=False) as ours:
        print(machine())
        show(options, measure(options, {REDIS: redis, OURS: ours}))


if __name__ == "__main__":
    main()
