"""Waiting for locks: strictly in order, and whatever happens to one who waits costs the others nothing."""

import random
import signal
import socket
import struct
import threading
import time
import unittest

from native_support import KEYS, NativeCase, on_all_servers
from support import PATIENCE, Client, Error, Lockkeeper, encode, main

MINUTE = 60_000
UNBLOCKED = Error("UNBLOCKED client unblocked via CLIENT UNBLOCK")


def reset(client):
    """Ends a connection without a word: the other side gets a reset."""
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


class Order:
    def test_first_come_first_served(self):
        for key in KEYS[:2]:
            self.acquire(key, "holder")
            waiters = [self.in_line(key, f"waiter {number}") for number in range(40)]
            self.assertEqual(self.queue(key), [f"waiter {number}" for number in range(40)])
            self.release(key, "holder")
            last = 0
            for number, waiter in enumerate(waiters):
                fence = self.assert_granted(waiter.read())
                self.assertGreater(fence, last)
                last = fence
                self.assertEqual(self.queue(key), [f"waiter {later}" for later in range(number + 1, 40)])
                self.release(key, f"waiter {number}", client=waiter)
            self.assertEqual(self.control.call("EXISTS", key), 0)

    def test_nobody_overtakes_those_who_wait(self):
        self.acquire("k", "holder")
        waiter = self.in_line("k", "waiter")
        self.control.send_bytes(encode("LK.RELEASE", "k", "holder") + encode("LK.ACQUIRE", "k", "late")
                                + encode("SET", "k", "late", "NX", "PX", MINUTE) + encode("LK.ACQUIRE", "k", "holder"))
        self.assertEqual([self.control.read() for _ in range(4)], [0, None, None, None])
        self.assert_granted(waiter.read())

    def test_higher_priorities_come_first_and_equal_ones_in_order(self):
        self.acquire("k", "holder")
        wanted = [("a", 0), ("b", 5), ("c", -5), ("d", 5), ("e", 0), ("f", 1_000_000)]
        clients = {}
        for owner, priority in wanted:
            clients[owner] = self.client()
            clients[owner].send("LK.ACQUIRE", "k", owner, "WAIT", 0, "PRIORITY", priority)
            while owner not in self.queue("k"):
                pass
        self.assertEqual(self.queue("k"), ["f", "b", "d", "a", "e", "c"])
        holder = "holder"
        for owner in ("f", "b", "d", "a", "e", "c"):
            self.release("k", holder)
            self.assert_granted(clients[owner].read())
            holder = owner

    def test_a_waiting_writer_is_not_overtaken_by_later_readers(self):
        self.acquire("k", "reader 1", "SHARED")
        writer = self.in_line("k", "writer")
        reader = self.in_line("k", "reader 2", "SHARED")
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "reader 3", "SHARED"))
        # Who reads already is not kept from it by those who wait.
        self.acquire("k", "reader 1", "SHARED", holds=2)
        self.release("k", "reader 1", left=1)
        self.release("k", "reader 1")
        self.assert_granted(writer.read())
        self.assertEqual(self.queue("k"), ["reader 2"])
        self.release("k", "writer")
        self.assert_granted(reader.read())

    def test_readers_who_wait_together_are_served_together(self):
        self.acquire("k", "writer 1")
        first = [self.in_line("k", f"reader {number}", "SHARED") for number in range(3)]
        writer = self.in_line("k", "writer 2")
        last = self.in_line("k", "reader 4", "SHARED")
        self.release("k", "writer 1")
        for reader in first:
            self.assert_granted(reader.read())
        self.assertEqual(self.queue("k"), ["writer 2", "reader 4"])
        for number in range(3):
            self.release("k", f"reader {number}")
        self.assert_granted(writer.read())
        self.release("k", "writer 2")
        self.assert_granted(last.read())

    def test_a_downgrade_lets_waiting_readers_in(self):
        self.acquire("k", "me")
        reader = self.in_line("k", "reader", "SHARED")
        writer = self.in_line("k", "writer")
        # The owner does not queue behind those who wait for it.
        self.acquire("k", "me", "SHARED")
        self.assert_granted(reader.read())
        self.assertEqual(self.queue("k"), ["writer"])
        self.release("k", "me")
        self.release("k", "reader")
        self.assert_granted(writer.read())

    def test_permits_are_given_in_order_even_if_fewer_would_do_for_the_next(self):
        self.acquire("k", "a", "PERMITS", 2, "OF", 3)
        big = self.in_line("k", "big", "PERMITS", 3, "OF", 3)
        small = self.in_line("k", "small", "PERMITS", 1, "OF", 3)
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "smaller", "PERMITS", 1, "OF", 3))
        self.release("k", "a")
        self.assert_granted(big.read())
        self.release("k", "big")
        self.assert_granted(small.read())

    def test_several_who_want_few_permits_are_served_at_once(self):
        self.acquire("k", "a", "PERMITS", 4, "OF", 4)
        waiters = [self.in_line("k", f"w{number}", "PERMITS", 1, "OF", 4) for number in range(5)]
        self.release("k", "a")
        for waiter in waiters[:4]:
            self.assert_granted(waiter.read())
        self.assertEqual(self.queue("k"), ["w4"])
        self.release("k", "w2")
        self.assert_granted(waiters[4].read())

    def test_those_who_wait_do_not_mix_types_either(self):
        self.acquire("k", "a", "PERMITS", 2, "OF", 2)
        waiter = self.in_line("k", "b", "PERMITS", 1, "OF", 2)
        self.release("k", "a")
        self.assert_granted(waiter.read())
        self.assertEqual(self.control.call("LK.ACQUIRE", "k", "c", "WAIT", 0).args[0].split()[:2], ["ERR", "LOCKTYPE"])
        self.assertEqual(self.control.call("LK.ACQUIRE", "k", "c", "PERMITS", 1, "OF", 9, "WAIT", 0).args[0].split()[:2],
                         ["ERR", "PERMITS"])

    def test_a_lock_is_handed_on_when_its_time_is_over(self):
        for options in ([], ["SHARED"], ["PERMITS", 2, "OF", 2]):
            first = self.acquire("k", "holder", "TTL", 50, *options, client=self.client())
            waiter = self.client()
            waiter.send("LK.ACQUIRE", "k", "waiter", "WAIT", 0, *(options if options != ["SHARED"] else []))
            self.assertGreater(self.assert_granted(waiter.read()), first)
            self.assertIsNone(self.control.call("LK.RELEASE", "k", "holder"))
            self.release("k", "waiter")

    def test_the_time_of_a_grant_begins_with_the_grant(self):
        self.acquire("k", "holder")
        waiter = self.in_line("k", "waiter", "TTL", 300)
        while self.waiters("k")[0]["waited"] < 400:
            pass
        self.release("k", "holder")
        self.assertTrue(0 < waiter.read()[1] <= 300)

    def test_an_extension_makes_the_others_wait_longer(self):
        self.acquire("k", "holder", "TTL", 200)
        waiter = self.in_line("k", "waiter")
        self.assertGreater(self.control.call("LK.EXTEND", "k", "holder", MINUTE), 200)
        while self.waiters("k")[0]["waited"] < 300:
            pass
        self.release("k", "holder")
        self.assert_granted(waiter.read())


