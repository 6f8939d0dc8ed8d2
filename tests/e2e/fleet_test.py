#!/usr/bin/env python3
"""Locks on a fleet of real masters: what they hold, several proxies on them, and masters that fail."""

import signal
import socket
import tempfile
import threading
import time
import unittest

from fleet_support import (NO_QUORUM, SHORT_LEASES, Master, SteppedClock, fleet_info, masters_of, proxy_on, state_of,
                           wait_until)
from native_support import as_map
from relay import Relay
from support import Client, Error, Lockkeeper, Redis, encode, free_port, main, stripe_of


class FleetCase(unittest.TestCase):
    """Three masters for each test, and as many proxies as it likes."""

    count = 3

    def setUp(self):
        self.masters = [self.enterContext(Master()) for _ in range(self.count)]

    def proxy(self, more=SHORT_LEASES, cores=1, votes=None):
        proxy = self.enterContext(proxy_on(self.masters, more, cores))
        proxy.wait_for_votes(cores * (len(self.masters) if votes is None else votes))
        return proxy

    def client(self, proxy):
        return self.enterContext(Client(proxy.port))

    def on_masters(self, *command):
        return [master.call(*command) for master in self.masters]


class Promises(FleetCase):
    """What is told of a lock never ends after what a majority of the masters holds."""

    def test_a_lock_that_is_made_longer_is_told_of_when_the_masters_hold_it_so_long(self):
        client = self.client(self.proxy("leases: {max_ttl: 10m}\n"))
        longer = {"mine": ("me", ()), "shared": ("other", ("SHARED",))}
        for key, (_, mode) in longer.items():
            self.assertEqual(client.call("LK.ACQUIRE", key, "me", *mode, "TTL", 20_000)[2], 1)
        for master in self.masters[:2]:
            master.freeze()
        try:
            for key, (owner, mode) in longer.items():
                self.assertEqual(client.call("LK.ACQUIRE", key, owner, *mode, "TTL", 500_000), NO_QUORUM)
                holders = [as_map(each) for each in client.call("LK.HOLDERS", key)]
                self.assertEqual([(each[b"owner"], each[b"holds"]) for each in holders], [(b"me", 1)])
        finally:
            for master in self.masters[:2]:
                master.thaw()

    def test_who_waited_for_a_longer_share_of_a_lock_is_told_when_the_masters_hold_it(self):
        proxy = self.proxy("leases: {max_ttl: 10m}\n")
        writer, first, second = (self.client(proxy) for _ in range(3))
        writer.call("LK.ACQUIRE", "k", "writer", "TTL", 20_000)
        for number, (client, ttl) in enumerate(((first, 15_000), (second, 500_000)), 1):
            client.send("LK.ACQUIRE", "k", f"reader{number}", "SHARED", "TTL", ttl, "WAIT", 0)
            wait_until(lambda: len(writer.call("LK.WAITERS", "k")) == number, "it is in line")
        self.assertEqual(writer.call("LK.RELEASE", "k", "writer"), 0)
        for client, ttl in ((first, 15_000), (second, 500_000)):
            self.assertTrue(ttl / 2 < client.read()[1] <= ttl)
        wait_until(lambda: sum(each > 400_000 for each in self.on_masters("PTTL", "k")) >= 2, "a majority holds it")


RELEASE = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"


class Tokens(FleetCase):
    """Policy `store: token`: some clients still talk to the masters."""

    POLICY = SHORT_LEASES + "policies: [{keys: 'shared:*', store: token}]\n"

    def all_hold(self, key, value):
        wait_until(lambda: self.on_masters("GET", key) == [value] * 3, f"all masters hold {value}")

    def test_masters_hold_the_token_of_the_client(self):
        client = self.client(self.proxy(self.POLICY))
        self.assertEqual(client.call("SET", "shared:k", "me", "NX", "PX", 1000), "OK")
        self.assertEqual(client.call("SET", "other:k", "me", "NX", "PX", 1000), "OK")
        self.all_hold("shared:k", b"me")
        self.assertNotIn(b"me", self.on_masters("GET", "other:k"))
        self.assertEqual(client.call("EVAL", RELEASE, 1, "shared:k", "me"), 1)
        wait_until(lambda: self.on_masters("EXISTS", "shared:k") == [0, 0, 0], "all have let it go")

    def test_a_hand_off_exchanges_the_token(self):
        proxy = self.proxy(self.POLICY)
        clients = [self.client(proxy) for _ in range(4)]
        fences = [clients[0].call("LK.ACQUIRE", "shared:k", "owner0", "TTL", 1500)[0]]
        for number, client in enumerate(clients[1:], 1):
            client.send("LK.ACQUIRE", "shared:k", f"owner{number}", "TTL", 1500, "WAIT", 0)
            wait_until(lambda n=number: len(clients[0].call("LK.WAITERS", "shared:k")) == n, "in line")
        for number, client in enumerate(clients[1:], 1):
            clients[number - 1].call("LK.RELEASE", "shared:k", f"owner{number - 1}")
            fences.append(client.read()[0])
            self.all_hold("shared:k", f"owner{number}".encode())
            # A late release of the one before, sent around the proxy, frees nothing.
            late = self.on_masters("EVAL", RELEASE, 1, "shared:k", f"owner{number - 1}")
            self.assertEqual(late, [0, 0, 0])
        self.assertEqual(fences, sorted(set(fences)))

    def test_a_release_around_the_proxy_frees_the_lock(self):
        client = self.client(self.proxy(self.POLICY))
        # It lives on renewals, so its loss is noticed long before its end.
        self.assertGreater(client.call("LK.ACQUIRE", "shared:k", "me")[0], 0)
        self.all_hold("shared:k", b"me")
        self.assertEqual(self.on_masters("EVAL", RELEASE, 1, "shared:k", "me"), [1, 1, 1])
        self.assertEqual(self.on_masters("SET", "shared:k", "direct", "NX", "PX", 60000), ["OK"] * 3)
        wait_until(lambda: client.call("LK.HOLDERS", "shared:k") == [], "the proxy has noticed")
        self.assertEqual(self.on_masters("GET", "shared:k"), [b"direct"] * 3)
        self.assertIsNone(client.call("SET", "shared:k", "me", "NX", "PX", 1000))


