#!/usr/bin/env python3
"""Runs real lock libraries against Redis (the control), Lockkeeper, and Lockkeeper on a fleet of three masters.

    run.py [--lockkeeper FILE] [--jobs N] [--kinds redis,embedded,fleet,proxies] [--quick] [--minutes N] [--write FILE]
           [suite[/variant] ...]
    run.py --latency [--rounds N] [suite[/variant] ...]      how long waiting clients wait, side by side

The kind `proxies`, on demand, is three proxies on one fleet behind a load balancer that spreads connections over them.
Every run of a suite has servers of its own, so that it may restart them. What a suite must have is told in README.md.
Prints a matrix of libraries and scenarios; exits with 0 only if every cell is passed, not applicable everywhere, or a
difference that differences.json explains. Only Python's standard library.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import support  # noqa: E402  the servers of the end-to-end tests
from balancer import Balancer  # noqa: E402

KINDS = ("redis", "embedded", "fleet", "proxies")
USUAL_KINDS = KINDS[:3]
SCENARIOS = [line.split()[0] for line in (HERE / "scenarios.txt").read_text().splitlines() if line[:1].isalpha()]
OUTCOMES = ("pass", "fail", "na")
# A suite that takes longer than this hangs, however slow the machine is. suite.json may ask for more.
LIMIT_SECONDS = 480
# The same for a suite's set-up, which downloads; and how often one is tried that fails, after so many seconds each time.
SETUP_SECONDS = 1800
SETUP_PAUSES = (5, 30)
# Scenarios whose reasons are told when they pass as well.
TOLD = ("hand_offs", "fair_dead_waiter")


class Deadline:
    """Of the whole run, if there is one. A suite that is at work then is ended, and what was not played has failed. A signal
    is a deadline that has come."""

    def __init__(self, minutes):
        self.minutes = minutes
        self.end = time.monotonic() + 60 * minutes if minutes else None
        self.signal = None

    def left(self, limit):
        """The seconds that are left, at most `limit`, and never none: what begins too late ends at once."""
        return limit if self.end is None else max(0.1, min(limit, self.end - time.monotonic()))

    def come_by(self, number):
        self.signal, self.end = number, time.monotonic()

    def pause(self, seconds):
        """Sleeps. A signal does not end a sleep, so it is done in pieces."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.passed():
            time.sleep(0.1)

    def why(self):
        if self.signal:
            return f"this run was ended by {signal.Signals(self.signal).name}"
        return f"the {self.minutes:g} minutes of this run are over"

    def passed(self):
        return self.end is not None and time.monotonic() >= self.end


class Groups:
    """The process groups of suites and set-ups. Each is a session of its own, so that all of it can be ended; what ends this
    program does not reach them by itself."""

    def __init__(self):
        self.lock = threading.RLock()  # a signal is handled in the middle of whatever the main thread does
        self.running = set()

    def start(self, command, deadline, **options):
        with self.lock:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, text=True, start_new_session=True, **options)
            self.running.add(process)
        if deadline.passed():  # a signal came meanwhile
            kill_group(process)
        return process

    def end(self, process):
        """With all that it has started."""
        kill_group(process)
        process.wait()
        with self.lock:
            self.running.discard(process)

    def end_all(self):
        with self.lock:
            for process in self.running:
                kill_group(process)


groups = Groups()


def end_on_signals(deadline):
    """Everything that is at work is ended, and what was seen so far is told. A second signal does not wait for that."""
    def come(number, _):
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)
        deadline.come_by(number)
        groups.end_all()

    # SIGINT, too, if these were started behind somebody's back, where shells ignore it.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, come)


# Of somebody who may do everything after a login, as everybody may without one.
USER, PASSWORD = "suite", "a password of suites"
RIGHTS = "~* &* +@all"
USERS = f"""users:
  - {{name: default, rules: 'nopass {RIGHTS}'}}
  - {{name: {USER}, passwords: env:LOCK_PASSWORD, rules: '{RIGHTS}'}}
"""