class Ends:
    """How a wait may end."""

    def test_time_runs_out(self):
        for key in KEYS[:4]:
            self.acquire(key, "holder")
            for options in ([], ["SHARED"], ["TTL", MINUTE]):
                begin = time.monotonic()
                self.assertIsNone(self.control.call("LK.ACQUIRE", key, "waiter", "WAIT", 50, *options))
                self.assertGreaterEqual(time.monotonic() - begin, 0.05)
                self.assertEqual(self.queue(key), [])
        self.assertEqual(self.counted("waiters"), 0)

    def test_the_first_in_line_runs_out_of_time_and_the_next_is_content_with_less(self):
        self.acquire("k", "reader 1", "SHARED")
        writer = self.client()
        writer.send("LK.ACQUIRE", "k", "writer", "WAIT", 200)
        self.wait_for_queue("k", "writer")
        reader = self.client()
        reader.send("LK.ACQUIRE", "k", "reader 2", "SHARED", "WAIT", 0)
        self.assertIsNone(writer.read())
        self.assert_granted(reader.read())

    def test_client_unblock(self):
        for key in KEYS[:4]:
            self.acquire(key, "holder")
            for how, expected in ((["TIMEOUT"], None), ([], None), (["ERROR"], UNBLOCKED)):
                waiter = self.client()
                number = waiter.call("CLIENT", "ID")
                self.in_line(key, "waiter", client=waiter)
                behind = self.in_line(key, "behind")
                self.assertEqual(self.control.call("CLIENT", "UNBLOCK", number, *how), 1)
                self.assertEqual(waiter.read(), expected)
                self.wait_for_queue(key, "behind")
                self.assertEqual(self.control.call("CLIENT", "UNBLOCK", number, *how), 0)
                self.assertEqual(waiter.call("PING"), "PONG")
                behind.close()
                self.wait_for_queue(key)

    def test_who_leaves_costs_the_others_nothing(self):
        for key in KEYS[:4]:
            self.acquire(key, "holder")
            waiters = [self.in_line(key, f"waiter {number}") for number in range(6)]
            waiters[0].close()
            reset(waiters[2])
            waiters[5].close()
            self.wait_for_queue(key, "waiter 1", "waiter 3", "waiter 4")
            holder = "holder"
            for number in (1, 3, 4):
                self.release(key, holder)
                self.assert_granted(waiters[number].read())
                holder = f"waiter {number}"
            self.release(key, holder)
            self.assertEqual(self.control.call("EXISTS", key), 0)

    def test_a_killed_client_leaves_the_line(self):
        self.acquire("k", "holder")
        victim = self.client()
        number = victim.call("CLIENT", "ID")
        self.in_line("k", "victim", client=victim)
        waiter = self.in_line("k", "waiter")
        self.assertEqual(self.control.call("CLIENT", "KILL", "ID", number), 1)
        self.assertEqual(victim.read_all(), b"")
        self.wait_for_queue("k", "waiter")
        self.release("k", "holder")
        self.assert_granted(waiter.read())

    def test_a_grant_to_somebody_who_has_gone_is_taken_back(self):
        for turn in range(40):
            key = KEYS[turn % len(KEYS)]
            self.acquire(key, "holder", "TTL", MINUTE)
            gone = self.in_line(key, "gone", "TTL", MINUTE)
            waiter = self.in_line(key, "waiter", "TTL", MINUTE)
            # At the same time, as near as can be.
            self.control.send("LK.RELEASE", key, "holder")
            if turn % 2:
                reset(gone)
            else:
                gone.close()
            self.assertEqual(self.control.read(), 0)
            # Who had been granted it a moment before its end has a lock with a time, and that is a promise.
            holder = self.holders(key)[0]["owner"]
            if holder == "gone":
                self.assertIn(self.control.call("LK.RELEASE", key, "gone"), (0, None))
            self.assert_granted(waiter.read())
            self.release(key, "waiter")

    def test_what_is_sent_behind_a_wait_is_answered_behind_it(self):
        for key in KEYS[:4]:
            self.acquire(key, "holder")
            waiter = self.client()
            waiter.send_bytes(encode("PING", "before") + encode("LK.ACQUIRE", key, "waiter", "WAIT", 0)
                              + encode("GET", key) + encode("LK.RELEASE", key, "waiter") + encode("PING", "after"))
            self.assertEqual(waiter.read(), b"before")
            self.wait_for_queue(key, "waiter")
            self.release(key, "holder")
            self.assert_granted(waiter.read())
            self.assertEqual([waiter.read() for _ in range(3)], [b"waiter", 0, b"after"])

    def test_a_whole_pipeline_of_waits(self):
        """Many waits one after the other on one connection, while another one does the same."""
        one, other = self.client(), self.client()
        count = 100
        for client, owner in ((one, "one"), (other, "other")):
            client.send_bytes(b"".join(encode("LK.ACQUIRE", key, owner, "WAIT", 0, "TTL", MINUTE)
                                       + encode("LK.RELEASE", key, owner) for key in KEYS[:4] * count))
        for client in (one, other):
            for _ in range(4 * count):
                self.assert_granted(client.read())
                self.assertEqual(client.read(), 0)

    def test_a_client_that_waits_is_blocked_to_those_who_look(self):
        self.acquire("k", "holder")
        waiter = self.client()
        number = waiter.call("CLIENT", "ID")
        self.in_line("k", "waiter", client=waiter)
        self.assertRegex(self.control.call("CLIENT", "LIST", "ID", number), rb"flags=\w*b\w* .*cmd=lk.acquire ")
        self.assertIn(b"blocked_clients:1\r\n", self.control.call("INFO", "clients"))
        self.release("k", "holder")
        self.assert_granted(waiter.read())
        self.assertRegex(self.control.call("CLIENT", "LIST", "ID", number), rb"flags=N ")

    def test_messages_reach_a_resp3_client_that_waits(self):
        self.acquire("k", "holder")
        waiter = self.client(3)
        waiter.call("SUBSCRIBE", "ch")
        self.in_line("k", "waiter", client=waiter)
        self.assertEqual(self.control.call("PUBLISH", "ch", "news"), 1)
        self.assertEqual(waiter.read(), [b"message", b"ch", b"news"])
        self.release("k", "holder")
        self.assert_granted(waiter.read())

    def test_nobody_waits_in_silence_with_replies_off(self):
        self.acquire("k", "holder")
        waiter = self.client()
        waiter.send("CLIENT", "REPLY", "SKIP")
        waiter.send("LK.ACQUIRE", "k", "waiter", "WAIT", 0)
        self.wait_for_queue("k", "waiter")
        self.release("k", "holder")
        self.assertEqual(waiter.call("GET", "k"), b"waiter")


