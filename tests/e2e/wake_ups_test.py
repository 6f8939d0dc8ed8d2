"""Libraries that wait by subscribing: of those who listen for a lock that came free, one is told, and the others only
if it does not come.

Redisson's waiters subscribe to the lock's own channel, Spring's to a pattern. Their scripts are called by SHA-1.
"""

import signal
import threading
import time
import unittest
import uuid

from scripts_test import SHA
from support import PATIENCE, Client, Lockkeeper, encode, main

REDISSON_LOCK, REDISSON_UNLOCK, REDISSON_FORCE_UNLOCK = SHA["149c5a8b"], SHA["68664592"], SHA["605e3382"]
FAIR_LOCK, FAIR_UNLOCK = SHA["8f6ed299"], SHA["367f80bd"]
SPRING_LOCK, SPRING_UNLOCK = SHA["175897a4"], SHA["7a71e944"]


def lock(key, owner):
    return encode("EVALSHA", REDISSON_LOCK, 1, key, 60000, owner)


def unlock(key, owner, message="0", publish="PUBLISH"):
    channel, latch = f"redisson_lock__channel:{{{key}}}", f"redisson_unlock_latch:{{{key}}}:{uuid.uuid4().hex}"
    return encode("EVALSHA", REDISSON_UNLOCK, 3, key, channel, latch, message, 60000, owner, publish, 5000)


def hand_on(client, key, owner, following, **how):
    """Releases a lock that is taken again before anybody else can come."""
    client.send_bytes(unlock(key, owner, **how) + lock(key, following))
    return client.read(), client.read()


