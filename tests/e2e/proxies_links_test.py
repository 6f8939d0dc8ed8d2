#!/usr/bin/env python3
"""Who may have a link with a proxy, how it is kept secret, and what is counted of it."""

import tempfile

from admin_support import Metrics
from certificates import Authority
from fleet_support import SHORT_LEASES, proxies_of, states_of, wait_until
from linked_support import SECRET, ProxiesCase
from native_support import as_map
from support import Lockkeeper, free_port, main, stripe_of


class Encrypted(ProxiesCase):
    """Links go to the ports for TLS."""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.ours, cls.others = Authority(cls.folder, "ours"), Authority(cls.folder, "others")
        cls.pair = cls.ours.sign("proxy", "DNS:localhost")
        cls.foreign = cls.others.sign("foreign", "DNS:localhost")
        cls.misnamed = cls.ours.sign("misnamed", "DNS:elsewhere")

    def proxy(self, pair=None, certificates="none", more=""):
        key, certificate = pair or self.pair
        port = free_port()
        links = SECRET.replace("}", f", tls: true, advertise: 'localhost:{port}'{more}}}")
        return self.lone_proxy(links + f"tls: {{port: {port}, certificate: {certificate}, key: {key},"
                               f" ca: {self.ours.certificate}, client_certificates: {certificates}}}\n" + SHORT_LEASES)

    def test_a_lock_is_released_over_an_encrypted_link(self):
        for certificates in ("none", "required"):  # a caller shows its own certificate if it must
            with self.subTest(certificates=certificates):
                here, there = (self.client(self.proxy(certificates=certificates)) for _ in range(2))
                wait_until(lambda: states_of(here)[-1] == "up" and states_of(there)[-1] == "up", "there are links")
                self.assertEqual(here.call("LK.ACQUIRE", certificates, "me", "TTL", 1900)[2], 1)
                self.assertEqual(there.call("LK.RELEASE", certificates, "me"), 0)

    def test_a_proxy_without_a_good_certificate_is_not_called(self):
        for pair, more in ((self.foreign, ""), (self.misnamed, ""), (None, f", tls_ca: {self.others.certificate}")):
            with self.subTest(pair=pair, more=more):
                caller, called = self.proxy(more=more), self.proxy(pair)
                client = self.client(caller)

                def reason():
                    return [each["reason"] for each in proxies_of(client).values()
                            if each["address"] == self.address_of(called) and each["link"] == "down"]

                wait_until(lambda: any("ertificate" in each for each in reason()), "its certificate is refused")
                self.assertTrue(client.call("LK.ACQUIRE", "k", "me", "TTL", 500))
                self.assertIsNone(self.client(called).call("LK.ACQUIRE", "k", "you", "TTL", 500))
                client.call("LK.RELEASE", "k", "me")

    def test_a_link_in_clear_text_is_refused(self):
        """Who knows the secret does not know whether somebody reads along."""
        called = self.proxy()
        client = self.client(called)
        self.assertIn("over TLS only", str(client.call("LK.LINK", "HELLO", 3, "x", "y", "z", "0")))
        pinned = SECRET.replace("}", f", peers: ['127.0.0.1:{called.port}']}}")
        caller = self.client(self.lone_proxy(pinned + SHORT_LEASES))
        wait_until(lambda: any("over TLS only" in each["reason"] for each in proxies_of(caller).values()
                               if each["link"] != "self"), "it is told why")

    def address_of(self, proxy):
        return [each["address"] for each in proxies_of(self.client(proxy)).values() if each["link"] == "self"][0]


class Counted(ProxiesCase):
    def counting(self, more=SECRET):
        proxy = Lockkeeper(cores=2, http=True, config=stripe_of(self.masters, timeout="2s") + more + SHORT_LEASES)
        self.enterContext(proxy)
        proxy.wait_for_votes(6)
        return proxy

    def wait_for_metric(self, proxy, peer, name, value, **labels):
        def seen():
            metrics, labels["peer"] = Metrics(proxy.http_port), f"127.0.0.1:{peer.port}"
            return name in metrics.types and any(
                sample == (name, frozenset(labels.items())) and number == value
                for sample, number in metrics.samples.items())
        wait_until(seen, f"{name} is {value}")

    def test_links_and_what_goes_over_them_are_counted(self):
        home, proxy = self.counting(), self.counting()
        self.wait_for_metric(proxy, home, "lockkeeper_proxy_link_up", 1)
        here, there = self.client(home), self.client(proxy)
        wait_until(lambda: states_of(there) == ["self", "up"], "there is a link")
        here.call("LK.ACQUIRE", "k", "me", "TTL", 1900)
        for count in (1, 2, 3):
            self.assertEqual(len(there.call("LK.HOLDERS", "k")), 1)
            self.wait_for_metric(proxy, home, "lockkeeper_proxy_forwarded_total", count)
        self.wait_for_metric(proxy, home, "lockkeeper_proxy_not_home_total", 0)
        self.assertEqual(sum(each["forwarded"] for each in proxies_of(there).values()), 3)

    def test_refused_links_are_counted_by_their_reason(self):
        proxy = self.counting()
        stranger = self.lone_proxy("proxies: {secret: another secret of them}\n" + SHORT_LEASES)
        self.wait_for_metric(proxy, stranger, "lockkeeper_proxy_link_refused", 1, reason="secret")
        self.wait_for_metric(proxy, stranger, "lockkeeper_proxy_link_refused", 0, reason="fleet")
        self.wait_for_metric(proxy, stranger, "lockkeeper_proxy_link_up", 0)


