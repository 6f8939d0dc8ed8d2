#!/usr/bin/env python3
"""Several proxies on one fleet: requests for a key go to the proxy that has its lease, and all wait in one line."""

import select
import signal
import tempfile
import threading
import time
import unittest

from admin_support import Metrics
from certificates import Authority
from fleet_support import SHORT_LEASES, Master, proxies_of, states_of, wait_until
from native_support import as_map
from relay import Relay
from scripts_test import COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, evalsha
from support import PATIENCE, Client, Lockkeeper, free_port, main, stripe_of

SECRET = "proxies: {secret: a secret of all proxies}\n"

RELEASE = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"


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


class OneLockManyDoors(ProxiesCase):
    def test_proxies_find_each_other(self):
        proxies = self.proxies(3)
        seen = proxies_of(self.client(proxies[0]))
        self.assertEqual(set(seen), {f"127.0.0.1:{proxy.port}" for proxy in proxies})
        self.assertEqual(seen[f"127.0.0.1:{proxies[0].port}"]["link"], "self")
        self.assertEqual(len({each["id"] for each in seen.values()}), 3)
        self.assertTrue(all(each["alive"] == 1 and each["version"] for each in seen.values()))

    def test_a_lock_is_released_through_another_proxy(self):
        self.release_through_another(cores=1)

    def test_a_lock_is_released_through_another_proxy_of_several_cores(self):
        self.release_through_another(cores=2)

    def release_through_another(self, cores):
        here, there = self.clients(2, cores=cores)
        for number in range(20):
            key = f"k{number}"
            fence, _, holds = here.call("LK.ACQUIRE", key, "me", "TTL", 1900)
            self.assertEqual(holds, 1)
            self.assertIsNone(there.call("LK.ACQUIRE", key, "you", "TTL", 1900))
            self.assertEqual(there.call("LK.FENCE", key), fence)
            self.assertIsNone(there.call("LK.RELEASE", key, "you"))
            self.assertEqual(there.call("LK.RELEASE", key, "me"), 0)
            self.assertEqual(here.call("LK.HOLDERS", key), [])
            # Its release is on its way to the masters.
            self.assertGreater(there.call("LK.ACQUIRE", key, "you", "TTL", 1900, "WAIT", 0)[0], fence)

    def test_a_string_lock_is_the_same_through_every_proxy(self):
        here, there, third = self.clients(3)
        self.assertEqual(here.call("SET", "k", "me", "NX", "PX", 1500), "OK")
        self.assertIsNone(there.call("SET", "k", "you", "NX", "PX", 1500))
        self.assertEqual(there.call("GET", "k"), b"me")
        self.assertEqual(third.call("GET", "k"), b"me")
        self.assertTrue(0 < there.call("PTTL", "k") <= 1500)
        self.assertEqual(there.call("EXISTS", "k"), 1)
        self.assertEqual(there.call("EVAL", RELEASE, 1, "k", "you"), 0)
        self.assertEqual(there.call("PEXPIRE", "k", 1900), 1)
        self.assertGreater(here.call("PTTL", "k"), 1000)
        self.assertEqual(third.call("EVAL", RELEASE, 1, "k", "me"), 1)
        self.assertIsNone(here.call("GET", "k"))
        self.assertEqual(third.call("SET", "k", "third", "NX", "PX", 1500), "OK")
        self.assertEqual(here.call("GET", "k"), b"third")

    def test_a_late_release_does_not_free_the_lock_of_the_next(self):
        here, there = self.clients(2)
        self.assertEqual(here.call("SET", "k", "first", "NX", "PX", 1500), "OK")
        self.assertEqual(there.call("EVAL", RELEASE, 1, "k", "first"), 1)
        self.assertEqual(here.call("SET", "k", "second", "NX", "PX", 1500), "OK")
        self.assertEqual(there.call("EVAL", RELEASE, 1, "k", "first"), 0)
        self.assertEqual(there.call("GET", "k"), b"second")

    def test_databases_and_protocols_follow_the_client(self):
        here, there = self.clients(2)
        there.call("HELLO", 3)
        for client in (here, there):
            client.call("SELECT", 5)
        self.assertTrue(here.call("LK.ACQUIRE", "k", "me", "TTL", 1500))
        self.assertEqual([each[b"owner"] for each in there.call("LK.HOLDERS", "k")], [b"me"])
        there.call("SELECT", 0)
        self.assertEqual(there.call("LK.HOLDERS", "k"), [])
        there.call("HELLO", 2)
        there.call("SELECT", 5)
        self.assertEqual(as_map(there.call("LK.HOLDERS", "k")[0])[b"owner"], b"me")

    def test_an_extension_through_another_proxy(self):
        here, there = self.clients(2)
        here.call("LK.ACQUIRE", "k", "me", "TTL", 300)
        self.assertGreater(there.call("LK.EXTEND", "k", "me", 1800), 1000)
        self.assertIsNone(there.call("LK.EXTEND", "k", "you", 1800))
        self.assertGreater(as_map(here.call("LK.HOLDERS", "k")[0])[b"ttl"], 1000)

    def test_several_locks_at_once_at_several_homes(self):
        one, two, three = self.clients(3)
        self.assertTrue(one.call("LK.ACQUIRE", "a", "one", "TTL", 1500))
        self.assertTrue(two.call("LK.ACQUIRE", "b", "two", "TTL", 1500))
        three.send("LK.ACQUIREALL", 3, "a", "b", "c", "three", "TTL", 1500, "WAIT", 0)
        wait_until(lambda: len(one.call("LK.WAITERS", "a")) == 1, "it waits for the first")
        self.assertEqual(two.call("LK.RELEASE", "a", "one"), 0)
        self.assertEqual(one.call("LK.RELEASE", "b", "two"), 0)
        fences, ttl = three.read()
        self.assertEqual(len(fences), 3)
        self.assertTrue(0 < ttl <= 1500)
        self.assertIsNone(one.call("LK.ACQUIRE", "b", "one", "TTL", 500))
        self.assertEqual(three.call("LK.RELEASEALL", 1, "a", "three"), 1)

    def test_a_pipeline_is_answered_in_order(self):
        here, there = self.clients(2)
        for number in range(0, 100, 2):
            self.assertEqual(here.call("SET", f"k{number}", "here", "NX", "PX", 1900), "OK")
        for number in range(100):
            there.send("SET", f"k{number}", "there", "NX", "PX", 1900)
            there.send("GET", f"k{number}")
        got = [there.read() for _ in range(200)]
        self.assertEqual(got, [None, b"here", "OK", b"there"] * 50)


