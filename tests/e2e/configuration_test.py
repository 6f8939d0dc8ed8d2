"""The configuration file: what is printed can be read, examples are good, and every mistake has its exact words."""

import glob
import os
import re
import subprocess
import tempfile
import unittest

from support import PATIENCE, lockkeeper_binary, main

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "config", "examples")


def run(*options, environment=None):
    return subprocess.run([lockkeeper_binary(), *options], capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, **(environment or {})})


def check(text, environment=None):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        said = run("--config", file.name, "--check", environment=environment)
        return said.returncode, said.stdout, said.stderr.replace(file.name, "f.yaml")


# A file, and everything that is said about it.
BAD = {
    "server: {prot: 1}": "f.yaml:1:10: unknown option 'prot' in 'server'; did you mean 'port'?",
    "sever: {port: 1}": "f.yaml:1:1: unknown section 'sever'; did you mean 'server'?",
    "server: {port: 0}": "f.yaml:1:16: 'port': 0 is not between 1 and 65535 (accepted: 1 to 65535)",
    "server: {port: x}": "f.yaml:1:16: 'port': 'x' is not a whole number (accepted: 1 to 65535)",
    "server: {port: [1]}": "f.yaml:1:10: 'port' needs one value: 1 to 65535",
    "server: {port: 1, port: 2}": "f.yaml:1:19: 'port' is given twice",
    "server: {address: ''}": "f.yaml:1:19: 'address': must not be empty (accepted: an IPv4 or IPv6 address)",
    "server: {protected_mode: maybe}":
        "f.yaml:1:26: 'protected_mode': 'maybe' is not one of them (accepted: true or false)",
    "limits: {idle: 5}": "f.yaml:1:16: 'idle': '5' needs a unit, as in 250ms, 10s, 5m or 1h (accepted: 0 to 24h)",
    "limits: {argument_bytes: 64}":
        "f.yaml:1:26: 'argument_bytes': '64' needs a unit, as in 64KiB or 1MiB (accepted: 1KiB to 512MiB)",
    "limits: {argument_bytes: 2MiB}":
        "f.yaml: limits.argument_bytes is larger than limits.query_bytes: such an argument could never be read; raise "
        "query_bytes",
    "limits: {clients: 99999999999999999999}":
        "f.yaml:1:19: 'clients': '99999999999999999999' is too large (accepted: 1 to 1000000)",
    "locks: ['a*']": "f.yaml:1:8: 'locks' has no effect without 'data': every key is a lock then",
    "data: http://x": "f.yaml:1:7: 'data': needs the form redis://[user:password@]host[:port][/database]",
    "data: redis://h:99999": "f.yaml:1:7: 'data': ':99999' is not a port",
    "data: redis://word@h": "f.yaml:1:7: 'data': credentials need the form user:password@ or :password@",
    "stripes: [{name: a, masters: [redis://a, redis://b]}]":
        "f.yaml:1:30: 2 masters bear no more failures than 1 do; use 1, 3 or 5",
    "leases: {untimed: 1h}":
        "f.yaml: leases.untimed is longer than leases.max_ttl: no lease may be; raise max_ttl or lower untimed",
    "masters: {silence: 50ms}":
        "f.yaml: masters.silence is shorter than masters.timeout: a connection would be cut while a round still waits; "
        "raise silence",
    "masters: {password: word}":
        "f.yaml:1:21: 'password': no secret stands in this file itself (accepted: env:NAME or file:/path)",
    "masters: {password: 'env:LOCKKEEPER_NO_SUCH'}":
        "f.yaml:1:21: 'password': the environment has no 'LOCKKEEPER_NO_SUCH', or an empty one (accepted: env:NAME or "
        "file:/path)",
    "masters: {tls_certificate: a.pem}":
        "f.yaml: masters.tls_certificate and masters.tls_key go together: give both, as PEM files",
    "http: {break_locks: true}":
        "f.yaml: http.break_locks without users: nobody could show that he is an admin; give users",
    "http: {break_locks: true}\nleases: {fences: false}\nusers: [{name: a, rules: nopass}]\n"
    "stripes: [{name: a, masters: ['redis://127.0.0.1:7001']}]":
        "f.yaml: http.break_locks without leases.fences: a lock that has changed hands since it was shown would look the "
        "same; have fences, or break locks by LK.BREAK",
    "tls: {port: 7000}": "f.yaml: tls.port without tls.certificate and tls.key: give both, as PEM files",
    "tls: {only: true}": "f.yaml: tls.only without tls.port: nobody could connect; give a port",
    "tls: {port: 6380, certificate: a, key: b}":
        "f.yaml: tls.port and server.port are the same: choose another, or set tls.only",
    "tls: {port: 7000, certificate: a, key: b, client_certificates: required}":
        "f.yaml: tls.client_certificates without tls.ca: give the authorities that sign them",
    "log: {level: loud}":
        "f.yaml:1:14: 'level': 'loud' is not one of them (accepted: error, warn, info, debug or trace)",
    "users: [{name: a, rules: '+@all'}]":
        "f.yaml:1:9: user 'a' has no password, so nobody can log in; give passwords, or say 'nopass' or 'off' in its "
        "rules",
    "users: [{name: a, rules: 'nopass +@lok'}]":
        "f.yaml:1:26: user 'a': '+@lok': there is no such category; did you mean '@lock'?",
    "users: [{name: a, rules: 'nopass (~a +gett)'}]":
        "f.yaml:1:26: user 'a': '(~a +gett)': '+gett': there is no such command; did you mean 'get'?",
    "users: [{name: a, passwords: hunter2}]":
        "f.yaml:1:30: 'passwords': no password stands in this file itself; use env:NAME, file:/path or sha256:DIGITS",
    "policies: [{keys: 'a', polers: park}]":
        "f.yaml:1:24: unknown option 'polers' in a policy; did you mean 'pollers'?",
    "[1, 2]": "f.yaml:1:1: the file must hold sections such as 'server:'",
    "server: {port: 1": "f.yaml:2:1: end of map flow not found",
}


