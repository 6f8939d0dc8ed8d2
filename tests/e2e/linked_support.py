"""Proxies of one fleet that are linked, for the tests."""

import unittest

from fleet_support import SHORT_LEASES, Master, states_of, wait_until
from support import Client, Lockkeeper, stripe_of

SECRET = "proxies: {secret: a secret of all proxies}\n"


class ProxiesCase(unittest.TestCase):
    """Three masters for each test, and as many proxies as it likes."""

    def setUp(self):
        self.masters = [self.enterContext(Master()) for _ in range(3)]

    def lone_proxy(self, more=SECRET + SHORT_LEASES, cores=1, masters=None):
        proxy = Lockkeeper(cores=cores, config=stripe_of(masters or self.masters, timeout="2s") + more)
        self.enterContext(proxy)
        proxy.wait_for_votes(cores * 3)
        return proxy

    def two_and_a_mortal(self, more):
        """Three that are linked; the last one may be killed."""
        proxies = [self.lone_proxy(more) for _ in range(2)]
        home = Lockkeeper(cores=1, config=stripe_of(self.masters, timeout="2s") + more)
        self.addCleanup(home.kill)
        home.wait_until_ready()
        home.wait_for_votes(3)
        for proxy in [*proxies, home]:
            watching = self.client(proxy)
            wait_until(lambda: states_of(watching) == ["self", "up", "up"], "all have links")
        return proxies, home

    def proxies(self, count, more=SECRET + SHORT_LEASES, cores=1):
        started = [self.lone_proxy(more, cores) for _ in range(count)]
        for proxy in started:
            client = self.client(proxy)
            wait_until(lambda: states_of(client) == ["self"] + ["up"] * (count - 1), "all have links")
        return started

    def client(self, proxy):
        return self.enterContext(Client(proxy.port))

    def clients(self, count, **how):
        return [self.client(proxy) for proxy in self.proxies(count, **how)]
