#!/usr/bin/env python3
"""Locks while masters, proxies, clients and the wires between them fail.

Three real masters, proxies that reach them over wires which can be cut, and clients that take, extend, release and
abandon locks of a few keys: two proxies that know nothing of each other, and three that are linked, by wires which can
be cut, too. Faults follow one another, drawn from a seed. What the clients saw is checked by
lock_history: nobody holds a lock that somebody else has, and fences grow. When the faults are over, everybody must get
every lock again. A run in which nobody noticed any fault fails.

CHAOS_SEEDS, CHAOS_SECONDS: for longer runs, as `make chaos` does.
"""

import os
import random
import signal
import sys
import threading
import time
import unittest

from fleet_support import Master, SteppedClock, wait_until
from lock_history import Grant, violations
from native_support import as_map
from relay import Relay
from support import Client, Error, Lockkeeper, main, stripe_of

SEEDS = os.environ.get("CHAOS_SEEDS", "1 2 3").split()
SECONDS = float(os.environ.get("CHAOS_SECONDS", "20"))

KEYS = ["a", "b", "c"]
TTL = 1000
LONGEST_LEASE = 2
LEASES = f"leases: {{max_ttl: {LONGEST_LEASE}s, slack: 300ms, untimed: 1s}}\n"


class Proxy:
    """One that can be killed and started again. `door`: a relay, by which the other proxies come to it."""

    def __init__(self, relays, door=None):
        self.config, self.door = stripe_of(relays) + LEASES, door
        if door:
            self.config += f"proxies: {{secret: a secret of all proxies, advertise: '127.0.0.1:{door.port}'}}\n"
        self.start()

    def start(self):
        self.server = Lockkeeper(cores=1, config=self.config)
        if self.door:
            self.door.target = self.server.port
        self.server.wait_until_ready()

    @property
    def pid(self):
        return self.server.process.pid

    def stop(self):
        self.server.__exit__(None)

    def crash(self):
        self.server.process.kill()
        self.server.process.wait()
        self.server.kill()

    def masters(self):
        with Client(self.server.port, timeout=2) as client:
            return [as_map(master) for stripe in client.call("LK.STRIPES") for master in as_map(stripe)[b"masters"]]


class Worker(threading.Thread):
    """Takes locks until it is told to stop, at whichever proxy answers."""

    def __init__(self, world, number, seed):
        super().__init__(daemon=True)
        self.world, self.number = world, number
        self.random = random.Random(f"{seed} {number}")
        self.grants, self.troubles, self.refusals = [], [], 0

    def run(self):
        turn = 0
        while not self.world.over.is_set():
            turn += 1
            proxy = self.random.choice(self.world.proxies)
            try:
                with Client(proxy.server.port, timeout=4) as client:
                    for step in range(self.random.randrange(1, 20)):
                        if self.world.over.is_set():
                            return
                        self.section(client, f"{self.number}.{turn}.{step}")
            except OSError as trouble:  # a proxy that is down or frozen; what was asked is unknown
                self.troubles.append(str(trouble))
                time.sleep(0.05)

    def section(self, client, owner):
        key = self.random.choice(KEYS)
        asked = time.monotonic()
        reply = client.call("LK.ACQUIRE", key, owner, "TTL", TTL, "WAIT", self.random.randrange(1, 1500))
        told = time.monotonic()
        if not isinstance(reply, list):
            self.refusals += reply is None
            if isinstance(reply, Error):
                self.troubles.append(reply.args[0])
                time.sleep(0.02)
            return
        grant = Grant(key, owner, asked, told, fence=reply[0], until=told + reply[1] / 1e3)
        self.grants.append(grant)
        chance = self.random.random()
        if chance < 0.03:
            raise ConnectionError("leaves without a word")
        if chance < 0.06:
            time.sleep(TTL * 1.3e-3)  # sleeps past its time
        elif chance < 0.12:
            said = time.monotonic()
            left = client.call("LK.EXTEND", key, owner, TTL)
            if isinstance(left, int):
                grant.until = max(grant.until, said + left / 1e3)
        else:
            time.sleep(self.random.random() * 0.01)
        grant.released = time.monotonic()
        client.call("LK.RELEASE", key, owner)