class Connections:
    """Locks without a TTL live by their connection; with one they are a promise."""

    def test_a_lock_without_a_ttl_ends_when_its_grace_is_over(self):
        for options in ([], ["SHARED"], ["PERMITS", 1, "OF", 1]):
            for leave in (Client.close, reset, lambda client: self.control.call(
                    "CLIENT", "KILL", "ID", client.call("CLIENT", "ID"))):
                holder = self.client()
                self.acquire("k", "holder", *options, client=holder)
                waiter = self.in_line("k", "waiter", *(options if "OF" in options else []))
                leave(holder)
                self.assert_granted(waiter.read())
                self.release("k", "waiter")

    def test_a_lock_with_a_ttl_stays(self):
        holder = self.client()
        self.acquire("k", "holder", "TTL", 10 * MINUTE, client=holder)
        self.acquire("bound", "holder", client=holder)
        holder.close()
        while self.control.call("EXISTS", "bound"):
            pass
        self.assertEqual(self.control.call("GET", "k"), b"holder")
        self.assertGreater(self.control.call("PTTL", "k"), MINUTE)
        self.release("k", "holder")

    def test_an_extension_gives_a_bound_lock_a_time_of_its_own(self):
        holder = self.client()
        self.acquire("k", "holder", client=holder)
        self.acquire("bound", "holder", client=holder)
        self.assertGreater(self.control.call("LK.EXTEND", "k", "holder", 5 * MINUTE), MINUTE)
        holder.close()
        while self.control.call("EXISTS", "bound"):
            pass
        self.assertEqual(self.control.call("GET", "k"), b"holder")

    def test_another_connection_takes_a_bound_lock_over(self):
        holder, other = self.client(), self.client()
        self.acquire("k", "me", client=holder)
        self.acquire("bound", "holder", client=holder)
        self.acquire("k", "me", client=other, holds=2)
        holder.close()
        while self.control.call("EXISTS", "bound"):
            pass
        self.assertEqual(self.holders("k")[0]["holds"], 2)
        other.close()
        while self.control.call("EXISTS", "k"):
            pass

    def test_reset_and_select_do_not_end_locks(self):
        holder = self.client()
        self.acquire("k", "me", client=holder)
        self.assertEqual(holder.call("RESET"), "RESET")
        self.assertEqual(holder.call("SELECT", 1), "OK")
        self.assertEqual(self.control.call("GET", "k"), b"me")
        holder.close()
        while self.control.call("EXISTS", "k"):
            pass


