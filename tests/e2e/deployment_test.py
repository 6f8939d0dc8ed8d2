"""What is shipped to run it somewhere: the image's health check does what it says."""

import json
import os
import re
import subprocess
import unittest

from support import PATIENCE, Lockkeeper, free_port, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
USERS = "users: [{name: app, passwords: env:LOCKKEEPER_TEST_PASSWORD, rules: '~* +@all'}]\n"


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def health_checks():
    """As they are written down, the Dockerfile's and the one for people."""
    command = re.search(r"^HEALTHCHECK .*\\\n +CMD (\[.*\])$", read("Dockerfile"), re.M).group(1)
    script = re.search(r"^ {4}bash -c '([^']*PING[^']*)'$", read("docs", "operations.md"), re.M).group(1)
    return json.loads(command), ["bash", "-c", script]


class HealthCheck(unittest.TestCase):
    def setUp(self):
        os.environ["LOCKKEEPER_TEST_PASSWORD"] = "a password"

    def is_healthy(self, check, port):
        script = check[-1].replace("/6380 ", f"/{port} ")
        self.assertNotEqual(script, check[-1])
        return subprocess.run([*check[:-1], script], capture_output=True, timeout=PATIENCE).returncode == 0

    def test_a_server_is_healthy_with_users_and_without(self):
        for config in ("", USERS):
            with Lockkeeper(cores=1, config=config) as server:
                for check in health_checks():
                    self.assertTrue(self.is_healthy(check, server.port), (config, check))

    def test_where_nobody_is_nobody_is_healthy(self):
        for check in health_checks():
            self.assertFalse(self.is_healthy(check, free_port()), check)


if __name__ == "__main__":
    main()
