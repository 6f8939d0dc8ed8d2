#!/usr/bin/env python3
"""Locks while masters, proxies, clients and the wires between them fail.

Three real masters, proxies that reach them over wires which can be cut, and clients that take, extend, release and
abandon locks of a few keys: two proxies that know nothing of each other, and three that are linked, by wires which can
be cut, too. Faults follow one another, drawn from a seed. What the clients saw is checked by
lock_history: nobody holds a lock that somebody else has, and fences grow. Everybody is answered, and when the faults
are over, everybody must get every lock again. Each fault needs a proof that it took effect, found by chaos_watcher; a
run with too few of them fails.

CHAOS_SEEDS, CHAOS_SECONDS: for longer runs, as `make chaos` does.
"""

import os
import random
import signal
import sys
import tempfile
import threading
import time
import unittest

from chaos_watcher import Watcher
from chaos_workers import KEYS, TTL, Worker
from fleet_support import Master, SteppedClock, wait_until
from lock_history import violations
from native_support import as_map
from relay import Relay
from support import Client, Lockkeeper, main, stripe_of

SEEDS = os.environ.get("CHAOS_SEEDS", "1 2 3").split()
SECONDS = float(os.environ.get("CHAOS_SECONDS", "20"))

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
        self.server.kill()
        self.server.file.close()

    def masters(self):
        with Client(self.server.port, timeout=2) as client:
            return [as_map(master) for stripe in client.call("LK.STRIPES") for master in as_map(stripe)[b"masters"]]


