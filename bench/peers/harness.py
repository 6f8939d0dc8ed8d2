"""What the peers share: how their workers are started, told to go and listened to, and the line that comes out.

A worker is a program in the language of its library. It finds in its environment

    PEER_PORT       the port of the server on 127.0.0.1 (PEER_PORTS: all of them, by commas)
    PEER_CLIENTS    how many clients it is, and PEER_FIRST, the number of the first of them
    PEER_KEY        the name of the lock
    PEER_VARIANT    what the peer wants it to know besides
    PEER_HOLD_US    how long a lock is held

connects, prints `ready`, reads a line with the moment of the end (ns of CLOCK_MONOTONIC), and lets each of its clients
acquire and release in a closed loop until then. It ends by printing a line for each section; see sections.py. What it
prints before, `# name value`, goes into the report. It has no time limit of its own: the harness has one.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
from common import NOISE, Client, Failed, Lockkeeper, Redis  # noqa: E402, F401

from support import Process, free_port, lockkeeper_binary, stripe_of  # noqa: E402, F401

import sections  # noqa: E402

CACHE = os.path.abspath(os.environ.get("LOCKKEEPER_CACHE") or
                        os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lockkeeper"))
# Long enough for a JVM on a loaded machine.
START_PATIENCE = 90
END_PATIENCE = 60


# ---------------------------------------------------------------------------------------------------------
# What a peer needs
# ---------------------------------------------------------------------------------------------------------
def packages(*groups):
    """Debian packages by the groups of scripts/packages.txt."""
    call([os.path.join(TOP, "scripts", "setup"), *groups], 1200)


def suite(name):
    """Sets up a suite of tests/clients, whose libraries are used here too; the folder that has them."""
    folder = os.path.join(TOP, "tests", "clients", name)
    home = os.path.join(CACHE, "clients", name)
    call(["./setup"], 1200, cwd=folder, env={**os.environ, "SUITE_HOME": home})
    return home


def call(command, patience, **more):
    """Runs a set-up step; what it says is told only if it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=patience, **more)
    except FileNotFoundError as error:
        raise Failed(f"{error.filename} is not there") from error
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{' '.join(command)} takes longer than {patience} s") from error
    if done.returncode != 0:
        said = [line for line in done.stdout.splitlines() if line.strip()]
        raise Failed(f"{' '.join(command)}: {' / '.join(said[-3:]) or f'code {done.returncode}'}")
    return done.stdout


@contextlib.contextmanager
def scratch_folder():
    """In memory where that is possible: no peer shall wait for this machine's disk."""
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None, prefix="lockkeeper-peer-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Server(Process):
    """A server that does not speak RESP: ready when `is_ready()` is true."""

    def __init__(self, command, port, **more):
        self.port = port
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, **more)

    def wait_for(self, is_ready):
        end = time.monotonic() + START_PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failed(f"the server ended at once, code {self.process.returncode}: "
                             + " / ".join(self.output().splitlines()[-3:]))
            with contextlib.suppress(OSError):
                if is_ready():
                    return
            time.sleep(0.05)
        raise Failed(f"the server is not ready after {START_PATIENCE} s")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        self.kill()


# ---------------------------------------------------------------------------------------------------------
# CPU time
# ---------------------------------------------------------------------------------------------------------
TICK = os.sysconf("SC_CLK_TCK")


def cpu_of_tree(pids):
    """Seconds of CPU by pid, of these processes with all that they have started."""
    parents, used = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(name)] = int(fields[1])
        # Children that have ended and were waited for count for their parent.
        used[int(name)] = sum(map(int, fields[11:15])) / TICK
    totals = dict.fromkeys(pids, 0.0)
    for pid, seconds in used.items():
        root = pid
        while root and root not in totals:
            root = parents.get(root, 0)
        if root:
            totals[root] += seconds
    return totals


