#!/usr/bin/env python3
"""What clients say to one proxy is done at another as if it had been said there, and whatever they say around it."""

import functools
import os
import signal
import time

import admin_test
from fleet_support import SHORT_LEASES, proxies_of, states_of, wait_until
from linked_support import SECRET, ProxiesCase
from native_support import as_map
from relay import Relay
from scripts_test import COMPARE_AND_DELETE
from support import Client, Error, Lockkeeper, Redis, encode, main, stripe_of

LONG = SECRET + "leases: {max_ttl: 60s, slack: 200ms, untimed: 1s}\n"


def say(client, *commands):
    """All in one packet."""
    client.socket.sendall(b"".join(encode(*words) for words in commands))
    return [client.read() for _ in commands]


def guests_of(client):
    """Clients of other proxies that are served there."""
    return client.call("CLIENT", "LIST").count(b"laddr=proxy ")


class Choices(ProxiesCase):
    """A client's database and protocol are those that it had when it said something."""

    def test_a_choice_comes_after_what_was_said_before_it(self):
        here, there = self.clients(2)
        here.call("SET", "k", "me", "NX", "PX", 1900)
        self.assertEqual(say(there, ("GET", "k"), ("SELECT", 5), ("GET", "k")), [b"me", "OK", None])
        self.assertEqual(say(there, ("SELECT", 0), ("GET", "k"), ("SELECT", 5)), ["OK", b"me", "OK"])
        self.assertEqual(say(there, ("SELECT", 0), ("GET", "k"), ("RESET",)), ["OK", b"me", "RESET"])
        there.call("SELECT", 5)
        here.call("SELECT", 5)
        here.call("LK.ACQUIRE", "k", "five", "TTL", 1900)
        looked, reset = say(there, ("LK.HOLDERS", "k"), ("RESET",))
        self.assertEqual((as_map(looked[0])[b"owner"], reset), (b"five", "RESET"))
        self.assertEqual(say(there, ("DEL", "k"), ("SELECT", 5)), [1, "OK"])
        self.assertEqual(len(there.call("LK.HOLDERS", "k")), 1)

    def test_a_lock_by_the_connection_that_was_given_up_in_time_is_not_lost(self):
        proxies, home = self.two_and_a_mortal(SECRET + SHORT_LEASES)
        there = self.client(proxies[0])
        with Client(home.port) as here:
            there.call("HELLO", 3)
            here.call("LK.ACQUIRE", "k", "first", "TTL", 1900)
            there.send("LK.ACQUIRE", "k", "me", "WAIT", 0)
            wait_until(lambda: len(here.call("LK.WAITERS", "k")) == 1, "it is in line there")
            here.call("LK.RELEASE", "k", "first")
            self.assertEqual(there.read()[2], 1)
            self.assertEqual(say(there, ("LK.RELEASE", "k", "me"), ("SELECT", 5)), [0, "OK"])
        home.kill_process()
        watching = self.client(proxies[0])
        wait_until(lambda: states_of(watching) != ["self", "up", "up"], "it is missed")
        self.assertEqual(there.call("PING"), "PONG")


    def test_a_set_that_looks_first_looks_at_the_home(self):
        here, there = self.clients(2)
        for number, (words, answer) in enumerate(((("XX",), "OK"), (("IFEQ", "me"), "OK"), (("IFNE", "me"), None),
                                                  (("GET",), b"me"), (("NX", "GET"), b"me"), (("NX",), None))):
            with self.subTest(words=words):
                key = f"k{number}"
                here.call("SET", key, "me", "NX", "PX", 1900)
                self.assertEqual(there.call("SET", key, "you", "PX", 1500, *words), answer)
                kept = b"me" if answer is None or "NX" in words else b"you"
                self.assertEqual(here.call("GET", key), kept)
        self.assertIsNone(there.call("SET", "nobody's", "you", "XX", "PX", 1500))


