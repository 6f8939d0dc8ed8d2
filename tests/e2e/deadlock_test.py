"""Clients that wait for each other in a circle: found, told, and refused where the policy says so."""

import re

from native_support import KEYS, NativeCase
from support import Error, main

REFUSED = Error("ERR DEADLOCK waiting for this lock would never end: its holder waits for one of yours")


class Watching(NativeCase):
    def reports(self):
        return re.findall(r"(\d+) clients wait for each other: (.*)", self.server.output())

    def wait_for_deadlocks(self, count):
        while self.counted("deadlocks") < count:
            pass

    def circle(self, keys, *options):
        """Clients that each hold one key and wait for the next one's."""
        clients = [self.client() for _ in keys]
        for number, key in enumerate(keys):
            self.acquire(key, f"secret {number}", client=clients[number])
        for number, client in enumerate(clients):
            following = keys[(number + 1) % len(keys)]
            client.send("LK.ACQUIRE", following, f"secret {number}", "WAIT", 0, *options)
            if self.config is None:
                self.wait_for_queue(following, f"secret {number}")
        return clients


class Reports(Watching):
    def test_a_circle_is_found_and_told_once(self):
        for size in (2, 3, 5):
            before, told = self.counted("deadlocks"), len(self.reports())
            keys = KEYS[:size]
            clients = self.circle(keys)
            self.wait_for_deadlocks(before + 1)
            while any(self.waiters(key)[0]["deadlock"] == 0 for key in keys):
                pass
            # It goes on looking, and has told that already.
            while self.waiters(keys[0])[0]["waited"] < 2_500:
                pass
            self.assertEqual(self.counted("deadlocks"), before + 1)
            (report,) = self.reports()[told:]
            self.assertEqual(report[0], str(size))
            self.assertNotIn("secret", report[1])
            for key in keys:
                self.assertRegex(report[1], rf"client \d+ for {key}\b")
            # One gives up: the others go on, and are in no circle any more.
            self.assertEqual(self.control.call("LK.BREAK", keys[1]), 1)
            self.assert_granted(clients[0].read())
            for key in keys:
                while any(one["deadlock"] for one in self.waiters(key)):
                    pass
            for client in clients:
                client.close()
            self.control.call("FLUSHALL")
            while self.counted("waiters") > 0:
                pass

    def test_on_keys_of_different_cores(self):
        """Of twelve keys some are on either core; each pair is a circle of its own."""
        for one, other in zip(KEYS[::2], KEYS[1::2]):
            before = self.counted("deadlocks")
            clients = self.circle([one, other])
            self.wait_for_deadlocks(before + 1)
            for client in clients:
                client.close()
            self.control.call("FLUSHALL")

    def test_through_a_semaphore_of_which_too_few_permits_will_come_free(self):
        a, b, c = self.client(), self.client(), self.client()
        before = self.counted("deadlocks")
        self.assert_granted(a.call("LK.ACQUIRE", "s", "a", "PERMITS", 3, "OF", 4))
        self.assert_granted(c.call("LK.ACQUIRE", "s", "c", "PERMITS", 1, "OF", 4))
        self.acquire("x", "b", client=b)
        self.in_line("x", "a", client=a)
        b.send("LK.ACQUIRE", "s", "b", "PERMITS", 4, "OF", 4, "WAIT", 0)
        self.wait_for_deadlocks(before + 1)
        self.assertEqual(c.call("LK.RELEASE", "s", "c"), 0)
        self.release("x", "b")
        self.assert_granted(a.read())
        self.assertEqual(a.call("LK.RELEASE", "s", "a"), 0)
        self.assert_granted(b.read())

    def test_behind_others_in_the_line(self):
        a, b, other = self.client(), self.client(), self.client()
        before = self.counted("deadlocks")
        self.acquire("x", "a", client=a)
        self.acquire("y", "b", client=b)
        self.in_line("x", "other", client=other)
        self.in_line("x", "b", client=b)
        self.in_line("y", "a", client=a)
        self.wait_for_deadlocks(before + 1)
        while [one["deadlock"] for one in self.waiters("x")] != [0, 1]:
            pass

    def test_several_at_once_wait_for_all_and_do_not_deadlock(self):
        before = self.counted("deadlocks")
        a, b = self.client(), self.client()
        self.acquire("x", "holder")
        a.send("LK.ACQUIREALL", 2, "x", "y", "a", "WAIT", 0)
        b.send("LK.ACQUIREALL", 2, "y", "x", "b", "WAIT", 0)
        while len(self.queue("x")) < 2 or self.waiters("x")[1]["waited"] < 1_500:
            pass
        self.assertEqual(self.counted("deadlocks"), before)
        self.release("x", "holder")

    def test_a_semaphore_with_somebody_who_can_go_on_is_no_deadlock(self):
        before = self.counted("deadlocks")
        a, b = self.client(), self.client()
        self.acquire("s", "a", "PERMITS", 1, "OF", 2, client=a)
        self.acquire("s", "free to go", "PERMITS", 1, "OF", 2)
        self.acquire("x", "b", client=b)
        self.in_line("x", "a", client=a)
        b.send("LK.ACQUIRE", "s", "b", "PERMITS", 1, "OF", 2, "WAIT", 0)
        self.wait_for_queue("s", "b")
        while self.waiters("s")[0]["waited"] < 1_500:
            pass
        self.assertEqual(self.counted("deadlocks"), before)
        self.release("s", "free to go")
        self.assert_granted(b.read())

    def test_a_semaphore_whose_holders_all_wait_is_one(self):
        before = self.counted("deadlocks")
        a, b, c = self.client(), self.client(), self.client()
        self.acquire("s", "a", "PERMITS", 1, "OF", 2, client=a)
        self.acquire("s", "c", "PERMITS", 1, "OF", 2, client=c)
        self.acquire("x", "b", client=b)
        self.in_line("x", "a", client=a)
        self.in_line("x", "c", client=c)
        b.send("LK.ACQUIRE", "s", "b", "PERMITS", 1, "OF", 2, "WAIT", 0)
        self.wait_for_deadlocks(before + 1)

    def test_many_who_wait_without_a_circle(self):
        before = self.counted("deadlocks")
        self.acquire("k", "holder")
        clients = [self.in_line("k", f"waiter {number}") for number in range(100)]
        while self.waiters("k")[-1]["waited"] < 1_500:
            pass
        self.assertEqual(self.counted("deadlocks"), before)
        self.assertEqual(len(clients), 100)


