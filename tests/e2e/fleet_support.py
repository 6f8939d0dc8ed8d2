"""What the tests of fleets share: masters that can be stopped and come back, and a look at how they fare."""

import os
import signal
import struct
import tempfile
import time

from native_support import as_map
from support import PATIENCE, Client, Error, Lockkeeper, Redis, lockkeeper_binary, stripe_of

NO_QUORUM = Error("ERR NOQUORUM a majority of the masters could not be won for this key")

# Short, so that what takes as long as the longest lease can be waited for.
SHORT_LEASES = "leases: {max_ttl: 2s, slack: 200ms, untimed: 1s}\n"


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.01)
    return value


def proxies_of(client):
    """LK.PROXIES by address."""
    seen = {}
    for each in client.call("LK.PROXIES"):
        fields = {name.decode(): value for name, value in as_map(each).items()}
        seen[fields["address"].decode()] = {
            name: value.decode() if isinstance(value, bytes) else value for name, value in fields.items()}
    return seen


def states_of(client):
    """Of its links to the other proxies, and "self"."""
    return sorted(each["link"] for each in proxies_of(client).values())


class SteppedClock:
    """The wall clock of one master: the real one, and so many milliseconds more."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile()
        self.offset = 0
        self.file.write(struct.pack("q", 0))
        self.file.flush()
        library = os.path.join(os.path.dirname(lockkeeper_binary()), "tests", "e2e", "libstepped_clock.so")
        assert os.path.exists(library), f"{library} is not built"
        self.environment = {"LD_PRELOAD": library, "STEPPED_CLOCK": self.file.name}

    def step(self, milliseconds):
        self.offset += milliseconds
        os.pwrite(self.file.fileno(), struct.pack("q", self.offset), 0)


class Master(Redis):
    """A master that can crash, freeze, and come back without its memory. With a clock of its own it can be stepped."""

    def __init__(self, *options, port=None, clock=None):
        super().__init__(*options, port=port, environment=clock and clock.environment)
        self.options, self.clock = options, clock

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def come_back(self):
        """Another process at the same port, which remembers nothing."""
        fresh = Master(*self.options, port=self.port, clock=self.clock)
        fresh.wait_until_ready()
        return fresh

    def call(self, *arguments):
        with Client(self.port) as client:
            return client.call(*arguments)

    def commands(self):
        """How many it has carried out, this question not counted."""
        text = self.call("INFO", "stats").decode()
        return int(text.split("total_commands_processed:")[1].split("\r")[0])


def masters_of(port):
    """What LK.STRIPES says of each master, by its port."""
    with Client(port) as client:
        seen = {}
        for stripe in client.call("LK.STRIPES"):
            for master in as_map(stripe)[b"masters"]:
                fields = {name.decode(): value for name, value in as_map(master).items()}
                seen[int(fields["address"].rsplit(b":", 1)[1].split(b"/")[0])] = fields
        return seen


def fleet_info(client):
    """INFO fleet as a map of numbers."""
    lines = client.call("INFO", "fleet").decode().split("\r\n")
    return {name: int(value) for name, _, value in (line.partition(":") for line in lines) if value}


def state_of(proxy, master):
    return masters_of(proxy.port)[master.port]["state"].decode()


def proxy_on(masters, more=SHORT_LEASES, cores=1):
    return Lockkeeper(cores=cores, config=stripe_of(masters) + more)