class Several:
    def test_all_are_waited_for(self):
        self.acquire(KEYS[3], "holder")
        self.acquire(KEYS[7], "holder")
        waiter = self.client()
        waiter.send("LK.ACQUIREALL", len(KEYS), *KEYS, "waiter", "TTL", MINUTE, "WAIT", 0)
        while "waiter" not in self.queue(KEYS[3]) + self.queue(KEYS[7]):
            pass
        self.release(KEYS[3], "holder")
        self.release(KEYS[7], "holder")
        fences, ttl = waiter.read()
        self.assertEqual(fences, [self.control.call("LK.FENCE", key) for key in KEYS])
        self.assertTrue(0 < ttl <= MINUTE)

    def test_time_runs_out_and_all_are_given_back(self):
        for busy in KEYS:
            self.acquire(busy, "holder")
            self.assertIsNone(self.control.call("LK.ACQUIREALL", len(KEYS), *KEYS, "waiter", "WAIT", 20))
            self.assertEqual(self.control.call("DBSIZE"), 1)
            self.release(busy, "holder")

    def test_one_that_is_unblocked_gives_all_back(self):
        for how, expected in (([], None), (["ERROR"], UNBLOCKED)):
            self.acquire(max(KEYS), "holder")
            waiter = self.client()
            number = waiter.call("CLIENT", "ID")
            waiter.send("LK.ACQUIREALL", len(KEYS), *KEYS, "waiter", "WAIT", 0)
            self.wait_for_queue(max(KEYS), "waiter")
            self.assertEqual(self.control.call("CLIENT", "UNBLOCK", number, *how), 1)
            self.assertEqual(waiter.read(), expected)
            self.assertEqual(self.control.call("DBSIZE"), 1)
            self.release(max(KEYS), "holder")

    def test_one_that_leaves_gives_all_back(self):
        for leave in (Client.close, reset):
            self.acquire(max(KEYS), "holder")
            waiter = self.client()
            waiter.send("LK.ACQUIREALL", len(KEYS), *KEYS, "waiter", "WAIT", 0)
            self.wait_for_queue(max(KEYS), "waiter")
            leave(waiter)
            while self.control.call("DBSIZE") != 1:
                pass
            self.release(max(KEYS), "holder")

    def test_opposite_orders_never_end_in_a_deadlock(self):
        trouble, held = [], {key: None for key in KEYS}

        def work(number):
            chance = random.Random(number)
            owner = f"owner {number}"
            try:
                with Client(self.server.port) as client:
                    for _ in range(25):
                        keys = chance.sample(KEYS, chance.randint(2, 5))
                        if chance.random() < 0.5:
                            keys.sort(reverse=True)
                        ttl = chance.choice([[], ["TTL", MINUTE]])
                        reply = client.call("LK.ACQUIREALL", len(keys), *keys, owner, *ttl, "WAIT", 0)
                        if not isinstance(reply, list):
                            trouble.append(f"{owner}: {reply}")
                        for key in keys:
                            if held[key] is not None:
                                trouble.append(f"{key} of {held[key]} and {owner}")
                            held[key] = owner
                        for key in keys:
                            held[key] = None
                        if (count := client.call("LK.RELEASEALL", len(keys), *keys, owner)) != len(keys):
                            trouble.append(f"{owner} released {count} of {len(keys)}")
            except Exception as problem:  # pylint: disable=broad-except
                trouble.append(repr(problem))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(PATIENCE)
        self.assertEqual(trouble, [])
        self.assertFalse(any(one.is_alive() for one in threads))
        self.assertEqual(self.control.call("DBSIZE"), 0)
        self.assertEqual(self.counted("waiters"), 0)