class Fences(FleetCase):
    """Each grant has one of its own, also if the lease has to be longer for it, or there are more than came with it."""

    def test_whoever_joins_for_longer_than_the_lease(self):
        client = self.client(self.proxy("leases: {max_ttl: 10m, slack: 100ms}\n"))
        fences = [client.call("LK.ACQUIRE", "k", f"reader{ttl}", "SHARED", "TTL", ttl)[0] for ttl in (500, 5000, 60000)]
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual(len(client.call("LK.HOLDERS", "k")), 3)

    def test_many_readers_who_come_at_once(self):
        proxy = self.proxy()
        writer, readers = self.client(proxy), [self.client(proxy) for _ in range(150)]
        fences = [writer.call("LK.ACQUIRE", "k", "writer", "TTL", 1500)[0]]
        for number, reader in enumerate(readers):
            reader.send("LK.ACQUIRE", "k", f"reader{number}", "SHARED", "TTL", 1500, "WAIT", 0)
        wait_until(lambda: len(writer.call("LK.WAITERS", "k")) == len(readers), "all are in line")
        writer.call("LK.RELEASE", "k", "writer")
        fences += [reader.read()[0] for reader in readers]
        self.assertEqual(len(set(fences)), len(fences))
        self.assertEqual(min(fences), fences[0])

    def test_whoever_overwrites_a_lock_has_the_masters_hold_his_token(self):
        client = self.client(self.proxy(Tokens.POLICY))
        client.call("SET", "shared:k", "me", "NX", "PX", 1500)
        before = client.call("LK.FENCE", "shared:k")
        self.assertEqual(client.call("SET", "shared:k", "you", "PX", 1500), "OK")
        self.assertGreater(client.call("LK.FENCE", "shared:k"), before)
        wait_until(lambda: self.on_masters("GET", "shared:k") == [b"you"] * 3, "all masters hold it")


class NoFences(FleetCase):
    MORE = "leases: {max_ttl: 2s, slack: 200ms, untimed: 1s, fences: false}\n"

    def test_locks_without_fences_exclude_each_other(self):
        one, two = (self.client(self.proxy(self.MORE)) for _ in range(2))
        self.assertEqual(one.call("LK.ACQUIRE", "k", "one", "TTL", 1000)[0], 0)
        self.assertIsNone(two.call("SET", "k", "two", "NX", "PX", 1000))
        self.assertEqual(one.call("LK.RELEASE", "k", "one"), 0)
        wait_until(lambda: two.call("SET", "k", "two", "NX", "PX", 1000) == "OK", "free for the other")
        self.assertEqual(self.on_masters("HLEN", "lk:{main}:fence"), [5] * 3, "no counters")

    def test_a_master_that_was_flushed_does_not_vote(self):
        proxy = self.proxy(self.MORE)
        client = self.client(proxy)
        self.masters[0].call("FLUSHALL")
        client.call("SET", "k", "me", "NX", "PX", 1000)
        wait_until(lambda: state_of(proxy, self.masters[0]) != "admitted", "its vote was refused")


