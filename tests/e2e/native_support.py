"""What the tests of native verbs share: a server of every kind, clients of every kind, and a look at who is in line."""

import time
import unittest

from support import PATIENCE, Client, Lockkeeper

# Keys of both cores, whatever the seed of the hash is (but for one time in 2^11).
KEYS = [f"key:{number}" for number in range(12)]


def as_map(reply):
    """RESP2 has no maps: names and values take turns."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


def texts(fields):
    """A map with names and values as text where they are bytes."""
    def text(value):
        return value.decode() if isinstance(value, bytes) else value
    return {text(name): text(value) for name, value in fields.items()}


class NativeCase(unittest.TestCase):
    """One server for all tests of a class."""

    cores = 2
    version = 2
    config = None

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(cores=cls.cores, config=cls.config))

    def setUp(self):
        self.control = self.client()
        self.control.call("FLUSHALL")

    def client(self, version=None):
        client = self.enterContext(Client(self.server.port))
        client.call("HELLO", version or self.version)
        return client

    # ---- who holds, who waits ------------------------------------------------------------------------------------

    def holders(self, key):
        return [texts(as_map(one)) for one in self.control.call("LK.HOLDERS", key)]

    def waiters(self, key):
        return [texts(as_map(one)) for one in self.control.call("LK.WAITERS", key)]

    def queue(self, key):
        """The owners that wait, in order."""
        return [one["owner"] for one in self.waiters(key) if one["kind"] != "polling"]

    def wait_for_queue(self, key, *owners):
        end = time.monotonic() + PATIENCE
        while (queue := self.queue(key)) != list(owners):
            self.assertLess(time.monotonic(), end, f"in line for {key} are {queue}")

    def in_line(self, key, owner, *options, client=None):
        """A client that waits already, and no other than it is the last in line."""
        before = self.queue(key)
        client = client or self.client()
        client.send("LK.ACQUIRE", key, owner, "WAIT", 0, *options)
        self.wait_for_queue(key, *before, owner)
        return client

    def counted(self, name):
        lines = self.control.call("INFO", "locks").decode().split("\r\n")
        return int(next(line for line in lines if line.startswith(f"{name}:")).split(":")[1])

    # ---- replies -------------------------------------------------------------------------------------------------

    def assert_granted(self, reply, holds=1, ttl=None):
        """Returns the fence."""
        self.assertIsInstance(reply, list, reply)
        fence, left, times = reply
        self.assertGreater(fence, 0)
        self.assertEqual(times, holds)
        if ttl is not None:
            self.assertLessEqual(left, ttl)
            self.assertGreater(left, ttl - 30_000)
        return fence

    def acquire(self, key, owner, *options, client=None, holds=1):
        return self.assert_granted((client or self.control).call("LK.ACQUIRE", key, owner, *options), holds)

    def release(self, key, owner, client=None, left=0):
        self.assertEqual((client or self.control).call("LK.RELEASE", key, owner), left)


def on_all_servers(module, *behaviours):
    """Makes of each class with tests one for every number of cores and version of the protocol."""
    for behaviour in behaviours:
        for cores in (1, 2):
            for version in (2, 3):
                name = f"{behaviour.__name__}Cores{cores}Resp{version}"
                module[name] = type(name, (behaviour, NativeCase),
                                    {"cores": cores, "version": version, "__module__": module["__name__"]})