class Tokens(ProxiesCase):
    """Policy `store: token`: the masters hold the token of the client, and do not tell whose client it is."""

    TOKENS = SECRET + SHORT_LEASES + "policies: [{keys: 'shared:*', store: token}]\n"
    RELEASE = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"

    def test_a_lock_is_the_same_through_every_proxy(self):
        here, there, third = self.clients(3, more=self.TOKENS)
        for client in (here, there, third):
            client.call("SELECT", 3)
        self.assertEqual(here.call("SET", "shared:k", "me", "NX", "PX", 1900), "OK")
        self.assertEqual(there.call("GET", "shared:k"), b"me")
        self.assertIsNone(there.call("SET", "shared:k", "you", "NX", "PX", 1900))
        self.assertEqual(len(third.call("LK.HOLDERS", "shared:k")), 1)
        self.assertEqual(there.call("EVAL", self.RELEASE, 1, "shared:k", "you"), 0)
        self.assertEqual(third.call("EVAL", self.RELEASE, 1, "shared:k", "me"), 1)
        self.assertIsNone(here.call("GET", "shared:k"))

    def test_all_wait_in_one_line(self):
        here, there = self.clients(2, more=self.TOKENS)
        here.call("LK.ACQUIRE", "shared:k", "first", "TTL", 1900)
        there.send("LK.ACQUIRE", "shared:k", "second", "TTL", 1900, "WAIT", 0)
        wait_until(lambda: len(here.call("LK.WAITERS", "shared:k")) == 1, "it is in line there")
        self.assertEqual(here.call("LK.RELEASE", "shared:k", "first"), 0)
        self.assertEqual(there.read()[2], 1)

    def test_a_lock_that_nobody_took_here_is_the_masters(self):
        here, there = self.clients(2, more=self.TOKENS)
        for master in self.masters:
            master.call("SET", "shared:k", "stranger", "PX", 1000)
        self.assertIsNone(here.call("SET", "shared:k", "me", "NX", "PX", 1000))
        there.send("LK.ACQUIRE", "shared:k", "you", "TTL", 1000, "WAIT", 0)
        self.assertIsNone(here.call("SET", "shared:k", "me", "NX", "PX", 1000))
        self.assertEqual(there.read()[2], 1)


class LostAnswers(ProxiesCase):
    """The link breaks behind a command: what would not be the same if repeated is not."""

    def setUp(self):
        super().setUp()
        self.relay = self.enterContext(Relay(0, lambda: [self.proxy.process.pid]))
        self.home = self.lone_proxy(SECRET.replace("}", f", advertise: '127.0.0.1:{self.relay.port}'}}") + SHORT_LEASES)
        self.relay.target = self.home.port
        self.proxy = self.lone_proxy()
        self.here, self.there = self.client(self.home), self.client(self.proxy)
        wait_until(lambda: states_of(self.there) == ["self", "up"], "there is a link")

    def sent(self):
        return sum(each["forwarded"] for each in proxies_of(self.here_at_proxy).values())

    def lose_the_answer(self, *words):
        self.here_at_proxy = self.client(self.proxy)
        before = self.sent()
        self.relay.cut(self.proxy.process.pid, "replies")
        self.there.send(*words)
        wait_until(lambda: self.sent() > before, "it is on its way")

    def test_a_set_does_not_overwrite_who_came_after_it(self):
        for words in (("PX", 1000), ("XX", "PX", 1000), ("GET", "PX", 1000)):
            with self.subTest(words=words):
                self.here.call("SET", "k", "first", "PX", 2000)
                self.lose_the_answer("SET", "k", "second", *words)
                wait_until(lambda: self.here.call("GET", "k") == b"second", "it is done there")
                self.here.call("SET", "k", "third", "PX", 2000)
                self.relay.heal()
                self.assertIn("HOMELOST", str(self.there.read()))
                self.assertEqual(self.here.call("GET", "k"), b"third")
                wait_until(lambda: states_of(self.there) == ["self", "up"], "the link is back")

    def test_a_lock_that_somebody_else_gave_up_is_not_lost(self):
        self.there.call("HELLO", 3)
        self.here.call("LK.ACQUIRE", "k", "first", "TTL", 1900)
        self.there.send("LK.ACQUIRE", "k", "me", "WAIT", 0)
        wait_until(lambda: len(self.here.call("LK.WAITERS", "k")) == 1, "it is in line there")
        self.here.call("LK.RELEASE", "k", "first")
        self.assertEqual(self.there.read()[2], 1)
        self.assertEqual(self.client(self.proxy).call("LK.RELEASE", "k", "me"), 0)
        self.relay.reset_and_wait()
        watching = self.client(self.proxy)
        wait_until(lambda: states_of(watching) == ["self", "up"], "the link is back")
        self.assertEqual(self.there.call("PING"), "PONG")

    def test_a_look_is_taken_again_whichever_way_it_goes(self):
        for key in ("a", "b"):
            self.here.call("SET", key, "me", "PX", 2000)
        for words in (("GET", "a"), ("EXISTS", "a", "b")):
            with self.subTest(words=words):
                for key in ("a", "b"):
                    self.here.call("PEXPIRE", key, 2000)
                self.lose_the_answer(*words)
                self.relay.heal()
                # Without a link this proxy knows of no lock there.
                self.assertIn(self.there.read(), (b"me", 2, None, 0))
                wait_until(lambda: states_of(self.there) == ["self", "up"], "the link is back")