class OneProxy(FleetCase):
    def test_all_masters_hold_a_lock_until_it_is_released(self):
        for cores in (1, 2):
            client = self.client(self.proxy(cores=cores))
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 1000), "OK")
            self.assertIsNone(client.call("SET", "k", "you", "NX", "PX", 1000))
            # All are asked; a majority is enough for the answer.
            wait_until(lambda: self.on_masters("EXISTS", "k") == [1, 1, 1], "all have it")
            self.assertEqual(len(set(self.on_masters("GET", "k"))), 1, "the same attempt everywhere")
            self.assertTrue(all(0 < left <= 2000 for left in self.on_masters("PTTL", "k")))
            self.assertEqual(client.call("GET", "k"), b"me")
            self.assertEqual(client.call("DEL", "k"), 1)
            wait_until(lambda: self.on_masters("EXISTS", "k") == [0, 0, 0], "all have let it go")

    def test_a_key_that_is_polled_is_not_fetched_anew_for_each_of_them(self):
        client = self.client(self.proxy())
        self.assertEqual(client.call("SET", "k", "0", "NX", "PX", 1500), "OK")
        before, sections = [master.commands() for master in self.masters], 300
        for number in range(1, sections + 1):
            attempt = encode("SET", "k", str(number), "NX", "PX", 1500)
            client.send_bytes(attempt + encode("EVAL", RELEASE, 1, "k", str(number - 1)) + attempt)
            self.assertEqual([client.read() for _ in range(3)], [None, 1, "OK"])
        for master, count in zip(self.masters, before):
            self.assertLess(master.commands() - count, 3 * sections)  # ten for each of them otherwise

    def test_info_tells_of_rounds_and_leases(self):
        client = self.client(self.proxy(cores=2))
        before = fleet_info(client)
        self.assertEqual({name: before[name] for name in ("stripes", "masters", "masters_voting", "leases")},
                         {"stripes": 1, "masters": 3, "masters_voting": 3, "leases": 0})
        self.assertEqual(before["shortest_lease_ms"], -1)
        for number in range(10):
            client.call("SET", f"k{number}", "me", "NX", "PX", 1500)
        self.assertEqual(self.masters[0].call("SET", "taken", "by another", "PX", 5000), "OK")
        self.assertEqual(self.masters[1].call("SET", "taken", "by another", "PX", 5000), "OK")
        self.assertIsNone(client.call("SET", "taken", "me", "NX", "PX", 1500))
        after = fleet_info(client)
        self.assertEqual((after["leases"], after["rounds_won"]), (10, 10))
        self.assertGreaterEqual(after["rounds_elsewhere"], 1)
        self.assertTrue(0 < after["shortest_lease_ms"] <= 2000, after)
        self.assertTrue(0 < after["round_us_p50"] <= after["round_us_p99"] <= after["round_us_max"], after)
        self.masters[2].kill_process()
        client.call("SET", "with two", "me", "NX", "PX", 1500)
        wait_until(lambda: fleet_info(client)["masters_voting"] == 2, "one does not vote")
        self.assertGreaterEqual(fleet_info(client)["leases_at_bare_quorum"], 1)

    def test_fence_counters_are_found_without_a_search(self):
        self.proxy()
        tables = [key for key in self.masters[0].call("KEYS", "*") if key.endswith(b"fence")]
        self.assertEqual(len(tables), 1)
        self.assertEqual(self.on_masters("OBJECT", "ENCODING", tables[0]), [b"hashtable"] * 3)

    def test_databases_are_separate(self):
        client = self.client(self.proxy())
        self.assertEqual(client.call("SET", "k", "zero", "NX", "PX", 1000), "OK")
        client.call("SELECT", 7)
        self.assertEqual(client.call("SET", "k", "seven", "NX", "PX", 1000), "OK")
        self.assertEqual(client.call("GET", "k"), b"seven")

    def test_a_pipeline_is_answered_in_order(self):
        client = self.client(self.proxy(cores=2))
        for number in range(500):
            client.send("SET", f"k{number % 300}", number, "NX", "PX", 1500)
        self.assertEqual([client.read() for _ in range(500)], ["OK"] * 300 + [None] * 200)

    def test_hand_offs_ask_no_master(self):
        proxy = self.proxy("leases: {max_ttl: 10m}\n")
        clients = [self.client(proxy) for _ in range(4)]
        ask = [encode("LK.ACQUIRE", "hot", number, "TTL", 30000, "WAIT", 0) for number in range(4)]
        clients[0].send_bytes(ask[0])
        fences = [clients[0].read()[0]]
        watching = self.client(proxy)
        for number in range(1, 4):
            clients[number].send_bytes(ask[number])
            wait_until(lambda: len(watching.call("LK.WAITERS", "hot")) == number, "it is in line")
        before = [master.commands() for master in self.masters]
        hand_offs = 1000
        for turn in range(hand_offs):
            holder = turn % 4
            clients[holder].send_bytes(encode("LK.RELEASE", "hot", holder) + ask[holder])
            self.assertEqual(clients[holder].read(), 0)
            fences.append(clients[(turn + 1) % 4].read()[0])
        self.assertEqual(fences, sorted(set(fences)), "each grant has a higher fence")
        for master, count in zip(self.masters, before):
            self.assertLess(master.commands() - count, hand_offs * 0.05)

    def test_a_lock_without_a_ttl_outlives_its_lease(self):
        """The lease is renewed for as long as the connection lives."""
        proxy = self.proxy()
        holder, other = self.client(proxy), self.client(proxy)
        self.assertTrue(holder.call("LK.ACQUIRE", "k", "me"))
        end = time.monotonic() + 2.5  # the lease is for 1 s
        while time.monotonic() < end:
            self.assertIsNone(other.call("LK.ACQUIRE", "k", "you"))
            self.assertGreaterEqual(sum(self.on_masters("EXISTS", "k")), 2)
            time.sleep(0.05)
        self.assertEqual(holder.call("LK.RELEASE", "k", "me"), 0)

    def test_a_lock_without_a_ttl_is_on_the_masters_for_no_longer_than_its_lease(self):
        """So long it stays taken if the proxy dies."""
        proxy = self.proxy("leases: {untimed: 3s, slack: 1s}\n")
        holder, other = self.client(proxy), self.client(proxy)
        self.assertTrue(holder.call("LK.ACQUIRE", "k", "me"))
        self.assertTrue(holder.call("LK.ACQUIRE", "several", "me", "SHARED"))
        self.assertTrue(other.call("LK.ACQUIRE", "several", "you", "SHARED"))
        end = time.monotonic() + 4
        while time.monotonic() < end:
            for key in ("k", "several"):
                self.assertGreaterEqual(sum(0 < left <= 3000 for left in self.on_masters("PTTL", key)), 2)
            time.sleep(0.1)
        self.assertLess(max(self.on_masters("PTTL", "lk:{main}:horizon")), 10_000)

    def test_an_extension_is_on_the_masters_before_it_is_told(self):
        client = self.client(self.proxy("leases: {max_ttl: 10m, slack: 100ms}\n"))
        client.call("SET", "k", "me", "NX", "PX", 1000)
        self.assertEqual(client.call("PEXPIRE", "k", 60000), 1)
        self.assertGreaterEqual(sum(left > 59000 for left in self.on_masters("PTTL", "k")), 2)
        self.assertTrue(client.call("LK.ACQUIRE", "j", "me", "TTL", 1000))
        self.assertGreater(client.call("LK.EXTEND", "j", "me", 60000), 59000)
        self.assertGreaterEqual(sum(left > 59000 for left in self.on_masters("PTTL", "j")), 2)

    def test_what_somebody_else_has_on_the_masters_is_not_for_us(self):
        """A client that still talks to the masters itself excludes ours, and the other way round."""
        client = self.client(self.proxy())
        for master in self.masters:
            master.call("SET", "k", "direct", "NX", "PX", 60000)
        self.assertIsNone(client.call("SET", "k", "me", "NX", "PX", 1000))
        self.assertIsNone(client.call("LK.ACQUIRE", "k", "me", "TTL", 1000))
        client.send("LK.ACQUIRE", "k", "me", "TTL", 1000, "WAIT", 0)
        self.on_masters("DEL", "k")
        self.assertTrue(client.read())
        self.assertGreaterEqual(self.on_masters("SET", "k", "direct", "NX", "PX", 1000).count(None), 2)

    def test_the_end_of_the_server_gives_back_what_nobody_holds(self):
        proxy = self.proxy()
        client = self.client(proxy)
        client.call("SET", "k", "me", "NX", "PX", 1000)
        client.call("DEL", "k")
        proxy.signal(signal.SIGTERM)
        self.assertEqual(proxy.wait(), 0)
        self.assertEqual(self.on_masters("EXISTS", "k"), [0, 0, 0])


