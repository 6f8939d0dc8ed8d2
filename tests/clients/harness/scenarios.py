"""What the suites in Python share: where the server is, how an outcome is told, workers, processes that die."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import traceback

HOST = os.environ.get("LOCK_HOST", "127.0.0.1")
PORT = int(os.environ["LOCK_PORT"])
PORTS = [int(one) for one in os.environ.get("LOCK_PORTS", str(PORT)).split(",")]
KIND = os.environ.get("LOCK_KIND", "redis")
# Somebody who needs a password, on every server; who does not log in may do everything as well.
USER, PASSWORD = os.environ.get("LOCK_USER", "default"), os.environ.get("LOCK_PASSWORD", "any")
VARIANT = os.environ.get("LOCK_VARIANT", "")
# Long enough for a loaded machine; only something broken takes it.
PATIENCE = 60
# Seconds. Nobody has a lock of this lease for any other reason than its release.
FOREVER = 3600
# Somebody who is told of a release has the lock within so many milliseconds, in half of so many hand-offs: it takes one or two,
# and a machine that is busy may be slow in some of them.
HAND_OFFS, SOON_MS = 20, 50
# A measurement of waits ends with the first of these.
COUNTED_WAITS, GRANTS_MAX = 200, 8000
WORKERS, INCREMENTS = 50, int(os.environ.get("LOCK_INCREMENTS", 200))


class NotApplicable(Exception):
    """Raised by a scenario for which the library has no call; the text says so."""


def run(version, scenarios):
    """Runs {name: function} and tells the outcomes. A function may return what it saw, to stand in the report."""
    say(version=version)
    only = os.environ.get("LOCK_ONLY")  # for those who look into one of them
    for name, function in scenarios.items():
        if only and name not in only.split(","):
            continue
        try:
            outcome, reason = "pass", function() or ""
        except NotApplicable as why:
            outcome, reason = "na", str(why)
        except BaseException:
            outcome, reason = "fail", traceback.format_exc(limit=-4)
        say(scenario=name, outcome=outcome, reason=reason)


def say(**what):
    print(json.dumps(what), flush=True)


def restart_server():
    with socket.create_connection(("127.0.0.1", int(os.environ["LOCK_CONTROL"])), 3 * PATIENCE) as control:
        control.sendall(b"restart\n")
        answer = control.makefile("rb").readline()
        assert answer == b"done\n", f"the server could not be restarted: {answer!r}"


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"not within {PATIENCE} s: {what}"
        time.sleep(0.01)


def time_hand_offs(hold, wait, how):
    """How soon somebody who waits by notification has the lock after its release. `hold()` takes it and returns what gives
    it back; `wait()` does the same for somebody else, and waits for it."""
    waits = []

    def work():
        release = wait()
        waits.append(time.monotonic())
        release()

    for turn in range(HAND_OFFS):
        release = hold()
        waiter = Worker(work)
        time.sleep(0.2)  # it waits by now; if it does not, it has the lock later, not sooner
        assert len(waits) == turn, "two have it"
        begin = time.monotonic()
        release()
        waiter.join()
        waits[turn] -= begin
    waits.sort()
    best, median, worst = (1000 * waits[at] for at in (0, HAND_OFFS // 2, -1))
    seen = f"median {median:.1f} ms, best {best:.1f} ms, worst {worst:.1f} ms of {HAND_OFFS} hand-offs, {how}"
    assert median <= SOON_MS, seen
    return seen


def latency(take):
    """How long 8 workers wait for one lock that each holds for about a millisecond; `take(key)` is a context manager.
    Only the waits of those who have it from somebody else count: who releases and takes it again at once has not waited.
    Played only if it is asked for by name: figures are no verdict."""
    waits, grants, previous = [], [0], [None]

    def work(me):
        while len(waits) < COUNTED_WAITS and grants[0] < GRANTS_MAX:
            begin = time.monotonic()
            with take("latency"):
                if previous[0] not in (None, me):
                    waits.append(time.monotonic() - begin)
                previous[0] = me
                grants[0] += 1
                time.sleep(0.001)

    in_threads([lambda me=me: work(me) for me in range(8)])
    return f"{figures(waits)} of {len(waits)} hand-offs in {grants[0]} grants"


def asked_for_latency():
    return os.environ.get("LOCK_ONLY") == "latency"


def figures(waits):
    waits.sort()
    return ", ".join(f"{name} {1000 * waits[int(len(waits) * part)]:.1f} ms"
                     for name, part in (("median", 0.5), ("p90", 0.9), ("p99", 0.99)))


def expect(error, function, *arguments, **named):
    try:
        result = function(*arguments, **named)
    except error as expected:
        return expected
    raise AssertionError(f"no {error.__name__}, but {result!r}")


class Worker:
    """A thread that has begun; join() raises what it raised."""

    def __init__(self, function):
        self.error = None
        self.thread = threading.Thread(target=self.work, args=[function], daemon=True)
        self.thread.start()

    def work(self, function):
        try:
            function()
        except BaseException as error:
            self.error = error

    def join(self):
        self.thread.join(10 * PATIENCE)
        assert not self.thread.is_alive(), "a worker did not end"
        if self.error:
            raise self.error


def in_threads(functions):
    """Runs all of them at once."""
    for one in [Worker(function) for function in functions]:
        one.join()


class Holder:
    """Another process of this suite that takes the lock `key`, says so, and keeps it until it is killed."""

    def __init__(self, key):
        self.process = subprocess.Popen([sys.executable, *sys.argv, "hold", key], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().strip()
        assert line == "held", f"the holder said {line!r}"

    def kill(self):
        self.process.kill()
        self.process.wait()


def holding(take):
    """In the process of a Holder: takes the lock by `take(key)` and sleeps until it is killed."""
    if len(sys.argv) > 2 and sys.argv[-2] == "hold":
        take(sys.argv[-1])
        print("held", flush=True)
        while True:
            time.sleep(3600)
