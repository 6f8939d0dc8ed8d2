#!/usr/bin/env python3
"""Peers that could not be set up before the clock started are named with the reason, and nobody tries again.

usage: setup_test.py FOLDER_OF_THE_PEERS
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = sys.argv.pop()
LACKING = [{"contender": "etcd", "failed": "no way to the packages"}]


class Setup(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.results, self.lines = (os.path.join(self.folder, name) for name in ("setup.json", "runs.jsonl"))
        with open(self.results, "w") as file:
            json.dump({"etcd.py": LACKING}, file)

    def run_peers(self, *words):
        # With this PATH every attempt to install or to measure would fail in other words.
        done = subprocess.run([sys.executable, "-B", os.path.join(FOLDER, "run.py"), "no-server", "etcd.py", "--rounds", "1",
                               "--crowd", "0", "--setup-results", self.results, *words],
                              env={**os.environ, "PATH": self.folder}, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_peer_that_could_not_be_set_up_is_named_with_the_reason(self):
        said = self.run_peers("--json", self.lines)
        self.assertRegex(said, "etcd +FAILED: no way to the packages")
        with open(self.lines) as file:
            line = json.loads(file.read())
        self.assertEqual((line["benchmark"], line["contender"], line["failed"]), ("hot-key", "etcd", LACKING[0]["failed"]))

    def test_what_is_known_is_not_set_up_again(self):
        self.run_peers("--setup")
        with open(self.results) as file:
            self.assertEqual(json.load(file), {"etcd.py": LACKING})


if __name__ == "__main__":
    unittest.main(verbosity=2)