class SeveralProxies(FleetCase):
    def test_they_exclude_each_other_and_fences_grow(self):
        clients = [self.client(self.proxy()) for _ in range(3)]
        fences = []
        for turn in range(12):
            holder = clients[turn % 3]
            grant = holder.call("LK.ACQUIRE", "k", f"owner {turn}", "TTL", 1500, "WAIT", 10000)
            fences.append(grant[0])
            for other in clients:
                if other is not holder:
                    self.assertIsNone(other.call("LK.ACQUIRE", "k", "other", "TTL", 1500))
                    self.assertIsNone(other.call("SET", "k", "other", "NX", "PX", 1500))
            self.assertEqual(holder.call("LK.RELEASE", "k", f"owner {turn}"), 0)
        self.assertEqual(fences, sorted(set(fences)))

    def test_whoever_waits_at_another_proxy_gets_it_in_the_end(self):
        one, two = self.client(self.proxy()), self.client(self.proxy())
        first = one.call("LK.ACQUIRE", "k", "one")
        two.send("LK.ACQUIRE", "k", "two", "WAIT", 0)
        time.sleep(0.1)
        self.assertEqual(one.call("LK.RELEASE", "k", "one"), 0)
        self.assertGreater(two.read()[0], first[0])

    def test_the_locks_of_one_that_dies_come_free_in_time(self):
        dying, other = self.proxy(), self.client(self.proxy())
        client = self.client(dying)
        first = client.call("LK.ACQUIRE", "k", "one", "TTL", 1000)
        dying.signal(signal.SIGKILL)
        dying.process.wait()
        dying.process.returncode = 0  # it was meant to
        self.assertIsNone(other.call("LK.ACQUIRE", "k", "two", "TTL", 1000))
        self.assertGreater(other.call("LK.ACQUIRE", "k", "two", "TTL", 1000, "WAIT", 0)[0], first[0])

    def test_many_owners_at_all_of_them(self):
        """A counter that only the holder touches, without any other protection."""
        proxies = [self.proxy() for _ in range(2)]
        state, rounds, trouble = {"in": 0, "done": 0, "fence": 0}, 15, []

        def work(number):
            with Client(proxies[number % 2].port) as client:
                for turn in range(rounds):
                    name = f"{number}.{turn}"
                    grant = client.call("LK.ACQUIRE", "k", name, "TTL", 1500, "WAIT", 0)
                    if not isinstance(grant, list):
                        trouble.append(grant)
                        return
                    state["in"] += 1
                    if state["in"] != 1 or grant[0] <= state["fence"]:
                        trouble.append((state["in"], grant, state["fence"]))
                    state["fence"] = grant[0]
                    time.sleep(0.001)
                    state["in"] -= 1
                    state["done"] += 1
                    client.call("LK.RELEASE", "k", name)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((trouble, state["done"]), ([], 6 * rounds))


