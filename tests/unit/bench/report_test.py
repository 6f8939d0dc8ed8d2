#!/usr/bin/env python3
"""The report of a run: bars are judged by medians of ratios within rounds, gaps are told, charts are well-formed.

usage: report_test.py FOLDER_OF_THE_REPORT
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FOLDER = sys.argv.pop()
sys.path.insert(0, FOLDER)
import bars  # noqa: E402
import charts  # noqa: E402
import losses  # noqa: E402
from lines import Lines, Missing, number  # noqa: E402

WAITS = dict.fromkeys(["mean", "p10", "p25", "p50", "p75", "p90", "p99", "p999", "max"], 1000.0)


def hot(contender, round, rate, benchmark="hot-key", **more):
    return {"benchmark": benchmark, "contender": contender, "title": contender, "round": round, "clients": 100,
            "hand_offs_per_s": rate, "sections_per_s": rate, "sections": 1000, "wait_us": WAITS, "jain": 1.0, "starved": 0,
            "longest_wait_at_end_us": 0, "generator_cpu_cores": 0.5, "masters": [{"commands": 10}],
            "wait_turns": {"mean": 100.0, "p99": 100, "max": 120}, "verify": {"on": True, "intrusions": 0},
            "servers": [{"name": "redis-server", "cpu_us_per_section": 1.0}], "noisy": False, **more}


def in_group(benchmark, group, contender, round, rate, **more):
    return {**hot(contender, round, rate, benchmark=benchmark), "group": group, **more}


def verdict(lines, name):
    return next(one for one in bars.judge(Lines(lines)) if one.bar.name == name)


class Bars(unittest.TestCase):
    def test_the_median_of_the_ratios_within_rounds_counts(self):
        lines = [hot("lockkeeper-5", n, mine) for n, mine in enumerate((100, 400, 900))]
        lines += [hot("redis-blpop", n, its) for n, its in enumerate((100, 200, 100))]
        one = verdict(lines, "hot-blpop")
        self.assertEqual((one.figure.median, one.figure.least, one.figure.most), (2, 1, 9))
        self.assertEqual(one.word, "met")

    def test_noisy_rounds_are_left_out_if_there_are_two_calm_ones(self):
        lines = [hot("lockkeeper-5", n, 100, noisy=n == 0) for n in range(3)]
        lines += [hot("redis-blpop", n, 10 if n == 0 else 100) for n in range(3)]
        one = verdict(lines, "hot-blpop")
        self.assertEqual((one.figure.median, one.figure.noisy, one.figure.is_noisy), (1, 1, False))
        self.assertEqual(one.word, "**missed**")

    def test_too_few_calm_rounds_make_a_noisy_figure(self):
        lines = [hot("lockkeeper-5", n, 100, noisy=n < 2) for n in range(3)] + [hot("redis-blpop", n, 100) for n in range(3)]
        self.assertTrue(verdict(lines, "hot-blpop").figure.is_noisy)

    def test_what_was_not_measured_is_not_met_and_says_why(self):
        lines = [hot("lockkeeper-5", 1, 100), {"benchmark": "hot-key", "contender": "etcd", "failed": "no such package"}]
        one = verdict(lines, "hot-etcd")
        self.assertEqual((one.word, one.figure), ("not measured", None))
        self.assertIn("no such package", one.why_not)

    def test_one_starved_client_in_one_round_is_too_much(self):
        lines = [hot("lockkeeper-5", n, 100, benchmark="hot-key-crowd", starved=int(n == 2)) for n in range(5)]
        self.assertEqual(verdict(lines, "hot-starved").word, "**missed**")

    def test_a_limit_that_must_not_be_reached_is_missed_at_the_limit(self):
        at_limit = [hot("lockkeeper-5", 1, 100, masters=[{"commands": 50}])]
        self.assertEqual(verdict(at_limit, "hot-commands").word, "**missed**")
        below = [hot("lockkeeper-5", 1, 100, masters=[{"commands": 49}])]
        self.assertEqual(verdict(below, "hot-commands").word, "met")

    def test_the_longest_wait_counts_in_time_and_in_turns(self):
        waits = {**WAITS, "max": 1600.0}
        lines = [hot("lockkeeper-5", 1, 100, benchmark="hot-key-crowd", wait_us=waits)]
        self.assertEqual(verdict(lines, "crowd-longest").word, "**missed**")
        self.assertEqual(verdict(lines, "crowd-longest-turns").word, "met")
        still_waiting = [hot("lockkeeper-5", 1, 100, benchmark="hot-key-crowd", longest_wait_at_end_us=1501.0)]
        self.assertEqual(verdict(still_waiting, "crowd-longest").word, "**missed**")

    def test_three_proxies_are_judged_by_rate_order_and_commands(self):
        lines = [in_group("proxies", "hot", "one proxy", 1, 100),
                 in_group("proxies", "hot", "three proxies", 1, 49, store_commands_per_section=0.05),
                 in_group("proxies", "once", "three proxies", 1, 0, order={"inversions": 1})]
        for name in ("proxies-rate", "proxies-order", "proxies-commands"):
            self.assertEqual(verdict(lines, name).word, "**missed**", name)

    def test_a_round_without_a_hand_off_or_a_field_is_no_end_of_the_report(self):
        lines = [hot("lockkeeper-5", 1, 0)]
        self.assertEqual(verdict(lines, "hot-p99").why_not, "nothing was done in a round")
        del lines[0]["masters"]
        self.assertEqual(verdict(lines, "hot-commands").why_not, "the lines of this run have no 'masters'")

    def test_what_is_explained_is_a_bar(self):
        with open(os.path.join(FOLDER, "explanations.md")) as file:
            explained = {line[3:].strip() for line in file if line.startswith("## ")}
        self.assertLessEqual(explained, {one.name for one in bars.BARS})

    def test_names_of_bars_are_their_own(self):
        names = [one.name for one in bars.BARS]
        self.assertEqual(len(names), len(set(names)))


class Losses(unittest.TestCase):
    def test_what_others_do_better_is_told_and_nothing_else(self):
        lines = Lines([hot("lockkeeper-5", 1, 50), hot("redis-blpop", 1, 100, servers=[{"cpu_us_per_section": 9.0}])])
        self.assertEqual([one[1].split(",")[2].split()[0] for one in losses.losses(lines)], ["hand-offs/s"])


    def test_three_proxies_beside_one_and_crowds_as_we_come_beside_redis_are_compared(self):
        lines = Lines([in_group("proxies", "hot", "one proxy", 1, 100), in_group("proxies", "hot", "three proxies", 1, 30),
                       {**hot("a", 1, 50, benchmark="unmodified"), "library": "redis-py", "place": "Redis"},
                       {**hot("b", 1, 40, benchmark="unmodified", starved=7), "library": "redis-py", "place": "Lockkeeper"}])
        self.assertEqual([(round(one[0], 2), one[1].split(",")[0], one[1].split(",")[-1].split()[0]) for one in losses.losses(lines)],
                         [(0, "1", "starved"), (0.3, "one hot key at three proxies", "hand-offs/s"), (0.8, "1", "hand-offs/s")])

    def test_nothing_beside_nothing_is_no_loss(self):
        lines = Lines([{**hot("a", 1, 0, benchmark="unmodified"), "library": "redis-py", "place": place}
                       for place in ("Redis", "Lockkeeper")])
        self.assertEqual(losses.losses(lines), [])


class Report(unittest.TestCase):
    def lines(self):
        for number_of_round in (1, 2):
            for name, rate in (("lockkeeper-5", 1000), ("redis-blpop", 300), ("etcd", 7)):
                yield hot(name, number_of_round, rate)
            for x in (1, 10, 100):
                yield {"benchmark": "scaling", "curve": "waiters", "contender": "<us & them>", "x": x, "round": number_of_round,
                       "value": 10.0 * x, "noisy": False}
            for place in ("Redis", "Lockkeeper, park"):
                yield {**hot(place, number_of_round, 100, benchmark="unmodified"), "library": "redis-py", "place": place,
                       "redis_commands_per_s": 50.0, "redis_commands_per_section": 1.0}
            for name in ("redis-server", "Lockkeeper"):
                yield in_group("beside-redis", "PING, 1 at a time", name, number_of_round, 0, commands_per_s=1000.0)
            for name in ("one proxy", "three proxies"):
                yield in_group("proxies", "hot", name, number_of_round, 100, store_commands_per_section=0.04)
            yield in_group("modes", "everybody once", "Lockkeeper, memory", number_of_round, 100, value=100.0, times_us=WAITS,
                           unit="sections_per_s", order={"inversions": 3}, masters=[])
            yield in_group("fleet", "hot", "embedded store", number_of_round, 100)
            yield in_group("fleet", "frozen", "three of five", number_of_round, 0, error_ms=250.0, again_ms=20.0)
        yield {"benchmark": "hot-key", "contender": "zookeeper", "failed": "no Java | at all"}

    def test_every_chart_is_well_formed_and_has_both_grounds(self):
        drawn = list(charts.all_charts(Lines(list(self.lines()))))
        self.assertGreaterEqual(len(drawn), 5)
        for name, title, text in drawn:
            self.assertEqual(xml.etree.ElementTree.fromstring(text).tag, "{http://www.w3.org/2000/svg}svg", name)
            self.assertIn("prefers-color-scheme: dark", text)
            self.assertTrue(title)

    def test_the_whole_report_is_written_from_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "runs.jsonl"), "w") as file:
                file.writelines(json.dumps(line) + "\n" for line in self.lines())
                file.write('{"benchmark": "hot-key", "conten')  # torn
            with open(os.path.join(folder, "run.json"), "w") as file:
                json.dump({"when": "today", "machine": "2 CPUs", "memory": "4 GiB", "commit": "abc", "form": "quick", "command":
                           "make bench", "minutes": 1, "parts": [{"name": "peers", "command": "peers", "seconds": 1, "code": 1}]},
                          file)
            with open(os.path.join(folder, "peers.txt"), "w") as file:
                file.write("what it printed\n")
            done = subprocess.run([sys.executable, "-B", FOLDER, folder], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(folder, "report.md")) as file:
                text = file.read()
            self.assertIn("no Java", text)
            self.assertIn("what it printed", text)
            self.assertIn("`peers`: code 1", text)
            for title in ("## Three proxies", "## Other loads", "## Locks on masters", "## Beside Redis", "an error takes 250"):
                self.assertIn(title, text)
            for name in ("hot-key.svg", "waits.svg", "scaling-waiters.svg", "unmodified-starved.svg"):
                self.assertIn(f"({name})", text)
                self.assertTrue(os.path.exists(os.path.join(folder, name)), name)

    def test_without_lines_there_is_no_report(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", FOLDER, folder], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("nothing was measured", done.stderr)

    def test_a_contender_that_is_not_there_is_missing(self):
        with self.assertRaises(Missing):
            Lines([]).rounds(benchmark="hot-key", contender="etcd")

    def test_numbers_have_three_digits_that_count(self):
        self.assertEqual([number(one) for one in (0, 0.01234, 1.234, 12.34, 1234.5, 1234567)],
                         ["0", "0.0123", "1.23", "12.3", "1,234", "1,234,567"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
