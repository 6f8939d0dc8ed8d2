"""The tools that people already have, unmodified: redis-cli, redis-benchmark, and memtier_benchmark where it is
installed. They shake hands, ask for what they need and find no error. No speed is judged here.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from support import PATIENCE, Client, Lockkeeper, main

PIPELINES = (1, 32)


def run(*words, text=None):
    """What the tool printed; its exit code must be 0 and its complaints none."""
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True, text=True, timeout=3 * PATIENCE,
                          stdin=None if text is not None else subprocess.DEVNULL)
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{words}: exit code {done.returncode}\n{said[-2000:]}"
    return done.stdout, done.stderr


class Tools(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Lockkeeper(cores=2))

    def counted(self, name):
        with Client(self.server.port) as client:
            lines = client.call("INFO", "stats").decode().split("\r\n")
        return int(dict(line.split(":", 1) for line in lines if ":" in line)[name])

    def assert_carried_out(self, commands, work):
        """`work` sends at least so many commands, and none is answered by an error."""
        before, errors = self.counted("total_commands_processed"), self.counted("total_error_replies")
        result = work()
        self.assertGreaterEqual(self.counted("total_commands_processed") - before, commands)
        self.assertEqual(self.counted("total_error_replies"), errors)
        return result

    def cli(self, *words, text=None):
        return run("redis-cli", "-p", self.server.port, *words, text=text)[0]

    def test_redis_cli(self):
        self.assertEqual(self.cli("SET", "lock", "me", "NX", "PX", "30000"), "OK\n")
        self.assertEqual(self.cli("SET", "lock", "you", "NX", "PX", "30000"), "\n")
        self.assertEqual(self.cli("--no-raw", "GET", "lock"), '"me"\n')
        self.assertEqual(self.cli("-3", "--no-raw", "EXISTS", "lock"), "(integer) 1\n")
        self.assertEqual(self.cli("-n", "3", "EXISTS", "lock"), "0\n")
        # Lines of a file, and one transaction among them.
        self.assertEqual(self.cli(text="MULTI\nDEL lock\nEXEC\nPING\n"), "OK\nQUEUED\n1\nPONG\n")

    def test_redis_cli_in_mass(self):
        commands = "".join(f"*3\r\n$3\r\nSET\r\n$5\r\nk{i:04d}\r\n$1\r\nv\r\n" for i in range(2_000))
        self.assertIn("errors: 0, replies: 2000", self.cli("--pipe", text=commands))
        self.assertEqual(len(self.cli("--scan", "--pattern", "k*").split()), 2_000)

    def test_redis_benchmark(self):
        for pipeline in PIPELINES:
            for version in ([], ["-3"]):
                with self.subTest(pipeline=pipeline, version=version):
                    out, said = self.assert_carried_out(3 * 6_400, lambda: run(
                        "redis-benchmark", "-p", self.server.port, "-t", "ping_mbulk,set,get", "-P", pipeline, "-n", 6_400,
                        "-c", 50, "-r", 1_000, "--csv", *version))
                    self.assertEqual(said, "")
                    self.assertEqual([line.split(",")[0] for line in out.splitlines()[-3:]],
                                     ['"PING_MBULK"', '"SET"', '"GET"'])

    def test_redis_benchmark_with_locks(self):
        for pipeline in PIPELINES:
            for command in (["SET", "lock:__rand_int__", "token", "NX", "PX", "30000"], ["DEL", "lock:__rand_int__"]):
                self.assert_carried_out(6_400, lambda: run(
                    "redis-benchmark", "-p", self.server.port, "-P", pipeline, "-n", 6_400, "-c", 50, "-r", 1_000, "-q",
                    *command))

    @unittest.skipUnless(shutil.which("memtier_benchmark"), "memtier_benchmark is not on the PATH")
    def test_memtier_benchmark(self):
        lock = ["--command", "SET __key__ __data__ NX PX 30000", "--command-key-pattern", "R"]
        for what in (["--ratio", "1:10"], lock):
            for pipeline in PIPELINES:
                for protocol in ("resp2", "resp3"):
                    with self.subTest(what=what, pipeline=pipeline, protocol=protocol), \
                            tempfile.TemporaryDirectory() as folder:
                        report = os.path.join(folder, "report.json")
                        self.assert_carried_out(20 * 320, lambda: run(
                            "memtier_benchmark", "--server", "127.0.0.1", "--port", self.server.port, "--protocol", protocol,
                            "--threads", 1, "--clients", 20, "--requests", 320, "--pipeline", pipeline, "--key-maximum",
                            1_000, "--hide-histogram", "--json-out-file", report, *what))
                        with open(report) as file:
                            self.assertEqual(json.load(file)["ALL STATS"]["Totals"]["Count"], 20 * 320)


if __name__ == "__main__":
    main()