class Failures(FleetCase):
    def test_a_minority_may_die(self):
        proxy = self.proxy()
        client = self.client(proxy)
        self.masters[0].kill_process()
        for number in range(20):
            self.assertEqual(client.call("SET", f"k{number}", "me", "NX", "PX", 1500), "OK")
        wait_until(lambda: state_of(proxy, self.masters[0]) == "disconnected", "it is seen")

    def test_a_minority_may_freeze(self):
        client = self.client(self.proxy())
        self.masters[2].freeze()
        try:
            for number in range(20):
                self.assertEqual(client.call("SET", f"k{number}", "me", "NX", "PX", 1500), "OK")
        finally:
            self.masters[2].thaw()

    def test_whoever_needs_a_longer_lease_gets_it_from_slow_masters(self):
        """The key is kept for a moment after its line is served; a command that has begun to extend it has it."""
        proxy = self.proxy()
        first, second = self.client(proxy), self.client(proxy)
        first.call("LK.ACQUIRE", "k", "first", "TTL", 100)
        second.send("LK.ACQUIRE", "k", "second", "TTL", 100, "WAIT", 0)
        first.call("LK.RELEASE", "k", "first")
        self.assertIsNotNone(second.read())
        for master in self.masters[:2]:
            master.freeze()
        try:
            second.send("LK.RELEASE", "k", "second")
            second.send("SET", "k", "v", "NX", "PX", 1700)
            time.sleep(0.03)
        finally:
            for master in self.masters[:2]:
                master.thaw()
        self.assertEqual(second.read(), 0)
        self.assertEqual(second.read(), "OK")

    def test_without_a_majority_there_is_an_error_and_no_grant(self):
        proxy = self.proxy()
        client = self.client(proxy)
        for master in self.masters[:2]:
            master.freeze()
        try:
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 1500), NO_QUORUM)
            self.assertEqual(client.call("LK.ACQUIRE", "k", "me", "TTL", 1500), NO_QUORUM)
            self.assertEqual(client.call("LK.ACQUIRE", "k", "me", "TTL", 1500, "WAIT", 0), NO_QUORUM)
            self.assertEqual(client.call("PING"), "PONG")
        finally:
            for master in self.masters[:2]:
                master.thaw()
        # By itself.
        wait_until(lambda: client.call("SET", "k", "me", "NX", "PX", 1500) == "OK", "locks again")

    def test_who_waits_without_a_majority_is_told_so(self):
        proxy = self.proxy()
        client = self.client(proxy)
        for master in self.masters[:2]:
            master.kill_process()
        wait_until(lambda: all(state_of(proxy, master) == "disconnected" for master in self.masters[:2]), "it is seen")
        for _ in range(3):
            began = time.monotonic()
            self.assertEqual(client.call("LK.ACQUIRE", "k", "me", "TTL", 1500, "WAIT", 0), NO_QUORUM)
            self.assertLess(time.monotonic() - began, 2)
        self.masters[0] = self.enterContext(self.masters[0].come_back())
        self.assertTrue(wait_until(lambda: isinstance(client.call("LK.ACQUIRE", "k", "me", "TTL", 1500), list),
                                   "locks again"))

    def test_a_master_that_takes_no_more_questions_is_one_that_is_down(self):
        client = self.client(self.proxy("leases: {max_ttl: 10m}\n"))
        self.masters[2].freeze()
        try:
            many = 25_000  # more than fit on their way to it
            client.send_bytes(b"".join(encode("SET", f"k{number}", "me", "NX", "PX", 60_000) for number in range(many)))
            self.assertEqual({client.read() for _ in range(many)}, {"OK"})
        finally:
            self.masters[2].thaw()

    def test_a_release_arrives_in_the_end(self):
        proxy = self.proxy("leases: {max_ttl: 10m}\n")
        client = self.client(proxy)

        def released(how):
            wait_until(lambda: self.on_masters("EXISTS", "k") == [0, 0, 0], how)

        client.call("LK.ACQUIRE", "k", "me", "TTL", 60_000)
        self.on_masters("SCRIPT", "FLUSH")
        self.assertEqual(client.call("LK.RELEASE", "k", "me"), 0)
        released("though the script was gone")
        proxy.wait_for_votes(3)
        client.call("LK.ACQUIRE", "k", "me", "TTL", 60_000)
        wait_until(lambda: self.on_masters("EXISTS", "k") == [1, 1, 1], "all have it")
        with Client(self.masters[0].port) as busy:
            busy.call("CONFIG", "SET", "lua-time-limit", 20)
            busy.send("EVAL", "while true do end", 0)
            wait_until(lambda: "BUSY" in str(self.masters[0].call("PING")), "it is busy")
            self.assertEqual(client.call("LK.RELEASE", "k", "me"), 0)
            wait_until(lambda: self.masters[1].call("EXISTS", "k") == 0, "the others have heard of it")
            time.sleep(0.1)
            wait_until(lambda: self.masters[0].call("SCRIPT", "KILL") == "OK", "the script is ended")
        released("though it was busy")

    def test_a_release_that_a_partition_swallowed_arrives_in_the_end(self):
        proxies = []
        doors = [self.enterContext(Relay(master.port, lambda: proxies)) for master in self.masters]
        proxy = self.enterContext(proxy_on(doors, "leases: {max_ttl: 10m}\n"))
        proxy.wait_for_votes(3)
        proxies.append(proxy.process.pid)
        client = self.client(proxy)
        client.call("LK.ACQUIRE", "k", "me", "TTL", 60_000)
        wait_until(lambda: self.on_masters("EXISTS", "k") == [1, 1, 1], "all have it")
        doors[0].cut(proxy.process.pid, "requests", "replies")
        self.assertEqual(client.call("LK.RELEASE", "k", "me"), 0)
        wait_until(lambda: state_of(proxy, doors[0]) == "disconnected", "the partition is seen")
        self.assertEqual(self.masters[0].call("EXISTS", "k"), 1)
        doors[0].heal()
        wait_until(lambda: self.on_masters("EXISTS", "k") == [0, 0, 0], "it arrives")

    def test_a_lease_that_comes_when_nobody_waits_any_more_is_given_back(self):
        proxy = self.proxy("leases: {max_ttl: 10m}\n")
        client = self.client(proxy)
        for master in self.masters[:2]:
            master.freeze()
        try:
            self.assertIsNone(client.call("LK.ACQUIRE", "k", "me", "TTL", 30_000, "WAIT", 50))
        finally:
            for master in self.masters[:2]:
                master.thaw()
        wait_until(lambda: self.on_masters("EXISTS", "k") == [0, 0, 0], "nobody has it")

    def test_a_lock_that_cannot_be_renewed_ends_and_its_owner_is_told(self):
        proxy = self.proxy()
        client = self.client(proxy)
        client.call("HELLO", 3)
        grant = client.call("LK.ACQUIRE", "k", "me")
        for master in self.masters[:2]:
            master.freeze()
        try:
            self.assertEqual(client.read(), [b"lk.lost", b"k", b"me", grant[0]])
            self.assertIsNone(client.call("LK.RELEASE", "k", "me"))
        finally:
            for master in self.masters[:2]:
                master.thaw()

    def test_what_was_deleted_on_a_majority_is_lost(self):
        client = self.client(self.proxy())
        client.call("HELLO", 3)
        grant = client.call("LK.ACQUIRE", "k", "me")
        for master in self.masters[:2]:
            master.call("DEL", "k")
        self.assertEqual(client.read(), [b"lk.lost", b"k", b"me", grant[0]])

    def test_a_master_that_forgot_does_not_vote_at_once(self):
        """It might have said yes to somebody before it forgot. A minority is not enough to take the place of it."""
        more = "leases: {max_ttl: 5s, slack: 200ms, untimed: 1s}\n"
        proxy = self.proxy(more)
        client = self.client(proxy)
        first = client.call("LK.ACQUIRE", "held", "me", "TTL", 4000)
        self.masters[0].kill_process()
        wait_until(lambda: state_of(proxy, self.masters[0]) == "disconnected", "it is seen")
        self.masters[0] = self.enterContext(self.masters[0].come_back())
        wait_until(lambda: state_of(proxy, self.masters[0]) in ("quarantined", "admitted"), "it is back")
        with Client(self.proxy(more, votes=2).port) as other:
            self.assertIsNone(other.call("LK.ACQUIRE", "held", "you", "TTL", 1000))
            self.assertGreater(other.call("LK.ACQUIRE", "held", "you", "TTL", 1000, "WAIT", 0)[0], first[0])
        wait_until(lambda: state_of(proxy, self.masters[0]) == "admitted", "it votes again")

    def test_a_master_that_is_flushed_is_found_out_without_a_vote(self):
        proxy = self.proxy("leases: {max_ttl: 5s, slack: 200ms, untimed: 1s}\n")
        self.assertTrue(self.client(proxy).call("LK.ACQUIRE", "held", "me", "TTL", 4000))
        self.masters[0].call("FLUSHALL")
        wait_until(lambda: state_of(proxy, self.masters[0]) == "quarantined", "it is seen")

    def test_a_promoted_replica_does_not_vote_at_once_whatever_it_writes_to_disk(self):
        """It has what it was sent; its master may have answered more than that."""
        durable = ("--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0")
        folders = [self.enterContext(tempfile.TemporaryDirectory()) for _ in range(4)]
        masters = [self.enterContext(Master("--dir", folder, *durable)) for folder in folders]
        replica = masters.pop()
        door = self.enterContext(Relay(masters[0].port, lambda: []))
        proxy = self.enterContext(proxy_on([door, *masters[1:]], "leases: {max_ttl: 5s, slack: 200ms, untimed: 1s}\n"))
        proxy.wait_for_votes(3)
        replica.call("REPLICAOF", "127.0.0.1", masters[0].port)
        wait_until(lambda: b"master_link_status:up" in replica.call("INFO", "replication"), "it has copied everything")
        self.assertEqual(replica.call("HGET", "lk:{main}:fence", "dur"), b"always")
        self.assertTrue(self.client(proxy).call("LK.ACQUIRE", "held", "me", "TTL", 2000))
        masters[0].kill_process()
        door.target = replica.port
        replica.call("REPLICAOF", "NO", "ONE")
        seen = wait_until(lambda: (m := masters_of(proxy.port)[door.port])["state"] == b"quarantined" and m, "it waits")
        self.assertIn(b"it was a replica", seen["reason"])
        self.assertIsNone(replica.call("HGET", "lk:{main}:fence", "dur"))
        wait_until(lambda: masters_of(proxy.port)[door.port]["state"] == b"admitted", "it votes in the end")
        self.assertEqual(replica.call("HGET", "lk:{main}:fence", "dur"), b"always")

    def test_a_master_whose_clock_jumps_does_not_vote_until_its_keys_are_over(self):
        for step in (60_000, -60_000):
            masters = [self.enterContext(Master(clock=SteppedClock())) for _ in range(3)]
            proxy = self.enterContext(proxy_on(masters))
            proxy.wait_for_votes(3)
            client = self.client(proxy)
            before = int(masters[0].call("TIME")[0])
            self.assertEqual(client.call("SET", "held", "me", "NX", "PX", 60_000), "OK")
            wait_until(lambda: [one.call("EXISTS", "held") for one in masters] == [1, 1, 1], "all have it")
            masters[0].clock.step(step)
            self.assertAlmostEqual(int(masters[0].call("TIME")[0]) - before, step / 1000, delta=20)
            wait_until(lambda: state_of(proxy, masters[0]) == "quarantined", "it is seen")
            # The others are enough to keep it, and for new ones.
            self.assertEqual(client.call("GET", "held"), b"me")
            self.assertEqual(client.call("SET", "new", "me", "NX", "PX", 1000), "OK")
            wait_until(lambda: state_of(proxy, masters[0]) == "admitted", "it votes again")
            self.assertIn("the clock of master", proxy.output())
            self.assertEqual(client.call("GET", "held"), b"me")

    def test_the_fleet_comes_back_after_all_have_died(self):
        proxy = self.proxy()
        client = self.client(proxy)
        first = client.call("LK.ACQUIRE", "k", "me", "TTL", 1000)[0]
        for master in self.masters:
            master.kill_process()
        self.assertEqual(client.call("SET", "other", "me", "NX", "PX", 1000), NO_QUORUM)
        self.masters = [self.enterContext(master.come_back()) for master in self.masters]
        grant = wait_until(lambda: isinstance(g := client.call("LK.ACQUIRE", "k", "you", "TTL", 1000), list) and g,
                           "locks again")
        self.assertGreater(grant[0], first, "the counters were lost, and yet")


