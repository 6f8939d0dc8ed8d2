#!/usr/bin/env python3
"""Runs the benchmarks, all or those that are named, and writes the report of what they found.

    bench/run.py [--quick] [NAME ...]

Each benchmark is a program of its own and has a time limit, and all together have one: one that fails, hangs or finds no time
is named in the report, and the others run all the same. What they print goes to the terminal and to
bench/results/<date>/NAME.txt, their figures to runs.jsonl there, and bench/report makes report.md and its charts of them.
docs/performance.md tells how to read it.
"""

import argparse
import contextlib
import datetime
import json
import os
import signal
import subprocess
import sys
import threading
import time

from common import PROGRESS, machine

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
BUILD = os.path.join("build", "release")
SERVER = os.path.join(BUILD, "lockkeeper")
MICRO = os.path.join(BUILD, "bench", "micro")


# After so many, what has not begun is left out, and the report says so.
MINUTES = {"full": 40, "quick": 15}
# Of all that a part needs, in seconds; each step has a shorter limit of its own.
SETUP_LIMIT = 3600


class Part:
    """One benchmark. `words` and `quick`: its arguments in the two forms; `--json` is added where `json` says so. `setup`: it
    measures what others have written, and brings that with the word --setup."""

    def __init__(self, name, title, program, words=(), quick=None, limit=300, json=True, setup=False):
        self.name, self.title, self.program, self.limit, self.json, self.setup = name, title, program, limit, json, setup
        self.words, self.quick_words = list(words), list(words if quick is None else quick)

    def command(self, quick, folder):
        words = self.quick_words if quick else self.words
        if self.program.endswith(".py"):
            command = [sys.executable, "-B", os.path.join("bench", self.program), *words]
        else:
            command = [self.program, *words]
        if self.setup:
            command += ["--setup-results", os.path.join(folder, "setup.json")]
        return command + (["--json", os.path.join(folder, "runs.jsonl")] if self.json else [])

    def setup_command(self, folder):
        return [sys.executable, "-B", os.path.join("bench", self.program), SERVER, "--setup", "--setup-results",
                os.path.join(folder, "setup.json")]


# In the order of what matters most: a run that is cut short has that.
PARTS = [
    Part("peers", "one hot key, beside all that one could use instead", "peers/run.py", [SERVER],
         [SERVER, "--rounds", "1", "--seconds", "3.2"], 900, setup=True),
    Part("uncontended", "locks that nobody else wants", "uncontended.py", [SERVER], [SERVER, "--rounds", "2", "--seconds", "1"], 400),
    Part("unmodified", "1,000 waiters of unmodified libraries", "unmodified.py",
         [SERVER, "--rounds", "2", "--seconds", "6"], [SERVER, "--seconds", "4", "--warmup", "1"], 700, setup=True),
    Part("scaling", "curves: waiters, keys, masters, cores, connections", "scaling.py", [SERVER, "--rounds", "2"],
         [SERVER, "--rounds", "1", "--seconds", "0.5"], 600),
    Part("fleet", "locks on masters, with masters frozen", "fleet.py", [SERVER], [SERVER, "--rounds", "1"], 200),
    Part("proxies", "one hot key at three proxies of a fleet, beside one proxy", "proxies.py", [SERVER, "--rounds", "3"],
         [SERVER, "--rounds", "1"], 200),
    Part("modes", "other loads: popular keys, everybody once, renewals, pauses, backing off, 10,000 idle connections", "modes.py",
         [SERVER], [SERVER, "--rounds", "1", "--seconds", "1"], 200),
    Part("memory", "memory of locks, connections and waiters", "memory.py", [SERVER],
         [SERVER, "--locks", "200000", "--waiters", "5000"], 300),
    Part("master", "one connection to a master, beside redis-benchmark", "beside_redis_benchmark.py",
         [os.path.join(MICRO, "master_bench"), "--rounds", "2"], [os.path.join(MICRO, "master_bench"), "--rounds", "1"], 150),
    Part("parser", "parser: one core, bytes in memory", os.path.join(MICRO, "parser_bench"), limit=120, json=False),
    Part("parser-instructions", "parser and writer: instructions, by callgrind", "parser_instructions.py",
         [os.path.join(MICRO, "parser_bench"), "--commands", "20000"], limit=200),
    Part("decisions", "rounds of votes and recognition of scripts: one core, nothing to wait for",
         os.path.join(MICRO, "decision_bench"), limit=60, json=False),
    Part("decisions-instructions", "the same: instructions, by callgrind", "parser_instructions.py",
         [os.path.join(MICRO, "decision_bench"), "--commands", "5000"], limit=200),
    Part("lock-table", "lock table: instructions to take and give back a lock, by callgrind", "instructions.py",
         [os.path.join(MICRO, "lock_table_bench")], [os.path.join(MICRO, "lock_table_bench"), "--many", "100000"], 400),
    Part("beside-redis", "server beside redis-server: redis-benchmark, 50 connections", "memtier/redis_benchmark.py",
         [SERVER, "--rounds", "3"], [SERVER, "--rounds", "1", "--first"], 250),
    Part("memtier", "server beside redis-server: memtier_benchmark, 50 connections", "memtier/memtier.py",
         [SERVER, "--seconds", "2"], [SERVER, "--rounds", "1", "--seconds", "1"], 250),
]
# Only by name: the peers have measured the same at 100 clients, or it takes long.
MORE = [
    Part("hot-key", "one hot key by 10, 100 and 1,000, beside redis-server; noisy rounds are tried again", "hot_key.py",
         [SERVER], [SERVER, "--rounds", "1"], 1200),
    Part("home-kills", "the home of a key is killed with 1,000 waiters of other proxies", "home_kills.py",
         [SERVER], [SERVER, "--kills", "5"], 1200, json=False),
    Part("metrics-cost", "the same load with and without somebody who asks for /metrics once a second", "metrics_cost.py",
         [SERVER], [SERVER, "--rounds", "2"], 300),
]