class World:
    """Masters, proxies and workers, and the faults that can befall them. Each ends with everything whole again."""

    def __init__(self, test, seed, linked):
        self.test = test
        self.random = random.Random(seed)
        self.masters = [test.enterContext(Master("--enable-debug-command", "yes", clock=SteppedClock()))
                        for _ in range(3)]
        self.proxies = []
        self.relays = [test.enterContext(Relay(master.port, lambda: [proxy.pid for proxy in self.proxies]))
                       for master in self.masters]
        self.doors = [test.enterContext(Relay(0, lambda: [proxy.pid for proxy in self.proxies]))
                      for _ in range(3 if linked else 0)]
        for door in self.doors or [None, None]:
            self.proxies.append(Proxy(self.relays, door))
        self.over = threading.Event()
        self.workers = [Worker(self, number, seed) for number in range(10)]
        self.wait_for_votes(2)

    def wait_for_votes(self, least):
        def vote():
            try:
                return all(sum(master[b"state"] == b"admitted" for master in proxy.masters()) >= least
                           for proxy in self.proxies)
            except (OSError, AttributeError, TypeError):
                return False
        try:
            wait_until(vote, f"{least} masters vote at all proxies")
        except AssertionError as never:
            raise AssertionError(f"{never}: {[proxy.masters() for proxy in self.proxies]}") from never

    def pause(self, least=0.05, most=1.0):
        time.sleep(self.random.uniform(least, most))

    def any_master(self):
        return self.random.randrange(3)

    # ---- faults --------------------------------------------------------------------------------------------------

    def master_crashes(self):
        which = self.any_master()
        self.masters[which].kill_process()
        self.pause()
        self.masters[which] = self.test.enterContext(self.masters[which].come_back())
        self.wait_for_votes(3)  # a second one that forgets would be a majority

    def master_freezes(self):
        master = self.masters[self.any_master()]
        master.freeze()
        self.pause(0.05, 2.5)
        master.thaw()

    def majority_freezes(self):
        some = self.random.sample(self.masters, 2)
        for master in some:
            master.freeze()
        self.pause(0.1, 1.5)
        for master in some:
            master.thaw()

    def all_masters_crash(self):
        for master in self.masters:
            master.kill_process()
        self.masters = [self.test.enterContext(master.come_back()) for master in self.masters]
        self.wait_for_votes(3)

    def master_is_flushed(self):
        self.masters[self.any_master()].call("FLUSHALL")
        self.wait_for_votes(3)

    def proxy_is_cut_off(self):
        proxy = self.random.choice(self.proxies)
        for relay in self.relays:
            relay.cut(proxy.pid, "requests", "replies")
        self.pause(0.1, 1.5)
        for relay in self.relays:
            relay.heal()

    def replies_are_lost(self):
        proxy = self.random.choice(self.proxies)
        some = self.random.sample(self.relays, self.random.randrange(1, 4))
        for relay in some:
            relay.cut(proxy.pid, "replies")
        self.pause(0.1, 1.5)
        for relay in some:
            relay.heal()

    def connections_are_reset(self):
        for _ in range(self.random.randrange(3, 12)):
            self.random.choice(self.relays).reset()
            self.pause(0.01, 0.15)

    def proxy_crashes(self):
        proxy = self.random.choice(self.proxies)
        proxy.crash()
        self.pause(0.0, 0.3)
        proxy.start()

    def proxy_is_paused(self):
        server = self.random.choice(self.proxies).server
        server.signal(signal.SIGSTOP)
        self.pause(0.3, 2.5)
        server.signal(signal.SIGCONT)

    def master_becomes_a_replica(self):
        which = self.any_master()
        self.masters[which].call("REPLICAOF", "127.0.0.1", "1")
        self.pause(0.2, 1.0)
        self.masters[which].call("REPLICAOF", "NO", "ONE")

    def master_begins_to_evict(self):
        master = self.masters[self.any_master()]
        master.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "100mb")
        self.pause(0.2, 1.5)
        master.call("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "0")

    def master_is_busy(self):
        self.masters[self.any_master()].call("DEBUG", "SLEEP", f"{self.random.uniform(0.1, 1.0):.2f}")

    def scripts_and_clients_are_dropped(self):
        master = self.masters[self.any_master()]
        master.call("SCRIPT", "FLUSH")
        self.pause(0.01, 0.2)
        master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    def clock_of_a_master_jumps(self):
        # On a lease that only a majority has, a clock would be the second failure.
        self.wait_for_votes(3)
        time.sleep(LONGEST_LEASE)
        self.masters[self.any_master()].clock.step(self.random.choice((-1, 1)) * self.random.randrange(100, 30_000))
        self.pause(1.2, 1.5)  # it is asked for its time once a second
        self.wait_for_votes(3)

    def link_is_cut(self):
        """Nobody is told: what one proxy says to another is lost, or what it hears from it, or both."""
        door = self.random.choice(self.doors)
        directions = self.random.choice((["requests"], ["replies"], ["requests", "replies"]))
        for proxy in self.proxies:
            if proxy.door is not door:
                door.cut(proxy.pid, *directions)
        self.pause(0.1, 5.0)
        door.heal()

    def links_are_reset(self):
        for _ in range(self.random.randrange(3, 12)):
            self.random.choice(self.doors).reset()
            self.pause(0.01, 0.3)

    def proxy_is_stopped(self):
        proxy = self.random.choice(self.proxies)
        proxy.stop()
        proxy.start()

    LINK_FAULTS = [link_is_cut, links_are_reset, proxy_is_stopped]
    FAULTS = [master_crashes, master_freezes, majority_freezes, master_is_flushed, proxy_is_cut_off, replies_are_lost,
              connections_are_reset, proxy_crashes, proxy_is_paused, master_becomes_a_replica, master_begins_to_evict,
              master_is_busy, scripts_and_clients_are_dropped, all_masters_crash, clock_of_a_master_jumps]

    # ---- a run ---------------------------------------------------------------------------------------------------

    def run(self):
        for worker in self.workers:
            worker.start()
        done, end = [], time.monotonic() + SECONDS
        try:
            while time.monotonic() < end:
                faults = self.FAULTS + self.LINK_FAULTS * 3 if self.doors else self.FAULTS
                fault = self.random.choice(faults)
                fault(self)
                done.append(fault.__name__)
                self.pause(0.1, 0.8)
            self.wait_for_votes(3)
        finally:
            self.over.set()
            for worker in self.workers:
                worker.join()
        return done

    def everybody_is_served_again(self):
        for proxy in self.proxies:
            with Client(proxy.server.port) as client:
                for key in KEYS:
                    wait_until(lambda: isinstance(client.call("LK.ACQUIRE", key, "last", "TTL", 500, "WAIT", 5000), list),
                               f"{key} is had again")
                    client.call("LK.RELEASE", key, "last")


class Chaos(unittest.TestCase):
    def test_locks_hold_while_all_else_fails(self):
        self.survive(linked=False)

    def test_locks_of_linked_proxies_hold_while_all_else_fails(self):
        self.survive(linked=True)

    def survive(self, linked):
        for seed in SEEDS:
            with self.subTest(f"CHAOS_SEEDS={seed} CHAOS_SECONDS={SECONDS:g}"):
                world = World(self, seed, linked)
                try:
                    faults = world.run()
                    world.everybody_is_served_again()
                finally:
                    for proxy in world.proxies:
                        proxy.server.signal(signal.SIGCONT)
                grants = [grant for worker in world.workers for grant in worker.grants]
                troubles = [trouble for worker in world.workers for trouble in worker.troubles]
                print(f"seed {seed}: {len(grants)} grants, {len(troubles)} troubles of clients, "
                      f"faults: {', '.join(faults)}", file=sys.stderr)
                self.assertEqual(violations(grants), [])
                self.assertGreater(len(grants), 50, "hardly anybody got a lock")
                self.assertGreater(len(troubles), 0, "nobody noticed any fault")
                for proxy in world.proxies:
                    proxy.stop()


if __name__ == "__main__":
    main()
