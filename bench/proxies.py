#!/usr/bin/env python3
"""One hot key, waited for at three proxies of one fleet, beside the same clients at one proxy. Five masters.

In turns on the same machine, repeated; ratios are taken within a round. Hand-offs a second; commands that all masters
together carried out per critical section, less what they carry out for idle proxies in the same time; and, when all
clients queue before the first release, how many pairs of them were served in another order than that of their arrival.

A proxy has a machine of its own in production. Here three of them share the cores with five masters and the generator. Hence two
ways: all with --overprovisioned, so that who is idle sleeps, and all as they come, so that who is idle looks for work for a moment.
"""

import time

from common import (Client, Lockkeeper, Redis, arguments, info, is_noisy, keep, lockbench, machine, median, parse, progress, spread,
                    sys)

from support import stripe_of

SECRET = "proxies: {secret: a secret of all proxies}\n"


def run(options, number, contender, servers, processes, way, mode="hot"):
    words = ["--protocol", "native", "--mode", mode, "--clients", options.clients]
    if mode == "hot":
        words += ["--duration", f"{round(options.seconds * 1000)}ms", "--warmup", "500ms"]
    report = lockbench(options, servers, *words, processes=processes)
    report.update(benchmark="proxies", group=mode + way, contender=contender, round=number, noisy=is_noisy(report))
    return report


def commands_of(masters):
    """Without those of this question."""
    return sum(info(master.port, "stats", "total_commands_processed")[0] - 1 for master in masters)


def start(masters, more, looking):
    proxy = Lockkeeper(cores=1, memory="512M", config=stripe_of(masters, timeout="2s") + more,
                       overprovisioned=not looking)
    proxy.wait_until_ready()
    proxy.wait_for_votes(len(masters))
    return proxy


def wait_for_links(proxies):
    for proxy in proxies:
        with Client(proxy.port) as client:
            end = time.monotonic() + 60
            while sum(b"up" in each for each in client.call("LK.PROXIES")) < len(proxies) - 1:
                if time.monotonic() > end:
                    sys.exit(f"no links: {client.call('LK.PROXIES')}")
                time.sleep(0.05)


def measure(options, way, looking):
    masters = [Redis() for _ in range(5)]
    for master in masters:
        master.wait_until_ready()
    linked = [start(masters, SECRET, looking) for _ in range(3)]
    everybody = [*linked, *masters]
    wait_for_links(linked)
    ones, threes, orders = [], [], []
    try:
        before, began = commands_of(masters), time.monotonic()
        time.sleep(2)
        idle = (commands_of(masters) - before) / (time.monotonic() - began)
        for number in range(1, options.rounds + 1):
            progress(f"round {number} of {options.rounds}{way}")
            ones.append(run(options, number, "one proxy", linked[:1], everybody, way))
            time.sleep(0.2)
            before, began = commands_of(masters), time.monotonic()
            threes.append(run(options, number, "three proxies", linked, everybody, way))
            used = commands_of(masters) - before - idle * (time.monotonic() - began)
            threes[-1]["store_commands_per_section"] = max(used, 0) / max(threes[-1]["sections"], 1)
            orders.append(run(options, number, "three proxies", linked, everybody, way, "once"))
            for line in (ones[-1], threes[-1], orders[-1]):
                keep(options, line)
            time.sleep(0.2)
    finally:
        progress("")
        for server in everybody:
            server.kill()
    print(f"one hot key, {options.clients} clients, five masters, proxies {'as they come' if looking else '--overprovisioned'}")
    for lines in (ones, threes):
        rates = [one["hand_offs_per_s"] for one in lines]
        print(f"  {lines[0]['contender']:14} {median(rates):>9.0f}/s {spread(rates, '{:.0f}'):15}"
              f" {sum(one['noisy'] for one in lines)}/{len(lines)} noisy")
    ratios = [three["hand_offs_per_s"] / max(one["hand_offs_per_s"], 1) for one, three in zip(ones, threes)]
    spent = [one["store_commands_per_section"] for one in threes]
    print(f"  ratio {median(ratios):.2f} ({spread(ratios)}); commands of all masters per section:"
          f" {median(spent):.4f} ({spread(spent, '{:.4f}')}), {idle:.0f}/s when idle;"
          f" inversions: {sum(one['order']['inversions'] for one in orders)}")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--clients", type=int, default=99)
    options = parse(parser)
    print(machine())
    for way, looking in (("", False), (", looking", True)):
        measure(options, way, looking)


if __name__ == "__main__":
    main()