class Places(ProxiesCase):
    """A home has places for so many clients, those of other proxies among them."""

    def home_and_proxy(self, limit, cores):
        proxies = [self.lone_proxy(LONG + f"limits: {{clients: {limit}}}\n", cores), self.lone_proxy(LONG)]
        for proxy in proxies:
            with Client(proxy.port) as client:
                wait_until(lambda: states_of(client) == ["self", "up"], "there are links")
        return proxies

    def test_what_a_full_home_did_not_take_in_was_not_done(self):
        home, proxy = self.home_and_proxy(limit=8, cores=1)
        here, there = self.client(home), self.client(proxy)
        here.call("SET", "k", "me", "NX", "PX", 60_000)
        others = [Client(home.port) for _ in range(6)]
        self.assertEqual([one.call("PING") for one in others], ["PONG"] * 6)
        self.assertNotIn("HOMELOST", str(there.call("PEXPIRE", "k", 50_000)))
        self.assertNotIn("HOMELOST", str(there.call("DEL", "k", "l")))
        self.assertEqual(here.call("GET", "k"), b"me")
        for one in others:
            one.__exit__()
        wait_until(lambda: there.call("PEXPIRE", "k", 50_000) == 1, "there is a place again")

    def test_a_link_has_as_many_places_as_its_home(self):
        home, proxy = self.home_and_proxy(limit=14, cores=2)
        here = self.client(home)
        here.call("SET", "k", "me", "NX", "PX", 60_000)
        for _ in range(10):
            self.assertEqual(self.client(proxy).call("GET", "k"), b"me")
        self.assertEqual(guests_of(here), 10)

    def test_an_idle_client_may_be_busy_at_its_own_proxy(self):
        home = self.lone_proxy(SECRET + SHORT_LEASES + "limits: {idle: 300ms}\n")
        proxy = self.lone_proxy()
        with Client(proxy.port) as client:
            wait_until(lambda: states_of(client) == ["self", "up"], "there are links")
        there = self.client(proxy)
        there.call("HELLO", 3)
        with Client(home.port) as here:
            here.call("LK.ACQUIRE", "k", "first")
            there.send("LK.ACQUIRE", "k", "me", "WAIT", 0)
            wait_until(lambda: len(here.call("LK.WAITERS", "k")) == 1, "it is in line there")
            here.call("LK.RELEASE", "k", "first")
        self.assertEqual(there.read()[2], 1)
        idle_until = time.monotonic() + 2  # a limit on time is late by a second at most
        while time.monotonic() < idle_until:
            self.assertEqual(there.call("PING"), "PONG")
            time.sleep(0.05)
        self.assertEqual(there.call("LK.RELEASE", "k", "me"), 0)


class Many(ProxiesCase):
    def test_long_answers_come_over_a_link(self):
        here, there = self.clients(2, more=LONG + "limits: {output_bytes: 64MB}\n")
        holders, looks = 2_000, 16
        here.socket.sendall(b"".join(encode("LK.ACQUIRE", "k", f"o{number}", "TTL", 60_000, "SHARED")
                                     for number in range(holders)))
        self.assertTrue(all(here.read()[0] for _ in range(holders)))
        there.call("MULTI")
        for _ in range(looks):
            there.call("LK.HOLDERS", "k")
        looked = there.call("EXEC")
        self.assertIsInstance(looked, list, looked)
        self.assertEqual([len(each) for each in looked], [holders] * looks)