class Crowds:
    def test_a_crowd_that_waits_leaves_and_comes_back_ends_with_nothing_held(self):
        """Whatever clients do, a lock is one's at a time, and in the end nobody waits and nothing is held."""
        keys, trouble, held = KEYS[:3], [], {key: None for key in KEYS}
        seed = random.randrange(2**32)

        def work(number):
            chance = random.Random(f"{seed} {number}")
            client = Client(self.server.port)
            try:
                for step in range(60):
                    key, owner = chance.choice(keys), f"{number}:{step}"
                    leaves = chance.random() < 0.1
                    # Cores may see the leaving one's last request after its successor's first: such a grant runs out.
                    ttl = 100 if leaves else MINUTE
                    client.send("LK.ACQUIRE", key, owner, *chance.choice([[], ["TTL", ttl]]),
                                *chance.choice([[], ["WAIT", 0], ["WAIT", 3], ["WAIT", 50]]))
                    if leaves:
                        chance.choice([Client.close, reset])(client)
                        client = Client(self.server.port)
                        client.call("LK.RELEASE", key, owner)
                        continue
                    reply = client.read()
                    if reply is None:
                        continue
                    if held[key] is not None:
                        trouble.append(f"{key} is held by {held[key]} and given to {owner}")
                    held[key] = owner
                    held[key] = None
                    if client.call("LK.RELEASE", key, owner) != 0:
                        trouble.append(f"{owner} could not release {key}")
            except Exception as problem:  # pylint: disable=broad-except
                trouble.append(repr(problem))
            finally:
                client.close()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(3 * PATIENCE)
        self.assertEqual(trouble, [], f"seed {seed}")
        self.assertFalse(any(one.is_alive() for one in threads), f"seed {seed}")
        self.assertEqual(self.counted("waiters"), 0)
        for key in keys:
            # A grant that was on its way to a client that left is a promise: it may be held for its time.
            for holder in self.holders(key):
                self.control.call("LK.RELEASE", key, holder["owner"])
            self.acquire(key, "last")


