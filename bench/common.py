"""What the benchmarks share: the servers of the end-to-end tests, runs of lockbench, medians and spreads."""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from support import Client, Error, Lockkeeper, Redis, encode  # noqa: E402, F401

# The release of most lock libraries: delete the key if it is still ours.
RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end'
RELEASE_SHA = hashlib.sha1(RELEASE.encode()).hexdigest()

# A round in which others used more than this many cores is not trusted.
NOISE = 0.15


class Failed(Exception):
    """It cannot be measured here; the text says why, in one line."""


class Broken(Failed):
    """Two clients were in a section of one key at once, or a fence did not grow."""


def arguments(text):
    """A parser with what every benchmark takes; `text` is the module's docstring."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lockkeeper", help="the server's binary, e.g. build/release/lockkeeper")
    parser.add_argument("--lockbench", help="the load generator's binary (default: beside the server's)")
    parser.add_argument("--json", metavar="FILE", help="append every run as a JSON line to this file")
    return parser


def parse(parser):
    options = parser.parse_args()
    os.environ["LOCKKEEPER"] = os.path.abspath(options.lockkeeper)
    beside = os.path.join(os.path.dirname(options.lockkeeper), "bench", "load", "lockbench")
    options.lockbench = os.path.abspath(options.lockbench or beside)
    for path in (os.environ["LOCKKEEPER"], options.lockbench):
        if not os.access(path, os.X_OK):
            sys.exit(f"{path} is not there: build it first (make build, or ninja -C build/release lockbench)")
    return options


def load(options, server, *words, patience=300):
    """One run of lockbench against `server`; its report. Ends the benchmark if the run went wrong."""
    done = subprocess.run(
        [options.lockbench, "--server", f"127.0.0.1:{server.port}", "--server-pid", str(server.process.pid),
         *map(str, words)],
        capture_output=True, text=True, timeout=patience)
    # A load that nobody got through is a result too.
    if not done.stdout or done.returncode not in (0, 1):
        sys.exit(f"lockbench failed with code {done.returncode}: {' '.join(map(str, words))}\n{done.stderr}")
    report = json.loads(done.stdout)
    if options.json:
        with open(options.json, "a") as file:
            file.write(done.stdout)
    return report


def lockbench(options, servers, *words, processes=(), masters=(), patience=300):
    """One verified run of lockbench on these servers; its report. Failed if it went wrong, Broken if a promise was."""
    command = [options.lockbench, "--verify"]
    for server in servers:
        command += ["--server", f"127.0.0.1:{server.port}"]
    for one in processes:
        command += ["--server-pid", str(one.process.pid)]
    for one in masters:
        command += ["--master", f"127.0.0.1:{one.port}"]
    try:
        done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"lockbench is not done after {patience:.0f} s") from error
    # A load that nobody got through is a result too.
    why = " / ".join(done.stderr.strip().splitlines()[-2:])
    if done.returncode == 3:
        raise Broken(why)
    if not done.stdout or done.returncode not in (0, 1):
        raise Failed(f"lockbench ended with code {done.returncode}: {why}"[:300])
    return json.loads(done.stdout)


def keep(options, line):
    """Appends a result to the file of --json, if there is one."""
    if options.json:
        with open(options.json, "a") as file:
            file.write(json.dumps(line) + "\n")


# Lines of progress for bench/run.py begin with this; it shows them and does not keep them.
PROGRESS = "~ "
_last_progress = 0.0


def progress(text):
    """What is going on now: in place for people who watch, now and then a line for bench/run.py, else nothing."""
    global _last_progress
    if sys.stderr.isatty():
        print(f"\r{text:<79}\r", end="", file=sys.stderr, flush=True)
    elif text and "BENCH_PROGRESS" in os.environ and time.monotonic() - _last_progress > 15:
        _last_progress = time.monotonic()
        print(PROGRESS + text, file=sys.stderr, flush=True)


def is_noisy(report):
    return report.get("foreign_cpu_cores", 0) > NOISE


class Watch:
    """Do others use the machine meanwhile? Besides the processes of `pids`, this one and its children that have ended."""

    def __init__(self, *pids):
        self.pids, self.began = pids, time.monotonic()
        self.before = self.others()

    def others(self):
        """Seconds of CPU; what the host took away counts."""
        with open("/proc/stat") as file:
            fields = [int(field) for field in file.readline().split()[1:]]
        all_of_them, ours = sum(fields[:8]) - fields[3] - fields[4], 0
        for pid in self.pids:
            with open(f"/proc/{pid}/stat") as file:
                ours += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        return (all_of_them - ours) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])

    def is_noisy(self):
        return (self.others() - self.before) / (time.monotonic() - self.began) > NOISE


def speaks_native(server):
    """Does it know LK.ACQUIRE?"""
    with Client(server.port) as client:
        answer = client.call("LK.ACQUIRE", "lock:probe", "probe", "TTL", 1000)
        client.call("LK.RELEASE", "lock:probe", "probe")
    return not (isinstance(answer, Error) and "unknown command" in str(answer))


def load_release(port):
    """So that EVALSHA finds it."""
    with Client(port) as client:
        assert client.call("SCRIPT", "LOAD", RELEASE) == RELEASE_SHA.encode()


def median(values):
    return statistics.median(values)


def spread(values, form="{:.2f}"):
    """The least and the most, as text."""
    return form.format(min(values)) + "-" + form.format(max(values))


def info(port, section, *names):
    """Numbers of an INFO section."""
    with Client(port) as client:
        lines = client.call("INFO", section).decode().split("\r\n")
    pairs = dict(line.split(":", 1) for line in lines if ":" in line)
    return [int(pairs[name]) for name in names]


def resident(pid):
    """Bytes of a process that are in memory."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def machine():
    """What the numbers were measured on, in one line."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 "unknown CPU")
    return f"{os.cpu_count()} CPUs ({model}), Linux {os.uname().release}"