class Server:
    """One server of a kind at one port, which can be restarted as its operator would."""

    def __init__(self, kind, masters=(), more="", cores=2, overprovisioned=True):
        """`masters`: somebody else's; `more`: lines of configuration."""
        self.kind = kind
        self.cores, self.overprovisioned = cores, overprovisioned
        self.port = support.free_port()
        self.process = None
        self.masters, self.own_masters = masters, []
        self.file = None
        try:
            if kind == "fleet":
                if not masters:
                    self.masters = self.own_masters = start_masters()
                # Masters on a loaded machine are slow, not gone.
                more = support.stripe_of(self.masters, timeout="2s") + more
            self.file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
            self.file.write(USERS + more)
            self.file.flush()
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self):
        if self.kind == "redis":
            self.process = support.Redis("--user", USER, "on", ">" + PASSWORD, *RIGHTS.split(), port=self.port)
        else:
            command = [os.environ["LOCKKEEPER"], "--port", str(self.port), "--http-port", "0", "-m", "256M",
                       "-c", str(self.cores)] + ["--overprovisioned"] * self.overprovisioned
            command += ["--config", self.file.name]
            self.process = support.Process(command, self.port, environment={"LOCK_PASSWORD": PASSWORD})
        self.process.wait_until_ready()
        end = time.monotonic() + support.PATIENCE
        while self.process.output().count(": votes") < self.cores * len(self.masters):  # each core counts for itself
            if time.monotonic() > end:
                raise AssertionError(f"the masters do not vote:\n{self.process.output()}")
            time.sleep(0.01)

    def stop(self):
        """Returns what is wrong with how it ended, or nothing."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        try:
            if process.process.poll() is None:
                process.signal(signal.SIGTERM)
            code, output = process.wait(), process.output()
            if self.kind == "redis":
                return None
            if code != 0:
                return f"the server ended with {code}:\n{output}"
            for word in ("Exceptional future", "Sanitizer", "runtime error", "Assert", "Segmentation", "ERROR"):
                if word in output:
                    return f"the server's log has '{word}':\n{output}"
            return None
        finally:
            process.kill()
            if self.kind == "redis":
                process.folder.cleanup()

    def restart(self):
        complaint = self.stop()
        self.start()
        return complaint

    def close(self):
        complaint = self.stop()
        for one in self.own_masters:
            one.__exit__()
        if self.file:
            self.file.close()
        return complaint


def start_masters():
    masters = [support.Redis() for _ in range(3)]
    for one in masters:
        one.wait_until_ready()
    return masters


class LinkedProxies:
    """Three proxies of one fleet behind a load balancer, in the place of one server."""

    def __init__(self):
        self.masters = start_masters()
        self.proxies = []
        self.balancer = None
        try:
            for _ in range(3):
                self.proxies.append(Server("fleet", self.masters, "proxies: {secret: a secret of all proxies}\n"))
            self.wait_for_links()
            self.balancer = Balancer([one.port for one in self.proxies])
            self.port = self.balancer.port
        except BaseException:
            self.close()
            raise

    def wait_for_links(self):
        end = time.monotonic() + support.PATIENCE
        for one in self.proxies:
            with support.Client(one.port) as client:
                while sum(b"up" in each for each in client.call("LK.PROXIES")) < len(self.proxies) - 1:
                    if time.monotonic() > end:
                        raise AssertionError(f"no links: {client.call('LK.PROXIES')}")
                    time.sleep(0.05)

    def restart(self):
        complaints = [one.restart() for one in self.proxies]
        self.wait_for_links()
        return next(filter(None, complaints), None)

    def close(self):
        if self.balancer:
            self.balancer.close()
        complaints = [one.close() for one in self.proxies]
        for one in self.masters:
            one.__exit__()
        return next(filter(None, complaints), None)


class Control:
    """A port at which a suite asks for what only the runner can do: the line `restart` is answered by `done`."""

    def __init__(self, server):
        self.server = server
        self.complaint = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                try:
                    asked = connection.makefile("rb").readline()
                    if asked.strip() != b"restart":
                        raise ValueError(f"a suite asks for {asked!r}")
                    self.complaint = self.server.restart() or self.complaint
                    connection.sendall(b"done\n")
                except BaseException:  # the suite sees the connection end and fails
                    self.complaint = traceback.format_exc()

    def close(self):
        """The thread ends first: an accept() that is begun anew after a SIGSTOP looks at whatever has that number by then."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()