on_all_servers(globals(), Order, Ends, Connections, Several, Crowds)


class Limits(NativeCase):
    config = """
limits: {wait: 100ms, locks: 20, waiters: 6, queues: 4}
policies:
  - {keys: 'few:*', max_waiters: 2}
"""
    cores = 1

    def test_the_longest_wait_counts_whatever_was_asked_for(self):
        self.acquire("k", "holder")
        for wait in (0, 9223372036854775807, 3_600_000):
            self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "waiter", "WAIT", wait))
            self.assertIsNone(self.control.call("LK.ACQUIREALL", 2, "j", "k", "waiter", "WAIT", wait))

    def test_too_many_locks(self):
        names = [f"lock:{number}" for number in range(20)]
        for name in names:
            self.acquire(name, "me")
        error = Error("ERR TOOMANYLOCKS this core holds as many lock keys as it may")
        self.assertEqual(self.control.call("LK.ACQUIRE", "one more", "me"), error)
        self.assertEqual(self.control.call("LK.ACQUIRE", "one more", "me", "WAIT", 0), error)
        self.assertEqual(self.control.call("LK.ACQUIRE", "one more", "me", "SHARED"), error)
        self.assertEqual(self.control.call("SET", "one more", "me", "NX"), error)
        self.assertEqual(self.control.call("DBSIZE"), 20)
        self.release(names[7], "me")
        self.assertEqual(self.control.call("LK.ACQUIREALL", 2, "a", "b", "me"), error)
        self.assertEqual(self.control.call("DBSIZE"), 19, "all or nothing")
        self.acquire("one more", "me")