class Scripts(ProxiesCase):
    """Scripts that are recognised by what they do: nobody knows their SHA-1 who has not seen the text."""

    def test_a_script_that_was_loaded_here_is_carried_out_at_the_home(self):
        self.load_here(cores=1)

    def test_a_script_that_was_loaded_here_is_carried_out_at_a_home_of_several_cores(self):
        self.load_here(cores=2)

    def load_here(self, cores):
        here, there = self.clients(2, cores=cores)
        release = there.call("SCRIPT", "LOAD", COMPARE_AND_DELETE).decode()
        for number in range(10):
            key = f"k{number}"
            here.call("SET", key, "me", "NX", "PX", 1900)
            self.assertEqual(there.call("EVALSHA", release.upper(), 1, key, "you"), 0)
            self.assertEqual(there.call("EVALSHA", release, 1, key, "me"), 1)
            self.assertEqual(here.call("EXISTS", key), 0)
        extend = there.call("SCRIPT", "LOAD", COMPARE_AND_PEXPIRE)
        here.call("SET", "k", "me", "NX", "PX", 1900)
        there.call("MULTI")
        there.call("EVALSHA", extend, 1, "k", "me", 1800)
        there.call("EVALSHA", release, 1, "k", "me")
        self.assertEqual(there.call("EXEC"), [1, 1])

    def test_a_home_that_forgot_a_script_gets_it_again(self):
        here, there = self.clients(2)
        here.call("SET", "k", "me", "NX", "PX", 1900)
        sha = there.call("SCRIPT", "LOAD", COMPARE_AND_DELETE)
        self.assertEqual(there.call("EVALSHA", sha, 1, "k", "you"), 0)
        here.call("SCRIPT", "FLUSH")
        self.assertIn("NOSCRIPT", str(there.call("EVALSHA", sha, 1, "k", "me")))
        there.call("SCRIPT", "LOAD", COMPARE_AND_DELETE)
        self.assertEqual(there.call("EVALSHA", sha, 1, "k", "me"), 1)


class Polling(ProxiesCase):
    """Who keeps asking through another proxy waits in the line at the home."""

    LONG = SECRET + "leases: {max_ttl: 60s, slack: 200ms, untimed: 1s}\npolicies: [{keys: '*', park: 10s}]\n"
    TTL = 30_000

    def ask_until_held_back(self, poller, looking, key):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            poller.send("SET", key, "poller", "NX", "PX", self.TTL)
            if not select.select([poller.socket], [], [], 0.3)[0]:
                kinds = [as_map(one)[b"kind"] for one in looking.call("LK.WAITERS", key)]
                if kinds == [b"parked"]:
                    return
            self.assertIsNone(poller.read())
            time.sleep(0.01)  # its pause
        self.fail("it was never held back")

    def test_it_gets_the_lock_when_it_comes_free(self):
        self.get_it_when_it_comes_free(*self.clients(2, more=self.LONG))

    def test_it_gets_the_lock_of_another_core_when_it_comes_free(self):
        self.get_it_when_it_comes_free(*self.clients(2, more=self.LONG, cores=2))

    def get_it_when_it_comes_free(self, here, there):
        for key in ("k0", "k1", "k2"):
            reply = None
            while reply is None:  # it may have been sent away just now
                here.call("SET", key, "holder", "NX", "PX", self.TTL)
                self.ask_until_held_back(there, here, key)
                here.call("DEL", key)
                reply = there.read()
            self.assertEqual(reply, "OK")
            self.assertEqual(here.call("GET", key), b"poller")
            self.assertEqual(there.call("DEL", key), 1)

    def test_what_it_says_next_is_not_kept_waiting(self):
        here, there = self.clients(2, more=self.LONG)
        here.call("SET", "k", "holder", "NX", "PX", self.TTL)
        self.ask_until_held_back(there, here, "k")
        there.send("GET", "k")
        self.assertEqual([there.read(), there.read()], [None, b"holder"])
        # What comes with it is more to say, too.
        for _ in range(20):
            there.send("SET", "k", "poller", "NX", "PX", self.TTL)
            there.send("PING")
            self.assertEqual([there.read(), there.read()], [None, "PONG"])


