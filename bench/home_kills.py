#!/usr/bin/env python3
"""The home of a key is killed while a thousand clients of two other proxies wait in its line, again and again.

Three masters, three proxies with links. For each kill: a client at the home takes the lock, the waiters queue through the
other two proxies, the home gets SIGKILL, and each waiter gives the lock back as soon as it has it. Told are the time from
the kill to the first and to the last grant; bound by the lease, which nobody can end for a home that may still live.

Verified on the way: nobody is granted the lock before the one before has sent its release, fences grow in the order of
the grants and past the dead holder's, and nobody is refused or forgotten. What is broken is printed, and the exit code
is 1.
"""

import selectors
import sys
import time

from common import Client, Lockkeeper, Redis, arguments, machine, median, parse, progress, spread

from support import stripe_of

LEASE = 2.0
CONFIG = "proxies: {secret: a secret of all proxies}\nleases: {max_ttl: %.0fs, slack: 200ms, untimed: 1s}\n" % LEASE
# Generous: a waiter that is still not served then has been forgotten.
PATIENCE = 120


def start(masters):
    proxy = Lockkeeper(cores=1, memory="512M", config=stripe_of(masters, timeout="2s") + CONFIG)
    proxy.wait_until_ready()
    proxy.wait_for_votes(len(masters))
    return proxy


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"never happened: {what}")
        time.sleep(0.02)


def wait_for_links(proxies):
    for proxy in proxies:
        with Client(proxy.port) as client:
            wait_until(lambda: sum(b"up" in each for each in client.call("LK.PROXIES")) == len(proxies) - 1,
                       "all proxies have links")


def line_of(key, waiters, proxies, keep):
    """So many clients, by turns at these proxies, that have asked for `key` and wait; `keep` keeps it from them."""
    clients = []
    for number in range(waiters):
        keep()
        clients.append(Client(proxies[number % len(proxies)].port))
        clients[-1].send("LK.ACQUIRE", key, f"w{number}", "TTL", round(LEASE * 1000), "WAIT", 0)
    return clients


def serve(key, clients, fence, problems):
    """When the first and the last of `clients` got the lock; each gives it back at once."""
    waiting = selectors.DefaultSelector()
    for number, client in enumerate(clients):
        waiting.register(client.socket, selectors.EVENT_READ, (number, client))
    first = None
    while waiting.get_map():
        granted = [each.data for each, _ in waiting.select(PATIENCE)]
        if not granted:
            problems.append(f"{key}: {len(waiting.get_map())} waiters were forgotten")
            break
        first = first or time.monotonic()
        if len(granted) > 1:
            # The second grant is here, and the first release has not even been sent.
            problems.append(f"{key}: {len(granted)} clients hold it at the same time: {[who for who, _ in granted]}")
        for number, client in granted:
            waiting.unregister(client.socket)
            answer = client.read()
            if not isinstance(answer, list):
                problems.append(f"{key}: waiter {number} got {answer!r}")
                continue
            if answer[0] <= fence:
                problems.append(f"{key}: fence {answer[0]} after {fence}")
            fence = answer[0]
            client.send("LK.RELEASE", key, f"w{number}")
    return first, time.monotonic()


def main():
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--waiters", type=int, default=1000)
    options = parse(parser)
    print(machine())
    masters = [Redis() for _ in range(3)]
    for master in masters:
        master.wait_until_ready()
    proxies = [start(masters) for _ in range(3)]
    firsts, lasts, problems = [], [], []
    try:
        for kill in range(options.kills):
            progress(f"kill {kill + 1} of {options.kills}")
            wait_for_links(proxies)
            key, home = f"k{kill}", proxies[kill % 3]
            others = [proxy for proxy in proxies if proxy is not home]
            holder = Client(home.port)
            fence = holder.call("LK.ACQUIRE", key, "holder", "TTL", round(LEASE * 1000))[0]

            def keep():
                if holder.call("LK.EXTEND", key, "holder", round(LEASE * 1000)) is None:
                    sys.exit("the holder lost its lock while the others queued: the machine is too slow")
            clients = line_of(key, options.waiters, others, keep)
            watch = Client(home.port)
            wait_until(lambda: (keep(), len(watch.call("LK.WAITERS", key)))[1] >= options.waiters, "all are in line")
            home.kill_process()
            killed = time.monotonic()
            first, last = serve(key, clients, fence, problems)
            firsts.append((first or last) - killed)
            lasts.append(last - killed)
            for client in (*clients, holder, watch):
                client.close()
            proxies[kill % 3] = start(masters)
    finally:
        progress("")
        for server in (*proxies, *masters):
            server.kill()
    print(f"{options.kills} kills of the home, {options.waiters} waiters at two other proxies, leases of {LEASE:.0f} s")
    print(f"  first grant after {median(firsts):.2f} s ({spread(firsts)}), all served after {median(lasts):.2f} s"
          f" ({spread(lasts)})")
    print(f"  violations: {len(problems)}")
    for problem in problems[:20]:
        print(f"    {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
