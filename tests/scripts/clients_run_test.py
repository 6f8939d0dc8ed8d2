"""What tests/clients/run.py makes of its suites: set-ups that fail, the deadline, the matrix. No library is needed."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients"))
import run  # noqa: E402


def row(*outcomes):
    return dict(zip(run.SCENARIOS, outcomes))


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