class Waiting(ProxiesCase):
    """Somebody else may end the wait of a client that stands in line at another proxy."""

    def setUp(self):
        super().setUp()
        proxies = self.proxies(2)
        self.here, self.there, self.admin = map(self.client, (proxies[0], proxies[1], proxies[1]))
        self.here.call("LK.ACQUIRE", "k", "first")
        self.there.send("CLIENT", "ID")
        self.id = self.there.read()

    def wait_there(self, *words):
        self.there.send(*words, "WAIT", 0)
        wait_until(lambda: len(self.here.call("LK.WAITERS", "k")) == 1, "it is in line there")

    def test_a_wait_that_is_ended(self):
        for words, answer in (((), None), (("TIMEOUT",), None),
                              (("ERROR",), Error("UNBLOCKED client unblocked via CLIENT UNBLOCK"))):
            for order in (("LK.ACQUIRE", "k", "me", "TTL", 1000), ("LK.ACQUIRE", "k", "me")):
                with self.subTest(words=words, order=order):
                    self.wait_there(*order)
                    self.assertEqual(self.admin.call("CLIENT", "UNBLOCK", self.id, *words), 1)
                    self.assertEqual(self.there.read(), answer)
                    wait_until(lambda: self.here.call("LK.WAITERS", "k") == [], "it has left the line")
        self.assertEqual(self.admin.call("CLIENT", "UNBLOCK", self.id), 0)
        self.wait_there("LK.ACQUIRE", "k", "me", "TTL", 1000)
        self.here.call("LK.RELEASE", "k", "first")
        self.assertEqual(self.there.read()[2], 1)

    def test_a_wait_for_several_that_is_ended(self):
        self.wait_there("LK.ACQUIREALL", 2, "k", "l", "me", "TTL", 1000)
        self.assertEqual(self.admin.call("CLIENT", "UNBLOCK", self.id), 1)
        self.assertIsNone(self.there.read())


class HeldBack(ProxiesCase):
    """Who polls through another proxy is held back by the home, until he has something else to say."""

    PARKS = LONG + "policies: [{keys: '*', pollers: park, park: 10s}]\n"
    SOON = 4  # seconds: less than half of that, which is the least

    def assert_told_soon(self, client, replies):
        began = time.monotonic()
        self.assertEqual([client.read() for _ in replies], replies)
        self.assertLess(time.monotonic() - began, self.SOON)

    def wait_for_parked(self, looking, key):
        wait_until(lambda: [as_map(one)[b"kind"] for one in looking.call("LK.WAITERS", key)] == [b"parked"],
                   "it is held back")

    def test_by_a_command_of_its_own(self):
        here, there = self.clients(2, more=self.PARKS)
        here.call("SET", "k", "holder", "NX", "PX", 50_000)
        there.send("SET", "k", "poller", "NX", "PX", 50_000)
        self.wait_for_parked(here, "k")
        there.send("GET", "k")
        self.assert_told_soon(there, [None, b"holder"])

    def test_with_more_in_the_same_packet(self):
        here, there = self.clients(2, more=self.PARKS)
        here.call("SET", "k", "holder", "NX", "PX", 50_000)
        there.socket.sendall(encode("SET", "k", "poller", "NX", "PX", 50_000) + encode("PING"))
        self.assert_told_soon(there, [None, "PONG"])

    def test_behind_others_of_a_packet(self):
        here, there = self.clients(2, more=self.PARKS)
        for key in ("k", "l"):
            here.call("SET", key, "holder", "NX", "PX", 50_000)
        there.socket.sendall(encode("GET", "l") + encode("SET", "k", "poller", "NX", "PX", 50_000))
        self.wait_for_parked(here, "k")
        there.send("PING")
        self.assert_told_soon(there, [b"holder", None, "PONG"])

    def moved(self):
        """Of a key that went from one home to another, which the third proxy does not know."""
        first, second, there = self.clients(3, more=self.PARKS)
        first.call("LK.ACQUIRE", "k", "first", "TTL", 50_000)
        self.assertEqual(there.call("EXISTS", "k"), 1)
        first.call("LK.RELEASE", "k", "first")
        wait_until(lambda: not any(master.call("EXISTS", "k") for master in self.masters), "it is given back")
        self.assertEqual(second.call("SET", "k", "second", "NX", "PX", 50_000), "OK")
        return second, there

    def test_by_a_home_that_had_to_be_found(self):
        second, there = self.moved()
        there.send("SET", "k", "poller", "NX", "PX", 50_000)
        self.wait_for_parked(second, "k")
        there.send("PING")
        self.assert_told_soon(there, [None, "PONG"])

    def test_by_a_home_that_had_to_be_found_for_a_packet(self):
        _, there = self.moved()
        there.socket.sendall(encode("SET", "k", "poller", "NX", "PX", 50_000) + encode("PING"))
        self.assert_told_soon(there, [None, "PONG"])