class Suite:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.about = json.loads((folder / "suite.json").read_text())
        self.home = home() / self.name

    def environment(self):
        return {**os.environ, "CLIENTS_HOME": str(home()), "SUITE_HOME": str(self.home), "LC_ALL": "C.UTF-8"}

    def setup(self, deadline):
        """Returns what went wrong, or nothing. Registries of packages have bad moments: it is tried more than once."""
        self.home.mkdir(parents=True, exist_ok=True)
        for pause in (*SETUP_PAUSES, None):
            complaint = self.setup_once(deadline)
            if complaint is None or pause is None or deadline.passed():
                return complaint
            print(f"setup {self.name}: failed, once more in {pause} s\n{complaint}", flush=True)
            deadline.pause(pause)
        return None

    def setup_once(self, deadline):
        limit = deadline.left(SETUP_SECONDS)
        with tempfile.TemporaryFile("w+") as output:
            process = groups.start([self.folder / "setup"], deadline, cwd=self.folder, env=self.environment(),
                                   stdout=output, stderr=subprocess.STDOUT)
            try:
                code = process.wait(limit)
                ended = f"it ended with {code}"
            except subprocess.TimeoutExpired:
                code, ended = None, f"it took longer than {limit:.0f} s"
            finally:
                groups.end(process)
            output.seek(0)
            return None if code == 0 else f"{output.read()[-4000:]}{ended}"


def home():
    cache = os.environ.get("LOCKKEEPER_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lockkeeper")
    return pathlib.Path(os.environ.get("CLIENTS_HOME") or os.path.join(cache, "clients")).absolute()


def run_suite(suite, variant, kind, deadline, only=None):
    """The cells of one row for one kind of server: {scenario: (outcome, reason)}, and the library's version. `only` is
    the one scenario to be played, as a measurement: Lockkeeper runs as in the benchmarks, and not as a guest."""
    expected = [only] if only else SCENARIOS + suite.about["variants"][variant].get("extra", [])
    if deadline.passed():
        return {one: ("fail", f"not played: {deadline.why()}") for one in expected}, "?"
    cells, version = {}, "?"
    servers = []
    try:
        for _ in range(1 if only else suite.about["variants"][variant].get("servers", 1)):
            if kind == "proxies":
                servers.append(LinkedProxies())
            elif only:
                servers.append(Server(kind, cores=1, overprovisioned=False))
            else:
                servers.append(Server(kind))
        control = Control(servers[0])
        environment = {
            **suite.environment(), "LOCK_HOST": "127.0.0.1", "LOCK_PORT": str(servers[0].port), "LOCK_KIND": kind,
            "LOCK_PORTS": ",".join(str(one.port) for one in servers), "LOCK_CONTROL": str(control.port),
            "LOCK_VARIANT": variant, "LOCK_USER": USER, "LOCK_PASSWORD": PASSWORD, **({"LOCK_ONLY": only} if only else {}),
        }
        with tempfile.TemporaryFile("w+") as errors:
            process = groups.start([suite.folder / "run"], deadline, cwd=suite.folder, env=environment,
                                   stdout=subprocess.PIPE, stderr=errors)
            limit = deadline.left(suite.about["variants"][variant].get("seconds", LIMIT_SECONDS))
            late = threading.Timer(limit, kill_group, [process])
            late.start()
            for line in process.stdout:
                try:
                    said = json.loads(line)
                except ValueError:
                    continue  # a library that talks to stdout
                if "version" in said:
                    version = said["version"]
                elif said.get("scenario") in cells:
                    cells[said["scenario"]] = ("fail", "reported twice")
                elif said.get("scenario") not in expected:
                    cells[said.get("scenario")] = ("fail", "not in the suite's list of scenarios")
                elif said.get("outcome") not in OUTCOMES or not isinstance(said.get("reason"), str):
                    cells[said["scenario"]] = ("fail", f"not an outcome: {line.strip()}")
                elif said["outcome"] == "na" and not said["reason"]:
                    cells[said["scenario"]] = ("fail", "not applicable, but no reason")
                else:
                    cells[said["scenario"]] = (said["outcome"], said["reason"])
            code = process.wait()
            timed_out = not late.is_alive()
            late.cancel()
            groups.end(process)
            errors.seek(0)
            words = errors.read()[-4000:]
        control.close()
        for scenario in expected:
            if scenario not in cells:
                why = f"the suite ended with {code}"
                if deadline.passed():
                    why = deadline.why()
                elif timed_out:
                    why = f"the suite took longer than {limit:.0f} s"
                cells[scenario] = ("fail", f"no outcome: {why}\n{words}")
        complaints = [control.complaint]
    except Exception as error:
        complaints = [f"{type(error).__name__}: {error}"]
    complaints += [one.close() for one in servers]
    for complaint in filter(None, complaints):
        cells["server"] = ("fail", complaint[-4000:])
    return cells, version


