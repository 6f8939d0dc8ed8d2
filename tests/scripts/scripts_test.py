#!/usr/bin/env python3
"""The scripts behind `make`: what goes wrong costs one clear line, and leaves nothing half done.

The scripts are the real ones. The tools that they call at the edge (apt-get, cmake, ...) are replaced by small
stand-ins in a folder of their own, so that neither root nor a network nor ten minutes are needed.

usage: scripts_test.py FOLDER_OF_SCRIPTS
"""

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = os.path.abspath(sys.argv.pop())
# Long enough for a loaded machine; nothing waits that long unless it is broken.
PATIENCE = 60
# What the scripts may expect of any machine.
TOOLS = ("awk", "basename", "bash", "cat", "chmod", "dirname", "env", "find", "flock", "grep", "head", "ls", "mkdir",
         "mktemp", "mv", "printf", "readlink", "rm", "sed", "sleep", "tail", "tee", "touch", "uname")


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.tools = os.path.join(self.folder, "tools")
        self.cache = os.path.join(self.folder, "cache")
        os.mkdir(self.tools)
        for name in TOOLS:
            os.symlink(shutil.which(name), os.path.join(self.tools, name))

    def stand_in(self, name, text):
        path = os.path.join(self.tools, name)
        with open(path, "w") as file:
            file.write("#!/usr/bin/env bash\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    def start(self, script, *arguments, **environment):
        process = subprocess.Popen(
            [os.path.join(SCRIPTS, script), *arguments],
            env={"PATH": self.tools, "HOME": self.folder, "LOCKKEEPER_CACHE": self.cache, "TMPDIR": self.folder,
                 **environment},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
            # As at a terminal, even if these tests run behind somebody's back, where shells ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        """Leaves nothing behind of a script that a failed test did not wait for."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()

    def run_script(self, script, *arguments, **environment):
        process = self.start(script, *arguments, **environment)
        out, said = process.communicate(timeout=PATIENCE)
        return process.returncode, out, said

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, f"waited in vain for {what}")
            time.sleep(0.01)


class Packages(Scripts):
    def setUp(self):
        super().setUp()
        # A machine where nothing is installed.
        self.stand_in("dpkg-query", "exit 1\n")

    def test_a_complete_machine_is_left_alone(self):
        self.stand_in("dpkg-query", "printf installed\n")
        self.assertEqual(self.run_script("setup", "build", "test"), (0, "", ""))

    def test_without_apt_the_way_out_is_told(self):
        code, _, said = self.run_script("setup", "build")
        self.assertEqual(code, 1)
        self.assertRegex(said, r"^lockkeeper: this is not a Debian system .*LOCKKEEPER_NO_PACKAGES=1\n$")
        self.assertEqual(self.run_script("setup", "build", LOCKKEEPER_NO_PACKAGES="1"), (0, "", ""))

    def test_without_root_one_command_for_the_administrator_covers_all_of_ours(self):
        self.stand_in("apt-get", "echo called >&2; exit 1\n")
        self.stand_in("id", "echo 1000\n")
        code, _, said = self.run_script("setup", "build")
        self.assertEqual(code, 1)
        first, command = said.splitlines()
        self.assertRegex(first, r"^lockkeeper: packages are missing .* Run this once, then try again:$")
        match = re.fullmatch(
            r"  su -c 'apt-get update && apt-get install -y --no-install-recommends ([a-z0-9.+ -]+)'", command)
        self.assertTrue(match, command)
        names = match.group(1).split()
        self.assertIn("clang-19", names)
        self.assertIn("redis-server", names)
        self.assertEqual(len(names), len(set(names)), "a package is named twice")
        self.assertNotIn("python3-venv", names)

    def test_without_root_the_command_for_the_administrator_has_what_was_asked_for(self):
        self.stand_in("apt-get", "echo called >&2; exit 1\n")
        self.stand_in("id", "echo 1000\n")
        for group, package in (("clients", "python3-venv"), ("ci", "ccache"), ("bench-postgresql", "postgresql")):
            with self.subTest(group):
                code, _, said = self.run_script("setup", group)
                self.assertEqual(code, 1)
                self.assertIn(f" {package}", said)

    def test_a_failing_apt_is_explained_by_its_own_errors(self):
        if os.getuid() != 0:
            self.skipTest("only root gets as far as calling apt")
        self.stand_in("id", "echo 0\n")
        self.stand_in("apt-get", "echo 'much talk'; echo 'E: Unable to locate package clang-19'; exit 100\n")
        code, _, said = self.run_script("setup", "check")
        self.assertEqual(code, 1)
        self.assertNotIn("much talk", said)
        self.assertIn("\nE: Unable to locate package clang-19\nlockkeeper: apt-get could not install", said)


class Seastar(Scripts):
    """The cache is filled by one rename, or not at all."""

    def setUp(self):
        super().setUp()
        self.stand_in("clang++-19", "echo 19.1.7\n")
        self.prefix = os.path.join(self.cache, "seastar-1.0-clang++-19-19.1.7-release")
        self.package = os.path.join(self.prefix, "lib/cmake/Seastar")

    def have_source(self):
        os.makedirs(os.path.join(self.cache, "source-seastar-1.0"))

    def have_builder(self):
        """A cmake that tells when it builds, and goes on building until it is let go."""
        self.stand_in("cmake", f"""
case $1 in
--build)
    # A shell goes on if the signal comes while its last command has just ended well; a compiler does not.
    trap 'exit 130' INT
    mkdir "$2/half"
    echo build >>{self.folder}/builds
    while [ ! -e {self.folder}/go ]; do sleep 0.01; done ;;
--install)
    mkdir -p "$DESTDIR{self.package}"
    touch "$DESTDIR{self.package}/SeastarConfig.cmake" ;;
*)
    while [ "$1" != -B ]; do shift; done
    mkdir "$2" ;;
esac
""")

    def builds(self):
        try:
            with open(os.path.join(self.folder, "builds")) as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0

    def let_go(self):
        with open(os.path.join(self.folder, "go"), "w"):
            pass

    def scratch(self):
        return [name for name in os.listdir(self.cache) if name.startswith("tmp.")]

    def test_a_cache_that_cannot_be_written_is_named(self):
        with open(self.cache, "w"):
            pass
        code, out, said = self.run_script("seastar", "release")
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(
            said,
            f"lockkeeper: the cache {self.cache} is not writable: choose another folder with"
            " LOCKKEEPER_CACHE=/path/to/folder\n",
        )

    def test_a_missing_compiler_is_named(self):
        os.remove(os.path.join(self.tools, "clang++-19"))
        code, out, said = self.run_script("seastar", "release")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(said, r"^lockkeeper: clang\+\+-19 is not installed: run 'make packages'.*\n$")

    def test_without_apt_the_source_cannot_come_and_nothing_stays(self):
        code, out, said = self.run_script("seastar", "release")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("\nlockkeeper: no apt-get to bring Seastar's source with", said)
        self.assertEqual(os.listdir(self.cache), ["seastar.lock"])

    def test_without_a_network_the_source_cannot_come_and_nothing_stays(self):
        self.stand_in("apt-get", """
case " $* " in
*" indextargets "*) echo 'Debian|main|http://mirror.example/debian/' ;;
*) echo 'E: Could not resolve'; exit 100 ;;
esac
""")
        code, out, said = self.run_script("seastar", "release")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("\nE: Could not resolve\nlockkeeper: Seastar's source could not be downloaded", said)
        self.assertEqual(os.listdir(self.cache), ["seastar.lock"])

    def test_a_wrong_folder_of_the_user_is_named(self):
        code, _, said = self.run_script("seastar", "release", Seastar_DIR="/nowhere")
        self.assertEqual((code, said), (1, "lockkeeper: Seastar_DIR=/nowhere has no SeastarConfig.cmake\n"))

    def test_looking_for_it_never_builds(self):
        self.assertEqual(self.run_script("seastar", "--find", "release"), (1, "", ""))
        os.makedirs(self.package)
        self.assertEqual(self.run_script("seastar", "--find", "release"), (0, self.package + "\n", ""))

    def test_two_at_once_build_once(self):
        self.have_source()
        self.have_builder()
        both = [self.start("seastar", "release") for _ in range(2)]
        self.wait_for("a build", lambda: self.builds() == 1)
        self.let_go()
        for process in both:
            out, said = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, out), (0, self.package + "\n"), said)
        self.assertEqual(self.builds(), 1)
        self.assertEqual(self.scratch(), [])

    def test_an_interrupted_build_leaves_no_half_filled_cache(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number.name):
                self.have_source()
                self.have_builder()
                process = self.start("seastar", "release")
                self.wait_for("a build", lambda: self.builds() == 1)
                # As a terminal does it, and as a supervisor: to all processes of the group.
                os.killpg(process.pid, number)
                process.communicate(timeout=PATIENCE)
                self.assertNotEqual(process.returncode, 0)
                self.assertFalse(os.path.exists(self.prefix))
                self.assertEqual(self.run_script("seastar", "--find", "release")[0], 1)
                if number != signal.SIGKILL:
                    self.assertEqual(self.scratch(), [])

                # The next one starts from scratch and removes what was left.
                self.let_go()
                code, out, said = self.run_script("seastar", "release")
                self.assertEqual((code, out), (0, self.package + "\n"), said)
                self.assertEqual(self.scratch(), [])
                shutil.rmtree(self.cache)
                os.remove(os.path.join(self.folder, "go"))
                os.remove(os.path.join(self.folder, "builds"))

    def test_a_failing_build_shows_its_end_and_leaves_nothing(self):
        self.have_source()
        self.stand_in("cmake", 'case $1 in --build) echo "[1/2] cc"; echo "error: no such luck"; exit 1 ;; esac\n')
        code, out, said = self.run_script("seastar", "release")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("error: no such luck", said)
        self.assertRegex(said.splitlines()[-1], r"^lockkeeper: building Seastar failed; the whole output is in ")
        self.assertFalse(os.path.exists(self.prefix))
        self.assertEqual(self.scratch(), [])