class LoadedScripts(ProxiesCase):
    def test_a_proxy_that_stands_still_holds_nobody_up(self):
        proxies = self.proxies(2)
        there = self.client(proxies[1])
        proxies[0].signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            sha = there.call("SCRIPT", "LOAD", COMPARE_AND_DELETE)
            self.assertEqual(there.call("SCRIPT", "EXISTS", sha), [1])
            self.assertEqual(there.call("SCRIPT", "FLUSH"), "OK")
            # A link that is silent is cut after 3 s.
            self.assertLess(time.monotonic() - began, 2.5)
        finally:
            proxies[0].signal(signal.SIGCONT)

    def test_in_a_transaction(self):
        here, there = self.clients(2)
        there.call("MULTI")
        there.call("SCRIPT", "LOAD", COMPARE_AND_DELETE)
        sha = there.call("EXEC")[0]
        wait_until(lambda: here.call("SCRIPT", "EXISTS", sha) == [1], "the other one has heard of it")

    def test_who_loads_one_takes_no_place_elsewhere(self):
        here, there = self.clients(2)
        there.call("SCRIPT", "LOAD", COMPARE_AND_DELETE)
        wait_until(lambda: guests_of(here) == 0, "it has left")

    def test_data_hear_of_it_once(self):
        data = self.enterContext(Redis())
        more = f"data: redis://127.0.0.1:{data.port}\nlocks: ['*']\n"
        here, there = self.clients(2, more=SECRET + SHORT_LEASES + more)
        sha = there.call("SCRIPT", "LOAD", COMPARE_AND_DELETE)
        self.assertEqual(here.call("SCRIPT", "EXISTS", sha), [1])
        with Client(data.port) as client:
            self.assertIn(b"cmdstat_script|load:calls=1,", client.call("INFO", "commandstats"))


class Breaking(ProxiesCase):
    """POST /api/break at a proxy that is not the home of the lock."""

    def proxy_with_page(self):
        os.environ["LOCKKEEPER_TEST_SECRET"] = admin_test.Breaking.SECRET
        config = stripe_of(self.masters, timeout="2s") + LONG + "http: {break_locks: true}\n" + admin_test.Breaking.USERS
        proxy = self.enterContext(Lockkeeper(http=True, config=config))
        proxy.wait_for_votes(6)
        return proxy

    def test_a_lock_is_broken_where_it_is(self):
        home, proxy = self.proxy_with_page(), self.proxy_with_page()
        here, there = self.client(home), self.client(proxy)
        wait_until(lambda: states_of(there) == ["self", "up"], "there is a link")
        here.call("HELLO", 3)
        fence = here.call("LK.ACQUIRE", "k", "me", "TTL", 50_000)[0]
        ask = functools.partial(admin_test.Breaking.ask_to_break, None, proxy)
        # By the link of the core that serves the page, which may come a moment later.
        wait_until(lambda: ask("k", fence - 1)[:2] == (409, "somebody else has it by now"), "it finds the lock")
        self.assertEqual(ask("k", fence)[:2], (200, "broken"))
        self.assertEqual(here.read(), [b"lk.lost", b"k", b"me", fence])
        self.assertEqual(ask("k", fence)[0], 404)
        self.assertEqual(ask("nobody's", 1)[0], 404)
        self.assertRegex(proxy.output(), rf"audit - .*user 'root', client 0 at .*: lk\.break 'k' 'fence={fence}'")


if __name__ == "__main__":
    main()
