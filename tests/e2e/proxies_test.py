#!/usr/bin/env python3
"""Several proxies on one fleet: requests for a key go to the proxy that has its lease, and all wait in one line."""

import select
import threading
import time

from fleet_support import SHORT_LEASES, proxies_of, wait_until
from linked_support import SECRET, ProxiesCase
from native_support import as_map
from scripts_test import COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, evalsha
from support import PATIENCE, Client, main

RELEASE = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"


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

    def test_several_locks_leave_alone_what_their_owner_had_at_another_home(self):
        one, two, three = self.clients(3)
        self.assertTrue(one.call("LK.ACQUIRE", "a", "X", "TTL", 1900))
        self.assertTrue(two.call("LK.ACQUIRE", "b", "Y", "TTL", 1900))
        self.assertIsNone(three.call("LK.ACQUIREALL", 2, "a", "b", "X", "TTL", 500))
        self.assertIsNone(three.call("LK.ACQUIREALL", 2, "a", "b", "X"))
        self.assertTrue(500 < one.call("PTTL", "a") <= 1900)
        self.assertEqual(two.call("LK.RELEASE", "b", "Y"), 0)
        fences, ttl = three.call("LK.ACQUIREALL", 2, "a", "b", "X", "TTL", 500, "WAIT", 0)
        self.assertTrue(0 < ttl <= 500, ttl)
        self.assertEqual(fences, [one.call("LK.FENCE", "a"), two.call("LK.FENCE", "b")])
        self.assertTrue(500 < one.call("PTTL", "a") <= 1900)
        self.assertEqual(three.call("LK.RELEASEALL", 2, "a", "b", "X"), 2)
        self.assertEqual(one.call("LK.RELEASE", "a", "X"), 0)

    def test_one_of_several_locks_that_is_lost_at_another_home_loses_all(self):
        one, two, three = self.clients(3)
        self.assertTrue(one.call("LK.ACQUIRE", "b", "Y", "TTL", 1900))
        self.assertTrue(one.call("LK.ACQUIRE", "a", "W", "TTL", 1900))
        three.send("LK.ACQUIREALL", 2, "a", "b", "X", "WAIT", 0)
        wait_until(lambda: len(one.call("LK.WAITERS", "a")) == 1, "it waits for the first")
        self.assertEqual(one.call("LK.RELEASE", "a", "W"), 0)
        wait_until(lambda: len(one.call("LK.WAITERS", "b")) == 1, "it waits for the second")
        self.assertEqual(one.call("DEL", "a"), 1)
        self.assertTrue(one.call("LK.ACQUIRE", "a", "Z", "TTL", 1900, "WAIT", 0))
        self.assertEqual(one.call("LK.RELEASE", "b", "Y"), 0)
        self.assertIsNone(three.read())
        self.assertEqual(one.call("LK.HOLDERS", "b"), [])

    def test_a_value_that_everybody_sends_wins_once(self):
        here, there = self.proxies(2)
        with Client(here.port) as client:
            self.assertEqual(client.call("SET", "other", "1", "NX", "PX", 1900), "OK")
        with Client(there.port) as client:
            self.assertIsNone(client.call("SET", "other", "1", "NX", "PX", 1900))
        control = self.client(here)
        # Here is the home, and it comes free with somebody who asks there.
        self.assertEqual(control.call("SET", "k", "holder", "NX", "PX", 1900), "OK")
        with Client(there.port) as client:
            self.assertIsNone(client.call("SET", "k", "1", "NX", "PX", 1900))
            self.assertEqual(control.call("DEL", "k"), 1)
            self.assertEqual(client.call("SET", "k", "1", "NX", "PX", 1900), "OK")
        for _ in range(50):
            with Client(there.port) as client:
                self.assertIsNone(client.call("SET", "k", "1", "NX", "PX", 1900))

    def test_a_pipeline_is_answered_in_order(self):
        here, there = self.clients(2)
        for number in range(0, 100, 2):
            self.assertEqual(here.call("SET", f"k{number}", "here", "NX", "PX", 1900), "OK")
        for number in range(100):
            there.send("SET", f"k{number}", "there", "NX", "PX", 1900)
            there.send("GET", f"k{number}")
        got = [there.read() for _ in range(200)]
        self.assertEqual(got, [None, b"here", "OK", b"there"] * 50)


class KeysOfSeveralHomes(ProxiesCase):
    """DEL, UNLINK, EXISTS and TOUCH are about each of their keys."""

    def test_each_counts(self):
        self.count(cores=1)

    def test_each_counts_on_several_cores(self):
        self.count(cores=2)

    def count(self, cores):
        here, there, third = self.clients(3, cores=cores)
        for _ in range(5):
            for client, key in ((here, "a"), (there, "b"), (third, "c"), (here, "d")):
                self.assertEqual(client.call("SET", key, "me", "NX", "PX", 1900), "OK")
            for client in (here, there, third):
                self.assertEqual(client.call("EXISTS", "a", "b", "c", "d", "e", "a"), 5)
                self.assertEqual(client.call("TOUCH", "b", "e"), 1)
            self.assertEqual(there.call("DEL", "a", "b", "e"), 2)
            self.assertEqual(third.call("EXISTS", "a", "b", "c", "d"), 2)
            self.assertEqual(there.call("UNLINK", "d", "c", "a"), 2)
            self.assertEqual(here.call("EXISTS", "a", "b", "c", "d"), 0)

    def test_each_in_its_turn_of_a_pipeline(self):
        here, there = self.clients(2)
        here.call("SET", "a", "me", "NX", "PX", 1900)
        there.call("SET", "b", "me", "NX", "PX", 1900)
        for words in (("EXISTS", "a", "b"), ("GET", "a"), ("DEL", "a", "b"), ("EXISTS", "a", "b"),
                      ("SET", "a", "you", "NX", "PX", 1900)):
            there.send(*words)
        self.assertEqual([there.read() for _ in range(5)], [2, b"me", 2, 0, "OK"])


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

    def test_a_script_that_was_loaded_at_one_proxy_is_known_to_all(self):
        here, there, third = self.clients(3)
        sha = there.call("SCRIPT", "LOAD", COMPARE_AND_DELETE)
        for client in (here, there, third):
            self.assertEqual(client.call("SCRIPT", "EXISTS", sha), [1])
        here.call("SET", "k", "me", "NX", "PX", 1900)
        self.assertEqual(third.call("EVALSHA", sha, 1, "k", "me"), 1)
        self.assertEqual(third.call("SCRIPT", "FLUSH"), "OK")
        for client in (here, there, third):
            self.assertEqual(client.call("SCRIPT", "EXISTS", sha), [0])

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


if __name__ == "__main__":
    main()