class Transactions(ProxiesCase):
    """WATCH and MULTI on keys whose lease another proxy has."""

    def transact(self, client, *commands):
        self.assertEqual(client.call("MULTI"), "OK")
        for command in commands:
            self.assertEqual(client.call(*command), "QUEUED")
        return client.call("EXEC")

    def test_a_transaction_is_carried_out_at_the_home_of_its_keys(self):
        self.transact_at_home(cores=1)

    def test_a_transaction_is_carried_out_at_a_home_of_several_cores(self):
        self.transact_at_home(cores=2)

    def transact_at_home(self, cores):
        here, there = self.clients(2, cores=cores)
        here.call("SET", "k", "here", "NX", "PX", 1900)
        self.assertEqual(self.transact(there, ("SET", "k", "there", "NX", "PX", 1900)), [None])
        got = self.transact(there, ("GET", "k"), ("PEXPIRE", "k", 1800), ("DEL", "k"), ("EXISTS", "k"))
        self.assertEqual(got, [b"here", 1, 1, 0])
        self.assertEqual(here.call("EXISTS", "k"), 0)

    def test_a_release_by_watch_through_another_proxy(self):
        """As StackExchange.Redis does it."""
        here, there = self.clients(2)
        here.call("SET", "k", "me", "NX", "PX", 1900)
        self.assertEqual(there.call("WATCH", "k"), "OK")
        self.assertEqual(there.call("GET", "k"), b"me")
        self.assertEqual(self.transact(there, ("DEL", "k")), [1])
        self.assertIsNone(here.call("GET", "k"))

    def test_what_changed_at_its_home_since_watch_ends_the_transaction(self):
        here, there = self.clients(2)
        here.call("SET", "k", "me", "NX", "PX", 1900)
        self.assertEqual(there.call("WATCH", "k"), "OK")
        self.assertEqual(here.call("PEXPIRE", "k", 1800), 1)
        self.assertIsNone(self.transact(there, ("DEL", "k")))
        self.assertEqual(here.call("GET", "k"), b"me")
        # It watches nothing any more.
        self.assertEqual(self.transact(there, ("DEL", "k")), [1])

    def test_what_is_watched_no_longer_does_not_matter(self):
        here, there = self.clients(2)
        for end in (("UNWATCH",), ("MULTI",), ("RESET",)):
            with self.subTest(end=end):
                here.call("SET", "k", "me", "PX", 1900)
                there.call("WATCH", "k")
                there.call(*end)
                if end == ("MULTI",):
                    there.call("DISCARD")
                here.call("PEXPIRE", "k", 1800)
                self.assertEqual(self.transact(there, ("PTTL", "k"), ("GET", "k"))[1], b"me")

    def test_a_lock_that_another_proxy_takes_after_watch_has_changed(self):
        here, there = self.clients(2)
        self.assertEqual(there.call("WATCH", "k"), "OK")  # nobody's
        self.assertEqual(here.call("SET", "k", "me", "NX", "PX", 1900), "OK")
        self.assertIsNone(self.transact(there, ("DEL", "k")))
        self.assertEqual(here.call("GET", "k"), b"me")

    def test_a_key_that_left_its_home_has_changed(self):
        proxies, home = self.two_and_a_mortal(SECRET + SHORT_LEASES)
        one, two = (self.client(proxy) for proxy in proxies)
        holding = self.client(home)
        holding.call("SET", "k", "me", "NX", "PX", 1900)
        self.assertEqual(one.call("WATCH", "k"), "OK")
        home.kill()
        wait_until(lambda: two.call("SET", "k", "next", "NX", "PX", 1900) == "OK", "the lock of a dead home ends")
        self.assertIsNone(self.transact(one, ("DEL", "k")))
        self.assertEqual(two.call("GET", "k"), b"next")

    def test_keys_that_are_watched_at_two_homes_are_refused(self):
        one, two, three = self.clients(3)
        one.call("SET", "a", "one", "NX", "PX", 1900)
        two.call("SET", "b", "two", "NX", "PX", 1900)
        self.assertEqual(three.call("WATCH", "a"), "OK")
        self.assertEqual(three.call("WATCH", "b"), "OK")
        self.assertIn("different proxies", str(self.transact(three, ("DEL", "a"))))
        self.assertEqual(one.call("GET", "a"), b"one")

    def test_an_error_of_one_command_does_not_stop_the_others(self):
        here, there = self.clients(2)
        here.call("SET", "k", "me", "NX", "PX", 1900)
        got = self.transact(there, ("HGET", "k", "f"), ("GET", "k"))
        self.assertIn("WRONGTYPE", str(got[0]))
        self.assertEqual(got[1], b"me")


    def two_homes(self):
        """Of "a", and of "b", and one that has neither."""
        one, two, three = self.clients(3, more=SECRET)
        self.assertEqual(one.call("SET", "a", "one", "NX", "PX", 60_000), "OK")
        self.assertEqual(two.call("SET", "b", "two", "NX", "PX", 60_000), "OK")
        return one, two, three

    def test_one_watch_of_keys_of_two_homes_is_no_watch(self):
        one, two, three = self.two_homes()
        for client in (one, two, three):
            with self.subTest(client=client):
                self.assertEqual(client.call("WATCH", "a", "b"), "OK")
                self.assertEqual(two.call("PEXPIRE", "b", 50_000), 1)
                self.assertIn("different proxies", str(self.transact(client, ("GET", "a"))))
                # It watches nothing any more.
                self.assertEqual(self.transact(client, ("GET", "a")), [b"one"])

    def test_a_transaction_over_keys_of_two_homes_is_refused(self):
        one, two, three = self.two_homes()
        for client in (one, two, three):
            with self.subTest(client=client):
                self.assertIn("different proxies", str(self.transact(client, ("GET", "a"), ("DEL", "b"))))
                self.assertEqual(client.call("GET", "b"), b"two")

    def test_a_watch_at_one_home_and_a_transaction_at_another_are_refused(self):
        one, two, three = self.two_homes()
        for client in (one, two, three):
            with self.subTest(client=client):
                for watched, key in (("a", "b"), ("b", "a")):
                    self.assertEqual(client.call("WATCH", watched), "OK")
                    self.assertIn("different proxies", str(self.transact(client, ("DEL", key))))
        self.assertEqual([three.call("GET", key) for key in "ab"], [b"one", b"two"])

    def test_a_free_key_is_watched_along_with_one_of_another_home(self):
        one, two, three = self.two_homes()
        self.assertEqual(three.call("WATCH", "a", "free"), "OK")
        self.assertEqual(self.transact(three, ("GET", "a"), ("GET", "free")), [b"one", None])
        self.assertEqual(three.call("WATCH", "a"), "OK")
        self.assertEqual(three.call("WATCH", "free"), "OK")
        self.assertEqual(two.call("SET", "free", "two", "NX", "PX", 60_000), "OK")
        self.assertIsNone(self.transact(three, ("GET", "a")))

    def test_a_watch_ends_with_the_database_that_it_was_of(self):
        here, there = self.clients(2)
        here.call("SET", "k", "me", "NX", "PX", 1900)
        there.call("WATCH", "k")
        there.call("SELECT", 3)
        here.call("PEXPIRE", "k", 1800)
        self.assertIsNone(self.transact(there, ("EXISTS", "k")))
        there.call("SELECT", 0)
        there.call("WATCH", "k")
        there.call("SELECT", 3)
        self.assertEqual(self.transact(there, ("EXISTS", "k")), [0])

    def test_native_verbs_in_a_transaction_are_carried_out_at_the_home(self):
        here, there = self.clients(2)
        here.call("LK.ACQUIRE", "k", "me", "TTL", 1900)
        self.assertEqual(self.transact(there, ("LK.RELEASE", "k", "me"), ("PING",)), [0, "PONG"])
        self.assertEqual(here.call("LK.HOLDERS", "k"), [])
        here.call("LK.ACQUIRE", "k", "me", "TTL", 1900, "WAIT", 0)
        got = self.transact(there, ("LK.ACQUIRE", "k", "you", "TTL", 1900), ("LK.EXTEND", "k", "me", 1800))
        self.assertIsNone(got[0])
        self.assertGreater(got[1], 1000)

    def test_what_must_stay_is_refused_if_another_proxy_has_the_key(self):
        here, there = self.clients(2)
        here.call("LK.ACQUIRE", "k", "me", "TTL", 1900)
        for stays in (("LK.ACQUIRE", "k", "you"), ("LK.ACQUIREALL", 2, "k", "ttl", "you"),
                      ("SELECT", 1), ("KEYS", "*")):
            with self.subTest(stays=stays):
                self.assertIn("not all of its commands",
                              str(self.transact(there, ("LK.RELEASE", "k", "me"), stays)))
        self.assertEqual(len(here.call("LK.HOLDERS", "k")), 1)

    def test_a_lock_that_a_transaction_released_is_not_lost_with_its_home(self):
        proxies, home = self.two_and_a_mortal(SECRET)
        there, holding, listener = self.client(proxies[0]), self.client(home), self.client(proxies[0])
        there.call("HELLO", 3)
        for key in "ab":
            holding.call("LK.ACQUIRE", key, "holder")
            there.send("LK.ACQUIRE", key, "me", "WAIT", 0)
            wait_until(lambda: len(holding.call("LK.WAITERS", key)) == 1, "it is in line there")
            holding.call("LK.RELEASE", key, "holder")
            there.read()
        self.assertEqual(self.transact(there, ("LK.RELEASE", "a", "me")), [0])
        listener.call("SUBSCRIBE", "lockkeeper:lost")
        home.kill()
        self.assertEqual(there.read()[:3], [b"lk.lost", b"b", b"me"])
        self.assertEqual(listener.read()[2].split()[0], b"b")

    def test_a_transaction_in_the_protocol_of_its_client_and_without_replies(self):
        here, there = self.clients(2)
        here.call("SET", "k", "me", "NX", "PX", 1900)
        there.call("HELLO", 3)
        self.assertEqual(self.transact(there, ("GET", "k")), [b"me"])
        there.call("WATCH", "k")
        here.call("PEXPIRE", "k", 1800)
        self.assertIsNone(self.transact(there, ("GET", "k")))
        there.send("CLIENT", "REPLY", "SKIP")
        there.send("WATCH", "k")
        self.assertEqual(self.transact(there, ("DEL", "k")), [1])