class World:
    """Masters, proxies and workers, and the faults that can befall them. Each ends with everything whole again."""

    def __init__(self, test, seed, linked):
        self.test = test
        self.random = random.Random(seed)
        self.intrusions = []
        self.masters = [self.new_master(self.random.choice(self.PERSISTENCE)) for _ in range(3)]
        self.proxies = []
        self.relays = [test.enterContext(Relay(master.port, lambda: [proxy.pid for proxy in self.proxies]))
                       for master in self.masters]
        self.doors = [test.enterContext(Relay(0, lambda: [proxy.pid for proxy in self.proxies]))
                      for _ in range(3 if linked else 0)]
        for door in self.doors or [None, None]:
            self.proxies.append(Proxy(self.relays, door))
        self.over = threading.Event()
        self.workers = [Worker(self, number, seed) for number in range(10)]
        self.watcher = Watcher(self)
        self.wait_for_votes(2)

    PERSISTENCE = [["--appendonly", "no"], ["--appendonly", "yes", "--appendfsync", "everysec"],
                   ["--appendonly", "yes", "--appendfsync", "always"]]

    def new_master(self, persistence):
        folder = self.test.enterContext(tempfile.TemporaryDirectory())  # its own, also when it comes back
        return self.test.enterContext(Master("--enable-debug-command", "yes", "--dir", folder, "--lua-time-limit", "50",
                                             "--repl-diskless-sync-delay", "0", *persistence, clock=SteppedClock()))

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
            raise AssertionError(f"{never}: {[self.told_by(proxy) for proxy in self.proxies]}") from never

    def told_by(self, proxy):
        """What it says of its masters; if it says nothing, what it does instead, and its log."""
        try:
            return proxy.masters()
        except OSError as trouble:
            return f"{trouble}: {proxy.server.threads()}\n{proxy.server.output()[-4000:]}"

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

    def masters_are_flushed(self):
        for master in self.random.sample(self.masters, self.random.randrange(1, 4)):
            master.call(self.random.choice(("FLUSHALL", "FLUSHDB")))
        self.wait_for_votes(3)

    def masters_are_restarted_in_turn(self):
        for which in range(3):
            self.masters[which].signal(signal.SIGTERM)
            self.masters[which].wait()
            self.masters[which] = self.test.enterContext(self.masters[which].come_back())
            self.wait_for_votes(3)

    def replica_is_promoted(self, persistence=PERSISTENCE[0]):
        """In the place of its master, at the same address, with what it had copied by then."""
        self.wait_for_votes(3)  # a second one that forgets would be a majority
        which = self.any_master()
        master, replica = self.masters[which], self.new_master(persistence)
        replica.call("REPLICAOF", "127.0.0.1", master.port)
        wait_until(lambda: b"master_link_status:up" in replica.call("INFO", "replication"), "it has copied everything")
        self.pause(0.0, 0.3)
        self.masters[which] = replica
        master.kill_process()
        self.relays[which].target = replica.port
        replica.call("REPLICAOF", "NO", "ONE")
        self.wait_for_votes(3)

    def replica_that_writes_first_is_promoted(self):
        """It has on disk what it was sent, and that is not all that its master had answered."""
        self.replica_is_promoted(self.PERSISTENCE[2])

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

    def proxy_starves(self):
        """A tenth of a CPU is left to it."""
        server = self.random.choice(self.proxies).server
        end = time.monotonic() + self.random.uniform(0.5, 2)
        while time.monotonic() < end:
            server.signal(signal.SIGSTOP)
            time.sleep(0.09)
            server.signal(signal.SIGCONT)
            time.sleep(0.01)

    def proxy_of_another_fleet_comes(self):
        """It disagrees about the stripes, the longest lease or time-outs, so it must not get any lock here."""
        self.wait_for_votes(3)
        # Those who vote know whose they are, unless they were flushed and nobody has seen it yet.
        wait_until(lambda: all(master.call("HGET", "lk:{main}:fence", "inc") for master in self.masters),
                   "all masters know whose they are")
        config = stripe_of(self.relays, timeout="251ms") + LEASES
        with Lockkeeper(cores=1, config=config) as stranger, Client(stranger.port) as client:
            def is_refused():
                masters = [as_map(one) for one in as_map(client.call("LK.STRIPES")[0])[b"masters"]]
                return all(b"configured otherwise" in master[b"reason"] for master in masters)
            wait_until(is_refused, "a proxy of another fleet is refused")
            self.watcher.note("a proxy of another fleet is refused")
            for key in KEYS:
                reply = client.call("LK.ACQUIRE", key, "stranger", "TTL", 100)
                if isinstance(reply, list):
                    self.intrusions.append(f"{key}: a proxy of another fleet got the lock")

    def master_becomes_a_replica(self):
        which = self.any_master()
        self.masters[which].call("REPLICAOF", "127.0.0.1", "1")
        self.pause(0.2, 1.0)
        self.masters[which].call("REPLICAOF", "NO", "ONE")

    def master_begins_to_evict(self):
        self.wait_for_votes(3)
        which = self.any_master()
        master = self.masters[which]
        master.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "100mb")
        wait_until(lambda: all(b"evict" in proxy.masters()[which][b"reason"] for proxy in self.proxies), "it is seen")
        master.call("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "0")

    def master_is_busy(self):
        self.masters[self.any_master()].call("DEBUG", "SLEEP", f"{self.random.uniform(0.1, 1.0):.2f}")

    def script_does_not_end(self):
        master = self.masters[self.any_master()]
        with Client(master.port) as client:
            client.send("EVAL", "while true do end", 0)
            self.pause(0.1, 1.0)
            wait_until(lambda: master.call("SCRIPT", "KILL") == "OK", "the script is ended")

    def scripts_and_clients_are_dropped(self):
        master = self.masters[self.any_master()]
        master.call("SCRIPT", "FLUSH")
        self.pause(0.01, 0.2)
        master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    def clock_of_a_master_jumps(self):
        # On a lease that only a majority has, a clock would be the second failure.
        self.wait_for_votes(3)
        time.sleep(LONGEST_LEASE)
        steps = [self.random.randrange(100, 30_000), -self.random.randrange(100, 30_000), 3_600_000]
        self.masters[self.any_master()].clock.step(self.random.choice(steps))
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

    def proxies_are_stopped_in_turn(self):
        for proxy in self.random.sample(self.proxies, self.random.randrange(1, len(self.proxies) + 1)):
            proxy.stop()
            proxy.start()

    LINK_FAULTS = [link_is_cut, links_are_reset, proxies_are_stopped_in_turn]
    FAULTS = [master_crashes, master_freezes, majority_freezes, masters_are_flushed, proxy_is_cut_off, replies_are_lost,
              connections_are_reset, proxy_crashes, proxy_is_paused, proxy_starves, master_becomes_a_replica,
              replica_is_promoted, replica_that_writes_first_is_promoted, master_begins_to_evict, master_is_busy,
              script_does_not_end, scripts_and_clients_are_dropped, all_masters_crash, clock_of_a_master_jumps,
              proxy_of_another_fleet_comes]
    LONG_FAULTS = [masters_are_restarted_in_turn]  # longer than most of a short run

    # ---- a run ---------------------------------------------------------------------------------------------------

    def run(self):
        """What happened: the name of each fault, and whether anybody could tell."""
        for one in (*self.workers, self.watcher):
            one.start()
        faults = self.FAULTS + (self.LINK_FAULTS * 3 if self.doors else []) + (self.LONG_FAULTS if SECONDS >= 60 else [])
        spans, end = [], time.monotonic() + SECONDS
        try:
            while time.monotonic() < end:
                fault = self.random.choice(faults)
                began = time.monotonic()
                fault(self)
                self.pause(0.1, 0.8)
                spans.append((fault.__name__, began, time.monotonic()))
            self.wait_for_votes(3)
        finally:
            self.over.set()
            for one in (*self.workers, self.watcher):
                one.join()
        return [(name, bool(self.watcher.between(began, ended))) for name, began, ended in spans]

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
                    for proxy in world.proxies:
                        proxy.stop()
                finally:
                    for proxy in world.proxies:
                        proxy.crash()
                grants = [grant for worker in world.workers for grant in worker.grants]
                troubles = [trouble for worker in world.workers for trouble in worker.troubles]
                told = ", ".join(name + ("" if was_seen else " (unnoticed)") for name, was_seen in faults)
                print(f"seed {seed}: {len(grants)} grants, {len(troubles)} troubles of clients, faults: {told}",
                      file=sys.stderr)
                self.assertEqual(violations(grants), [])
                self.assertEqual(world.intrusions, [])
                self.assertEqual([each for worker in world.workers for each in worker.forgotten], [])
                self.assertGreater(len(grants), 50, "hardly anybody got a lock")
                # A short one may pass between two looks of the watcher; most do not.
                took_effect = sum(was_seen for _, was_seen in faults)
                self.assertGreater(2 * took_effect, len(faults), "too few of the faults took effect")


if __name__ == "__main__":
    main()