class ReportsOnOneCore(Reports):
    cores = 1


class Refuses(Watching):
    config = "policies: [{keys: 'key:*', deadlocks: refuse}]"

    def test_the_newest_wait_of_a_circle_is_refused(self):
        before = self.counted("deadlocks")
        for one, other in zip(KEYS[::2], KEYS[1::2]):
            a, b = self.client(), self.client()
            self.acquire(one, "a", client=a)
            self.acquire(other, "b", client=b)
            self.in_line(other, "a", client=a)
            b.send("LK.ACQUIRE", one, "b", "WAIT", 0)
            self.assertEqual(b.read(), REFUSED)
            self.assertEqual(self.queue(one), [])
            # What it holds it still holds, and the other one waits on.
            self.assertEqual(self.queue(other), ["a"])
            self.release(other, "b", client=b)
            self.assert_granted(a.read())
        self.assertEqual(self.counted("deadlocks") - before, len(KEYS) // 2)

    def test_of_a_larger_circle_one_is_refused(self):
        keys, before = KEYS[:4], self.counted("deadlocks")
        clients = self.circle(keys)
        self.wait_for_deadlocks(before + 1)
        waiting = {one["client"] for key in keys for one in self.waiters(key)}
        while len(waiting) == len(keys):
            waiting = {one["client"] for key in keys for one in self.waiters(key)}
        self.assertEqual(len(waiting), len(keys) - 1)
        (refused,) = [client for client in clients if client.number not in waiting]
        self.assertEqual(refused.read(), REFUSED)
        self.assertEqual(self.counted("deadlocks"), before + 1)

    def client(self, version=None):
        client = super().client(version)
        client.number = client.call("CLIENT", "ID")
        return client


if __name__ == "__main__":
    main()
