"""Clients of the chaos: they take, extend, release and abandon locks of a few keys, at whichever proxy answers."""

import random
import threading
import time

from lock_history import Grant
from support import PATIENCE, Client, Error, encode

KEYS = ["a", "b", "c"]
TTL = 1000
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"


class Worker(threading.Thread):
    """`grants` is what it was told, `troubles` what went wrong, `forgotten` what was never answered at all."""

    def __init__(self, world, number, seed):
        super().__init__(daemon=True)
        self.world, self.number = world, number
        self.random = random.Random(f"{seed} {number}")
        self.grants, self.troubles, self.forgotten, self.refusals = [], [], [], 0
        self.ghosts = []

    def run(self):
        turn = 0
        while not self.world.over.is_set():
            turn += 1
            proxy = self.random.choice(self.world.proxies)
            try:
                with Client(proxy.server.port, timeout=PATIENCE) as client:
                    for step in range(self.random.randrange(1, 20)):
                        if self.world.over.is_set():
                            break
                        self.section(client, f"{self.number}.{turn}.{step}")
            except TimeoutError:
                # Every fault is over sooner, and no wait is that long: somebody was forgotten.
                self.forgotten.append(f"worker {self.number} got no answer in its turn {turn}")
            except OSError as trouble:  # a proxy that is down; what was asked is unknown
                self.troubles.append(str(trouble))
                time.sleep(0.05)
        for ghost in self.ghosts:
            ghost.close()

    def section(self, client, owner):
        key = self.random.choice(KEYS)
        if self.random.random() < 0.01:
            self.become_a_ghost(key, owner)
        if self.random.random() < 0.3:
            self.poll(client, key, owner)
        else:
            self.wait(client, key, owner)

    def wait(self, client, key, owner):
        """By the native verbs."""
        asked = time.monotonic()
        reply = client.call("LK.ACQUIRE", key, owner, "TTL", TTL, "WAIT", self.random.randrange(1, 1500))
        told = time.monotonic()
        if not isinstance(reply, list):
            self.note_refusal(reply)
            return
        grant = Grant(key, owner, asked, told, fence=reply[0], until=told + reply[1] / 1e3)
        if self.hold(client, grant):
            said = time.monotonic()
            left = client.call("LK.EXTEND", key, owner, TTL)
            if isinstance(left, int):
                grant.until = max(grant.until, said + left / 1e3)
        grant.released = time.monotonic()
        client.call("LK.RELEASE", key, owner)

    def poll(self, client, key, owner):
        """As lock libraries do."""
        for _ in range(20):
            asked = time.monotonic()
            reply = client.call("SET", key, owner, "NX", "PX", TTL)
            if reply == "OK":
                # It counts from when it was carried out, which was not before it was asked for.
                grant = Grant(key, owner, asked, time.monotonic(), fence=None, until=asked + TTL / 1e3)
                if self.hold(client, grant):
                    said = time.monotonic()
                    if client.call("PEXPIRE", key, TTL) == 1 and client.call("GET", key) == owner.encode():
                        grant.until = max(grant.until, said + TTL / 1e3)
                grant.released = time.monotonic()
                client.call("EVAL", RELEASE, 1, key, owner)
                return
            self.note_refusal(reply)
            if self.world.over.is_set():
                return
            time.sleep(self.random.uniform(0.005, 0.05))

    def hold(self, client, grant):
        """For a moment, or worse. Whether to make it longer."""
        self.grants.append(grant)
        chance = self.random.random()
        if chance < 0.03:
            raise ConnectionError("leaves without a word")
        if chance < 0.06:
            time.sleep(TTL * 1.3e-3)  # sleeps past its time
        elif chance < 0.12:
            return True
        else:
            time.sleep(self.random.random() * 0.01)
        return False

    def become_a_ghost(self, key, owner):
        """One that waits in line, is granted the lock, and neither reads that nor hangs up."""
        ghost = Client(self.random.choice(self.world.proxies).server.port, timeout=PATIENCE)
        ghost.socket.sendall(encode("LK.ACQUIRE", key, f"ghost of {owner}", "TTL", TTL, "WAIT", 1500))
        self.ghosts.append(ghost)

    def note_refusal(self, reply):
        self.refusals += reply is None
        if isinstance(reply, Error):
            self.troubles.append(reply.args[0])
            time.sleep(0.02)
