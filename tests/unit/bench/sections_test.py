#!/usr/bin/env python3
"""What workers of the peers tell, and what it adds up to.

usage: sections_test.py FOLDER_OF_PEERS
"""

import sys
import unittest

sys.path.insert(0, sys.argv.pop())
import sections  # noqa: E402

SECOND = 1_000_000_000


def add_up(rows, clients=3, begin=0, end=10 * SECOND):
    return sections.add_up([sections.Section(*row) for row in rows], clients, begin, end)


class Sections(unittest.TestCase):
    def test_a_line_is_read_with_dashes_for_what_did_not_happen(self):
        one = sections.read_section("7 100 - -\n")
        self.assertEqual((one.client, one.asked, one.granted, one.gave_back), (7, 100, None, None))

    def test_a_grant_to_the_same_client_is_a_section_and_no_hand_off(self):
        report = add_up([(0, 0, 1, 2), (0, 2, 3, 4), (1, 0, 5, 6)])
        self.assertEqual((report["sections"], report["hand_offs"]), (3, 1))
        self.assertEqual(report["sections_per_s"], 0.3)

    def test_the_first_grant_that_is_measured_is_a_hand_off_from_the_last_of_the_warm_up(self):
        report = add_up([(0, 0, 1, 2), (1, 0, SECOND + 1, SECOND + 2)], begin=SECOND)
        self.assertEqual((report["sections"], report["hand_offs"]), (1, 1))

    def test_the_order_of_the_lines_does_not_matter(self):
        rows = [(0, 0, 1, 2), (1, 0, 3, 4), (0, 2, 5, 6), (2, 0, 7, 8)]
        self.assertEqual(add_up(rows), add_up(rows[::-1]))

    def test_two_that_had_the_lock_at_once_are_an_intrusion(self):
        self.assertEqual(add_up([(0, 0, 1, 5), (1, 0, 4, 6)])["verify"]["intrusions"], 1)
        self.assertEqual(add_up([(0, 0, 1, 5), (1, 0, 5, 6)])["verify"]["intrusions"], 0)

    def test_who_still_waits_at_the_end_may_have_starved(self):
        report = add_up([(0, 0, 1, 2), (1, 5 * SECOND, None, None), (2, 8 * SECOND, None, None)])
        self.assertEqual((report["starved"], report["waiting_at_end"]), (1, 2))
        self.assertEqual(report["longest_wait_at_end_us"], 5e6)

    def test_a_client_that_starves_twice_counts_once(self):
        report = add_up([(0, 0, 4 * SECOND, 4 * SECOND), (0, 4 * SECOND, 8 * SECOND, 8 * SECOND)])
        self.assertEqual(report["starved"], 1)

    def test_a_grant_after_the_end_is_a_wait_until_the_end(self):
        report = add_up([(0, 6 * SECOND, 11 * SECOND, 12 * SECOND)])
        self.assertEqual((report["sections"], report["waiting_at_end"], report["starved"]), (0, 1, 1))

    def test_clients_that_got_nothing_count_for_fairness(self):
        self.assertEqual(add_up([(0, 0, 1, 2)], clients=4)["jain"], 0.25)
        self.assertEqual(add_up([(n, 0, n + 1, n + 1) for n in range(4)], clients=4)["jain"], 1)

    def test_quantiles_are_values_that_were_there(self):
        ordered = list(range(1, 101))
        self.assertEqual([sections.quantile(ordered, share) for share in (0.0, 0.5, 0.99, 0.999, 1.0)], [1, 50, 99, 100, 100])
        self.assertEqual(sections.quantile([], 0.5), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
