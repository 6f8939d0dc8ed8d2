"""lockkeeper --check --fleet: a table of the masters, and whether they could vote; and what a user needs there."""

import os
import re
import subprocess
import tempfile
import unittest

from fleet_support import Master, states_of, wait_until
from support import PATIENCE, Client, Lockkeeper, free_port, lockkeeper_binary, main

DOCUMENT = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "fleet.md")


def documented_rights():
    """The rules of ACL SETUSER in docs/fleet.md."""
    with open(DOCUMENT) as file:
        return re.search(r"ACL SETUSER lockkeeper on >PASSWORD (.*)", file.read()).group(1).split()


class Case(unittest.TestCase):
    def start(self, *rules):
        return self.enterContext(Master("--user", "me", "on", ">canary-4711", *rules))

    def config(self, ports, credentials="me:canary-4711@"):
        addresses = ", ".join(f"'redis://{credentials}127.0.0.1:{port}'" for port in ports)
        return f"stripes: [{{name: main, masters: [{addresses}]}}]\nmasters: {{admission: quick, timeout: 2s}}\n"

    def check(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            said = subprocess.run([lockkeeper_binary(), "--config", file.name, "--check", "--fleet", "-c", "1", "--memory",
                                   "256M", "--overprovisioned"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertNotIn("canary", said.stdout + said.stderr)
        return said.returncode, said.stdout


class FleetCheck(Case):
    def verdicts(self, table):
        """The last column, by port."""
        return {int(re.search(r":(\d+)", line).group(1)): re.split(r"  +", line)[-1]
                for line in table.splitlines() if line.startswith("main ")}

    def test_masters_that_could_vote_are_good(self):
        masters = [self.start("~*", "+@all") for _ in range(3)]
        code, said = self.check(self.config([one.port for one in masters]))
        self.assertEqual(code, 0, said)
        self.assertEqual(self.verdicts(said), {one.port: "could vote" for one in masters})
        self.assertIn("stripe main: 3 of 3 could vote, 2 must: good", said)
        for one in masters:
            self.assertEqual(one.call("DBSIZE"), 0)  # it only looks

    def test_those_that_could_not_are_told_with_the_reason(self):
        good, poor, full = self.start("~*", "+@all"), self.start("~*", "+@all", "-hincrby"), self.start("~*", "+@all")
        full.call("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
        absent, wrong = free_port(), self.start("~*", "+@all", "<canary-4711", ">other")
        code, said = self.check(self.config([good.port, poor.port, full.port, absent, wrong.port]))
        self.assertEqual(code, 1, said)
        told = self.verdicts(said)
        self.assertEqual(told[good.port], "could vote")
        self.assertRegex(told[poor.port], "NOPERM .*hincrby")
        self.assertIn("allkeys-lru", told[full.port])
        self.assertIn("refused", told[absent].lower())
        self.assertIn("WRONGPASS", told[wrong.port])
        self.assertIn("stripe main: 1 of 5 could vote, 3 must: no lock can be had", said)

    def test_two_names_of_one_server_are_one_vote(self):
        one, other = self.start("~*", "+@all"), self.start("~*", "+@all")
        code, said = self.check(self.config([one.port, other.port]).replace(
            "]", f", 'redis://me:canary-4711@localhost:{one.port}']", 1))
        self.assertEqual(code, 1, said)
        self.assertIn("it is the same server as another master of this stripe", said)

    def test_without_masters_there_is_nothing_to_look_at(self):
        self.assertEqual(self.check("{}\n"), (0, "There are no stripes: locks live in the server's own memory.\n"))


class Rights(Case):
    """The user that docs/fleet.md recommends."""

    def test_it_could_vote(self):
        master = self.start(*documented_rights())
        self.assertEqual(self.check(self.config([master.port]))[0], 0)

    def test_it_votes_and_all_that_proxies_do_there_is_allowed(self):
        masters = [self.start(*documented_rights()) for _ in range(3)]
        text = self.config([one.port for one in masters]) + "proxies: {secret: one-of-some-length}\nlog: {level: debug}\n"
        with Lockkeeper(config=text) as one, Lockkeeper(config=text) as other:
            for server in (one, other):
                server.wait_for_votes(6)
            with Client(one.port) as here, Client(other.port) as there:
                for client in (here, there):
                    wait_until(lambda: states_of(client) == ["self", "up"], "both have links")
                fence = here.call("LK.ACQUIRE", "k", "a", "TTL", 60_000)[0]
                self.assertEqual(there.call("LK.FENCE", "k"), fence)
                there.send("LK.ACQUIRE", "k", "b", "TTL", 60_000, "WAIT", 0)
                self.assertGreater(here.call("LK.EXTEND", "k", "a", 120_000), 0)
                self.assertEqual(here.call("LK.RELEASE", "k", "a"), 0)
                self.assertGreater(there.read()[0], fence)
                self.assertEqual(there.call("SET", "text", "x", "NX"), "OK")
                self.assertEqual(there.call("DEL", "text"), 1)
        for master in masters:
            self.assertEqual(master.call("ACL", "LOG"), [])


if __name__ == "__main__":
    main()
