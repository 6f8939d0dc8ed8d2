"""Clients that wait by asking again and again: parked, in the order of their seats, or at least not starved."""

import select
import socket
import threading
import time
import unittest

from native_support import NativeCase
from scripts_test import COMPARE_AND_DELETE, SHA
from support import ON_FLEET, PATIENCE, Client, Lockkeeper, encode, main

MINUTE = 60_000


class Parked(NativeCase):
    """A refused SET NX is answered later, perhaps with OK."""

    config = """
policies:
  - {keys: 'short:*', pollers: park, park: 20ms}
  - {keys: '*', pollers: park, park: 10s}
"""

    def park(self, key, token, *options, client=None):
        client = client or self.client()
        before = self.queue(key)
        client.send("SET", key, token, "NX", "PX", MINUTE, *options)
        self.wait_for_queue(key, *before, token)
        return client

    def take(self, key, token="holder"):
        self.assertEqual(self.control.call("SET", key, token, "NX", "PX", MINUTE), "OK")

    def drop(self, key, token="holder"):
        self.assertEqual(self.control.call("EVAL", COMPARE_AND_DELETE, 1, key, token), 1)

    def test_a_try_that_is_held_back_gets_the_lock_when_it_comes_free(self):
        for key in [f"k{number}" for number in range(8)]:
            self.take(key)
            poller = self.park(key, "poller")
            self.assertEqual(self.waiters(key)[0]["kind"], "parked")
            self.drop(key)
            self.assertEqual(poller.read(), "OK")
            self.assertEqual(self.control.call("GET", key), b"poller")
            self.assertTrue(0 < self.control.call("PTTL", key) <= MINUTE)
            self.drop(key, "poller")

    def test_all_kinds_of_waiting_are_one_line(self):
        self.take("k")
        first = self.park("k", "first")
        second = self.in_line("k", "second")
        third = self.park("k", "third")
        self.drop("k")
        self.assertEqual(first.read(), "OK")
        self.drop("k", "first")
        self.assert_granted(second.read())
        self.release("k", "second")
        self.assertEqual(third.read(), "OK")

    def test_the_next_byte_ends_it_at_once(self):
        """Other commands of a shared connection must not wait behind it."""
        for key in [f"k{number}" for number in range(8)]:
            self.take(key)
            poller = self.park(key, "poller")
            poller.send("GET", key)
            self.assertIsNone(poller.read())
            self.assertEqual(poller.read(), b"holder")
            self.assertEqual(self.queue(key), [])

    def test_half_a_command_ends_it_too(self):
        self.take("k")
        poller = self.park("k", "poller")
        poller.send_bytes(b"*1\r\n")
        self.assertIsNone(poller.read())
        poller.send_bytes(b"$4\r\nPING\r\n")
        self.assertEqual(poller.read(), "PONG")

    def test_in_a_pipeline_nothing_is_held_back_but_the_last(self):
        self.take("k")
        poller = self.client()
        poller.send_bytes(encode("SET", "k", "x", "NX", "PX", MINUTE) + encode("PING")
                          + encode("SET", "k", "last", "NX", "PX", MINUTE))
        self.assertEqual([poller.read(), poller.read()], [None, "PONG"])
        self.wait_for_queue("k", "last")
        self.drop("k")
        self.assertEqual(poller.read(), "OK")

    def test_a_holder_and_a_waiter_on_one_connection(self):
        shared = self.client()
        self.assertEqual(shared.call("SET", "k", "one", "NX", "PX", MINUTE), "OK")
        self.park("k", "two", client=shared)
        shared.send("EVAL", COMPARE_AND_DELETE, 1, "k", "one")
        self.assertEqual([shared.read(), shared.read()], [None, 1])

    def test_it_is_not_held_back_for_longer_than_the_policy_says(self):
        self.take("short:k")
        self.assertIsNone(self.control.call("SET", "short:k", "poller", "NX", "PX", MINUTE))
        self.assertEqual(self.queue("short:k"), [])

    def test_in_a_transaction_it_is_answered_at_once(self):
        self.take("k")
        self.control.send_bytes(encode("MULTI") + encode("SET", "k", "x", "NX", "PX", MINUTE) + encode("EXEC"))
        self.assertEqual([self.control.read() for _ in range(3)], ["OK", "QUEUED", [None]])

    def test_other_forms_of_set_are_not_held_back(self):
        self.take("k")
        self.assertIsNone(self.control.call("SET", "k", "x", "NX"))
        self.assertEqual(self.control.call("SETNX", "k", "x"), 0)
        self.assertEqual(self.control.call("SET", "k", "x", "NX", "GET", "PX", MINUTE), b"holder")
        self.assertIsNone(self.control.call("SET", "none", "x", "XX", "PX", MINUTE))

    def test_who_leaves_leaves_the_line(self):
        self.take("k")
        gone = self.park("k", "one who leaves")
        poller = self.park("k", "one who stays")
        gone.close()
        self.wait_for_queue("k", "one who stays")
        self.drop("k")
        self.assertEqual(poller.read(), "OK")

    def test_unblocked_it_is_refused(self):
        self.take("k")
        poller = self.client()
        number = poller.call("CLIENT", "ID")
        self.park("k", "poller", client=poller)
        self.assertEqual(self.control.call("CLIENT", "UNBLOCK", number), 1)
        self.assertIsNone(poller.read())

    def test_a_grant_to_one_who_speaks_at_the_same_time_is_told_or_taken_back(self):
        for turn in range(60):
            key = f"k{turn % 8}"
            self.take(key)
            poller = self.park(key, "poller")
            self.control.send("DEL", key)
            poller.send("PING")
            self.assertEqual(self.control.read(), 1)
            won = poller.read()
            self.assertEqual(poller.read(), "PONG")
            self.assertIn(won, ("OK", None))
            self.assertEqual(self.control.call("GET", key), b"poller" if won == "OK" else None)
            self.control.call("DEL", key)

    def test_one_that_comes_back_has_its_place_again(self):
        self.take("k")
        first, second = self.park("k", "first"), self.park("k", "second")
        first.send("PING")
        self.assertEqual([first.read(), first.read()], [None, "PONG"])
        third = self.in_line("k", "third")
        first.send("SET", "k", "first", "NX", "PX", MINUTE)
        self.wait_for_queue("k", "first", "second", "third")
        for owner, poller in (("holder", first), ("first", second)):
            self.drop("k", owner)
            self.assertEqual(poller.read(), "OK")
        self.drop("k", "second")
        self.assert_granted(third.read())

    def test_one_that_was_served_comes_behind_those_who_were_sent_away(self):
        self.take("k")
        served, sent_away = self.park("k", "served"), self.park("k", "sent away")
        self.drop("k")
        self.assertEqual(served.read(), "OK")
        sent_away.send("PING")
        self.assertEqual([sent_away.read(), sent_away.read()], [None, "PONG"])
        self.park("k", "served before", client=served)
        sent_away.send("SET", "k", "sent away", "NX", "PX", MINUTE)
        self.wait_for_queue("k", "sent away", "served before")

    def test_many_pollers_get_it_one_after_the_other(self):
        self.take("k")
        pollers = [self.park("k", f"poller {number}") for number in range(30)]
        holder = "holder"
        for number, poller in enumerate(pollers):
            self.drop("k", holder)
            self.assertEqual(poller.read(), "OK")
            holder = f"poller {number}"