class WakeUps(unittest.TestCase):
    cores = 2

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(cores=cls.cores))

    def setUp(self):
        self.holder = self.client()
        self.holder.call("FLUSHALL")
        self.key = f"lock:{uuid.uuid4().hex[:8]}"
        self.channel = f"redisson_lock__channel:{{{self.key}}}"

    def client(self, **how):
        return self.enterContext(Client(self.server.port, **how))

    def take(self, owner="me"):
        self.holder.send_bytes(lock(self.key, owner))
        self.assertIsNone(self.holder.read())

    def listeners(self, count, verb="SUBSCRIBE", name=None, **how):
        """In the order of their turns."""
        all_of_them = [self.client(**how) for _ in range(count)]
        for one in all_of_them:
            self.assertEqual(one.call(verb, name or self.channel)[2], 1)
        return all_of_them

    def wait_until_all_is_told(self):
        while b"wake_up_rounds_open:0\r\n" not in self.holder.call("INFO", "locks"):
            pass

    def assert_heard(self, listener, *payloads, name=None):
        for payload in payloads:
            self.assertEqual(listener.read()[-2:], [(name or self.channel).encode(), payload])

    def assert_silent(self, listeners, channel=None):
        """Nothing came that nobody has read: what comes next is what is said now."""
        self.wait_until_all_is_told()
        self.assertEqual(self.holder.call("PUBLISH", channel or self.channel, "marker"), len(listeners))
        for one in listeners:
            self.assert_heard(one, b"marker", name=channel)

    def test_one_is_told(self):
        self.take()
        listeners = self.listeners(3)
        self.assertEqual(hand_on(self.holder, self.key, "me", "you"), (1, None))
        self.assert_heard(listeners[0], b"0")
        self.assert_silent(listeners)

    def test_a_single_listener_is_told_at_once(self):
        for _ in range(5):
            self.take()
            (listener,) = self.listeners(1)
            self.holder.send_bytes(unlock(self.key, "me"))
            self.assertEqual(self.holder.read(), 1)
            self.assert_heard(listener, b"0")
            listener.call("UNSUBSCRIBE")

    def test_nobody_listens(self):
        self.take()
        self.assertEqual(hand_on(self.holder, self.key, "me", "you"), (1, None))
        self.wait_until_all_is_told()

    def test_the_turn_goes_round(self):
        self.take("owner 0")
        listeners = self.listeners(3)
        for number in range(7):
            hand_on(self.holder, self.key, f"owner {number}", f"owner {number + 1}")
            self.assert_heard(listeners[number % 3], b"0")
        self.assert_silent(listeners)

    def test_a_newcomer_is_behind_those_who_listen(self):
        self.take("owner 0")
        listeners = self.listeners(2)
        hand_on(self.holder, self.key, "owner 0", "owner 1")
        self.assert_heard(listeners[0], b"0")
        listeners += self.listeners(1)
        for turn in (1, 0, 2, 1):
            hand_on(self.holder, self.key, "owner 1", "owner 1")
            self.assert_heard(listeners[turn], b"0")
        self.assert_silent(listeners)

    def test_if_the_lock_stays_free_all_are_told_by_and_by_and_each_once(self):
        for count in (2, 3, 4, 12):
            self.take()
            listeners = self.listeners(count)
            self.holder.send_bytes(unlock(self.key, "me"))
            self.assertEqual(self.holder.read(), 1)
            for one in listeners:
                self.assert_heard(one, b"0")
            self.assert_silent(listeners)
            for one in listeners:
                one.call("UNSUBSCRIBE")

    def test_the_next_one_is_told_only_if_the_lock_stays_free(self):
        self.take()
        listeners = self.listeners(4)
        self.holder.send_bytes(unlock(self.key, "me"))
        self.assertEqual(self.holder.read(), 1)
        # The first does not come, the second takes it: the others who heard of it come in vain, as in Redis.
        self.assert_heard(listeners[0], b"0")
        self.assert_heard(listeners[1], b"0")
        self.assert_heard(listeners[2], b"0")
        self.take()
        self.wait_until_all_is_told()

    def test_who_left_is_not_waited_for(self):
        self.take()
        listeners = self.listeners(4)
        self.assertEqual(listeners[0].call("UNSUBSCRIBE")[2], 0)
        listeners[1].close()
        while self.holder.call("PUBSUB", "NUMSUB", self.channel)[1] != 2:
            pass
        hand_on(self.holder, self.key, "me", "you")
        self.assert_heard(listeners[2], b"0")
        self.assert_silent(listeners[2:])

    def test_channels_of_shards_are_the_same(self):
        self.take()
        listeners = self.listeners(3, "SSUBSCRIBE")
        hand_on(self.holder, self.key, "me", "you", publish="SPUBLISH")
        self.assert_heard(listeners[0], b"0")
        self.wait_until_all_is_told()
        self.assertEqual(self.holder.call("SPUBLISH", self.channel, "marker"), 3)
        for one in listeners:
            self.assert_heard(one, b"marker")

    def test_a_hold_that_is_given_back_and_does_not_free_the_lock_is_not_told(self):
        self.take()
        self.take()
        listeners = self.listeners(2)
        self.holder.send_bytes(unlock(self.key, "me"))
        self.assertEqual(self.holder.read(), 0)
        self.assert_silent(listeners)

    def test_what_is_meant_for_all_is_told_to_all(self):
        listeners = self.listeners(3)
        self.assertEqual(self.holder.call("PUBLISH", self.channel, "0"), 3)
        self.take()
        self.assertEqual(self.holder.call("EVALSHA", REDISSON_FORCE_UNLOCK, 2, self.key, self.channel, "0", "PUBLISH"), 1)
        self.take()
        hand_on(self.holder, self.key, "me", "you", message="1")
        for one in listeners:
            self.assert_heard(one, b"0", b"0", b"1")

    def test_those_who_listen_to_the_very_channel_come_before_those_with_a_pattern(self):
        self.take()
        watchers = self.listeners(2, "PSUBSCRIBE", "*")
        (waiter,) = self.listeners(1)
        for _ in range(3):
            hand_on(self.holder, self.key, "me", "me")
            self.assert_heard(waiter, b"0")
        self.assert_silent([*watchers, waiter])

    def test_of_those_with_a_pattern_one_is_told_where_somebody_asked(self):
        key, channel = f"registry:{self.key}", f"registry-channel:{self.key}"
        pattern, addresses = "registry-channel:*", [f"127.0.0.{number}" for number in range(2, 7)]
        listeners = [self.listeners(1, "PSUBSCRIBE", pattern, source=address)[0] for address in addresses]
        everyone = [self.client(source=address) for address in addresses]
        self.assertEqual(self.holder.call("EVALSHA", SPRING_LOCK, 1, key, "me", 60000), 1)
        for chosen in (3, 1, 4, 0):
            self.assertIsNone(everyone[chosen].call("EVALSHA", SPRING_LOCK, 1, key, f"jvm {chosen}", 60000))
            self.holder.send_bytes(encode("EVALSHA", SPRING_UNLOCK, 1, key, "me", channel)
                                   + encode("EVALSHA", SPRING_LOCK, 1, key, f"jvm {chosen}", 60000))
            self.assertEqual((self.holder.read(), self.holder.read()), (1, 1))
            self.assert_heard(listeners[chosen], key.encode(), name=channel)
            self.wait_until_all_is_told()
            self.holder.call("DEL", key)
            self.assertEqual(self.holder.call("EVALSHA", SPRING_LOCK, 1, key, "me", 60000), 1)
        self.assert_silent(listeners, channel)

    def test_with_a_pattern_too_all_are_told_if_the_lock_stays_free(self):
        key, channel = f"registry:{self.key}", f"registry-channel:{self.key}"
        listeners = self.listeners(5, "PSUBSCRIBE", "registry-channel:*")
        self.holder.call("EVALSHA", SPRING_LOCK, 1, key, "me", 60000)
        self.assertEqual(self.holder.call("EVALSHA", SPRING_UNLOCK, 1, key, "me", channel), 1)
        for one in listeners:
            self.assert_heard(one, key.encode(), name=channel)
        self.assert_silent(listeners, channel)

    def test_many_waiters_of_a_busy_lock_all_get_it_and_nobody_sleeps_on(self):
        """A waiter here asks only when it is told to, so one that is forgotten would wait for the lease of a minute."""
        threads, times, held, trouble = 12, 25, [], []

        def work(number):
            try:
                with Client(self.server.port) as commands, Client(self.server.port) as news:
                    for _ in range(times):
                        acquire(commands, news, f"owner:{number}")
                        held.append(number)
                        if len(held) > 1:
                            trouble.append(f"held by {held}")
                        held.pop()
                        commands.send_bytes(unlock(self.key, f"owner:{number}"))
                        if commands.read() != 1:
                            trouble.append("not the owner")
            except Exception as problem:  # pylint: disable=broad-except
                trouble.append(repr(problem))

        def acquire(commands, news, owner):
            def attempt():
                commands.send_bytes(lock(self.key, owner))
                return commands.read() is None
            if attempt():
                return
            news.call("SUBSCRIBE", self.channel)
            while not attempt():
                news.read()
            # What was told while it tried is behind the messages that it does not read.
            news.send("UNSUBSCRIBE", self.channel)
            while news.read()[0] != b"unsubscribe":
                pass

        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for one in workers:
            one.start()
        for one in workers:
            one.join(PATIENCE)
        self.assertEqual(trouble, [])
        self.assertFalse(any(one.is_alive() for one in workers))
        self.assertEqual(self.holder.call("EXISTS", self.key), 0)


    def fair(self, owner):
        keys = [self.key, f"redisson_lock_queue:{{{self.key}}}", f"redisson_lock_timeout:{{{self.key}}}"]
        return self.holder.call("EVALSHA", FAIR_LOCK, 3, *keys, 60000, owner, 300000, int(time.time() * 1000))

    def fair_release(self, owner):
        keys = [self.key, f"redisson_lock_queue:{{{self.key}}}", f"redisson_lock_timeout:{{{self.key}}}", self.channel,
                f"redisson_unlock_latch:{{{self.key}}}:{uuid.uuid4().hex}"]
        return self.holder.call("EVALSHA", FAIR_UNLOCK, 5, *keys, "0", 60000, owner, int(time.time() * 1000),
                                "PUBLISH", 5000)

    def test_whoever_has_gone_from_the_queue_of_a_fair_lock_is_passed_over(self):
        self.assertIsNone(self.fair("holder"))
        for owner in ("dead", "dead too", "alive", "behind"):
            self.assertGreater(self.fair(owner), 0)
        (alive,) = self.listeners(1, name=f"{self.channel}:alive")
        (behind,) = self.listeners(1, name=f"{self.channel}:behind")
        self.assertEqual(self.fair_release("holder"), 1)
        self.assert_heard(alive, b"0", name=f"{self.channel}:alive")
        self.assertGreater(self.fair("behind"), 0)
        self.assertIsNone(self.fair("alive"))
        # One who was passed over and comes after all is at the end.
        self.assertGreater(self.fair("dead"), 0)
        self.assertEqual(self.fair_release("alive"), 1)
        self.assert_heard(behind, b"0", name=f"{self.channel}:behind")
        self.assertIsNone(self.fair("behind"))

    def test_one_who_was_called_and_has_left_since_is_passed_over(self):
        """Who has just died is told all the same: his end has not been heard of. Those behind him must not wait for his time."""
        self.assertIsNone(self.fair("holder"))
        for owner in ("dying", "behind"):
            self.assertGreater(self.fair(owner), 0)
        (dying,) = self.listeners(1, name=f"{self.channel}:dying")
        (behind,) = self.listeners(1, name=f"{self.channel}:behind")
        self.assertEqual(self.fair_release("holder"), 1)
        self.assert_heard(dying, b"0", name=f"{self.channel}:dying")
        dying.close()
        self.assert_heard(behind, b"0", name=f"{self.channel}:behind")
        self.assertIsNone(self.fair("behind"))

    def test_one_who_listens_to_everything_is_not_the_first_in_the_queue(self):
        self.assertIsNone(self.fair("holder"))
        for owner in ("dead", "alive"):
            self.assertGreater(self.fair(owner), 0)
        monitor = self.enterContext(Client(self.server.port))
        monitor.call("PSUBSCRIBE", "*")
        (alive,) = self.listeners(1, name=f"{self.channel}:alive")
        self.assertEqual(self.fair_release("holder"), 1)
        self.assert_heard(alive, b"0", name=f"{self.channel}:alive")

    def test_one_who_was_called_and_listens_has_all_the_time_that_he_needs(self):
        self.assertIsNone(self.fair("holder"))
        for owner in ("slow", "behind"):
            self.assertGreater(self.fair(owner), 0)
        (slow,) = self.listeners(1, name=f"{self.channel}:slow")
        (behind,) = self.listeners(1, name=f"{self.channel}:behind")
        self.assertEqual(self.fair_release("holder"), 1)
        self.assert_heard(slow, b"0", name=f"{self.channel}:slow")
        time.sleep(0.5)  # well beyond the first looks
        self.assertGreater(self.fair("behind"), 0)
        self.assertIsNone(self.fair("slow"))
        self.assertEqual(self.fair_release("slow"), 1)
        self.assert_heard(behind, b"0", name=f"{self.channel}:behind")

    def test_nobody_is_left_in_the_queue_of_a_fair_lock(self):
        self.assertIsNone(self.fair("holder"))
        self.assertGreater(self.fair("dead"), 0)
        self.assertEqual(self.fair_release("holder"), 1)
        end = time.monotonic() + PATIENCE
        while self.fair("newcomer") is not None:
            self.assertLess(time.monotonic(), end)


class WakeUpsOnOneCore(WakeUps):
    cores = 1


class Ends(unittest.TestCase):
    def test_the_server_stops_while_listeners_are_being_told(self):
        for cores in (1, 2):
            with Lockkeeper(cores=cores) as server, Client(server.port) as holder:
                listeners = [self.enterContext(Client(server.port)) for _ in range(40)]
                for one in listeners:
                    one.call("PSUBSCRIBE", "*")
                keys = [f"lock:{number}" for number in range(50)]
                holder.send_bytes(b"".join(lock(key, "me") + unlock(key, "me") for key in keys))
                self.assertEqual([holder.read() for _ in range(2 * len(keys))], [None, 1] * len(keys))
                server.signal(signal.SIGTERM)
                self.assertEqual(server.wait(), 0)


if __name__ == "__main__":
    main()
