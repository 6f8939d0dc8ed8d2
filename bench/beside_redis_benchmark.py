#!/usr/bin/env python3
"""One pipelined connection of a core to a master beside redis-benchmark, on the same redis-server, in turns.

Both send acquires and releases (SET with NX and PX, DEL) over one connection with the same number of requests in
flight. Machines are noisy, so the two take turns, and the medians and the spread of both are printed. The CPU time of
a request, on the client's side, is the steadier figure where other programs run.
"""
import argparse
import random
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from common import Watch, keep

IN_FLIGHT = [1, 16, 64, 256]


def free_port():
    while True:
        port = random.randrange(12000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def wait_for(port):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    sys.exit("redis-server does not start")


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ours(program, port, in_flight):
    command = [program, "-c", "1", "-m", "256M", "--overprovisioned", "--default-log-level", "error",
               "--redis", f"127.0.0.1:{port}", "--in-flight", str(in_flight), "--seconds", "2"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(said.split()[0]), float(re.search(r"([0-9.]+) us of CPU", said).group(1)), said.strip()


def theirs(port, in_flight):
    # One connection, as ours. It sends a whole pipeline, waits for all of it, and sends the next.
    requests = max(20000, 2000 * in_flight)
    rates, used = [], []
    for command in (["SET", "bench:__rand_int__", "owner", "NX", "PX", "30000"], ["DEL", "bench:__rand_int__"]):
        before = cpu_of_children()
        said = subprocess.run(["redis-benchmark", "-p", str(port), "-c", "1", "-P", str(in_flight), "-r", "100",
                               "-n", str(requests), *command],
                              check=True, capture_output=True, text=True).stdout
        rates.append(float(re.search(r"throughput summary: ([0-9.]+)", said).group(1)))
        used.append((cpu_of_children() - before) / requests * 1e6)
    return statistics.harmonic_mean(rates), statistics.mean(used)


def middle(rows, column):
    return statistics.median(row[column] for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="e.g. build/release/bench/micro/master_bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="append every run as a JSON line to this file")
    options = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                   "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            wait_for(port)
            for in_flight in IN_FLIGHT:
                mine, its = [], []
                for number in range(1, options.rounds + 1):
                    watch = Watch(server.pid)
                    mine.append(ours(options.program, port, in_flight))
                    its.append(theirs(port, in_flight))
                    noisy = watch.is_noisy()
                    for contender, one in (("Lockkeeper", mine[-1]), ("redis-benchmark", its[-1])):
                        keep(options, {"benchmark": "master", "group": f"{in_flight} in flight", "contender": contender,
                                       "round": number, "commands_per_s": one[0], "cpu_us": one[1], "noisy": noisy})
                ratios = [a[0] / b[0] for a, b in zip(mine, its)]
                print(f"{in_flight:4d} in flight: {middle(mine, 0):8.0f} requests/s, redis-benchmark "
                      f"{middle(its, 0):8.0f}; ratio {statistics.median(ratios):.2f} "
                      f"({min(ratios):.2f}..{max(ratios):.2f}); CPU a request {middle(mine, 1):.2f} us, "
                      f"redis-benchmark {middle(its, 1):.2f} us", flush=True)
                print(f"                last: {mine[-1][2]}", flush=True)
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