class Moved(ProxiesCase):
    """A key that went from one home to another, and a proxy that thinks it is at the first."""

    def setUp(self):
        super().setUp()
        self.first, self.second, self.there = self.clients(3, more=SECRET)

    def move(self, key):
        self.first.call("LK.ACQUIRE", key, "first", "TTL", 60_000)
        self.assertEqual(self.there.call("EXISTS", key), 1)
        self.first.call("LK.RELEASE", key, "first")
        wait_until(lambda: not any(master.call("EXISTS", key) for master in self.masters), "it is given back")
        self.assertEqual(self.second.call("LK.ACQUIRE", key, "second", "TTL", 60_000)[2], 1)

    def test_an_extension_finds_it(self):
        self.move("k")
        self.assertGreater(self.there.call("LK.EXTEND", "k", "second", 50_000), 40_000)

    def test_a_release_of_several_finds_each(self):
        self.move("a")
        self.move("b")
        self.first.call("LK.ACQUIRE", "c", "second", "TTL", 60_000)
        self.there.call("LK.ACQUIRE", "d", "second", "TTL", 60_000)
        self.assertEqual(self.there.call("LK.RELEASEALL", 5, "a", "b", "c", "d", "e", "second"), 4)
        for key in "abcd":
            self.assertEqual(self.second.call("LK.HOLDERS", key), [])

    def test_a_watch_and_its_transaction_find_it(self):
        self.move("k")
        self.assertEqual(self.there.call("WATCH", "k"), "OK")
        self.there.call("MULTI")
        self.there.call("DEL", "k")
        self.assertEqual(self.there.call("EXEC"), [1])

    def test_a_transaction_finds_it_beside_one_that_stayed(self):
        self.second.call("SET", "s", "x", "NX", "PX", 60_000)
        self.move("k")
        self.there.call("MULTI")
        self.there.call("DEL", "k")
        self.there.call("GET", "s")
        self.assertEqual(self.there.call("EXEC"), [1, b"x"])

    def test_a_stale_hint_is_no_change_of_what_is_watched(self):
        self.there.call("WATCH", "k")
        self.first.call("LK.ACQUIRE", "k", "first", "TTL", 60_000)
        self.assertEqual(self.there.call("EXISTS", "k"), 1)
        self.first.call("LK.RELEASE", "k", "first")
        wait_until(lambda: not any(master.call("EXISTS", "k") for master in self.masters), "it is given back")
        self.there.call("UNWATCH")
        self.there.call("WATCH", "k")
        self.there.call("MULTI")
        self.there.call("SET", "k", "there", "NX", "PX", 60_000)
        self.assertEqual(self.there.call("EXEC"), ["OK"])


