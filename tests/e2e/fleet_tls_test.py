#!/usr/bin/env python3
"""Masters behind TLS: real redis-servers with certificates, and proxies that trust them or do not."""

import os
import shutil
import tempfile
import unittest

from certificates import Authority
from fleet_support import NO_QUORUM, masters_of, wait_until
from support import Client, Lockkeeper, Redis, free_port, main


class TlsMaster(Redis):
    """Speaks TLS only at `tls_port`; the tests ask it in the clear at `port`."""

    def __init__(self, key, certificate, authority, clients="no"):
        self.tls_port = free_port()
        super().__init__("--tls-port", str(self.tls_port), "--tls-key-file", key, "--tls-cert-file", certificate,
                         "--tls-ca-cert-file", authority, "--tls-auth-clients", clients)


class OverTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.ours, cls.others = Authority(cls.folder, "ours"), Authority(cls.folder, "others")
        cls.good = cls.ours.sign("good", "DNS:localhost")
        cls.misnamed = cls.ours.sign("misnamed", "DNS:elsewhere.example")

    def masters(self, count, certificate=None, clients="no"):
        key, signed = certificate or self.good
        return [self.enterContext(TlsMaster(key, signed, self.ours.certificate, clients)) for _ in range(count)]

    def config(self, masters, trusted, scheme="rediss", shown=None):
        addresses = ", ".join(f"{scheme}://localhost:{one.tls_port}" for one in masters)
        more = f", tls_key: {shown[0]}, tls_certificate: {shown[1]}" if shown else ""
        return (f"stripes: [{{name: main, masters: [{addresses}]}}]\n"
                f"masters: {{admission: quick, tls_ca: {trusted}{more}}}\n")

    def proxy(self, masters, trusted, scheme="rediss", shown=None, cores=1):
        return self.enterContext(Lockkeeper(cores=cores, config=self.config(masters, trusted, scheme, shown)))

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

    def test_a_master_with_an_expired_certificate_does_not_vote(self):
        masters = self.masters(1, self.ours.sign("ended", "DNS:localhost", expired=True))
        self.expect_no_vote(self.proxy(masters, self.ours.certificate), masters, b"certificate", b"expired", b"tls")

    def test_plain_words_to_a_tls_port_get_no_vote(self):
        masters = self.masters(1)
        proxy = self.proxy(masters, self.ours.certificate, scheme="redis")
        wait_until(lambda: all(one["reason"] for one in masters_of(proxy.port).values()), "a reason is told")
        with Client(proxy.port) as client:
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 1000), NO_QUORUM)

    # ---- masters that want a certificate of us

    def cut(self, masters):
        for master in masters:
            with Client(master.port) as direct:
                direct.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    def test_masters_that_want_our_certificate_get_it(self):
        masters = self.masters(3, clients="yes")
        proxy = self.proxy(masters, self.ours.certificate, shown=self.ours.sign("proxy", "DNS:proxy"), cores=2)
        proxy.wait_for_votes(6)
        with Client(proxy.port) as client:
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 5000), "OK")

    def test_without_a_certificate_they_do_not_vote(self):
        masters = self.masters(1, clients="yes")
        self.expect_no_vote(self.proxy(masters, self.ours.certificate), masters, b"certificate", b"tls", b"closed",
                            b"reset")

    def test_with_a_certificate_of_another_authority_they_do_not_vote(self):
        masters = self.masters(1, clients="yes")
        self.expect_no_vote(self.proxy(masters, self.ours.certificate, shown=self.others.sign("else", "DNS:proxy")),
                            masters, b"certificate", b"ca", b"tls", b"closed")

    def test_with_an_expired_certificate_they_do_not_vote(self):
        masters = self.masters(1, clients="yes")
        self.expect_no_vote(self.proxy(masters, self.ours.certificate,
                                       shown=self.ours.sign("old", "DNS:proxy", expired=True)),
                            masters, b"certificate", b"expired", b"tls", b"closed")

    def test_files_that_are_no_certificates_are_a_reason(self):
        masters = self.masters(1, clients="yes")
        key, certificate = self.ours.sign("swapped", "DNS:proxy")
        for shown, word in (((certificate, key), b"has no certificate"), ((key, "/no/such/file"), b"cannot be read"),
                            ((self.good[0], certificate), b"tls_key")):
            self.expect_no_vote(self.proxy(masters, self.ours.certificate, shown=shown), masters, word)

    def test_a_certificate_that_was_replaced_is_used_for_the_next_connection(self):
        masters = self.masters(1, clients="yes")
        shown = [os.path.join(self.folder, name) for name in ("now.key", "now.crt")]

        def use(pair):
            for source, target in zip(pair, shown):
                shutil.copyfile(source, target + ".next")
                os.rename(target + ".next", target)

        good = self.ours.sign("now-good", "DNS:proxy")
        use(good)
        proxy = self.proxy(masters, self.ours.certificate, shown=shown)
        proxy.wait_for_votes(1)
        use(self.others.sign("now-other", "DNS:proxy"))
        self.cut(masters)
        wait_until(lambda: masters_of(proxy.port)[masters[0].tls_port]["state"] == b"disconnected", "it is refused")
        use(good)
        proxy.wait_for_votes(2)
        # A file that is no good leaves the last one in use.
        with open(shown[1], "w") as file:
            file.write("half a certif")
        self.cut(masters)
        proxy.wait_for_votes(3)
        self.assertIn("has no certificate; the certificates from before stay in use", proxy.output())

    def test_a_reload_brings_other_certificates_and_refuses_wrong_ones(self):
        masters = self.masters(3, clients="yes")
        first, second = (self.ours.sign(name, "DNS:proxy") for name in ("first", "second"))
        wrong = self.others.sign("wrong", "DNS:proxy")
        proxy = self.proxy(masters, self.ours.certificate, shown=first)
        proxy.wait_for_votes(3)

        def reload(shown):
            with open(proxy.file.name, "w") as file:
                file.write(self.config(masters, self.ours.certificate, shown=shown))
            with Client(proxy.port) as client:
                return str(client.call("LK.RELOAD"))

        self.assertIn("nothing has changed, these masters would be lost: localhost:", reload(wrong))
        self.assertEqual(reload(second), "changed: masters.tls_certificate, masters.tls_key")
        for one in first:
            os.remove(one)
        self.cut(masters)
        proxy.wait_for_votes(6)


if __name__ == "__main__":
    main()