def kill_group(process):
    """The suite and whatever it started, all of them in a process group of their own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def judge(row, variant, differences):
    """Turns the outcomes of one library into cells to print, and failures: what is not as on Redis is one."""
    marks, problems = {}, []
    for scenario in dict.fromkeys(name for cells in row.values() for name in cells):
        marks[scenario] = ""
        for kind in [one for one in KINDS if one in row]:
            outcome, reason = row[kind].get(scenario, ("pass", ""))
            # Several proxies are a fleet as well.
            intended = differences.get((variant, scenario, "fleet" if kind == "proxies" else kind))
            if outcome == "na" and row.get("redis", row[kind]).get(scenario, ("na", ""))[0] != "na":
                outcome, reason = "fail", f"not applicable here, but on Redis: {reason}"
            if intended and outcome != "fail":
                outcome, reason = "fail", f"differences.json explains a difference that is not there: {intended}"
            elif intended:
                seen = reason.strip().partition("\n")[0]  # without its stack
                outcome, reason = "differs", f"{intended} ({seen})"
            marks[scenario] += {"pass": "+", "na": "-", "fail": "F", "differs": "d"}[outcome]
            if outcome in ("fail", "differs"):
                problems.append((outcome, scenario, kind, reason))
    return marks, problems


class Report:
    """What was seen, and what is to be thought of it."""

    def __init__(self, rows, versions, differences, kinds):
        self.kinds = [one for one in KINDS if one in kinds]
        self.versions = versions
        # Runs end in any order; what is read has an order of its own.
        self.rows = {variant: {kind: row[kind] for kind in self.kinds if kind in row} for variant, row in rows.items()}
        self.short = {scenario: short for scenario, short in (
            line.split()[:2] for line in (HERE / "scenarios.txt").read_text().splitlines() if line[:1].isalpha())}
        self.marks, self.problems = {}, []
        for variant, row in self.rows.items():
            self.marks[variant], found = judge(row, variant, differences)
            self.problems += [(variant, *one) for one in found]

    def count(self, mark):
        return sum(marks.count(mark) for row in self.marks.values() for marks in row.values())

    def extra(self, variant):
        return [f"{one} {mark}" for one, mark in self.marks[variant].items() if one not in SCENARIOS]

    def told(self):
        """(variant, scenario, {kind: reason}) of those scenarios that have something to tell."""
        for scenario in TOLD:
            for variant, row in self.rows.items():
                said = {kind: cells[scenario][1] for kind, cells in row.items() if cells.get(scenario, ("",))[0] == "pass"}
                if said:
                    yield variant, scenario, said

    def not_applicable(self):
        """(variant, {reason: scenarios}), as the first kind tells it."""
        for variant, row in self.rows.items():
            reasons = {}
            for scenario, (outcome, reason) in next(iter(row.values())).items():
                if outcome == "na":
                    reasons.setdefault(reason, []).append(scenario)
            if reasons:
                yield variant, reasons

    def chosen(self, wanted):
        """(variant, scenario, kind, reason) of `fail` or `differs`."""
        return [(variant, scenario, kind, reason.strip()) for variant, outcome, scenario, kind, reason in self.problems
                if outcome == wanted]

    def print(self):
        width = max(len(self.versions[one]) for one in self.rows) + 2
        print(f"\nEach cell: {', '.join(self.kinds)}. + passed, - not applicable, d an explained difference, F failed\n")
        print(" " * width + "".join(f"{self.short[one]:8}" for one in SCENARIOS))
        for variant in self.rows:
            print(f"{self.versions[variant]:{width}}"
                  + "".join(f"{self.marks[variant].get(one, '???'):8}" for one in SCENARIOS))
        print("\nOf one library alone:")
        for variant in self.rows:
            if self.extra(variant):
                print(f"  {self.versions[variant]}: {', '.join(self.extra(variant))}")
        print("\nTold by what passed:")
        for variant, scenario, said in self.told():
            for kind, reason in said.items():
                print(f"  {variant} {scenario} on {kind}: {reason}")
        print("\nNot applicable:")
        for variant, reasons in self.not_applicable():
            for reason, scenarios in reasons.items():
                print(f"  {variant} {', '.join(scenarios)}: {reason}")
        for outcome, title in (("differs", "Explained differences"), ("fail", "Failures")):
            if self.chosen(outcome):
                print(f"\n{title}:")
            for variant, scenario, kind, reason in self.chosen(outcome):
                print(f"  {variant} {scenario} on {kind}: " + reason.replace("\n", "\n      "))

    def markdown(self, how):
        """The same as a page; `how` says what was run."""
        lines = ["# Lock libraries: the matrix", "", "<!-- Written by tests/clients/run.py --write; do not edit. -->", "",
                 *how, "",
                 f"Each cell: {', '.join(self.kinds)}. `+` passed, `-` not applicable, `d` an explained difference, `F` failed.",
                 "What each column demands stands in [scenarios.txt](../tests/clients/scenarios.txt).", "",
                 "| Library | " + " | ".join(self.short[one] for one in SCENARIOS) + " |", "|---" * (1 + len(SCENARIOS)) + "|"]
        for variant in self.rows:
            lines.append(f"| {self.versions[variant]} | "
                         + " | ".join(f"`{self.marks[variant].get(one, '???')}`" for one in SCENARIOS) + " |")
        lines += ["", f"{self.count('+')} passed, {self.count('F')} failed, {self.count('-')} not applicable, "
                  f"{self.count('d')} explained differences.", "", "## Of one library alone", ""]
        lines += [f"- {self.versions[one]}: " + ", ".join(self.extra(one)) for one in self.rows if self.extra(one)]
        lines += ["", "## Told by what passed", "", "| Library | Scenario | Server | |", "|---|---|---|---|"]
        lines += [f"| {self.versions[variant]} | {scenario} | {kind} | {reason} |"
                  for variant, scenario, said in self.told() for kind, reason in said.items()]
        lines += ["", "## Not applicable", ""]
        lines += [f"- {self.versions[variant]}, {', '.join(scenarios)}: {reason}"
                  for variant, reasons in self.not_applicable() for reason, scenarios in reasons.items()]
        for outcome, title in (("differs", "Explained differences"), ("fail", "Failures")):
            if self.chosen(outcome):
                lines += ["", f"## {title}", ""]
            lines += [f"- {self.versions[variant]}, {scenario} on {kind}: " + " ".join(reason.split())
                      for variant, scenario, kind, reason in self.chosen(outcome)]
        return "\n".join(lines) + "\n"


def how_it_was_run(options, libraries, total):
    """Lines for the page, as it is at the start: who works on while it runs changes what is there later."""
    def said(*command):
        done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip() if done.returncode == 0 else "?"

    redis = re.search(r"v=([0-9.]+)", said("redis-server", "--version"))
    commit = said("git", "rev-parse", "--short", "HEAD")
    if said("git", "status", "--porcelain", "--untracked-files=no"):
        commit += " with changes"
    counter = "20 increments (`--quick`)" if options.quick else "200 increments"
    return [f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, commit {commit}: {libraries} of {total} libraries against redis-server "
            f"{redis[1] if redis else '?'} and Lockkeeper,", f"{os.cpu_count()} cores; the counter is one of 50 workers with {counter} each."]


def measure_latency(wanted, kinds, rounds, deadline):
    """One after the other, the servers in turn within each round, so that what else the machine does hits all alike."""
    def median(figures):
        return sorted(figures)[len(figures) // 2]

    print("\nHow long one of 8 workers waits for a lock that another one has, and that each holds for about 1 ms: the median "
          f"of the\nmedians of {rounds} rounds (least to most), and the median of the ratios to Redis within a round\n")
    for suite, variant in wanted:
        seen = {kind: [] for kind in kinds}
        for _ in range(rounds):
            for kind in kinds:
                cells, _ = run_suite(suite, variant, kind, deadline, only="latency")
                found = re.match(r"median ([0-9.]+) ms", cells.get("latency", ("", ""))[1])
                if not found or len(cells) > 1:
                    sys.exit(f"{variant} on {kind}: {cells}")
                seen[kind].append(float(found[1]))
        line = f"{variant:16}"
        for kind in kinds:
            line += f" {kind} {median(seen[kind]):6.1f} ms ({min(seen[kind]):.1f} to {max(seen[kind]):.1f})"
            if kind != kinds[0]:
                line += f" x {median([a / b for a, b in zip(seen[kind], seen[kinds[0]])]):.2f}"
        print(line, flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--lockkeeper", default=str(TOP / "build/release/lockkeeper"))
    # Suites wait most of the time.
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 2))
    parser.add_argument("--kinds", default=",".join(USUAL_KINDS))
    parser.add_argument("--quick", action="store_true", help="a counter of 50 x 20 instead of 50 x 200")
    parser.add_argument("--minutes", type=float, help="end after so many, whatever is left; what was not played has failed")
    parser.add_argument("--latency", action="store_true",
                        help="measure how long waiting clients wait for a contended lock, and test nothing")
    parser.add_argument("--rounds", type=int, default=5, help="of --latency")
    parser.add_argument("--write", metavar="FILE", help="write the matrix to this file as Markdown")
    parser.add_argument("--json", help="write all outcomes and reasons to this file")
    parser.add_argument("suites", nargs="*")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    os.environ["LOCKKEEPER"] = os.path.abspath(options.lockkeeper)
    if not os.access(os.environ["LOCKKEEPER"], os.X_OK):
        sys.exit(f"{options.lockkeeper} is not there: 'make build' first")
    if options.quick:
        os.environ["LOCK_INCREMENTS"] = "20"
    deadline = Deadline(options.minutes)
    end_on_signals(deadline)
    kinds = options.kinds.split(",")
    if set(kinds) - set(KINDS):
        sys.exit(f"--kinds: some of {','.join(KINDS)}")
    differences = {(one["library"], one["scenario"], one["kind"]): one["reason"]
                   for one in json.loads((HERE / "differences.json").read_text())}

    suites = [Suite(file.parent) for file in sorted(HERE.glob("*/suite.json"))]
    wanted = [(suite, variant) for suite in suites for variant, about in suite.about["variants"].items()
              if (not options.suites or {suite.name, f"{suite.name}/{variant}"} & set(options.suites))
              and (not options.latency or about.get("latency"))]
    if options.suites and not wanted:
        sys.exit("no such suite; there are: " + " ".join(f"{s.name}/{v}" for s in suites for v in s.about["variants"]))

    started = time.monotonic()
    how = how_it_was_run(options, len(wanted), sum(len(suite.about["variants"]) for suite in suites))
    broken = {}
    for suite in dict.fromkeys(suite for suite, _ in wanted):
        begin = time.monotonic()
        complaint = suite.setup(deadline)
        print(f"setup {suite.name}: {'FAILED' if complaint else 'ready'}, {time.monotonic() - begin:.0f} s", flush=True)
        if complaint:
            print(complaint, flush=True)
            broken[suite.name] = f"a toolchain or a library could not be set up:\n{complaint}"

    if options.latency:
        if broken:
            sys.exit("a toolchain or a library could not be set up")
        measure_latency(wanted, kinds, options.rounds, deadline)
        return

    rows = {variant: {} for _, variant in wanted}
    versions = {variant: variant for _, variant in wanted}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def one_run(suite, variant, kind):
            begin = time.monotonic()
            if suite.name in broken:  # nothing is skipped for that
                return {"setup": ("fail", broken[suite.name])}, "?", 0
            return (*run_suite(suite, variant, kind, deadline), time.monotonic() - begin)

        # Long ones first, so that none of them is left over at the end.
        order = sorted(((suite, variant, kind) for suite, variant in wanted for kind in kinds),
                       key=lambda one: -one[0].about["variants"][one[1]].get("weight", 1))
        runs = {pool.submit(one_run, *one): one for one in order}
        for future in concurrent.futures.as_completed(runs):
            suite, variant, kind = runs[future]
            cells, version, seconds = future.result()
            rows[variant][kind] = cells
            versions[variant] = versions[variant] if version == "?" else version
            bad = [name for name, (outcome, _) in cells.items() if outcome == "fail"]
            print(f"{variant} on {kind}: {len(cells) - len(bad)} of {len(cells)} in {seconds:.0f} s"
                  + (f"; failed: {' '.join(map(str, bad))}" if bad else ""), flush=True)

    report = Report(rows, versions, differences, kinds)
    report.print()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"versions": versions, "outcomes": rows}, indent=1) + "\n")
    if options.write:
        pathlib.Path(options.write).write_text(report.markdown(how))
    print(f"\n{len(rows)} libraries on {', '.join(report.kinds)} in {time.monotonic() - started:.0f} s; "
          f"{report.count('-')} cells are not applicable, {report.count('d')} differ as explained")
    print(f"clients: {report.count('+')} passed, {report.count('F')} failed"
          + (f"; {deadline.why()}" if deadline.signal else ""))
    sys.exit(1 if report.count("F") or deadline.signal else 0)


if __name__ == "__main__":
    main()