class Messages(ProxiesCase):
    def test_who_listens_hears_what_is_said_at_another_proxy_once(self):
        proxies = self.proxies(3)
        listening, speaking = self.client(proxies[0]), self.client(proxies[1])
        listening.call("SUBSCRIBE", "news")
        speaking.call("PUBLISH", "news", "one")
        speaking.call("PUBLISH", "news", "two")
        self.assertEqual(listening.read(), [b"message", b"news", b"one"])
        self.assertEqual(listening.read(), [b"message", b"news", b"two"])

    def test_a_loss_is_told_on_the_channel_at_every_proxy(self):
        home, there = self.clients(2)
        there.call("SUBSCRIBE", "lockkeeper:lost")
        fence = home.call("LK.ACQUIRE", "k", "me", "TTL", 1900)[0]
        home.call("LK.BREAK", "k")
        self.assertEqual(there.read(), [b"message", b"lockkeeper:lost", b"k me %d" % fence])


class OneLine(ProxiesCase):
    def waiters(self, client, key="k"):
        return [as_map(each)[b"owner"].decode() for each in client.call("LK.WAITERS", key)]

    def test_who_waits_anywhere_is_served_in_the_order_of_arrival(self):
        proxies = self.proxies(3)
        home = self.client(proxies[0])
        last = home.call("LK.ACQUIRE", "k", "first", "TTL", 2000)[0]
        waiting = []
        for number in range(9):
            client = self.client(proxies[number % 3])
            client.send("LK.ACQUIRE", "k", f"w{number}", "TTL", 2000, "WAIT", 0)
            waiting.append(client)
            wait_until(lambda: len(self.waiters(home)) == number + 1, "it is in line")
        self.assertEqual(self.waiters(home), [f"w{number}" for number in range(9)])
        self.assertEqual(home.call("LK.RELEASE", "k", "first"), 0)
        for number, client in enumerate(waiting):
            fence, ttl, _ = client.read()
            self.assertGreater(fence, last)
            self.assertGreater(ttl, 0)
            last = fence
            self.assertEqual(client.call("LK.RELEASE", "k", f"w{number}"), 0)

    def test_who_leaves_another_proxy_leaves_the_line(self):
        proxies = self.proxies(2)
        home = self.client(proxies[0])
        home.call("LK.ACQUIRE", "k", "first")
        with Client(proxies[1].port) as leaving:
            leaving.send("LK.ACQUIRE", "k", "leaving", "TTL", 2000, "WAIT", 0)
            wait_until(lambda: self.waiters(home) == ["leaving"], "it is in line")
        wait_until(lambda: self.waiters(home) == [], "it has left the line")

    def test_a_wait_through_another_proxy_ends_in_time(self):
        home, there = self.clients(2)
        home.call("LK.ACQUIRE", "k", "first")
        began = time.monotonic()
        self.assertIsNone(there.call("LK.ACQUIRE", "k", "second", "TTL", 2000, "WAIT", 200))
        self.assertGreater(time.monotonic() - began, 0.19)
        self.assertEqual(self.waiters(home), [])

    def test_a_lock_ends_with_the_connection_that_took_it_through_another_proxy(self):
        proxies = self.proxies(2, more=SECRET + SHORT_LEASES + "policies: [{keys: '*', grace: 0}]\n")
        home = self.client(proxies[0])
        home.call("LK.ACQUIRE", "k", "first")
        with Client(proxies[1].port) as holder:
            holder.send("LK.ACQUIRE", "k", "holder", "WAIT", 0)
            wait_until(lambda: self.waiters(home) == ["holder"], "it is in line")
            home.call("LK.RELEASE", "k", "first")
            self.assertEqual(holder.read()[2], 1)
            time.sleep(1.5)  # longer than the lease: it is renewed
            self.assertEqual(as_map(home.call("LK.HOLDERS", "k")[0])[b"owner"], b"holder")
        wait_until(lambda: home.call("LK.HOLDERS", "k") == [], "it is free")

    def test_who_loses_a_lock_is_told_through_its_own_proxy(self):
        home, there = self.clients(2)
        there.call("HELLO", 3)
        home.call("LK.ACQUIRE", "k", "first", "TTL", 2000)
        there.send("LK.ACQUIRE", "k", "second", "TTL", 2000, "WAIT", 0)
        wait_until(lambda: self.waiters(home) == ["second"], "it is in line")
        home.call("LK.RELEASE", "k", "first")
        fence = there.read()[0]
        self.assertEqual(home.call("LK.BREAK", "k"), 1)
        self.assertEqual(there.read(), [b"lk.lost", b"k", b"second", fence])

    def test_hand_offs_between_proxies_ask_no_master(self):
        proxies = self.proxies(3, more=SECRET + "leases: {max_ttl: 10m}\n")
        fences, held, hand_offs = [], [0], 1000

        def take_turns(number, client):
            while len(fences) < hand_offs:
                fence = client.call("LK.ACQUIRE", "hot", number, "TTL", 30000, "WAIT", 0)[0]
                held[0] += 1
                fences.append((fence, held[0]))
                held[0] -= 1
                self.assertEqual(client.call("LK.RELEASE", "hot", number), 0)

        clients = [self.client(proxies[number % 3]) for number in range(6)]
        threads = [threading.Thread(target=take_turns, args=pair) for pair in enumerate(clients)]
        before, began = [master.commands() for master in self.masters], time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertGreaterEqual(len(fences), hand_offs)
        self.assertEqual(fences, [(fence, 1) for fence in sorted({fence for fence, _ in fences})],
                         "one at a time, each with a higher fence")
        # Registries and clocks go on, however slow the machine is. One that asked would do so for each of them.
        idle = (time.monotonic() - began + 2) * 20
        for master, count in zip(self.masters, before):
            self.assertLess(master.commands() - count, hand_offs * 0.25 + idle)


