#!/usr/bin/env python3
"""What watching costs: the same server under the same load, with and without somebody who asks for /metrics once a second.

One server on one core. Each round has a run without the scraper and one with it, in turn first and second, and the ratio is
taken within the round. The scraper is a process of its own, and its own CPU time is small beside that of a scrape; it
shares the machine with the generator all the same, so a ratio of rates is rather too low. The last column is the CPU time
of the server for one section, with over without: what the server itself pays.
"""

import http.client
import subprocess
import sys
import time

from common import Lockkeeper, arguments, is_noisy, load, machine, median, parse, progress, spread

LOADS = [
    ("a key each, SET NX", ["--protocol", "set-nx", "--mode", "uncontended", "--clients", "50"]),
    ("a key each, 32 at a time", ["--protocol", "set-nx", "--mode", "uncontended", "--clients", "10", "--depth", "32"]),
    ("one hot key, native verbs", ["--protocol", "native", "--mode", "hot", "--clients", "50"]),
]


def scrape_for_ever(port, pause):
    """Runs in a process of its own, until it is ended."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/metrics")
        connection.getresponse().read()
        connection.close()
        time.sleep(pause)


class Scraper:
    def __init__(self, port, pause):
        self.command = [sys.executable, "-B", __file__, "--scrape", str(port), str(pause)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def run(options, server, words, scraped):
    words = [*words, "--verify", "--duration", f"{options.seconds * 1000:.0f}ms", "--warmup", "500ms", "--label",
             f"metrics_cost: {'with' if scraped else 'without'} a scraper"]
    if not scraped:
        return load(options, server, *words)
    with Scraper(server.http_port, options.pause):
        return load(options, server, *words)


def cpu(report):
    return report["servers"][0]["cpu_us_per_section"]


def measure(options, server, words, name):
    """Pairs of (without, with)."""
    pairs = []
    for number in range(options.rounds):
        progress(f"{name}: round {number + 1} of {options.rounds}")
        order = (False, True) if number % 2 == 0 else (True, False)
        reports = {scraped: run(options, server, words, scraped) for scraped in order}
        pairs.append((reports[False], reports[True]))
    progress("")
    return pairs


def show(name, pairs):
    rates = [without["sections_per_s"] for without, _ in pairs]
    ratios = [scraped["sections_per_s"] / without["sections_per_s"] for without, scraped in pairs]
    costs = [cpu(scraped) / cpu(without) for without, scraped in pairs]
    noisy = sum(is_noisy(one) for pair in pairs for one in pair)
    print(f"{name:28} {median(rates):>12,.0f} {median(ratios):>8.3f} {spread(ratios, '{:.3f}'):>13} {median(costs):>8.3f}"
          f" {spread(costs, '{:.3f}'):>13}  {noisy} of {2 * len(pairs)}")


def time_scrapes(server, count=50):
    """Milliseconds of the server's CPU for one scrape, idle otherwise, and how much it says."""
    def used():
        with open(f"/proc/{server.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 10.0

    before, size = used(), 0
    for _ in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=30)
        connection.request("GET", "/metrics")
        size = len(connection.getresponse().read())
        connection.close()
    return (used() - before) / count, size


def main():
    if sys.argv[1:2] == ["--scrape"]:
        scrape_for_ever(int(sys.argv[2]), float(sys.argv[3]))
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="of both, for each load (default: 9)")
    parser.add_argument("--seconds", type=float, default=4, help="of each run (default: 4)")
    parser.add_argument("--pause", type=float, default=1, help="seconds between two scrapes (default: 1)")
    options = parse(parser)
    print(machine())
    with Lockkeeper(http=True, cores=1, overprovisioned=False) as server:
        print(f"{'':28} {'sections/s':>12} {'ratio':>8} {'least-most':>13} {'CPU':>8} {'least-most':>13}  noisy runs")
        for name, words in LOADS:
            show(name, measure(options, server, words, name))
        cost, size = time_scrapes(server)
        print(f"a scrape: {cost:.1f} ms of CPU, {size:,} bytes")


if __name__ == "__main__":
    main()