def cpu_of_machine():
    """Seconds of CPU that were not idle; what the host took away counts."""
    with open("/proc/stat") as file:
        fields = [int(field) for field in file.readline().split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / TICK


def redis_commands(ports):
    """Commands that each Redis has carried out, by INFO, without those of this question."""
    counts = []
    for port in ports:
        with Client(port) as client:
            lines = client.call("INFO", "commandstats").decode().split("\r\n")
        calls = {line.split(":")[0]: int(line.split("calls=")[1].split(",")[0]) for line in lines if "calls=" in line}
        counts.append(sum(calls.values()) - calls.get("cmdstat_info", 0))
    return counts


# ---------------------------------------------------------------------------------------------------------
# Workers
# ---------------------------------------------------------------------------------------------------------
class Workers:
    """Processes that share the clients. They end with the `with` block."""

    def __init__(self, options, commands, environment):
        self.processes, self.said, self.notes, first = [], [], {}, 0
        for number, command in enumerate(commands):
            share = options.clients * (number + 1) // len(commands) - first
            self.said.append(tempfile.TemporaryFile())
            self.processes.append(subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said[-1], text=True,
                env={**os.environ, "PEER_CLIENTS": str(share), "PEER_FIRST": str(first), "PEER_KEY": "lock:hot",
                     "PEER_HOLD_US": str(options.hold_us), **environment}))
            first += share

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.processes:
            if one.poll() is None:
                one.kill()
            one.wait()
            with contextlib.suppress(BrokenPipeError):
                one.stdin.close()
            one.stdout.close()

    def pids(self):
        return [one.pid for one in self.processes]

    def wait_until_ready(self):
        with self.limit(START_PATIENCE, "a worker did not get ready"):
            for one in self.processes:
                while (line := one.stdout.readline().strip()) != "ready":
                    if not line:
                        raise WorkerEnded("it said nothing")
                    self.note(line)

    def go(self, end):
        for one in self.processes:
            one.stdin.write(f"{end}\n")
            one.stdin.flush()

    def read(self):
        """All sections, once the workers have ended."""
        found = []
        with self.limit(END_PATIENCE, "a worker did not end well"):
            for one in self.processes:
                for line in one.stdout:
                    if line.startswith("#"):
                        self.note(line)
                    elif line.strip():
                        found.append(sections.read_section(line))
                if one.wait() != 0:
                    raise WorkerEnded(f"code {one.returncode}")
        return found

    def note(self, line):
        name, _, value = line[1:].strip().partition(" ")
        self.notes[name] = value


    @contextlib.contextmanager
    def limit(self, seconds, what):
        """Ends workers that have not come through in time, so that reading from them comes to an end, and says why."""
        late = threading.Event()

        def end():
            late.set()
            for one in self.processes:
                one.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            yield
        except WorkerEnded as error:
            raise Failed(f"{what}{f' within {seconds} s' if late.is_set() else ''}: {self.last_words() or error}") from error
        finally:
            timer.cancel()
            timer.join()

    def last_words(self):
        for file in self.said:
            file.seek(0)
            lines = [line for line in file.read()[-4000:].decode(errors="replace").splitlines() if line.strip()]
            if lines:
                return " / ".join(lines[-2:])
        return ""


class WorkerEnded(Exception):
    """Before it should have."""


def measure(options, commands, environment, servers, redis_ports=()):
    """One run of workers (a command for each process); its report."""
    pids = {one.process.pid: one for one in servers}
    with Workers(options, commands, environment) as workers:
        workers.wait_until_ready()
        begin = time.monotonic_ns() + int(options.warmup * 1e9)
        end = begin + int(options.seconds * 1e9)
        workers.go(end)
        time.sleep(max(0, (begin - time.monotonic_ns()) / 1e9))
        everybody = [*pids, *workers.pids(), os.getpid()]
        before, machine_before, counted = cpu_of_tree(everybody), cpu_of_machine(), redis_commands(redis_ports)
        looked = time.monotonic()
        time.sleep(max(0, (end - time.monotonic_ns()) / 1e9))
        after, machine_after, counted_after = cpu_of_tree(everybody), cpu_of_machine(), redis_commands(redis_ports)
        looked = time.monotonic() - looked
        found = workers.read()
    report = sections.add_up(found, options.clients, begin, end)
    each = max(report["sections"], 1)
    used = {pid: after[pid] - before[pid] for pid in everybody}
    report["servers"] = [{"pid": pid, "name": os.path.basename(one.process.args[0]), "cpu_s": used[pid],
                          "cpu_us_per_section": used[pid] / each * 1e6} for pid, one in pids.items()]
    report["generator_cpu_cores"] = sum(used[pid] for pid in workers.pids()) / looked
    report["foreign_cpu_cores"] = max(0.0, machine_after - machine_before - sum(used.values())) / looked
    if redis_ports:
        report["masters"] = [{"commands": now - then, "commands_per_section": (now - then) / each}
                             for then, now in zip(counted, counted_after)]
        report["commands_per_section"] = sum(one["commands"] for one in report["masters"]) / each
    elif "requests" in workers.notes:
        # What the clients sent over the whole run, the warm-up included, by all its sections.
        whole = sum(1 for one in found if one.gave_back is not None)
        report["commands_per_section"] = float(workers.notes["requests"]) / max(whole, 1)
    report["notes"] = workers.notes
    return report