class Trouble(ProxiesCase):
    def test_a_home_that_dies_is_replaced(self):
        proxies, home = self.two_and_a_mortal(SECRET + SHORT_LEASES)
        with Client(home.port) as holder:
            fence = holder.call("LK.ACQUIRE", "k", "holder", "TTL", 1000)[0]
            waiting = [self.client(proxies[number % 2]) for number in range(20)]
            for number, client in enumerate(waiting):
                client.send("LK.ACQUIRE", "k", f"w{number}", "TTL", 1000, "WAIT", 0)
            wait_until(lambda: len(holder.call("LK.WAITERS", "k")) == 20, "all are in line there")
            home.kill_process()
        lock, held, fences = threading.Lock(), [0], []

        def serve(number, client):
            got = client.read()
            with lock:
                held[0] += 1
                fences.append((got[0], held[0]))
            with lock:
                held[0] -= 1
            client.call("LK.RELEASE", "k", f"w{number}")

        threads = [threading.Thread(target=serve, args=pair) for pair in enumerate(waiting)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(fences), 20, "all have been served")
        self.assertTrue(all(together == 1 for _, together in fences), fences)
        numbers = [number for number, _ in fences]
        self.assertEqual(len(set(numbers)), 20)
        self.assertGreater(min(numbers), fence)

    def test_an_answer_that_was_late_promises_no_more_than_the_home_keeps(self):
        proxies = self.proxies(2, more=SECRET)
        home, there = self.client(proxies[0]), self.client(proxies[1])
        for ttl in (5_000, 50_000):  # much of the first is over when its answer comes, little of the second
            with self.subTest(ttl=ttl):
                key = f"late{ttl}"
                home.call("LK.ACQUIRE", key, "holder", "TTL", 50_000)
                there.send("LK.ACQUIRE", key, "waiter", "TTL", ttl, "WAIT", 0)
                wait_until(lambda: len(home.call("LK.WAITERS", key)) == 1, "it is in line there")
                proxies[1].signal(signal.SIGSTOP)
                try:
                    self.assertEqual(home.call("LK.RELEASE", key, "holder"), 0)
                    time.sleep(1)
                    kept = as_map(home.call("LK.HOLDERS", key)[0])
                finally:
                    proxies[1].signal(signal.SIGCONT)
                fence, told, _ = there.read()
                self.assertEqual(fence, kept[b"fence"])
                self.assertLessEqual(told, kept[b"ttl"])
                self.assertEqual(there.call("LK.RELEASE", key, "waiter"), 0)

    def test_a_home_that_stops_sends_its_line_away(self):
        proxies = self.proxies(3)
        home = self.client(proxies[0])
        home.call("LK.ACQUIRE", "k", "holder", "TTL", 700)
        waiting = [self.client(proxies[1 + number % 2]) for number in range(6)]
        for number, client in enumerate(waiting):
            client.send("LK.ACQUIRE", "k", f"w{number}", "TTL", 1000, "WAIT", 0)
        wait_until(lambda: len(home.call("LK.WAITERS", "k")) == 6, "all are in line there")
        proxies[0].signal(signal.SIGTERM)
        self.assertEqual(proxies[0].wait(), 0)
        left = {client.socket: (number, client) for number, client in enumerate(waiting)}
        while left:
            ready = select.select(list(left), [], [], PATIENCE)[0]
            self.assertTrue(ready, "somebody is served")
            for each in ready:
                number, client = left.pop(each)
                self.assertIsInstance(client.read(), list)
                client.call("LK.RELEASE", "k", f"w{number}")

    def test_a_frozen_home_does_not_hold_up_other_keys(self):
        proxies = self.proxies(2)
        home, there = self.client(proxies[0]), self.client(proxies[1])
        home.call("LK.ACQUIRE", "k", "holder", "TTL", 500)
        self.assertIsNone(there.call("LK.ACQUIRE", "k", "other", "TTL", 500))
        proxies[0].signal(signal.SIGSTOP)
        try:
            self.assertTrue(there.call("LK.ACQUIRE", "other", "me", "TTL", 500))
            # The link is given up, the lease ends on the masters, and the lock goes on here.
            self.assertTrue(there.call("LK.ACQUIRE", "k", "next", "TTL", 500, "WAIT", 0))
        finally:
            proxies[0].signal(signal.SIGCONT)
        wait_until(lambda: states_of(there) == ["self", "up"], "the link is back")