class ParkedOnOneCore(Parked):
    cores = 1


class ParkedScripts(NativeCase):
    """Scripts that only take a lock are held back as SET NX is."""

    config = Parked.config
    # Script, the arguments of one who wants the lock, and the replies that tell it: granted, refused.
    TRIES = (
        ("96da70f7", lambda token: [token, MINUTE], 1, 0),  # node-redlock 5
        ("d01fb69e", lambda token: [token, MINUTE], 1, 0),  # node-redlock 4
        ("862f31bf", lambda token: [token, MINUTE], "OK", None),  # node-redlock 2
        ("a08c9c69", lambda token: [token, 60], "OK", None),  # Laravel
        ("175897a4", lambda token: [token, MINUTE], 1, None),  # Spring Integration
        ("80a1b5f2", lambda token: [token, len(token), MINUTE], "OK", None),  # bsm/redislock 0.9
        ("eb0c00d9", lambda token: [token, len(token), MINUTE], "OK", None),  # bsm/redislock 0.10
        ("ceb2b206", lambda token: [token, MINUTE, "yes"], "OK", None),  # redlock-rb
    )
    RENEWING = ("175897a4", "80a1b5f2", "eb0c00d9", "ceb2b206")

    def each(self):
        for number, (script, arguments, granted, refused) in enumerate(self.TRIES):
            with self.subTest(script=script):
                yield f"k{number}", script, lambda key, token, s=script, a=arguments: (
                    "EVALSHA", SHA[s], 1, key, *a(token)), granted, refused

    def test_a_try_gets_the_lock_when_it_comes_free(self):
        for key, _, words, granted, _ in self.each():
            self.assertEqual(self.control.call(*words(key, "holder")), granted)
            poller = self.client()
            poller.send(*words(key, "poller"))
            self.wait_for_queue(key, "poller")
            self.assertEqual(self.waiters(key)[0]["kind"], "parked")
            self.assertEqual(self.control.call("EVAL", COMPARE_AND_DELETE, 1, key, "holder"), 1)
            self.assertEqual(poller.read(), granted)
            self.assertEqual(self.control.call("GET", key), b"poller")
            self.assertTrue(0 < self.control.call("PTTL", key) <= MINUTE)

    def test_one_who_says_something_else_is_refused_in_the_words_of_its_script(self):
        for key, _, words, _, refused in self.each():
            self.control.call(*words(key, "holder"))
            poller = self.client()
            poller.send(*words(key, "poller"))
            self.wait_for_queue(key, "poller")
            poller.send("PING")
            self.assertEqual([poller.read(), poller.read()], [refused, "PONG"])
            self.assertEqual(self.queue(key), [])

    def test_it_is_not_held_back_for_longer_than_the_policy_says(self):
        for key, _, words, _, refused in self.each():
            self.control.call(*words("short:" + key, "holder"))
            self.assertEqual(self.control.call(*words("short:" + key, "poller")), refused)

    def test_who_has_it_and_renews_it_waits_for_nobody(self):
        for key, script, words, granted, _ in self.each():
            if script not in self.RENEWING:
                continue
            holder = self.client()
            self.assertEqual(holder.call(*words(key, "holder")), granted)
            self.control.call("PEXPIRE", key, MINUTE // 2)
            holder.send(*words(key, "holder"))
            while not select.select([holder.socket], [], [], 0)[0]:
                self.assertEqual(self.queue(key), [])
            self.assertEqual(holder.read(), granted)
            self.assertGreater(self.control.call("PTTL", key), MINUTE // 2)

    def test_what_says_more_than_that_is_answered_at_once(self):
        self.control.call("SET", "k", "holder", "PX", MINUTE)
        self.assertIsNone(self.control.call("EVALSHA", SHA["ceb2b206"], 1, "k", "poller", MINUTE, "no"))
        self.assertEqual(self.control.call("EVALSHA", SHA["96da70f7"], 2, "k", "l", "poller", MINUTE), 0)
        self.control.send_bytes(encode("MULTI") + encode("EVALSHA", SHA["96da70f7"], 1, "k", "x", MINUTE) + encode("EXEC"))
        self.assertEqual([self.control.read() for _ in range(3)], ["OK", "QUEUED", [0]])

    def test_set_and_scripts_are_one_line(self):
        self.control.call("SET", "k", "holder", "PX", MINUTE)
        first, second = self.client(), self.client()
        first.send("EVALSHA", SHA["96da70f7"], 1, "k", "first", MINUTE)
        self.wait_for_queue("k", "first")
        second.send("SET", "k", "second", "NX", "PX", MINUTE)
        self.wait_for_queue("k", "first", "second")
        self.control.call("DEL", "k")
        self.assertEqual(first.read(), 1)
        self.assertEqual(self.control.call("EVAL", COMPARE_AND_DELETE, 1, "k", "first"), 1)
        self.assertEqual(second.read(), "OK")


class ParkedScriptsOnOneCore(ParkedScripts):
    cores = 1


class KeepAsking(NativeCase):
    """The default: the first tries are answered at once, and who keeps asking is held back in line."""

    config = "policies: [{keys: 'barge:*', pollers: barge}, {keys: '*', park: 10s}]"
    SET = (lambda key, token: ("SET", key, token, "NX", "PX", MINUTE), "OK", None)
    SCRIPT = (lambda key, token: ("EVALSHA", SHA["96da70f7"], 1, key, token, MINUTE), 1, 0)

    def ask_until_held_back(self, client, words, key, token, refused):
        """For as long as it has asked already, and at least half of that: so it is in line more and more of the time."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            client.send(*words(key, token))
            if not select.select([client.socket], [], [], 0.3)[0] and [
                    each["kind"] for each in self.waiters(key)] == ["parked"]:
                return
            self.assertEqual(client.read(), refused)
            time.sleep(0.01)  # its pause
        self.fail("it was never held back")

    def test_one_that_keeps_asking_gets_the_lock_when_it_comes_free(self):
        for words, granted, refused in (self.SET, self.SCRIPT):
            for key in ("k0", "k1", "k2", "k3"):
                reply = refused
                while reply == refused:  # it may have been sent away just now
                    self.control.call("SET", key, "holder", "PX", MINUTE)
                    poller = self.client()
                    self.ask_until_held_back(poller, words, key, "poller", refused)
                    self.control.call("DEL", key)
                    reply = poller.read()
                self.assertEqual(reply, granted)
                self.assertEqual(self.control.call("GET", key), b"poller")
                self.control.call("DEL", key)

    def test_the_first_two_tries_are_never_held_back(self):
        before = self.counted("timed_out")
        for number in range(50):
            self.control.call("SET", "k", "holder", "PX", MINUTE)
            for words, _, refused in (self.SET, self.SCRIPT):
                for _ in range(2):
                    self.assertEqual(self.control.call(*words("k", f"{refused} {number}")), refused)
            self.control.call("DEL", "k")
        self.assertEqual(self.counted("timed_out"), before)

    def test_what_it_says_next_is_not_kept_waiting(self):
        for words, _, refused in (self.SET, self.SCRIPT):
            self.control.call("SET", "k", "holder", "PX", MINUTE)
            shared = self.client()
            self.ask_until_held_back(shared, words, "k", "poller", refused)
            shared.send("GET", "k")
            self.assertEqual([shared.read(), shared.read()], [refused, b"holder"])
            self.assertEqual([each["kind"] for each in self.waiters("k") if each["kind"] == "parked"], [])
            self.control.call("DEL", "k")

    def test_the_policy_barge_holds_nothing_back(self):
        self.control.call("SET", "barge:k", "holder", "PX", MINUTE)
        before = self.counted("timed_out")
        poller = self.client()
        for _ in range(100):
            self.assertIsNone(poller.call("SET", "barge:k", "poller", "NX", "PX", MINUTE))
        self.assertEqual(self.counted("timed_out"), before)

    def test_a_native_try_is_answered_at_once(self):
        self.control.call("LK.ACQUIRE", "k", "holder", "TTL", MINUTE)
        before = self.counted("timed_out")
        poller = self.client()
        for _ in range(100):
            self.assertIsNone(poller.call("LK.ACQUIRE", "k", "poller", "TTL", MINUTE))
        self.assertEqual(self.counted("timed_out"), before)


class KeepAskingOnOneCore(KeepAsking):
    cores = 1


class Resent(NativeCase):
    """A client whose connection broke sends the same SET NX again, and must not be kept out by itself."""

    def send_and_leave(self, key, token):
        client = self.client()
        client.send("SET", key, token, "NX", "PX", MINUTE)
        self.assertTrue(select.select([client.socket], [], [], PATIENCE)[0])
        client.close()  # with the answer unread, which resets the connection

    def test_the_same_set_over_another_connection_is_answered_as_won(self):
        for key in [f"k{number}" for number in range(8)]:
            self.send_and_leave(key, "token")
            fence = self.control.call("LK.FENCE", key)
            while (reply := self.control.call("SET", key, "token", "NX", "PX", 2 * MINUTE)) is None:
                pass  # until the server has seen that the first one left
            self.assertEqual(reply, "OK")
            self.assertEqual(self.control.call("LK.FENCE", key), fence, "it is the same grant")
            self.assertGreater(self.control.call("PTTL", key), MINUTE)
            # Once.
            self.assertIsNone(self.client().call("SET", key, "token", "NX", "PX", MINUTE))

    def test_another_token_is_not(self):
        self.send_and_leave("k", "token")
        self.assertIsNone(self.control.call("SET", "k", "other", "NX", "PX", MINUTE))
        while self.control.call("SET", "k", "token", "NX", "PX", MINUTE) is None:
            pass

    def test_who_said_something_after_it_knows_that_it_won(self):
        client = self.client()
        client.call("SET", "k", "token", "NX", "PX", MINUTE)
        client.call("PING")
        number = client.call("CLIENT", "ID")
        client.close()
        while self.control.call("CLIENT", "LIST", "ID", number):
            pass
        self.assertIsNone(self.control.call("SET", "k", "token", "NX", "PX", MINUTE))

    def test_a_value_that_everybody_sends_wins_once(self):
        """As `redis-cli SET job 1 NX EX 60` in a crontab does it, on many machines."""

        def reads_and_leaves(client, words):
            client.send(*words)
            return client.read()

        def says_goodbye(client, words):
            client.send_bytes(encode(*words) + encode("QUIT"))
            answer = client.read()
            client.read_all()
            return answer

        def ends_its_side_first(client, words):  # as nc does
            client.send(*words)
            client.socket.shutdown(socket.SHUT_WR)
            answer = client.read()
            client.read_all()
            return answer

        def tries_twice(client, words):
            answer = client.call(*words)
            self.assertIsNone(client.call(*words))
            return answer

        ways = [reads_and_leaves, says_goodbye, tries_twice]
        if self.config is None:
            ways.append(ends_its_side_first)  # a try that may be held back ends with that
        for leave in ways:
            with self.subTest(leave.__name__):
                words = ("SET", leave.__name__, "1", "NX", "EX", 60)
                with Client(self.server.port) as client:
                    self.assertEqual(leave(client, words), "OK")
                end = time.monotonic() + 0.5
                while time.monotonic() < end:
                    with Client(self.server.port) as client:
                        self.assertIsNone(reads_and_leaves(client, words))

    def test_the_holder_itself_is_refused_as_in_redis(self):
        self.control.call("SET", "k", "token", "NX", "PX", MINUTE)
        self.assertIsNone(self.control.call("SET", "k", "token", "NX", "PX", MINUTE))


class ResentAndParked(Resent):
    """No place in line is of use to one that has the lock."""

    config = "policies: [{keys: '*', pollers: park, park: 20ms}]"


class Reserved(NativeCase):
    config = "policies: [{keys: '*', pollers: reserve}]"

    def poll(self, client, token, key="k"):
        return client.call("SET", key, token, "NX", "PX", MINUTE)

    def test_a_lock_that_comes_free_is_kept_for_the_one_who_asked_first(self):
        pollers = {token: self.client() for token in "abc"}
        self.assertEqual(self.poll(self.control, "holder"), "OK")
        # Their pauses are what the reservation is measured by, so they are the same for all: half a second.
        begin = time.monotonic()
        for round_number in range(2):
            for token, client in pollers.items():
                self.assertIsNone(self.poll(client, token))
            while time.monotonic() - begin < 0.5 * (round_number + 1):
                self.control.call("PING")
        self.control.call("DEL", "k")
        for token in "cb":
            self.assertIsNone(self.poll(pollers[token], token))
        self.assertIsNone(self.poll(self.client(), "newcomer"))
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "newcomer"))
        self.assertEqual(self.poll(pollers["a"], "a"), "OK")

    def test_who_gives_up_does_not_keep_the_others_waiting(self):
        a, b = self.client(), self.client()
        self.assertEqual(self.poll(self.control, "holder", "given up"), "OK")
        for _ in range(3):
            self.assertIsNone(self.poll(a, "a", "given up"))
            self.assertIsNone(self.poll(b, "b", "given up"))
        self.control.call("DEL", "given up")
        # What it does not hold it releases, as RedLock clients do: then it is the next one's.
        self.control.call("EVAL", COMPARE_AND_DELETE, 1, "given up", "a")
        while (reply := self.poll(b, "b", "given up")) is None:
            pass
        self.assertEqual(reply, "OK")

    def test_one_that_does_not_come_back_is_forgotten(self):
        a = self.client()
        self.assertEqual(self.poll(self.control, "holder", "left"), "OK")
        for _ in range(3):
            self.assertIsNone(self.poll(a, "a", "left"))
        self.control.call("DEL", "left")
        while self.poll(self.control, "newcomer", "left") is None:
            pass


class Barging(NativeCase):
    config = "policies: [{keys: '*', pollers: barge, starvation_after: 300ms}]"

    def test_a_free_lock_is_whoevers_asks_first(self):
        self.assertEqual(self.control.call("SET", "k", "holder", "NX", "PX", MINUTE), "OK")
        poller = self.client()
        for _ in range(2):
            self.assertIsNone(poller.call("SET", "k", "poller", "NX", "PX", MINUTE))
        self.control.call("DEL", "k")
        self.assertEqual(self.control.call("SET", "k", "late", "NX", "PX", MINUTE), "OK")

    def starve(self, acquire, release, refused):
        """One that takes the lock again at once whenever it gives it back, and one that polls."""
        stop, trouble = threading.Event(), []

        def greedy():
            with Client(self.server.port) as client:
                holds = False
                while not stop.is_set():
                    if holds:
                        client.send_bytes(release("greedy") + acquire("greedy"))
                        client.read()
                    else:
                        client.send_bytes(acquire("greedy"))
                    holds = client.read() != refused(client)
                if holds:
                    client.send_bytes(release("greedy"))
                    client.read()

        thread = threading.Thread(target=greedy)
        thread.start()
        try:
            poller = self.client()
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                poller.send_bytes(acquire("poller"))
                if poller.read() != refused(poller):
                    return
                time.sleep(0.01)  # its pause
            trouble.append("starved")
        finally:
            stop.set()
            thread.join()
            self.assertEqual(trouble, [])

    def test_a_poller_is_not_starved_by_one_that_takes_the_lock_again_and_again(self):
        for _ in range(50):
            self.starve(lambda owner: encode("SET", "k", owner, "NX", "PX", MINUTE),
                        lambda owner: encode("DEL", "k"), lambda _: None)
            if self.counted("reservations") > 0:
                return
            self.control.call("DEL", "k")  # it was lucky, and had no need of one
        self.fail("nobody was ever kept a place")

    def test_nor_is_one_that_polls_by_a_script(self):
        self.starve(lambda owner: encode("EVALSHA", SHA["96da70f7"], 1, "k", owner, MINUTE),
                    lambda owner: encode("DEL", "k"), lambda _: 0)

    def test_nor_is_one_that_tries_with_a_native_verb(self):
        self.starve(lambda owner: encode("LK.ACQUIRE", "k", owner, "TTL", MINUTE),
                    lambda owner: encode("LK.RELEASE", "k", owner), lambda _: None)


class Policies(NativeCase):
    config = """
policies:
  - {keys: 'patient:*', grace: 0}
  - {keys: 'delayed:*', lock_delay: 300ms}
  - {keys: 'renewed:*', renew: true, max_hold: 1h}
  - {keys: 'held:*', max_hold: 50ms}
"""

    def test_without_grace_a_bound_lock_ends_with_its_connection(self):
        holder = self.client()
        self.acquire("patient:k", "me", client=holder)
        waiter = self.in_line("patient:k", "you")
        holder.close()
        self.assert_granted(waiter.read())

    def test_after_an_unclean_end_a_lock_is_closed_for_a_while(self):
        for take in (("LK.ACQUIRE", "delayed:k", "me", "TTL", 20), ("SET", "delayed:k", "me", "NX", "PX", 20)):
            self.control.call(*take)
            waiter = self.in_line("delayed:k", "you")
            while self.control.call("EXISTS", "delayed:k"):
                pass
            begin = time.monotonic()
            self.assertIsNone(self.control.call("SET", "delayed:k", "late", "NX", "PX", MINUTE))
            self.assert_granted(waiter.read())
            # The look that found it gone came after its end.
            self.assertGreater(time.monotonic() - begin, 0.1)
            self.release("delayed:k", "you")
        # A release is clean.
        self.acquire("delayed:k", "me")
        self.release("delayed:k", "me")
        self.acquire("delayed:k", "you")

    def test_a_lock_with_a_ttl_is_kept_alive_by_its_connection_where_the_policy_says_so(self):
        holder = self.client()
        self.assertEqual(holder.call("SET", "renewed:k", "me", "NX", "PX", 50), "OK")
        self.assertEqual(holder.call("SET", "k", "me", "NX", "PX", 50), "OK")
        while self.control.call("EXISTS", "k"):
            pass
        self.assertEqual(self.control.call("GET", "renewed:k"), b"me")
        holder.close()
        while self.control.call("EXISTS", "renewed:k"):
            pass

    def test_the_longest_hold_ends_a_lock_whose_connection_lives(self):
        holder = self.client(3)
        fence = self.acquire("held:k", "me", client=holder)
        self.assertEqual(holder.read(), [b"lk.lost", b"held:k", b"me", fence])


@unittest.skipIf(ON_FLEET, "about locks in memory")
class Embedded(unittest.TestCase):
    def test_no_lock_is_given_so_soon_after_the_start(self):
        with Lockkeeper(config="embedded: {start_delay: 1500ms}") as server, Client(server.port) as client:
            begin = time.monotonic()
            first = [client.call("LK.ACQUIRE", "k", "me"), client.call("SET", "l", "me", "NX")]
            if time.monotonic() - begin < 0.5 and None not in first:
                for reply in first:
                    self.assertIn("STARTING", str(reply))
            # Who waits gets it as soon as it may.
            waiter = client.call("LK.ACQUIRE", "k", "me", "WAIT", 0)
            self.assertIsInstance(waiter, list, waiter)

    def test_fences_go_on_growing_over_a_restart(self):
        import tempfile  # pylint: disable=import-outside-toplevel
        with tempfile.TemporaryDirectory() as folder:
            last = 0
            for turn in range(3):
                with Lockkeeper(config=f"embedded: {{state: {folder}}}") as server, Client(server.port) as client:
                    for key in range(20):
                        fence = client.call("LK.ACQUIRE", f"key:{key}", "me")[0]
                        self.assertGreater(fence, last)
                    last = max(client.call("LK.FENCE", f"key:{key}") for key in range(20))
                    if turn == 1:
                        server.kill_process()
                        server.process.returncode = 0  # as intended


if __name__ == "__main__":
    main()
