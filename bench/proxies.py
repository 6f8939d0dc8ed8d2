#!/usr/bin/env python3
"""One hot key, waited for at three proxies of one fleet, beside the same clients at one proxy. Five masters.

In turns on the same machine, repeated; ratios are taken within a round. Hand-offs a second; commands that all masters
together carried out per critical section, less what they carry out for idle proxies in the same time; and, when all
clients queue before the first release, how many pairs of them were served in another order than that of their arrival.

A proxy has machines of its own in production. Here three of them share the cores with five masters and the generator, so
all run with --overprovisioned, in both cases: one that polls while it is idle would keep the next one in the chain from
running. --polling shows that as well.
"""

import subprocess
import time

from common import Client, Lockkeeper, Redis, arguments, json, machine, median, parse, progress, spread, sys

from support import stripe_of

SECRET = "proxies: {secret: a secret of all proxies}\n"


def run(options, servers, clients, mode="hot"):
    command = [options.lockbench]
    for server in servers:
        command += ["--server", f"127.0.0.1:{server.port}"]
    command += ["--protocol", "native", "--mode", mode, "--clients", str(clients)]
    if mode == "hot":
        command += ["--duration", f"{round(options.seconds * 1000)}ms", "--warmup", "500ms"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not done.stdout or done.returncode not in (0, 1):
        sys.exit(f"lockbench failed with code {done.returncode}\n{done.stderr}")
    report = json.loads(done.stdout)
    if options.json:
        with open(options.json, "a") as file:
            file.write(done.stdout)
    return report


def commands_of(masters):
    total = 0
    for master in masters:
        with Client(master.port) as client:
            text = client.call("INFO", "stats").decode()
            total += int(text.split("total_commands_processed:")[1].split("\r")[0]) - 1
    return total


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
    wait_for_links(linked)
    rates, spent, inversions = {"one": [], "three": []}, [], []
    try:
        before, began = commands_of(masters), time.monotonic()
        time.sleep(2)
        idle = (commands_of(masters) - before) / (time.monotonic() - began)
        for number in range(options.rounds):
            progress(f"round {number + 1} of {options.rounds}")
            rates["one"].append(run(options, linked[:1], options.clients)["hand_offs_per_s"])
            time.sleep(0.2)
            before, began = commands_of(masters), time.monotonic()
            report = run(options, linked, options.clients)
            used = commands_of(masters) - before - idle * (time.monotonic() - began)
            rates["three"].append(report["hand_offs_per_s"])
            spent.append(max(used, 0) / max(report["sections"], 1))
            inversions.append(run(options, linked, options.clients, "once")["order"]["inversions"])
            time.sleep(0.2)
    finally:
        progress("")
        for server in (*linked, *masters):
            server.kill()
    ratios = [three / one for one, three in zip(rates["one"], rates["three"])]
    print(f"one hot key, {options.clients} clients, five masters")
    for name, values in rates.items():
        print(f"  {name + (' proxy' if name == 'one' else ' proxies'):14} {median(values):>9.0f}/s {spread(values, '{:.0f}')}")
    print(f"  ratio {median(ratios):.2f} ({spread(ratios)}); commands of all masters per section:"
          f" {median(spent):.4f} ({spread(spent, '{:.4f}')}), {idle:.0f}/s when idle;"
          f" inversions: {sum(inversions)}")


if __name__ == "__main__":
    main()