class BrokenLinks(ProxiesCase):
    """A home whose link from another proxy goes through a relay, and a client of each."""

    def setUp(self):
        super().setUp()
        self.relay = self.enterContext(Relay(0, lambda: [self.proxy.process.pid]))
        self.home = self.lone_proxy(SECRET.replace("}", f", advertise: '127.0.0.1:{self.relay.port}'}}") + SHORT_LEASES)
        self.relay.target = self.home.port
        self.proxy = self.lone_proxy()
        self.here, self.there = self.client(self.home), self.client(self.proxy)
        self.wait_for_link()

    def wait_for_link(self):
        wait_until(lambda: states_of(self.there) == ["self", "up"], "there is a link")

    def holders(self):
        return [as_map(each)[b"owner"].decode() for each in self.here.call("LK.HOLDERS", "k")]

    def take_there(self, *options):
        """Takes the lock through the link, after somebody at home."""
        self.here.call("LK.ACQUIRE", "k", "first", "TTL", 2000)
        self.there.send("LK.ACQUIRE", "k", "second", *options, "WAIT", 0)
        wait_until(lambda: len(self.here.call("LK.WAITERS", "k")) == 1, "it is in line")

    def lose_the_answer(self, *options):
        self.take_there(*options)
        self.relay.cut(self.proxy.process.pid, "replies")
        self.assertEqual(self.here.call("LK.RELEASE", "k", "first"), 0)
        wait_until(lambda: self.holders() == ["second"], "it has got the lock and does not know")

    def test_who_did_not_hear_of_its_lock_has_it_once(self):
        self.lose_the_answer("TTL", 2000)
        fence = self.here.call("LK.FENCE", "k")
        self.relay.heal()
        got = self.there.read()
        self.assertEqual([got[0], got[2]], [fence, 1], "the same grant, and one hold")
        self.assertEqual(self.there.call("LK.RELEASE", "k", "second"), 0)
        self.assertEqual(self.holders(), [])

    def test_who_did_not_hear_of_its_lock_has_it_for_as_long_as_it_is_connected(self):
        self.lose_the_answer()
        self.relay.heal()
        self.assertEqual(self.there.read()[2], 1)
        time.sleep(6)  # longer than what a lock has left when its link has broken
        self.assertEqual(self.holders(), ["second"])
        self.assertEqual(self.there.call("LK.RELEASE", "k", "second"), 0)

    def test_who_holds_a_second_time_and_did_not_hear_of_it_has_two_holds(self):
        self.take_there("TTL", 2000)
        self.here.call("LK.RELEASE", "k", "first")
        self.assertEqual(self.there.read()[2], 1)
        self.relay.cut(self.proxy.process.pid, "replies")
        self.there.send("LK.ACQUIRE", "k", "second", "TTL", 2000, "WAIT", 0)
        wait_until(lambda: as_map(self.here.call("LK.HOLDERS", "k")[0])[b"holds"] == 2, "it is done there")
        self.relay.heal()
        self.assertEqual(self.there.read()[2], 2)
        self.assertEqual(self.there.call("LK.RELEASE", "k", "second"), 1)

    def test_a_request_that_never_arrived_is_done_once(self):
        self.relay.cut(self.proxy.process.pid, "requests")
        self.here.call("LK.ACQUIRE", "k", "first", "TTL", 2000)
        self.there.send("LK.ACQUIRE", "k", "second", "TTL", 2000, "WAIT", 0)
        wait_until(lambda: sum(each["forwarded"] for each in proxies_of(self.client(self.proxy)).values()), "it is sent")
        self.relay.heal()
        wait_until(lambda: len(self.here.call("LK.WAITERS", "k")) == 1, "it is in line")
        self.here.call("LK.RELEASE", "k", "first")
        self.assertEqual(self.there.read()[2], 1)

    def test_an_order_that_comes_after_its_repeat_is_not_carried_out(self):
        for attempt in range(5):
            key = f"late{attempt}"
            self.here.call("LK.ACQUIRE", key, "first")
            self.relay.keep_back(self.proxy.process.pid)
            self.there.send("LK.ACQUIRE", key, "second", "TTL", 2000, "WAIT", 0)
            wait_until(lambda: any(b"ORDER" in kept for kept in list(self.relay.kept.values())), "it is on its way")
            self.relay.strand()
            wait_until(lambda: len(self.here.call("LK.WAITERS", key)) == 1, "it has come once more")
            was_refused = self.relay.deliver(b"NOTHOME")
            self.assertEqual(len(self.here.call("LK.WAITERS", key)), 1)
            self.assertEqual(self.here.call("LK.RELEASE", key, "first"), 0)
            self.assertEqual(self.there.read()[2], 1)
            self.assertEqual(self.there.call("LK.RELEASE", key, "second"), 0)
            if was_refused:
                return
            self.wait_for_link()  # the home had given the link up before
        self.fail("no late order was refused")

    def test_a_transaction_whose_answer_got_lost_is_not_repeated(self):
        self.here.call("LK.ACQUIRE", "k", "me", "TTL", 2000)
        self.there.call("LK.HOLDERS", "k")
        self.relay.cut(self.proxy.process.pid, "replies")
        self.there.call("MULTI")
        self.there.call("LK.ACQUIRE", "k", "me", "TTL", 2000)
        self.there.send("EXEC")
        wait_until(lambda: as_map(self.here.call("LK.HOLDERS", "k")[0])[b"holds"] == 2, "it is done there")
        self.relay.heal()
        self.assertIn("HOMELOST", str(self.there.read()))
        self.assertEqual(as_map(self.here.call("LK.HOLDERS", "k")[0])[b"holds"], 2)

    def test_a_watch_that_ended_with_its_link_counts_as_changed(self):
        self.here.call("SET", "k", "me", "NX", "PX", 2000)
        self.assertEqual(self.there.call("WATCH", "k"), "OK")
        self.relay.reset_and_wait()
        self.wait_for_link()
        self.assertEqual(self.there.call("GET", "k"), b"me")  # in another conversation
        self.there.call("MULTI")
        self.there.call("DEL", "k")
        self.assertIsNone(self.there.call("EXEC"))
        self.assertEqual(self.here.call("GET", "k"), b"me")

    def test_a_lock_that_ends_with_a_link_is_told_to_its_client(self):
        self.there.call("HELLO", 3)
        self.take_there()
        self.here.call("LK.RELEASE", "k", "first")
        fence = self.there.read()[0]
        self.here.send("LK.ACQUIRE", "k", "third", "TTL", 2000, "WAIT", 0)
        # Nobody is told of the break: both have to notice.
        self.relay.cut(self.proxy.process.pid, "requests", "replies")
        self.assertEqual(self.there.read(), [b"lk.lost", b"k", b"second", fence])
        self.assertGreater(self.here.read()[0], fence)

    def test_a_lock_with_a_ttl_outlives_its_link(self):
        self.there.call("HELLO", 3)
        self.take_there("TTL", 2000)
        self.here.call("LK.RELEASE", "k", "first")
        self.there.read()
        self.relay.reset_and_wait()
        self.wait_for_link()
        self.assertEqual(self.there.call("LK.RELEASE", "k", "second"), 0)


