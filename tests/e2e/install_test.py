"""`cmake --install`: everything is in its place, and fits together."""

import os
import shutil
import subprocess
import tempfile
import unittest

from support import PATIENCE, lockkeeper_binary, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Install(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)

    def install(self, prefix):
        result = subprocess.run(
            ["cmake", "--install", os.path.dirname(lockkeeper_binary()), "--prefix", prefix],
            env={**os.environ, "DESTDIR": self.root.name}, capture_output=True, text=True, timeout=PATIENCE,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def path(self, path):
        return self.root.name + path

    def read(self, path):
        with open(self.path(path)) as file:
            return file.read()

    def command_of_the_unit(self, prefix):
        unit = self.read(f"{prefix}/lib/systemd/system/lockkeeper.service")
        self.assertNotIn("@", unit.replace("@system-service", "").replace("@privileged", ""), "a name was not filled in")
        return next(line for line in unit.splitlines() if line.startswith("ExecStart="))

    def test_the_unit_names_the_binary_and_the_configuration_that_are_there(self):
        for prefix, configuration in (
            ("/usr/local", "/usr/local/etc/lockkeeper/lockkeeper.yaml"),
            ("/usr", "/etc/lockkeeper/lockkeeper.yaml"),
            ("/opt/lockkeeper", "/opt/lockkeeper/etc/lockkeeper/lockkeeper.yaml"),
        ):
            with self.subTest(prefix):
                self.install(prefix)
                self.assertEqual(
                    self.command_of_the_unit(prefix),
                    f"ExecStart={prefix}/bin/lockkeeper --config {configuration}",
                )
                check = subprocess.run(
                    [self.path(f"{prefix}/bin/lockkeeper"), "--config", self.path(configuration), "--check"],
                    capture_output=True, text=True, timeout=PATIENCE,
                )
                self.assertEqual(check.returncode, 0, check.stderr)

    def files(self):
        return sorted(os.path.join(where, name)[len(self.root.name):]
                      for where, _, names in os.walk(self.root.name) for name in names)

    def test_nothing_but_the_configuration_stays_after_its_removal(self):
        for prefix, configuration in (("/usr/local", "/usr/local/etc/lockkeeper"), ("/usr", "/etc/lockkeeper")):
            with self.subTest(prefix):
                self.install(prefix)
                self.assertGreater(len(self.files()), 4)
                removed = subprocess.run([os.path.join(ROOT, "scripts", "uninstall"), prefix], capture_output=True, text=True,
                                         env={**os.environ, "DESTDIR": self.root.name}, timeout=PATIENCE)
                self.assertEqual(removed.returncode, 0, removed.stderr)
                self.assertEqual(self.files(), [f"{configuration}/lockkeeper.yaml"])
                os.remove(self.path(f"{configuration}/lockkeeper.yaml"))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_the_unit_exposes_little(self):
        self.install("/usr/local")
        unit = self.path("/usr/local/lib/systemd/system/lockkeeper.service")
        rated = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit],
                               capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(rated.returncode, 0, rated.stdout + rated.stderr)
        self.assertIn("\nLimitCORE=0\n", self.read("/usr/local/lib/systemd/system/lockkeeper.service"))

    def test_a_second_install_keeps_the_configuration_of_the_administrator(self):
        self.install("/usr/local")
        configuration = "/usr/local/etc/lockkeeper/lockkeeper.yaml"
        example = self.read(configuration)
        with open(self.path(configuration), "w") as file:
            file.write("server: {port: 7001}\n")
        self.assertIn("Kept as it is: ", self.install("/usr/local"))
        self.assertEqual(self.read(configuration), "server: {port: 7001}\n")
        self.assertEqual(self.read("/usr/local/share/doc/lockkeeper/lockkeeper.yaml"), example)


if __name__ == "__main__":
    main()
