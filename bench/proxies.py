#!/usr/bin/env python3
"""One hot key, waited for at three proxies of one fleet, beside the same clients at one proxy. Five masters.

In turns on the same machine, repeated; ratios are taken within a round. Hand-offs a second; commands that all masters
together carried out per critical section, less what they carry out for idle proxies in the same time; and, when all
clients queue before the first release, how many pairs of them were served in another order than that of their arrival.

A proxy has machines of its own in production. Here three of them share the cores with five masters and the generator, so
all run with --overprovisioned, in both cases: one that polls while it is idle would keep the next one in the chain from
running. --polling shows that as well.
"""

import time

from common import (Client, Lockkeeper, Redis, arguments, info, is_noisy, keep, lockbench, machine, median, parse, progress, spread,
                    sys)

from support import stripe_of

SECRET = "proxies: {secret: a secret of all proxies}\n"


def run(options, number, contender, servers, processes, mode="hot"):
    words = ["--protocol", "native", "--mode", mode, "--clients", options.clients]
    if mode == "hot":
        words += ["--duration", f"{round(options.seconds * 1000)}ms", "--warmup", "500ms"]
    report = lockbench(options, servers, *words, processes=processes)
    report.update(benchmark="proxies", group=mode, contender=contender, round=number, noisy=is_noisy(report))
    return report


def commands_of(masters):
    """Without those of this question."""
    return sum(info(master.port, "stats", "total_commands_processed")[0] - 1 for master in masters)


def start(masters, more, polling=False):
    proxy = Lockkeeper(cores=1, memory="512M", config=stripe_of(masters, timeout="2s") + more,
                       overprovisioned=not polling)
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


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--clients", type=int, default=99)
    parser.add_argument("--polling", action="store_true", help="idle proxies poll, as they do on cores of their own")
    options = parse(parser)
    print(machine())
    masters = [Redis() for _ in range(5)]
    for master in masters:
        master.wait_until_ready()
    linked = [start(masters, SECRET, options.polling) for _ in range(3)]
    everybody = [*linked, *masters]
    wait_for_links(linked)
    ones, threes, orders = [], [], []
    try:
        before, began = commands_of(masters), time.monotonic()
        time.sleep(2)
        idle = (commands_of(masters) - before) / (time.monotonic() - began)
        for number in range(1, options.rounds + 1):
            progress(f"round {number} of {options.rounds}")
            ones.append(run(options, number, "one proxy", linked[:1], everybody))
            time.sleep(0.2)
            before, began = commands_of(masters), time.monotonic()
            threes.append(run(options, number, "three proxies", linked, everybody))
            used = commands_of(masters) - before - idle * (time.monotonic() - began)
            threes[-1]["store_commands_per_section"] = max(used, 0) / max(threes[-1]["sections"], 1)
            orders.append(run(options, number, "three proxies", linked, everybody, "once"))
            for line in (ones[-1], threes[-1], orders[-1]):
                keep(options, line)
            time.sleep(0.2)
    finally:
        progress("")
        for server in everybody:
            server.kill()
    print(f"one hot key, {options.clients} clients, five masters")
    for lines in (ones, threes):
        rates = [one["hand_offs_per_s"] for one in lines]
        print(f"  {lines[0]['contender']:14} {median(rates):>9.0f}/s {spread(rates, '{:.0f}'):15}"
              f" {sum(one['noisy'] for one in lines)}/{len(lines)} noisy")
    ratios = [three["hand_offs_per_s"] / max(one["hand_offs_per_s"], 1) for one, three in zip(ones, threes)]
    spent = [one["store_commands_per_section"] for one in threes]
    print(f"  ratio {median(ratios):.2f} ({spread(ratios)}); commands of all masters per section:"
          f" {median(spent):.4f} ({spread(spent, '{:.4f}')}), {idle:.0f}/s when idle;"
          f" inversions: {sum(one['order']['inversions'] for one in orders)}")


if __name__ == "__main__":
    main()