def run_part(name, command, folder, limit):
    """What became of it, for run.json."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=TOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True,
                               env={**os.environ, "BENCH_PROGRESS": "1"})
    late = threading.Event()

    def end():
        late.set()
        kill_session(process)

    timer = threading.Timer(limit, end)
    timer.start()
    try:
        with open(os.path.join(folder, name + ".txt"), "w") as file:
            for line in process.stdout:
                print(line, end="", flush=True)
                if not line.startswith(PROGRESS):
                    file.write(line)
            if late.is_set():
                file.write(f"ended after {limit:.0f} s\n")
        process.wait()
    finally:
        timer.cancel()
        # Whatever it has left behind, servers for example.
        kill_session(process)
    if late.is_set():
        print(f"ENDED after {limit:.0f} s", flush=True)
    return {"name": name, "command": readable(command, folder), "seconds": round(time.monotonic() - began),
            "code": "none, out of time" if late.is_set() else process.returncode}


def set_up(part, folder):
    """Before the clock starts: what has to be fetched and built the first time takes as long as the network likes."""
    print(f"== set-up of {part.name}: what is missing is installed; the first time, this takes minutes ==", flush=True)
    done = run_part(f"{part.name}-setup", part.setup_command(folder), folder, SETUP_LIMIT)
    print(flush=True)
    return done


def readable(command, folder):
    words = command[2:] if command[0] == sys.executable else command
    return " ".join(words).replace(folder + os.sep, "")


def kill_session(process):
    """All processes of the session that a part is; those that run are its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{name}/stat") as file:
                session = int(file.read().rsplit(")", 1)[1].split()[3])
            if session == process.pid:
                os.kill(int(name), signal.SIGKILL)


def describe(options):
    git = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=TOP, capture_output=True, text=True)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"when": datetime.datetime.now().strftime("%Y-%m-%d %H:%M"), "machine": machine(), "memory": f"{memory:.0f} GiB",
            "commit": git.stdout.strip() or "of unknown commit", "form": "quick" if options.quick else "full",
            "command": " ".join(["make bench", *(["BENCH=quick"] if options.quick else []),
                                 *([f'ARGS="{" ".join(options.names)}"'] if options.names else [])]), "parts": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about twelve minutes: fewer and shorter rounds")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(one.name for one in PARTS + MORE))
    options = parser.parse_args()
    known = {one.name: one for one in PARTS + MORE}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.names] or PARTS
    if not os.access(os.path.join(TOP, SERVER), os.X_OK):
        sys.exit(f"{SERVER} is not there: make bench builds it")

    folder = os.path.join(TOP, "bench", "results", datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S"))
    os.makedirs(folder)
    open(os.path.join(folder, "runs.jsonl"), "w").close()
    about = describe(options)
    about["parts"] = [set_up(part, folder) for part in chosen if part.setup]
    began = time.monotonic()
    for number, part in enumerate(chosen, 1):
        print(f"== {number} of {len(chosen)}, {part.name}: {part.title} ({(time.monotonic() - began) / 60:.1f} minutes so far) ==",
              flush=True)
        left = began + MINUTES["quick" if options.quick else "full"] * 60 - time.monotonic()
        if left < 30:
            print("no time left for it", flush=True)
            about["parts"].append({"name": part.name, "command": readable(part.command(options.quick, folder), folder),
                                   "seconds": 0, "code": "not run, no time left"})
        else:
            about["parts"].append(run_part(part.name, part.command(options.quick, folder), folder, min(part.limit, left)))
        about["minutes"] = round((time.monotonic() - began) / 60)
        # After each: what is there can be reported, whatever happens to the rest.
        with open(os.path.join(folder, "run.json"), "w") as file:
            json.dump(about, file, indent=2)
        print(flush=True)
    print("== report ==", flush=True)
    sys.exit(subprocess.run([sys.executable, "-B", os.path.join(HERE, "report"), folder], cwd=TOP).returncode)


if __name__ == "__main__":
    main()