class CrowdedLimits(NativeCase):
    config = """
limits: {waiters: 6, queues: 4}
policies:
  - {keys: 'few:*', max_waiters: 2}
"""
    cores = 1
    error = Error("ERR TOOMANYWAITERS as many clients as may wait for it do so already")

    def test_too_many_in_one_line(self):
        self.acquire("few:a", "holder")
        waiters = [self.in_line("few:a", owner) for owner in "ab"]
        self.assertEqual(self.control.call("LK.ACQUIRE", "few:a", "c", "WAIT", 0), self.error)
        self.assertIsNone(self.control.call("LK.ACQUIRE", "few:a", "c"))
        self.assertEqual(self.queue("few:a"), ["a", "b"])
        self.release("few:a", "holder")
        self.assert_granted(waiters[0].read())
        waiters.append(self.in_line("few:a", "c"))
        for client, owner in zip(waiters, "abc"):
            if owner != "a":
                self.assert_granted(client.read())
            self.release("few:a", owner)

    def test_too_many_in_all_lines(self):
        for key in "ab":
            self.acquire(key, "holder")
        waiters = [self.in_line(key, f"{key}{number}") for number in range(3) for key in "ab"]
        for key in "ab":
            self.assertEqual(self.control.call("LK.ACQUIRE", key, "late", "WAIT", 0), self.error)
            self.assertEqual(self.control.call("LK.ACQUIREALL", 2, "c", key, "late", "WAIT", 0), self.error)
        self.assertEqual(self.control.call("EXISTS", "c"), 0)
        waiters[3].close()
        self.wait_for_queue("b", "b0", "b2")
        self.in_line("a", "late")


class CrowdedLines(NativeCase):
    config = CrowdedLimits.config
    cores = 1

    def test_too_many_lines(self):
        for key in "abcde":
            self.acquire(key, "holder")
        for key in "abcd":
            self.in_line(key, "waiter")
        self.assertEqual(self.control.call("LK.ACQUIRE", "e", "late", "WAIT", 0), CrowdedLimits.error)
        self.assertIsNone(self.control.call("LK.ACQUIRE", "e", "late"), "a try is a try")


class Shutdown(unittest.TestCase):
    def test_the_server_stops_at_once_while_many_wait(self):
        for cores in (1, 2):
            with Lockkeeper(cores=cores) as server, Client(server.port) as control:
                for key in KEYS:
                    control.call("LK.ACQUIRE", key, "holder")
                waiters = [self.enterContext(Client(server.port)) for _ in range(200)]
                for number, client in enumerate(waiters):
                    if number % 10:
                        client.send("LK.ACQUIRE", KEYS[number % len(KEYS)], f"waiter {number}", "WAIT", 0)
                    else:
                        client.send("LK.ACQUIREALL", len(KEYS), *KEYS, f"waiter {number}", "WAIT", 0)
                while b"blocked_clients:200\r\n" not in control.call("INFO", "clients"):
                    pass
                server.signal(signal.SIGTERM)
                self.assertEqual(server.wait(), 0)
                # Nobody had to be cut off at the deadline.
                self.assertNotIn("did not read", server.output())
                told = b"-ERR STOPPING this server is stopping: ask another one, or again in a moment\r\n"
                self.assertEqual({client.read_all() for client in waiters}, {told})


if __name__ == "__main__":
    main()
