"""Looks on while faults happen, and notes everything by which anybody could have told that they did."""

import threading
import time

from native_support import as_map
from support import Client

OFTEN = 0.03


class Watcher(threading.Thread):
    """`seen` has when and what. Numbers that only grow are remembered, others are compared with how they should be."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world = world
        self.seen, self.counts, self.clients = [], {}, {}

    def run(self):
        while not self.world.over.is_set():
            for number, proxy in enumerate(self.world.proxies):
                self.look_at(number, proxy)
            for number, wire in enumerate(self.world.relays + self.world.doors):
                self.count(f"connections of wire {number}", wire.accepted)
            time.sleep(OFTEN)
        for client in self.clients.values():
            client.close()

    def look_at(self, number, proxy):
        began = time.monotonic()
        try:
            port = proxy.server.port
            if port not in self.clients:
                self.clients[port] = Client(port, timeout=1)
            client = self.clients[port]
            stripes = [as_map(stripe) for stripe in client.call("LK.STRIPES")]
            info = dict(line.split(":") for line in client.call("INFO", "fleet").decode().split("\r\n") if ":" in line)
            links = [as_map(each) for each in client.call("LK.PROXIES")] if self.world.doors else []
        except (OSError, TypeError, AttributeError) as trouble:
            if port in self.clients:
                self.clients.pop(port).close()
            return self.note(f"proxy {number} does not answer: {trouble}")
        if time.monotonic() - began > 0.25:
            self.note(f"proxy {number} is slow")
        for master in (master for stripe in stripes for master in as_maps(stripe[b"masters"])):
            name = f"{master[b'address'].decode()} at proxy {number}"
            if master[b"state"] != b"admitted":
                self.note(f"{name} is {master[b'state'].decode()}")
            for what in (b"refusals", b"epochs"):
                self.count(f"{what.decode()} of {name}", master[what])
        if int(info["leases_at_bare_quorum"]) > 0:
            self.note(f"leases of proxy {number} are at bare quorum")
        for what in ("rounds_unreachable", "leases_lost"):
            self.count(f"{what} of proxy {number}", int(info[what]))
        for link in links:
            if link[b"link"] not in (b"up", b"self"):
                self.note(f"a link of proxy {number} is {link[b'link'].decode()}")

    def count(self, what, value):
        before = self.counts.setdefault(what, value)
        self.counts[what] = value
        if value > before:
            self.note(f"{what}: {value - before} more")

    def note(self, what):
        self.seen.append((time.monotonic(), what))

    def between(self, began, ended):
        return [what for when, what in self.seen if began <= when <= ended]


def as_maps(replies):
    return [as_map(reply) for reply in replies]