class MastersThatMayNotVote(unittest.TestCase):
    """What is wrong with one is told in LK.STRIPES; the others go on."""

    def check(self, bad_port, *, state, reason):
        with Master() as one, Master() as two:
            stripes = stripe_of([one, two]).replace("]}]", f", redis://127.0.0.1:{bad_port}]}}]") + SHORT_LEASES
            with Lockkeeper(cores=1, config=stripes) as proxy, Client(proxy.port) as client:
                proxy.wait_for_votes(2)
                told = wait_until(lambda: (m := masters_of(proxy.port)[bad_port])["state"].decode() == state
                                  and reason in m["reason"].decode() and m,
                                  f"{state}: {reason}; but {masters_of(proxy.port)[bad_port]}")
                self.assertEqual(told["votes"], 0)
                self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 1000), "OK")

    def test_one_that_evicts(self):
        with Redis("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru") as bad:
            self.check(bad.port, state="refused", reason="evict")

    def test_a_replica(self):
        with Redis() as master, Redis("--replicaof", f"127.0.0.1 {master.port}") as bad:
            self.check(bad.port, state="refused", reason="replica")

    def test_one_that_begins_to_evict(self):
        masters = [self.enterContext(Master()) for _ in range(3)]
        proxy = self.enterContext(proxy_on(masters))
        proxy.wait_for_votes(3)
        masters[0].call("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru")
        wait_until(lambda: b"evict" in masters_of(proxy.port)[masters[0].port]["reason"], "it is seen")
        self.assertEqual(state_of(proxy, masters[0]), "refused")
        masters[0].call("CONFIG", "SET", "maxmemory-policy", "noeviction")
        wait_until(lambda: state_of(proxy, masters[0]) == "admitted", "it votes again")

    def test_one_on_which_a_right_is_missing(self):
        with Redis() as bad:
            bad.wait_until_ready()
            with Client(bad.port) as client:
                client.call("ACL", "SETUSER", "default", "-script")
            self.check(bad.port, state="refused", reason="no permissions to run the 'script")

    def test_one_that_wants_a_password(self):
        with Redis("--requirepass", "secret") as bad:
            self.check(bad.port, state="disconnected", reason="NOAUTH")

    def test_a_cluster_node(self):
        with Redis("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as bad:
            self.check(bad.port, state="refused", reason="cluster")

    def test_one_that_speaks_something_else(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def babble():
                while True:
                    try:
                        with listener.accept()[0] as peer:
                            peer.recv(1000)
                            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                            peer.recv(1000)
                    except OSError:
                        return
            thread = threading.Thread(target=babble)
            thread.start()
            try:
                self.check(listener.getsockname()[1], state="disconnected", reason="")
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                thread.join()

    def test_one_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        self.check(port, state="disconnected", reason="")

    def test_one_that_is_full(self):
        with Redis("--maxmemory", "1mb", "--maxmemory-policy", "noeviction") as bad:
            with Client(bad.port) as client:
                while client.call("RPUSH", "ballast", "x" * 10000) != Error(
                        "OOM command not allowed when used memory > 'maxmemory'."):
                    pass
            with Master() as one, Master() as two:
                stripes = stripe_of([one, two]).replace("]}]", f", redis://127.0.0.1:{bad.port}]}}]") + SHORT_LEASES
                with Lockkeeper(cores=1, config=stripes) as proxy, Client(proxy.port) as client:
                    proxy.wait_for_votes(2)
                    for number in range(10):
                        self.assertEqual(client.call("SET", f"k{number}", "me", "NX", "PX", 1000), "OK")

    def test_one_that_becomes_full(self):
        """What it holds is renewed; it is told what is wrong if it cannot even be marked. Nobody connects anew."""
        masters = [self.enterContext(Master("--maxmemory-policy", "noeviction")) for _ in range(3)]
        full = masters[0]
        proxy = self.enterContext(proxy_on(masters))
        proxy.wait_for_votes(3)
        client = self.enterContext(Client(proxy.port))
        connections = (b"total_connections_received:", lambda: full.call("INFO", "stats"))

        def made():
            return int(connections[1]().split(connections[0])[1].split(b"\r")[0])

        self.assertTrue(client.call("LK.ACQUIRE", "held", "me"))
        wait_until(lambda: full.call("EXISTS", "held") == 1, "all have it")
        full.call("CONFIG", "SET", "maxmemory", "1")
        before, looks, end = made(), 1, time.monotonic() + 3
        while time.monotonic() < end:
            self.assertEqual(full.call("EXISTS", "held"), 1)
            time.sleep(0.25)
            looks += 1
        self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 1000), "OK")
        self.assertEqual(made() - before, looks)
        full.call("DEL", "lk:{main}:horizon")
        seen = wait_until(lambda: (m := masters_of(proxy.port)[full.port])["state"] == b"refused" and m, "it is seen")
        self.assertIn(b"it refuses writes: OOM", seen["reason"])
        full.call("CONFIG", "SET", "maxmemory", "0")
        wait_until(lambda: state_of(proxy, full) == "admitted", "it votes again")
        self.assertEqual(client.call("LK.RELEASE", "held", "me"), 0)

    def test_the_same_one_twice_under_two_names(self):
        with Master() as one, Master() as two:
            stripes = stripe_of([one, two]).replace("]}]", f", redis://localhost:{one.port}]}}]") + SHORT_LEASES
            with Lockkeeper(cores=1, config=stripes) as proxy, Client(proxy.port) as client:
                proxy.wait_for_votes(2)
                states = wait_until(
                    lambda: (all_ := [as_map(m)[b"state"] for m in as_map(client.call("LK.STRIPES")[0])[b"masters"]])
                    and all_.count(b"refused") == 1 and all_, "one of the two is refused")
                self.assertEqual(states.count(b"admitted"), 2)


