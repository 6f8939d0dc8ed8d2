#!/usr/bin/env python3
"""The checker of histories is itself checked: it accepts what a lock server may do, and rejects what it may not."""

import sys
import unittest

from lock_history import MARGIN, Grant, violations


def grant(owner, asked, told, fence, until=None, released=None, key="k"):
    return Grant(key, owner, asked, told, fence, told + 10 if until is None else until, released)


GOOD = {
    "nothing": [],
    "one": [grant("a", 0, 1, 1)],
    "one after the other": [grant("a", 0, 1, 1, released=2), grant("b", 0.5, 2.1, 2, released=3)],
    "told at the very moment of the release": [grant("a", 0, 1, 1, released=2), grant("b", 1, 2, 2)],
    "after its time is over": [grant("a", 0, 1, 1, until=2), grant("b", 0.5, 2.1, 2)],
    "within the margin": [grant("a", 0, 1, 1, until=2), grant("b", 0.5, 2 - MARGIN / 2, 2)],
    "released long after its time": [grant("a", 0, 1, 1, until=2, released=9), grant("b", 3, 4, 2)],
    "different keys": [grant("a", 0, 1, 1), grant("b", 0, 1, 1, key="j")],
    "fences with gaps": [grant("a", 0, 1, 5, released=2), grant("b", 2, 3, 500, released=4), grant("c", 4, 5, 501)],
    "asked in one order, served in the other": [grant("a", 0, 5, 2, released=6), grant("b", 1, 2, 1, released=3)],
    "a promise that was over when it came": [grant("a", 0, 1, 1, released=9), grant("late", 0.5, 3, 2, until=3)],
    "fences that were not told": [grant("a", 0, 1, None, released=2), grant("b", 2, 3, 7, released=4),
                                  grant("c", 4, 5, None, released=6), grant("d", 6, 7, 8)],
    "many": [grant(f"o{i}", i, i + 0.5, i + 1, released=i + 0.9) for i in range(100)],
}

BAD = {
    "two at once": [grant("a", 0, 1, 1, released=5), grant("b", 0, 2, 2, released=3)],
    "the second never released": [grant("a", 0, 1, 1, released=5), grant("b", 0, 2, 2)],
    "before the promised end": [grant("a", 0, 1, 1, until=5), grant("b", 0, 4, 2)],
    "inside of a long one": [grant("a", 0, 1, 1, released=9), grant("b", 0, 2, 2, released=3),
                             grant("c", 0, 4, 3, released=5)],
    "an extension ignored": [grant("a", 0, 1, 1, until=20), grant("b", 12, 13, 2)],
    "two at once, without fences": [grant("a", 0, 1, None, released=5), grant("b", 0, 2, None, released=3)],
    "a lower fence, with one untold between": [grant("a", 0, 1, 8, released=2), grant("b", 3, 4, None, released=5),
                                               grant("c", 6, 7, 7)],
    "the same fence": [grant("a", 0, 1, 7, released=2), grant("b", 0, 3, 7)],
    "the same fence long after": [grant("a", 0, 1, 7, released=2)] +
                                 [grant(f"o{i}", 3 * i + 3, 3 * i + 4, 10 + i, released=3 * i + 5) for i in range(9)] +
                                 [grant("z", 40, 41, 7)],
    "a lower fence": [grant("a", 0, 1, 8, released=2), grant("b", 3, 4, 7)],
    "a lower fence than one of long ago": [grant("a", 0, 1, 8, released=2), grant("b", 3, 4, 9, released=5),
                                           grant("c", 6, 7, 8.5)],
    "a lower fence than one whose promise was void": [grant("a", 0, 1, 8, until=1), grant("b", 3, 4, 7)],
    "all of it of another key": [grant("x", 0, 1, 1), grant("a", 0, 1, 1, released=5, key="j"),
                                 grant("b", 0, 2, 2, key="j")],
    "counters that began anew": [grant("a", 0, 1, 1000, released=2), grant("b", 3, 4, 1, released=5)],
}


class Checker(unittest.TestCase):
    def test_it_accepts_what_may_happen(self):
        for name, history in GOOD.items():
            with self.subTest(name):
                self.assertEqual(violations(history), [])
                self.assertEqual(violations(history[::-1]), [], "in whatever order they were noted")

    def test_it_rejects_what_must_not_happen(self):
        for name, history in BAD.items():
            with self.subTest(name):
                self.assertNotEqual(violations(history), [])
                self.assertNotEqual(violations(history[::-1]), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])  # no server is needed