class Configuration(unittest.TestCase):
    def test_every_mistake_has_its_exact_words(self):
        for text, expected in BAD.items():
            with self.subTest(text):
                code, printed, said = check(text + "\n")
                self.assertEqual((code, printed), (2, ""))
                self.assertEqual(said, f"lockkeeper: {expected}\n")

    def test_the_printed_defaults_are_a_good_file(self):
        printed = run("--print-defaults")
        self.assertEqual(printed.returncode, 0)
        code, in_full, said = check(printed.stdout)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(in_full, check("")[1])
        # Every line is explained, or its section is.
        for line in printed.stdout.splitlines():
            if re.match(r"  \w", line) and "#" not in line:
                self.assertRegex(line, r"^  (port|connect_timeout): ", "explain it")

    def test_every_option_is_in_the_printed_defaults(self):
        printed = run("--print-defaults").stdout
        full = check("stripes: [{name: a, masters: [redis://h]}]\ntls: {port: 1, certificate: c, key: k}\n"
                     "proxies: {secret: 0123456789abcdef, advertise: h:1, peers: [h:2], tls: true, tls_ca: f}\n"
                     "policies: [{keys: a}]\ndata: redis://h\nlocks: [a]\n"
                     "users: [{name: a, passwords: env:LOCKKEEPER_TEST, rules: +@all, connections: 1, rate: 1}]\n",
                     {"LOCKKEEPER_TEST": "a secret"})[1]
        section, seen = None, 0
        for line in full.splitlines()[1:]:
            name = re.match(r"( *)(?:- )?([a-z_]+):(?: |$)", line)
            if not name:
                continue
            if not name.group(1):
                section = name.group(2)
            block = re.search(rf"^(?:# )?{section}:.*\n((?:#? .*\n|#\n)*)", printed, re.M)
            self.assertTrue(block, section)
            seen += 1
            if name.group(1):
                self.assertRegex(block.group(1), rf"(?m)^#? +(?:- )?{name.group(2)}:|, {name.group(2)}:", section)
        self.assertGreater(seen, 90)

    def test_what_an_option_accepts_is_printed(self):
        told = dict(re.findall(r"^#   (\w+\.\w+) +(.+)$", run("--print-defaults").stdout.split("accepts:\n")[1], re.M))
        self.assertEqual(told["server.port"], "1 to 65535")
        self.assertEqual(told["masters.admission"], "automatic, strict or quick")
        # All of them, and in the words of a refusal.
        section = None
        for line in check("")[1].splitlines()[1:]:
            name, value = line.strip().split(":", 1)
            section = section if value else name
            if value:
                accepted = told.pop(f"{section}.{name}")
                said = check(f"{section}: {{{name}: [1]}}\n")[2] if name in ("port", "locks", "fences") else accepted
                self.assertIn(accepted, said)
        self.assertEqual(told, {})

    def test_every_example_is_good(self):
        names = sorted(glob.glob(os.path.join(EXAMPLES, "*.yaml")))
        self.assertEqual([os.path.basename(name) for name in names],
                         ["embedded.yaml", "fleet-3x5.yaml", "kubernetes.yaml", "one-master.yaml", "tls-acl.yaml"])
        with tempfile.TemporaryDirectory() as secrets:
            for name in names:
                with open(name) as file:
                    text = file.read()
                for secret in set(re.findall(r"file:/run/secrets/(\w+)", text)):
                    with open(os.path.join(secrets, secret), "w") as file:
                        file.write("a secret\n")
                text = text.replace("file:/run/secrets/", f"file:{secrets}/")
                code, _, said = check(text, {"REDIS_PASSWORD": "a secret"})
                self.assertEqual((code, said), (0, ""), name)


if __name__ == "__main__":
    main()
