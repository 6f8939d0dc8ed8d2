"""The command line: every mistake costs one clear line and an exit code, and starts nothing."""

import socket
import subprocess
import tempfile
import unittest

from support import PATIENCE, Client, Lockkeeper, lockkeeper_binary, main


def run(*options):
    return subprocess.run([lockkeeper_binary(), *options], capture_output=True, text=True, timeout=PATIENCE)


class CommandLine(unittest.TestCase):
    def refuses(self, *options):
        result = run(*options)
        self.assertNotEqual(result.returncode, 0)
        self.assertGreater(result.returncode, 0, "killed by a signal")
        return result.stdout + result.stderr

    def test_version_and_help_are_told(self):
        self.assertRegex(run("--version").stdout, r"^lockkeeper \d+\.\d+\.\d+\n$")
        usage = run("--help")
        self.assertEqual(usage.returncode, 0)
        for option in ("--config", "--address", "--port", "--check", "--version"):
            self.assertIn(option, usage.stdout)

    def test_an_unknown_option_names_the_nearest_one(self):
        self.assertEqual(self.refuses("--prot", "1"), "lockkeeper: unknown option '--prot'; did you mean '--port'?\n")

    def test_a_word_without_an_option_is_refused(self):
        self.assertEqual(self.refuses("serve"), "lockkeeper: a word that belongs to no option; try --help\n")

    def test_a_bad_value_of_a_seastar_option_is_one_line_and_no_abort(self):
        for option, value in (
            ("--reactor-backend", "carrier-pigeon"),
            ("--network-stack", "carrier-pigeon"),
            ("--default-log-level", "loud"),
            ("--cpuset", "x"),
            ("--thread-affinity", "perhaps"),
        ):
            said = self.refuses(option, value)
            self.assertRegex(said, r"^lockkeeper: [^\n]*\b" + value + r"\b[^\n]*; try --help(-seastar)?\n$")

    def test_a_bad_port_or_address_is_refused(self):
        self.assertIn("not between 1 and 65535", self.refuses("--port", "65536"))
        self.assertIn("not a whole number", self.refuses("--port", "x"))
        self.assertIn("no.such.address", self.refuses("--address", "no.such.address"))

    def test_an_address_that_other_proxies_cannot_call_is_refused(self):
        text = "stripes: [{name: a, masters: [redis://127.0.0.1:1]}]\nproxies: {secret: 0123456789abcdef%s}\n"
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text % "")
            file.flush()
            self.assertEqual(run("--config", file.name, "--check").returncode, 0)
            for address in ("0.0.0.0", "::"):
                self.assertEqual(
                    self.refuses("--config", file.name, "--check", "--address", address),
                    f"lockkeeper: --address: 'proxies' needs 'advertise', as in 10.0.0.7:6380: nobody can reach us "
                    f"at {address}\n")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text % ", advertise: 10.0.0.7:6380")
            file.flush()
            self.assertEqual(run("--config", file.name, "--check", "--address", "0.0.0.0").returncode, 0)

    def test_too_little_memory_says_how_much_is_needed(self):
        self.assertEqual(
            self.refuses("-c", "1", "-m", "1M"),
            "lockkeeper: 1 MiB of memory is too little for 1 core: give at least -m 32M, or fewer cores with -c\n",
        )
        self.assertIn("not a size", self.refuses("-m", "lots"))
        self.assertIn("more than this machine has", self.refuses("-m", "1000000G"))

    def test_the_least_memory_is_enough_to_serve(self):
        with Lockkeeper(cores=1, memory="32M") as server, Client(server.port) as client:
            self.assertEqual(client.call("PING"), "PONG")

    def test_a_port_in_use_is_named(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            said = self.refuses("--port", str(port), "-c", "2", "-m", "256M")
            self.assertIn(
                f"cannot listen on 127.0.0.1:{port}: Address already in use;"
                " stop the other server or choose another --port\n",
                said,
            )
            self.assertEqual(said.count("ERROR"), 1)

    def test_check_prints_the_whole_configuration(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("server: {port: 7001}\n")
            file.flush()
            result = run("--config", file.name, "--check")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("port: 7001", result.stdout)
        self.assertIn("address: 127.0.0.1", result.stdout)

    def test_check_reports_every_mistake_with_its_place(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("server:\n  prot: 7001\nlimits:\n  idle: 5\n")
            file.flush()
            said = self.refuses("--config", file.name, "--check")
            self.assertIn(f"{file.name}:2:3: unknown option 'prot'", said)
            self.assertIn(f"{file.name}:4:9: 'idle': '5' needs a unit", said)

    def test_a_missing_file_is_named(self):
        self.assertIn("/nowhere.yaml: cannot be read", self.refuses("--config", "/nowhere.yaml"))

    def test_a_folder_is_not_taken_for_an_empty_file(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(
                self.refuses("--config", folder, "--check"),
                f"lockkeeper: {folder}: cannot be read: Is a directory\n",
            )

    def test_the_command_line_wins_over_the_file(self):
        with Lockkeeper(config="server: {port: 1}") as server, Client(server.port) as client:
            self.assertEqual(client.call("PING"), "PONG")


if __name__ == "__main__":
    main()