class Strangers(ProxiesCase):
    def test_a_proxy_with_another_secret_is_refused_and_still_excludes(self):
        ours = self.client(self.lone_proxy())
        theirs = self.client(self.lone_proxy("proxies: {secret: another secret of them}\n" + SHORT_LEASES))
        for client in (ours, theirs):
            wait_until(lambda: states_of(client) == ["refused", "self"], "no link")
            refused = [each for each in proxies_of(client).values() if each["link"] == "refused"]
            self.assertIn("another secret", refused[0]["reason"])
        self.assertTrue(ours.call("LK.ACQUIRE", "k", "me", "TTL", 1500))
        self.assertIsNone(theirs.call("LK.ACQUIRE", "k", "you", "TTL", 1500))
        ours.call("LK.RELEASE", "k", "me")
        self.assertTrue(theirs.call("LK.ACQUIRE", "k", "you", "TTL", 1500, "WAIT", 0))

    def test_a_proxy_of_another_fleet_is_refused(self):
        ours = self.client(self.lone_proxy())
        config = stripe_of(self.masters, timeout="1s") + SECRET + SHORT_LEASES
        self.enterContext(Lockkeeper(cores=1, config=config))
        wait_until(lambda: "refused" in states_of(ours), "it is seen and refused")
        refused = [each for each in proxies_of(ours).values() if each["link"] == "refused"]
        self.assertIn("another fleet", refused[0]["reason"])

    def test_an_address_that_is_no_proxy_is_refused(self):
        more = SECRET.replace("}", f", peers: ['127.0.0.1:{self.masters[0].port}', '127.0.0.1:{free_port()}']}}")
        client = self.client(self.lone_proxy(more + SHORT_LEASES))
        wait_until(lambda: states_of(client) == ["down", "refused", "self"], "both are given up")
        reasons = [each["reason"] for each in proxies_of(client).values() if each["link"] == "refused"]
        self.assertIn("no Lockkeeper proxy", reasons[0])
        self.assertTrue(client.call("LK.ACQUIRE", "k", "me", "TTL", 1500))

    def test_a_registry_entry_that_lies_gets_no_link(self):
        proxies = self.proxies(2)
        client = self.client(proxies[0])
        fingerprint, beat = self.fingerprint(), [0]

        def lie():
            beat[0] += 1
            for master in self.masters:
                master.call("HSET", "lk:{main}:proxies", "liar",
                            f"{beat[0]} 127.0.0.1:{proxies[1].port} 0.1.0 {fingerprint}")
            return "liar" in [each["id"] for each in map(self.fields, client.call("LK.PROXIES"))]

        wait_until(lie, "the entry is seen")
        liar = [each for each in map(self.fields, client.call("LK.PROXIES")) if each["id"] == "liar"][0]
        self.assertEqual(liar["link"], "refused")
        self.assertIn("answers at its address", liar["reason"])

    def fingerprint(self):
        cards = wait_until(lambda: self.masters[0].call("HVALS", "lk:{main}:proxies"), "somebody has registered")
        return cards[0].split()[3].decode()

    def fields(self, each):
        return {name.decode(): value.decode() if isinstance(value, bytes) else value
                for name, value in as_map(each).items()}

    def test_clients_cannot_pose_as_proxies(self):
        proxy = self.lone_proxy()
        fingerprint = self.fingerprint()
        client = self.client(proxy)
        self.assertIn("NOAUTH", str(client.call("LK.LINK", "PROVE", "0" * 64)))
        self.assertEqual(client.read_all(), b"")
        client = self.client(proxy)
        self.assertIn("another fleet", str(client.call("LK.LINK", "HELLO", 3, "me", "0.1", "x", "0" * 32)))
        self.assertIn("speaks version", str(client.call("LK.LINK", "HELLO", 9, "me", "0.1", fingerprint, "0" * 32)))
        self.assertIn("ERR", str(client.call("LK.LINK", "HELLO", 3)))
        proof = client.call("LK.LINK", "HELLO", 3, "me", "0.1", fingerprint, "0" * 32)[4]
        # What it has shown is no proof of ours.
        self.assertIn("NOAUTH", str(client.call("LK.LINK", "PROVE", proof)))
        self.assertEqual(client.read_all(), b"")

    def test_without_a_secret_nobody_is_linked(self):
        one, two = self.lone_proxy(SHORT_LEASES), self.lone_proxy(SHORT_LEASES)
        client = self.client(one)
        self.assertEqual(client.call("LK.PROXIES"), [])
        self.assertIn("no secret", str(client.call("LK.LINK", "HELLO", 3, "me", "0.1", "x", "0" * 32)))
        self.assertEqual(self.masters[0].call("EXISTS", "lk:{main}:proxies"), 0)
        self.assertTrue(client.call("LK.ACQUIRE", "k", "me", "TTL", 1500))
        self.assertIsNone(self.client(two).call("LK.ACQUIRE", "k", "you", "TTL", 1500))


if __name__ == "__main__":
    main()
