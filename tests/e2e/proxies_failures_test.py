#!/usr/bin/env python3
"""Homes that die, stop or stand still, and links that break with requests on their way."""

import select
import signal
import threading
import time

from fleet_support import SHORT_LEASES, proxies_of, states_of, wait_until
from linked_support import SECRET, ProxiesCase
from native_support import as_map
from relay import Relay
from support import PATIENCE, Client, main


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


if __name__ == "__main__":
    main()
