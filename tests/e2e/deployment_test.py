"""What is shipped to run it somewhere: the image and its health check, what is in it, manifests that fit their configuration."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support import PATIENCE, Lockkeeper, free_port, lockkeeper_binary, main

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


def in_effect(text):
    """What --check prints of a configuration, with secrets that are there."""
    with tempfile.TemporaryDirectory() as folder:
        for name in set(re.findall(r"file:/run/secrets/([\w/-]+)", text)):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write("0123456789abcdef\n")
        path = os.path.join(folder, "lockkeeper.yaml")
        with open(path, "w") as file:
            file.write(text.replace("file:/run/secrets/", f"file:{folder}/"))
        said = subprocess.run([lockkeeper_binary(), "--config", path, "--check"], capture_output=True, text=True,
                              timeout=PATIENCE, env={**os.environ, "POD_IP": "10.1.2.3"})
    assert said.returncode == 0, said.stderr
    return said.stdout


def option(printed, section, name):
    block = re.search(rf"^{section}:\n((?:  .*\n)+)", printed, re.M).group(1)
    return re.search(rf"^  {name}: ([^#\n]*?) *(?:#.*)?$", block, re.M).group(1)


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


class Image(unittest.TestCase):
    def named_by(self, script):
        """What a script of ours sources, reads or calls in the folder of scripts."""
        text = read(script)
        return {f"scripts/{name}" for pattern in (r"\$top/scripts/([\w.-]+)", r'\. "\$\(dirname "\$0"\)/([\w.-]+)"')
                for name in re.findall(pattern, text)}

    def test_the_layer_of_seastar_has_every_file_that_its_scripts_need(self):
        """It is built before the rest of the tree is copied, so that it changes seldom."""
        copied, run = re.search(r"^COPY ((?:scripts/\S+ )+)scripts/\nRUN (.*)$", read("Dockerfile"), re.M).groups()
        needed = set(re.findall(r"scripts/[\w.-]+", run))
        self.assertIn("scripts/seastar", needed)
        for script in sorted(needed):
            needed |= self.named_by(script)
        self.assertEqual(sorted(copied.split()), sorted(needed))


@unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian system")
class BillOfMaterials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = cls.written()
        cls.bill = json.loads(cls.text)
        cls.packages = {one["name"]: one for one in cls.bill["packages"]}

    @staticmethod
    def written():
        return subprocess.run([os.path.join(ROOT, "scripts", "sbom"), lockkeeper_binary()], check=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, text=True).stdout

    def test_it_has_every_library_of_the_image_and_what_is_linked_in(self):
        installed = re.search(r"^FROM debian:12-slim\n(?:.*\n)*?RUN ((?:.*\\\n)+)", read("Dockerfile"), re.M).group(1)
        libraries = set(re.findall(r"^ {8}([a-z0-9.+-]+) \\$", installed, re.M)) - {"ca-certificates"}
        self.assertGreater(len(libraries), 10)
        self.assertEqual(libraries - set(self.packages), set())
        self.assertIn("seastar", self.packages)
        self.assertIn("libxxhash-dev", self.packages)

    def test_each_part_has_a_version_and_a_relation_to_the_program(self):
        for name, one in self.packages.items():
            self.assertRegex(one["versionInfo"], r"^[0-9]", name)
        parts = {one["SPDXID"] for one in self.bill["packages"]}
        self.assertEqual(len(parts), len(self.bill["packages"]))
        self.assertEqual({one["relatedSpdxElement"] for one in self.bill["relationships"]}, parts)
        self.assertEqual({one["spdxElementId"] for one in self.bill["relationships"]},
                         {"SPDXRef-DOCUMENT", self.packages["lockkeeper"]["SPDXID"]})

    def test_the_same_program_has_the_same_bill(self):
        self.assertEqual(self.text, self.written())


class Kubernetes(unittest.TestCase):
    def configuration_of_the_manifest(self):
        text = read("docs", "kubernetes", "lockkeeper.yaml")
        block = re.search(r"  lockkeeper\.yaml: \|\n((?:    .*\n|\n)+)", text).group(1)
        return re.sub(r"^    ", "", block, flags=re.M)

    def test_the_configuration_in_the_manifest_is_good(self):
        printed = in_effect(self.configuration_of_the_manifest())
        self.assertIn("redis-2.redis", printed)
        self.assertIn("  advertise: 10.1.2.3:6380\n", printed)
        self.assertEqual(re.findall(r"- name: '?(\w+)", printed.split("users:")[1]), ["admin", "application"])

    def test_there_is_time_to_end(self):
        manifest = read("docs", "kubernetes", "lockkeeper.yaml")
        printed = in_effect(self.configuration_of_the_manifest())
        delay, deadline = (int(option(printed, "shutdown", name).removesuffix("s")) for name in ("delay", "deadline"))
        self.assertLess(delay + deadline, int(re.search(r"terminationGracePeriodSeconds: (\d+)", manifest).group(1)))
        period, failures = re.search(r"/readyz.*\n +periodSeconds: (\d+)\n.*\n +failureThreshold: (\d+)", manifest).groups()
        self.assertGreater(delay, int(period) * int(failures))

    def test_what_the_configuration_refers_to_is_there(self):
        manifest = read("docs", "kubernetes", "lockkeeper.yaml")
        keys = set(re.findall(r"file:/run/secrets/lockkeeper/(\w+)", manifest))
        self.assertEqual(keys, set(re.findall(r"--from-literal=(\w+)=", manifest)))
        self.assertIn("{name: secrets, mountPath: /run/secrets/lockkeeper, readOnly: true}", manifest)
        self.assertIn("{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}", manifest)
        for kind in ("Deployment", "Service", "PodDisruptionBudget", "ConfigMap", "NetworkPolicy"):
            self.assertIn(f"kind: {kind}\n", manifest)

    def test_probes_can_be_reached_from_outside(self):
        """The kubelet asks at the pod's address: a port on loopback would never answer it."""
        manifest = read("docs", "kubernetes", "lockkeeper.yaml")
        self.assertEqual(re.findall(r"httpGet: \{path: (/\w+), port: http\}", manifest), ["/healthz", "/readyz"])
        port = re.search(r"\{name: http, containerPort: (\d+)\}", manifest).group(1)
        for text in (self.configuration_of_the_manifest(), read("config", "examples", "kubernetes.yaml")):
            printed = in_effect(text)
            self.assertIn(option(printed, "http", "address"), ("0.0.0.0", "'::'"))
            self.assertEqual(option(printed, "http", "port"), port)


class Compose(unittest.TestCase):
    def setUp(self):
        self.compose = read("compose.yaml")
        block = re.search(r"^configs:\n  lockkeeper:\n    content: \|\n((?: {6}.*\n|\n)+)", self.compose, re.M).group(1)
        self.printed = in_effect(re.sub(r"^ {6}", "", block, flags=re.M))

    def test_its_masters_are_those_of_the_configuration(self):
        masters = re.findall(r"redis://(master-\d)", self.printed)
        self.assertEqual(masters, re.findall(r"^  (master-\d):\n    <<: \*master", self.compose, re.M))
        self.assertEqual(len(masters), 3)

    def test_what_asks_nobody_for_a_password_is_published_to_this_machine_alone(self):
        """And it listens where the published ports lead: a container's own loopback address reaches nobody."""
        published = json.loads(re.search(r"^    ports: (\[.*\])$", self.compose, re.M).group(1))
        listened = [option(self.printed, section, "port") for section in ("server", "http")]
        self.assertEqual(published, [f"127.0.0.1:{port}:{port}" for port in listened])
        for section in ("server", "http"):
            self.assertEqual(option(self.printed, section, "address"), "0.0.0.0")


if __name__ == "__main__":
    main()