class Stripes(unittest.TestCase):
    def test_keys_are_spread_over_stripes_and_tags_keep_them_together(self):
        with Master() as one, Master() as two:
            config = (f"stripes: [{{name: a, masters: [redis://127.0.0.1:{one.port}]}},"
                      f" {{name: b, masters: [redis://127.0.0.1:{two.port}]}}]\n" + SHORT_LEASES)
            with Lockkeeper(cores=2, config=config) as proxy, Client(proxy.port) as client:
                proxy.wait_for_votes(4)
                for number in range(100):
                    self.assertEqual(client.call("SET", f"k{number}", "me", "NX", "PX", 1900), "OK")
                    self.assertEqual(client.call("SET", f"{{same}}{number}", "me", "NX", "PX", 1900), "OK")
                keys = [set(master.call("KEYS", "*")) for master in (one, two)]
                spread = [sum(key.startswith(b"k") for key in some) for some in keys]
                tagged = sorted(sum(key.startswith(b"{same}") for key in some) for some in keys)
                self.assertTrue(all(20 <= count <= 80 for count in spread), spread)
                self.assertEqual(tagged[0], 0)

    def test_a_stripe_that_is_gone_does_not_stop_the_others(self):
        with Master() as one, Master() as two:
            config = (f"stripes: [{{name: a, masters: [redis://127.0.0.1:{one.port}]}},"
                      f" {{name: b, masters: [redis://127.0.0.1:{two.port}]}}]\n" + SHORT_LEASES)
            with Lockkeeper(cores=1, config=config) as proxy, Client(proxy.port) as client:
                proxy.wait_for_votes(2)
                two.kill_process()
                answers = [client.call("SET", f"k{number}", "me", "NX", "PX", 1900) for number in range(20)]
                self.assertEqual(set(map(str, answers)), {"OK", str(NO_QUORUM)})

    def test_mistakes_in_the_file_are_told_at_the_start(self):
        for stripes, word in (("[{name: a, masters: [redis://127.0.0.1:1, redis://127.0.0.1:2]}]", "use 1, 3 or 5"),
                              ("[{name: a, masters: [redis://127.0.0.1:1, redis://127.0.0.1:1,"
                               " redis://127.0.0.1:2]}]", "twice"),
                              ("[{name: a, masters: []}]", "master")):
            with self.subTest(stripes), self.assertRaises(AssertionError) as caught:
                with Lockkeeper(config=f"stripes: {stripes}\n"):
                    pass
            self.assertIn(word, str(caught.exception))


if __name__ == "__main__":
    main()
