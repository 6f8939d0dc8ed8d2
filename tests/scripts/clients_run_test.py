"""What tests/clients/run.py makes of its suites: set-ups that fail, the deadline, the matrix. No library is needed."""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients"))
import run  # noqa: E402


# Long enough for a loaded machine; nothing waits that long unless it is broken.
PATIENCE = 60

# The runner with suites of its own, and servers that are no processes.
DRIVER = """
import pathlib, sys
sys.path.insert(0, sys.argv.pop(1))
import run
run.HERE = pathlib.Path(sys.argv.pop(1))
run.SETUP_PAUSES = (3600, 3600)
class Server:
    port = 1
    def __init__(self, kind): pass
    def close(self): pass
run.Server = Server
run.main()
"""


def row(*outcomes):
    return dict(zip(run.SCENARIOS, outcomes))


def is_gone(pid):
    """A zombie counts as gone, for its parent may be anybody."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Runner(unittest.TestCase):
    def setUp(self):
        self.pauses, run.SETUP_PAUSES = run.SETUP_PAUSES, (0, 0)
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        run.SETUP_PAUSES = self.pauses
        self.folder.cleanup()

    def suite(self, setup):
        folder = pathlib.Path(self.folder.name) / "suite"
        folder.mkdir()
        (folder / "suite.json").write_text(json.dumps({"variants": {"a": {"extra": ["more"]}}}))
        (folder / "setup").write_text("#!/bin/sh\n" + setup)
        (folder / "setup").chmod(0o755)
        suite = run.Suite(folder)
        suite.home = pathlib.Path(self.folder.name) / "home"
        return suite

    def set_up(self, suite, minutes=None):
        with contextlib.redirect_stdout(io.StringIO()):
            return suite.setup(run.Deadline(minutes))

    def test_a_set_up_that_fails_once_is_tried_again(self):
        self.assertIsNone(self.set_up(self.suite("[ -e tried ] && exit 0; : >tried; exit 1\n")))

    def test_a_set_up_that_always_fails_is_tried_three_times_and_says_why(self):
        suite = self.suite("echo try >>tries; echo no such registry; exit 3\n")
        self.assertEqual(self.set_up(suite), "no such registry\nit ended with 3")
        self.assertEqual((suite.folder / "tries").read_text(), 3 * "try\n")

    def test_a_set_up_that_hangs_is_ended_with_all_that_it_started(self):
        suite = self.suite("sleep 3600 & sleep 3600\n")
        self.assertIn("took longer than", self.set_up(suite, minutes=0.005))

    def test_what_the_deadline_leaves_out_has_failed(self):
        deadline = run.Deadline(1e-9)
        while not deadline.passed():
            pass
        cells, _ = run.run_suite(self.suite(""), "a", "redis", deadline)
        self.assertEqual(list(cells), run.SCENARIOS + ["more"])
        self.assertEqual({outcome for outcome, _ in cells.values()}, {"fail"})

    def start(self, suite):
        """The runner as a process of its own, with this one suite and one kind of server."""
        folder = suite.folder.parent
        (folder / "scenarios.txt").write_text((run.HERE / "scenarios.txt").read_text())
        (folder / "differences.json").write_text("[]")
        command = [sys.executable, "-B", "-c", DRIVER, str(run.HERE), str(folder),
                   "--lockkeeper", "/bin/true", "--kinds", "redis"]
        process = subprocess.Popen(command, env={**os.environ, "CLIENTS_HOME": str(suite.home.parent / "homes")}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   # As behind somebody's back, where shells ignore it.
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f"waited in vain for {what}")
            time.sleep(0.01)

    def ended_by(self, number, suite):
        """What is said by a runner that gets this signal when the suite has written down its processes."""
        pids = suite.folder / "pids"
        process = self.start(suite)
        self.wait_for("the suite", lambda: process.poll() is not None or pids.exists() and len(pids.read_text().split()) == 2)
        process.send_signal(number)
        said, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1, said)
        for pid in pids.read_text().split():
            self.wait_for(f"the end of process {pid}", lambda: is_gone(pid))
        return said

    def test_a_signal_ends_a_suite_with_all_that_it_started_and_what_was_seen_is_told(self):
        suite = self.suite("")
        script = suite.folder / "run"
        script.write_text("""#!/bin/sh
echo '{"scenario": "handshake", "outcome": "pass", "reason": ""}'
sleep 3600 & echo $! $$ >pids; wait
""")
        script.chmod(0o755)
        failed = len(run.SCENARIOS)  # one more that only this suite has, but for the one that was seen
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                said = self.ended_by(number, suite)
                self.assertIn(f"no outcome: this run was ended by {number.name}", said)
                self.assertEqual(said.splitlines()[-1],
                                 f"clients: 1 passed, {failed} failed; this run was ended by {number.name}")
                (suite.folder / "pids").unlink()

    def test_a_signal_ends_a_set_up_with_all_that_it_started(self):
        said = self.ended_by(signal.SIGTERM, self.suite("sleep 3600 & echo $! $$ >pids; wait\n"))
        self.assertIn("failed; this run was ended by SIGTERM\n", said)

    def test_a_signal_ends_the_pause_after_a_set_up_that_failed(self):
        process = self.start(self.suite("exit 3\n"))
        self.assertIn("failed, once more in 3600 s", process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        self.assertIn("ended by SIGTERM\n", process.communicate(timeout=PATIENCE)[0])

    def test_a_port_of_control_that_was_closed_serves_nobody_any_more(self):
        control = run.Control(None)
        control.close()
        self.assertFalse(control.thread.is_alive())

    def test_a_measurement_is_of_the_suites_that_are_named(self):
        options = run.parse(["--latency", "redisson", "--rounds", "2"])
        self.assertEqual((options.latency, options.rounds, options.suites), (True, 2, ["redisson"]))

    def test_reasons_are_told_in_the_order_of_the_kinds_whichever_run_ended_first(self):
        rows = {"a": {"fleet": row(("na", "of the fleet")), "redis": row(("na", "of Redis"))}}
        report = run.Report(rows, {"a": "A 1"}, {}, ["fleet", "redis"])
        self.assertEqual(list(report.not_applicable()), [("a", {"of Redis": [run.SCENARIOS[0]]})])

    def test_each_cell_is_counted_once(self):
        good, bad, none = ("pass", ""), ("fail", "why"), ("na", "no call")
        rows = {"a": {"redis": row(good, good, none), "fleet": row(good, bad, none)},
                "b": {"redis": row(good), "fleet": row(bad)}}
        differences = {("b", run.SCENARIOS[0], "fleet"): "intended"}
        report = run.Report(rows, {"a": "A 1", "b": "B 2"}, differences, ["redis", "fleet"])
        self.assertEqual([report.count(mark) for mark in "+F-d"], [4, 1, 2, 1])
        page = report.markdown(["how"])
        self.assertIn("4 passed, 1 failed, 2 not applicable, 1 explained differences.", page)
        self.assertIn(f"- A 1, {run.SCENARIOS[1]} on fleet: why", page)
        self.assertIn(f"- B 2, {run.SCENARIOS[0]} on fleet: intended", page)

    def test_what_is_not_applicable_to_lockkeeper_alone_has_failed(self):
        rows = {"a": {"redis": row(("pass", "")), "embedded": row(("na", "no call"))}}
        self.assertEqual(run.Report(rows, {"a": "A 1"}, {}, ["redis", "embedded"]).count("F"), 1)


if __name__ == "__main__":
    unittest.main()
