#!/usr/bin/env python3
"""Masters behind TLS: real redis-servers with certificates, and proxies that trust them or do not."""

import os
import subprocess
import tempfile
import unittest

from fleet_support import NO_QUORUM, masters_of, wait_until
from support import Client, Lockkeeper, Redis, free_port, main


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)


class Authority:
    """Signs certificates for addresses of this machine."""

    def __init__(self, folder, name):
        self.key, self.certificate = (os.path.join(folder, f"{name}.{kind}") for kind in ("key", "crt"))
        self.folder = folder
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                "-keyout", self.key, "-out", self.certificate)

    def sign(self, name, alternatives):
        """Key and certificate of a server that may call itself by these names."""
        key, request, certificate, more = (os.path.join(self.folder, f"{name}.{kind}")
                                           for kind in ("key", "csr", "crt", "ext"))
        with open(more, "w") as file:
            file.write(f"subjectAltName={alternatives}\n")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                "-days", "2", "-extfile", more, "-out", certificate)
        return key, certificate


class TlsMaster(Redis):
    """Speaks TLS only at `tls_port`; the tests ask it in the clear at `port`."""

    def __init__(self, key, certificate, authority):
        self.tls_port = free_port()
        super().__init__("--tls-port", str(self.tls_port), "--tls-key-file", key, "--tls-cert-file", certificate,
                         "--tls-ca-cert-file", authority, "--tls-auth-clients", "no")


class OverTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.ours, cls.others = Authority(cls.folder, "ours"), Authority(cls.folder, "others")
        cls.good = cls.ours.sign("good", "DNS:localhost")
        cls.misnamed = cls.ours.sign("misnamed", "DNS:elsewhere.example")

    def masters(self, count, certificate=None):
        key, signed = certificate or self.good
        return [self.enterContext(TlsMaster(key, signed, self.ours.certificate)) for _ in range(count)]

    def proxy(self, masters, trusted, scheme="rediss"):
        addresses = ", ".join(f"{scheme}://localhost:{one.tls_port}" for one in masters)
        return self.enterContext(Lockkeeper(
            cores=1, config=f"stripes: [{{name: main, masters: [{addresses}]}}]\n"
                            f"masters: {{admission: quick, tls_ca: {trusted}}}\n"))

    def expect_no_vote(self, proxy, masters, *words):
        wait_until(lambda: all(one["reason"] for one in masters_of(proxy.port).values()), "a reason is told")
        for one in masters_of(proxy.port).values():
            self.assertNotEqual(one["state"], b"admitted")
            self.assertTrue(any(word in one["reason"].lower() for word in words), one)
        with Client(proxy.port) as client:
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 1000), NO_QUORUM)
        for master in masters:
            with Client(master.port) as client:
                self.assertEqual(client.call("EXISTS", "k"), 0)

    def test_locks_are_held_by_masters_that_we_trust(self):
        masters = self.masters(3)
        proxy = self.proxy(masters, self.ours.certificate)
        proxy.wait_for_votes(3)
        with Client(proxy.port) as client:
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 5000), "OK")
            self.assertIsNone(client.call("SET", "k", "you", "NX", "PX", 5000))
            for master in masters:
                with Client(master.port) as direct:
                    wait_until(lambda one=direct: one.call("EXISTS", "k") == 1, "it has the lock")
            self.assertEqual(client.call("DEL", "k"), 1)
            # Also when a connection breaks and is made anew.
            for master in masters:
                with Client(master.port) as direct:
                    direct.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            wait_until(lambda: client.call("SET", "k", "me", "NX", "PX", 5000) == "OK", "locks again")

    def test_a_master_of_another_authority_does_not_vote(self):
        masters = self.masters(1)
        self.expect_no_vote(self.proxy(masters, self.others.certificate), masters, b"certificate", b"issuer", b"tls")

    def test_a_master_with_another_name_does_not_vote(self):
        masters = self.masters(1, self.misnamed)
        self.expect_no_vote(self.proxy(masters, self.ours.certificate), masters, b"certificate", b"name", b"tls")

    def test_plain_words_to_a_tls_port_get_no_vote(self):
        masters = self.masters(1)
        proxy = self.proxy(masters, self.ours.certificate, scheme="redis")
        wait_until(lambda: all(one["reason"] for one in masters_of(proxy.port).values()), "a reason is told")
        with Client(proxy.port) as client:
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 1000), NO_QUORUM)


if __name__ == "__main__":
    main()