class Paused(ProxiesCase):
    def test_a_lock_that_ended_while_its_proxy_stood_still_is_not_told_of(self):
        """It lived by the link, which the home gave up."""
        proxies = self.proxies(2)
        home, there, third = self.client(proxies[0]), self.client(proxies[1]), self.client(proxies[0])
        home.call("LK.ACQUIRE", "k", "holder")
        there.send("LK.ACQUIRE", "k", "waiter", "WAIT", 0)
        wait_until(lambda: len(home.call("LK.WAITERS", "k")) == 1, "it is in line there")
        proxies[1].signal(signal.SIGSTOP)
        try:
            home.call("LK.RELEASE", "k", "holder")
            fence = third.call("LK.ACQUIRE", "k", "third", "WAIT", 0)[0]
        finally:
            proxies[1].signal(signal.SIGCONT)
        wait_until(lambda: states_of(self.client(proxies[1])) == ["self", "up"], "the link is back")
        self.assertEqual(third.call("LK.RELEASE", "k", "third"), 0)
        self.assertGreater(there.read()[0], fence)
        self.assertEqual(there.call("LK.RELEASE", "k", "waiter"), 0)


class QueuesOfLibraries(ProxiesCase):
    """Redisson's fair lock keeps its queue beside the lock."""

    def take(self, client, owner, ttl=60_000):
        return evalsha(client, "8f6ed299", self.keys(), ttl, owner, 300_000, int(time.time() * 1000))

    def give(self, client, owner):
        keys = [*self.keys(), "redisson_lock__channel:{fair}", "redisson_unlock_latch:{fair}:" + owner]
        return evalsha(client, "367f80bd", keys, "0", 60_000, owner, int(time.time() * 1000), "PUBLISH", 5000)

    def keys(self):
        return ["fair", "redisson_lock_queue:{fair}", "redisson_lock_timeout:{fair}"]

    def listener(self, proxy, owner):
        client = self.client(proxy)
        client.call("SUBSCRIBE", "redisson_lock__channel:{fair}:" + owner)
        return client

    def test_a_queue_is_where_its_lock_is(self):
        proxies = self.proxies(3, more=SECRET)
        one, two, three = map(self.client, proxies)
        calls = [self.listener(proxies[1], "b:1"), self.listener(proxies[2], "c:1")]
        self.assertIsNone(self.take(one, "a:1"))
        self.assertIsInstance(self.take(two, "b:1"), int)
        self.assertIsInstance(self.take(three, "c:1"), int)
        self.assertEqual(self.give(three, "a:1"), 1)
        self.assertEqual(calls[0].read()[2], b"0")
        self.assertIsInstance(self.take(three, "c:1"), int, "it is not his turn, whichever proxy he asks")
        self.assertIsNone(self.take(two, "b:1"))
        self.assertEqual(self.give(one, "b:1"), 1)
        self.assertEqual(calls[1].read()[2], b"0")
        self.assertIsNone(self.take(three, "c:1"))

    def test_a_queue_begins_anew_where_the_lock_goes_when_its_home_dies(self):
        proxies, home = self.two_and_a_mortal(SECRET)
        two, three = map(self.client, proxies)
        with Client(home.port) as one:
            self.assertIsNone(self.take(one, "a:1", 1000))
            self.assertIsInstance(self.take(two, "b:1"), int)
            self.assertIsInstance(self.take(three, "c:1"), int)
            home.kill_process()
        call = self.listener(proxies[1], "c:1")
        wait_until(lambda: self.take(two, "b:1") is None, "the lock of a dead home ends")
        self.assertIsInstance(self.take(three, "c:1"), int)
        self.assertIsInstance(self.take(two, "d:1"), int)
        self.assertEqual(self.give(three, "b:1"), 1)
        self.assertEqual(call.read()[2], b"0")
        self.assertIsInstance(self.take(two, "d:1"), int)
        self.assertIsNone(self.take(three, "c:1"))


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
        self.assertIn("over TLS only", str(client.call("LK.LINK", "HELLO", 2, "x", "y", "z", "0")))
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
        self.assertIn("another fleet", str(client.call("LK.LINK", "HELLO", 2, "me", "0.1", "x", "0" * 32)))
        self.assertIn("speaks version", str(client.call("LK.LINK", "HELLO", 9, "me", "0.1", fingerprint, "0" * 32)))
        self.assertIn("ERR", str(client.call("LK.LINK", "HELLO", 2)))
        proof = client.call("LK.LINK", "HELLO", 2, "me", "0.1", fingerprint, "0" * 32)[4]
        # What it has shown is no proof of ours.
        self.assertIn("NOAUTH", str(client.call("LK.LINK", "PROVE", proof)))
        self.assertEqual(client.read_all(), b"")

    def test_without_a_secret_nobody_is_linked(self):
        one, two = self.lone_proxy(SHORT_LEASES), self.lone_proxy(SHORT_LEASES)
        client = self.client(one)
        self.assertEqual(client.call("LK.PROXIES"), [])
        self.assertIn("no secret", str(client.call("LK.LINK", "HELLO", 2, "me", "0.1", "x", "0" * 32)))
        self.assertEqual(self.masters[0].call("EXISTS", "lk:{main}:proxies"), 0)
        self.assertTrue(client.call("LK.ACQUIRE", "k", "me", "TTL", 1500))
        self.assertIsNone(self.client(two).call("LK.ACQUIRE", "k", "you", "TTL", 1500))


if __name__ == "__main__":
    main()
