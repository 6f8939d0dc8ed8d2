#!/usr/bin/env python3
"""Transactions and watches through a proxy that does not have the leases of the keys, and keys that have moved."""

from fleet_support import SHORT_LEASES, wait_until
from linked_support import SECRET, ProxiesCase
from support import main


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

    def test_a_count_finds_it_beside_one_that_stayed(self):
        self.first.call("SET", "s", "x", "NX", "PX", 60_000)
        self.move("k")
        self.assertEqual(self.there.call("EXISTS", "s", "k"), 2)
        self.assertEqual(self.there.call("DEL", "s", "k"), 2)

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


if __name__ == "__main__":
    main()