def lockbench(options, servers, *words, masters=(), others=()):
    """One run of the load generator on one hot key. `others`: processes that belong to the service as well."""
    command = [options.lockbench]
    for server in servers:
        command += ["--server", f"127.0.0.1:{server.port}"]
    for process in (*servers, *others):
        command += ["--server-pid", str(process.process.pid)]
    for master in masters:
        command += ["--master", f"127.0.0.1:{master.port}"]
    done = subprocess.run(
        [*command, "--mode", "hot", "--clients", str(options.clients), "--verify",
         "--duration", f"{options.seconds * 1000:.0f}ms", "--warmup", f"{options.warmup * 1000:.0f}ms", "--hold", f"{options.hold_us}us", *map(str, words)],
        capture_output=True, text=True, timeout=options.seconds + options.warmup + END_PATIENCE)
    if not done.stdout or done.returncode not in (0, 1):
        raise Failed(f"lockbench ended with code {done.returncode}: {' / '.join(done.stderr.splitlines()[-2:])}")
    return json.loads(done.stdout)


# ---------------------------------------------------------------------------------------------------------
# A peer's main()
# ---------------------------------------------------------------------------------------------------------
def parser_of(text):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lockkeeper", nargs="?", default=os.path.join(TOP, "build", "release", "lockkeeper"),
                        help="the server's binary (build/release/lockkeeper); the load generator is beside it")
    parser.add_argument("--lockbench", help="the load generator's binary")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=4, help="that are measured (4)")
    parser.add_argument("--warmup", type=float, default=1, help="seconds before them (1)")
    parser.add_argument("--hold-us", type=int, default=0, help="how long a lock is held (0)")
    parser.add_argument("--only", metavar="NAME,NAME", help="some contenders of this peer")
    parser.add_argument("--round", type=int, default=1, help="goes into the report")
    parser.add_argument("--benchmark", default="hot-key", help="goes into the report")
    parser.add_argument("--json", metavar="FILE", help="append the lines to this file, too")
    parser.add_argument("--setup", action="store_true", help="install what is missing, and end")
    parser.add_argument("--no-setup", action="store_true", help="what is needed is there")
    return parser


def main(text, contenders, setup=lambda: None):
    """`contenders`: names and what measures them, a function of the options that returns (title, version, report)."""
    options = parser_of(text).parse_args()
    os.environ["LOCKKEEPER"] = os.path.abspath(options.lockkeeper)
    beside = os.path.join(os.path.dirname(options.lockkeeper), "bench", "load", "lockbench")
    options.lockbench = os.path.abspath(options.lockbench or beside)
    names = options.only.split(",") if options.only else list(contenders)
    try:
        if not options.no_setup:
            setup()
    except Failed as error:
        for name in names:
            tell(options, {"contender": name, "failed": str(error)})
        return 1
    if options.setup:
        return 0
    return max([measure_one(options, name, contenders[name]) for name in names])


def measure_one(options, name, contender):
    try:
        title, version, report = contender(options)
    except Exception as error:  # whatever it is, the others shall be measured
        if not isinstance(error, Failed):
            traceback.print_exc()
        words = str(error).strip().splitlines() or [""]
        why = words[0] if isinstance(error, Failed) else f"{type(error).__name__}: {words[0]}"
        tell(options, {"contender": name, "failed": why[:200]})
        return 1
    tell(options, {"contender": name, "title": title, "version": version, **report,
                   "noisy": report.get("foreign_cpu_cores", 0) > NOISE})
    return 0


def tell(options, line):
    line = {"benchmark": options.benchmark, "round": options.round, "clients": options.clients, **line}
    text = json.dumps(line)
    print(text, flush=True)
    if options.json:
        with open(options.json, "a") as file:
            file.write(text + "\n")
    print(readable(line), file=sys.stderr, flush=True)


def readable(line):
    if "failed" in line:
        return f"  {line['contender']:24} FAILED: {line['failed']}"
    waits = line["wait_us"]
    return (f"  {line['contender']:24} {line['hand_offs_per_s']:9.1f} hand-offs/s {line['sections_per_s']:9.1f} sections/s"
            f"  wait ms p50 {waits['p50'] / 1e3:.2f} p99 {waits['p99'] / 1e3:.2f} max"
            f" {max(waits['max'], line['longest_wait_at_end_us']) / 1e3:.0f}  Jain {line['jain']:.3f}"
            f"  starved {line['starved']}  commands/section {line.get('commands_per_section', 0):.2f}"
            f"  intrusions {line['verify']['intrusions']}  load {line['generator_cpu_cores']:.2f} cores"
            + ("  NOISY" if line["noisy"] else ""))