class Ci(Scripts):
    """.ci/run in a tree of its own, with stand-ins for what it calls."""

    def setUp(self):
        super().setUp()
        for name in ("echo", "make", "sh", "timeout"):
            os.symlink(shutil.which(name), os.path.join(self.tools, name))
        self.tree = os.path.join(self.folder, "tree")
        for name in (".ci", "scripts"):
            os.makedirs(os.path.join(self.tree, name))
        self.runner = os.path.join(self.tree, ".ci", "run")
        shutil.copy(os.path.join(SCRIPTS, "..", ".ci", "run"), self.runner)
        for name in ("setup", "format"):
            os.symlink(shutil.which("true"), os.path.join(self.tree, "scripts", name))

    def have_tests(self, recipe, libraries="@echo 'clients: 3 passed, 0 failed'"):
        with open(os.path.join(self.tree, "Makefile"), "w") as file:
            file.write(f"test:\n\t{recipe}\ntest-clients:\n\t{libraries}\n")

    def test_each_part_ends_with_a_line_about_it(self):
        self.have_tests("@echo '100% tests passed'")
        code, out, said = self.run_script(self.runner)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(re.sub(r"\d+ s", "N s", out).splitlines(),
                         ["ci: packages good in N s", "ci: formatting good in N s", "100% tests passed", "ci: tests good in N s",
                          "clients: 3 passed, 0 failed", "ci: libraries good in N s"])

    def test_what_fails_ends_it(self):
        self.have_tests("@exit 7")
        code, out, _ = self.run_script(self.runner)
        self.assertEqual(code, 2)
        self.assertRegex(out, r"ci: tests FAILED \(2\) in \d+ s\n$")

    def test_a_signal_ends_what_is_at_work(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                pids = os.path.join(self.tree, "pids")
                self.have_tests("@sleep 3600 & echo $$! $$$$ >pids; wait")
                process = self.start(self.runner)
                self.wait_for("the tests", lambda: len(self.words(pids)) == 2)
                os.kill(process.pid, number)
                out, _ = process.communicate(timeout=PATIENCE)
                self.assertNotEqual(process.returncode, 0)
                self.assertRegex(out, r"ci: tests FAILED \(\d+\) in \d+ s\n$")
                for pid in self.words(pids):
                    self.wait_for(f"the end of process {pid}", lambda: not self.is_there(pid))
                os.remove(pids)

    def words(self, path):
        try:
            with open(path) as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def is_there(self, pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False


if __name__ == "__main__":
    unittest.main(verbosity=2)
