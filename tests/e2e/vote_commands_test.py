"""What real masters make of the words that a proxy says to them.

The words and the readers of the answers are the server's own code, lent by a small program that ctest names.
"""

import hashlib
import os
import subprocess
import sys
import unittest

from support import Client, Redis

CFG = "c0ffee"
LIMIT = 2**53
SCRIPTS = ["raise", "renew", "release", "pend", "admit", "mark", "horizon", "counters"]


class Words:
    """The helper program."""

    def __init__(self):
        self.process = subprocess.Popen(
            [os.environ["VOTE_COMMANDS_HELPER"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *fields):
        self.process.stdin.write("\t".join(str(field) for field in fields) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        assert not answer.startswith("error "), (fields, answer)
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Recorder:
    """A client's stream that remembers what it read."""

    def __init__(self, stream):
        self.stream = stream
        self.bytes = b""

    def readline(self):
        line = self.stream.readline()
        self.bytes += line
        return line

    def read(self, size):
        data = self.stream.read(size)
        self.bytes += data
        return data

    def close(self):
        self.stream.close()


class Master:
    """A redis-server, talked to in the proxy's words."""

    def __init__(self, words, *options):
        self.words = words
        self.options = options
        self.redis = Redis(*options)
        self.redis.__enter__()
        self.client = None
        self.shake_hands()

    def close(self):
        self.client.close()
        self.redis.__exit__()

    def shake_hands(self):
        """A new connection: which process is it, and its scripts."""
        if self.client:
            self.client.close()
        self.client = Client(self.redis.port)
        self.client.stream = Recorder(self.client.stream)
        info = self.client.call("INFO", "server").decode()
        self.run_id = [line for line in info.split("\r\n") if line.startswith("run_id:")][0][7:]
        texts = self.words.ask("texts", self.run_id, CFG).split()
        self.texts = [bytes.fromhex(text) for text in texts]
        self.shas = " ".join(self.client.call("SCRIPT", "LOAD", text).decode() for text in self.texts)

    def say(self, replies, what, *fields):
        """Sends what the helper writes and returns the bytes of the answer."""
        self.client.send_bytes(bytes.fromhex(self.words.ask("write", what, *fields)))
        self.client.stream.bytes = b""
        for _ in range(replies):
            self.client.read()
        return self.client.stream.bytes.hex()

    def vote(self, key, value, ms=20000, block=64, run_id=None, cfg=CFG):
        self.answer = self.say(5, "vote", key, value, ms, block)
        return self.words.ask("read", "vote", self.answer, run_id or self.run_id, cfg, block)

    def shows_other_incarnation(self):
        return self.words.ask("read", "other_incarnation", self.answer, self.run_id, CFG) == "yes"

    def look(self, key):
        return self.words.ask("read", "look", self.say(2, "look", key))

    def script(self, what, read, *fields, more=()):
        self.answer = self.say(1, what, self.shas, *fields)
        return self.words.ask("read", read, self.answer, *more)

    def raise_to(self, key, value, to, also=()):
        return self.script("raise", "raise", key, value, to, *also)

    def renew(self, key, value, ms, block=0, also=()):
        return self.script("renew", "renew", key, value, ms, block, *also, more=(block,))

    def release(self, key, value, also=()):
        return self.script("release", "release", key, value, *also)

    def mark(self, ms):
        return self.script("mark", "mark", ms)

    def pend(self, nonce, durability=""):
        return self.script("pend", "pend", nonce, durability)

    def admit(self, nonce, base=0, durability=""):
        return self.script("admit", "admit", nonce, base, durability)

    def horizon(self):
        return self.script("horizon", "other")

    def counters(self):
        """The highest of all chunks."""
        highest = 0
        for chunk in range(64):
            standing, horizon, counter = self.script("counters", "other", chunk).split()
            highest = max(highest, int(counter))
        return f"{standing} {horizon} {highest}"

    def head(self):
        return self.words.ask("read", "head", self.say(1, "head"))

    def admitted(self, base=0):
        assert self.pend("nonce").split()[0] == "nonce"
        assert self.admit("nonce", base) == "yes"
        return self


class VoteCommands(unittest.TestCase):
    def setUp(self):
        self.words = Words()
        self.addCleanup(self.words.close)

    def master(self, *options):
        master = Master(self.words, *options)
        self.addCleanup(master.close)
        return master

    # ---- Votes

    def test_a_free_key_is_granted_with_fences_and_a_ttl(self):
        m = self.master().admitted(base=1000)
        self.assertEqual(m.vote("k", "me:1"), "granted 1064")
        self.assertEqual(m.client.call("GET", "k"), b"me:1")
        self.assertLessEqual(m.client.call("PTTL", "k"), 20000)
        self.assertGreater(m.client.call("PTTL", "k"), 10000)

    def test_a_key_that_is_taken_is_busy_and_keeps_its_owner(self):
        m = self.master().admitted()
        m.vote("k", "me:1")
        self.assertEqual(m.vote("k", "you:2"), "busy")
        self.assertEqual(m.client.call("GET", "k"), b"me:1")
        # The counter has moved all the same: a gap.
        m.release("k", "me:1")
        self.assertEqual(m.vote("k", "you:3"), "granted 192")

    def test_keys_of_direct_clients_are_busy_whatever_they_are(self):
        m = self.master().admitted()
        m.client.call("SET", "k", "token")
        m.client.call("HSET", "h", "owner", "1")
        self.assertEqual(m.vote("k", "me:1"), "busy")
        self.assertEqual(m.vote("h", "me:1"), "busy")
        self.assertEqual(m.look("k"), "held by token for ever")
        self.assertEqual(m.look("h"), "held by ? for ever")

    def test_direct_clients_find_our_keys_busy(self):
        m = self.master().admitted()
        m.vote("k", "me:1")
        self.assertIsNone(m.client.call("SET", "k", "token", "NX", "PX", 1000))

    def test_a_look_tells_the_holder(self):
        m = self.master().admitted()
        m.vote("k", "me:1", ms=20000)
        self.assertRegex(m.look("k"), r"^held by me:1 for (1\d{4}|20000)$")
        m.release("k", "me:1")
        self.assertEqual(m.look("k"), "free")

    def test_a_master_that_was_not_admitted_does_not_vote(self):
        m = self.master()
        self.assertEqual(m.vote("k", "me:1"), "refused")
        self.assertTrue(m.shows_other_incarnation())
        # The transaction has set the key: it must be released.
        self.assertEqual(m.release("k", "me:1"), "yes")

    def test_a_master_of_another_fleet_does_not_vote(self):
        m = self.master().admitted()
        self.assertEqual(m.vote("k", "me:1", cfg="bad"), "refused")

    def test_a_flushed_master_does_not_vote(self):
        for flush in ("FLUSHALL", "FLUSHDB"):
            m = self.master().admitted()
            self.assertTrue(m.vote("k", "me:1").startswith("granted"))
            m.client.call(flush)
            self.assertEqual(m.vote("k", "me:2"), "refused")
            self.assertTrue(m.shows_other_incarnation())

    def test_a_full_master_does_not_vote_but_still_renews_and_releases(self):
        m = self.master("--maxmemory-policy", "noeviction").admitted()
        m.vote("k", "me:1", ms=5000)
        m.client.call("CONFIG", "SET", "maxmemory", "1")
        self.assertEqual(m.vote("other", "me:2"), "refused")
        self.assertFalse(m.shows_other_incarnation())
        self.assertEqual(m.renew("k", "me:1", 20000), "extended 0")
        self.assertEqual(m.renew("k", "me:1", 30000, block=64), "extended 128")
        self.assertEqual(m.release("k", "me:1"), "yes")

    def test_votes_that_are_pipelined_are_answered_in_order(self):
        m = self.master().admitted()
        commands = b"".join(
            bytes.fromhex(self.words.ask("write", "vote", f"k{i % 3}", f"me:{i}", 20000, 1)) for i in range(9)
        )
        m.client.send_bytes(commands)
        answers = []
        for _ in range(9):
            m.client.stream.bytes = b""
            for _ in range(5):
                m.client.read()
            answers.append(self.words.ask("read", "vote", m.client.stream.bytes.hex(), m.run_id, CFG, 1))
        self.assertEqual([a.split()[0] for a in answers], ["granted"] * 3 + ["busy"] * 6)

    def test_without_fences_a_vote_is_a_plain_set(self):
        m = self.master().admitted()
        write = lambda value: self.words.ask("read", "plain_vote", m.say(2, "plain_vote", "k", value, 20000),
                                             m.run_id, CFG)
        self.assertEqual(write("me:1"), "granted 0")
        self.assertEqual(write("you:2"), "busy")
        self.assertEqual(m.release("k", "you:2"), "no")
        self.assertEqual(m.release("k", "me:1"), "yes")
        self.assertEqual(write("you:2"), "granted 0")
        m.client.call("FLUSHALL")
        self.assertEqual(write("me:3"), "refused")

    # ---- Tokens of clients

    def test_a_renewal_exchanges_tokens_and_keeps_the_end(self):
        m = self.master().admitted()
        m.vote("k", "ann")
        self.assertEqual(m.renew("k", "bob", 5000), "not ours")
        self.assertEqual(m.renew("k", "bob", 5000, also=("cid", "ann")), "extended 0")
        self.assertEqual(m.client.call("GET", "k"), b"bob")
        self.assertGreater(m.client.call("PTTL", "k"), 10000)
        self.assertEqual(m.renew("k", "bob", 60000, also=("ann",)), "extended 0")
        self.assertGreater(m.client.call("PTTL", "k"), 50000)
        self.assertEqual(m.renew("other", "bob", 5000, also=("ann",)), "not ours")  # absent

    def test_an_earlier_token_is_ours_as_well(self):
        m = self.master().admitted(base=1000)
        m.vote("k", "ann")
        self.assertEqual(m.raise_to("k", "bob", 5000), "no")
        self.assertEqual(m.raise_to("k", "bob", 5000, also=("ann",)), "yes")
        self.assertEqual(m.release("k", "bob"), "no")
        self.assertEqual(m.release("k", "bob", also=("cid", "ann")), "yes")
        self.assertEqual(m.release("k", "bob", also=("cid", "ann")), "no")  # absent

    # ---- Raise

    def test_a_raise_lifts_the_counter_of_the_owner_only(self):
        m = self.master().admitted(base=1000)
        m.vote("k", "me:1")
        self.assertEqual(m.raise_to("k", "you:2", 5000), "no")
        self.assertEqual(m.raise_to("k", "me:1", 5000), "yes")
        self.assertEqual(m.raise_to("k", "me:1", 2000), "yes")  # never down
        m.release("k", "me:1")
        self.assertEqual(m.raise_to("k", "me:1", 9000), "no")
        self.assertEqual(m.vote("k", "me:3"), "granted 5064")

    def test_large_numbers_are_exact(self):
        m = self.master().admitted(base=LIMIT - 1000)
        self.assertEqual(m.vote("k", "me:1", block=1), f"granted {LIMIT - 999}")
        self.assertEqual(m.raise_to("k", "me:1", LIMIT - 501), "yes")
        self.assertEqual(m.counters(), f"admitted 0 {LIMIT - 501}")
        self.assertEqual(m.renew("k", "me:1", 1000, block=2), f"extended {LIMIT - 499}")
        m.release("k", "me:1")
        self.assertEqual(m.vote("k", "me:2", block=498), f"granted {LIMIT - 1}")
        m.release("k", "me:2")
        self.assertEqual(m.vote("k", "me:3", block=1), "refused")

    # ---- Renewal and release

    def test_a_renewal_extends_only_what_is_ours_and_never_shortens(self):
        m = self.master().admitted()
        m.vote("k", "me:1", ms=20000)
        self.assertEqual(m.renew("k", "you:2", 60000), "not ours")
        self.assertEqual(m.renew("k", "me:1", 60000), "extended 0")
        self.assertGreater(m.client.call("PTTL", "k"), 50000)
        self.assertEqual(m.renew("k", "me:1", 1000), "extended 0")
        self.assertGreater(m.client.call("PTTL", "k"), 40000)
        m.release("k", "me:1")
        self.assertEqual(m.renew("k", "me:1", 60000), "not ours")
        self.assertEqual(m.client.call("EXISTS", "k"), 0)

    def test_a_renewal_takes_a_block_along(self):
        m = self.master().admitted(base=1000)
        m.vote("k", "me:1", block=64)
        self.assertEqual(m.renew("k", "me:1", 20000, block=512), "extended 1576")
        self.assertEqual(m.renew("k", "you:2", 20000, block=512), "not ours")
        self.assertEqual(m.counters(), "admitted 0 1576")

    def test_a_release_deletes_only_what_is_ours(self):
        m = self.master().admitted()
        m.vote("k", "me:1")
        self.assertEqual(m.release("k", "you:2"), "no")
        self.assertEqual(m.client.call("GET", "k"), b"me:1")
        self.assertEqual(m.release("k", "me:1"), "yes")
        self.assertEqual(m.release("k", "me:1"), "no")

    def test_a_key_of_another_type_is_not_ours(self):
        m = self.master().admitted()
        m.client.call("HSET", "k", "owner", "1")
        self.assertEqual(m.renew("k", "me:1", 1000), "refused")
        self.assertEqual(m.raise_to("k", "me:1", 1000), "no")
        self.assertEqual(m.release("k", "me:1"), "nonsense")
        self.assertEqual(m.client.call("EXISTS", "k"), 1)

    def test_nothing_is_raised_or_renewed_after_a_flush(self):
        m = self.master().admitted()
        m.vote("k", "me:1")
        m.client.call("FLUSHALL")
        self.assertEqual(m.renew("k", "me:1", 1000), "refused")
        self.assertTrue(m.shows_other_incarnation())
        self.assertEqual(m.raise_to("k", "me:1", 1000), "no")
        self.assertTrue(m.shows_other_incarnation())
        self.assertEqual(m.mark(1000), "no")
        self.assertTrue(m.shows_other_incarnation())
        self.assertEqual(m.horizon(), "forgot")

    # ---- Admission

    def test_the_first_nonce_stays_until_the_admission(self):
        m = self.master()
        self.assertEqual(m.head(), "- - -")
        self.assertEqual(m.pend("one"), "one")
        self.assertEqual(m.pend("two"), "one")
        self.assertEqual(m.admit("two", 5), "no")
        self.assertEqual(m.admit("one", 5, "always"), "yes")
        self.assertEqual(m.head(), f"{m.run_id} {CFG} always")
        self.assertEqual(m.pend("three"), "admitted")
        self.assertEqual(m.admit("three", 99), "yes")  # somebody was faster
        self.assertEqual(m.vote("k", "me:1", block=1), "granted 6")
        self.assertEqual(m.client.call("HEXISTS", "lk:{a}:fence", "pend"), 0)

    def test_a_second_flush_takes_the_nonce_along(self):
        m = self.master()
        m.pend("one")
        m.client.call("FLUSHALL")
        self.assertEqual(m.admit("one", 5), "no")
        self.assertEqual(m.pend("two"), "two")
        self.assertEqual(m.admit("one", 5), "no")
        self.assertEqual(m.admit("two", 5), "yes")

    def test_the_base_never_goes_down(self):
        m = self.master().admitted(base=10**15)
        m.client.call("HSET", "lk:{a}:fence", "inc", "earlier")
        self.assertEqual(m.pend("again"), "again after earlier")
        self.assertEqual(m.pend("more"), "again after earlier")
        self.assertEqual(m.admit("again", 17), "yes")
        self.assertEqual(m.vote("k", "me:1", block=1), f"granted {10**15 + 1}")

    def test_counters_do_not_run_ahead_with_every_admission(self):
        m = self.master().admitted(base=1000)
        m.vote("k", "me:1")
        m.raise_to("k", "me:1", 5000)
        for life in range(5):
            m.client.call("HSET", "lk:{a}:fence", "inc", "earlier")
            m.pend("again")
            self.assertEqual(m.admit("again", 4000), "yes")
            self.assertEqual(m.counters(), "admitted 0 5000")
        m.client.call("HSET", "lk:{a}:fence", "inc", "earlier")
        m.pend("again")
        self.assertEqual(m.admit("again", 10**15), "yes")
        self.assertEqual(m.counters(), f"admitted 0 {10**15}")
        self.assertEqual(m.vote("other", "me:2", block=1), f"granted {10**15 + 1}")

    def test_a_nonce_of_an_earlier_process_is_replaced(self):
        m = self.master()
        m.client.call("HSET", "lk:{a}:fence", "pend", "old", "pinc", "earlier")
        self.assertEqual(m.admit("old", 5), "no")
        self.assertEqual(m.pend("new"), "new")

    def test_one_that_may_have_lost_something_speaks_for_none_that_comes_after_it(self):
        m = self.master()
        m.pend("one")
        m.admit("one", 5, "always")
        m.client.call("HSET", "lk:{a}:fence", "inc", "earlier")
        self.assertEqual(m.pend("two", "always"), "two after earlier")
        self.assertEqual(m.head(), f"earlier {CFG} always")
        self.assertEqual(m.pend("three", ""), "two after earlier")
        self.assertEqual(m.head(), f"earlier {CFG} -")

    def test_a_mark_of_nothing_finds_out_whether_there_could_be_one(self):
        m = self.master("--maxmemory-policy", "noeviction").admitted()
        self.assertEqual(m.mark(0), "yes")
        self.assertEqual(m.client.call("EXISTS", "lk:{a}:horizon"), 0)
        m.client.call("CONFIG", "SET", "maxmemory", 1)
        self.assertEqual(m.mark(0), "no")
        self.assertEqual(m.mark(5000), "no")
        m.client.call("CONFIG", "SET", "maxmemory", 0)
        self.assertEqual(m.mark(5000), "yes")
        m.client.call("CONFIG", "SET", "maxmemory", 1)
        self.assertEqual(m.mark(0), "yes")
        self.assertEqual(m.mark(60_000), "yes")
        self.assertGreater(m.client.call("PTTL", "lk:{a}:horizon"), 50_000)

    def test_the_horizon_is_ahead_of_every_mark(self):
        m = self.master().admitted()
        self.assertEqual(m.horizon(), "admitted 0 0")
        self.assertEqual(m.mark(30000), "yes")
        self.assertEqual(m.mark(1000), "yes")
        standing, horizon, _ = m.horizon().split()
        self.assertEqual(standing, "admitted")
        self.assertGreater(int(horizon), 20000)
        self.assertLessEqual(int(horizon), 30000)
        m.client.call("PERSIST", "lk:{a}:horizon")
        self.assertGreater(int(m.horizon().split()[1]), 10**12)

    def test_the_highest_of_all_slots_is_told(self):
        m = self.master().admitted(base=10**6)
        for i in range(50):
            m.vote(f"k{i}", "me:1", block=1 + i)
        self.assertEqual(m.counters(), f"admitted 0 {10**6 + 50}")

    def test_every_slot_of_a_full_table_is_looked_at(self):
        m = self.master().admitted(base=5)
        for start in range(0, 65536, 4096):
            fields = [x for slot in range(start, start + 4096) for x in (slot, 10**14)]
            m.client.call("HSET", "lk:{a}:fence", *fields)
        for highest in (0, 1, 1023, 1024, 40000, 65534, 65535):
            m.client.call("HSET", "lk:{a}:fence", highest, 10**14 + 7)
            self.assertEqual(m.counters(), f"admitted 0 {10**14 + 12}")
            m.client.call("HSET", "lk:{a}:fence", highest, 10**14)
        self.assertEqual(m.counters(), f"admitted 0 {10**14 + 5}")

    # ---- Lives of a process

    def restart(self, m):
        """The process dies, and another one finds its files."""
        dead = m.redis
        dead.kill_process()
        self.addCleanup(dead.__exit__)
        m.redis = Redis("--dir", dead.folder.name, *m.options, port=dead.port)
        m.redis.wait_until_ready()

    def test_scripts_belong_to_one_life_of_a_master(self):
        m = self.master("--appendonly", "yes", "--appendfsync", "always").admitted()
        self.assertTrue(m.vote("k", "me:1").startswith("granted"))
        shas, run_id = m.shas, m.run_id
        self.restart(m)
        m.client.close()
        m.client = Client(m.redis.port)
        m.client.stream = Recorder(m.client.stream)
        # All data is there, and still nothing counts before the next handshake.
        self.assertEqual(m.client.call("GET", "k"), b"me:1")
        self.assertEqual(m.renew("k", "me:1", 1000), "refused")
        self.assertTrue(m.shows_other_incarnation())
        m.shake_hands()
        self.assertNotEqual(m.run_id, run_id)
        self.assertTrue(set(m.shas.split()).isdisjoint(shas.split()))
        self.assertEqual(m.vote("other", "me:2"), "refused")
        self.assertEqual(m.head(), f"{run_id} {CFG} ")
        # After a new admission its counters go on.
        m.admitted()
        self.assertEqual(m.release("k", "me:1"), "yes")
        self.assertEqual(m.vote("k", "me:3"), "granted 128")

    def test_shas_are_those_that_redis_knows(self):
        m = self.master()
        self.assertEqual(m.shas.split(), [hashlib.sha1(text).hexdigest() for text in m.texts])
        self.assertEqual(len(m.texts), len(SCRIPTS))

    # ---- Three masters

    def test_a_quorum_over_three_masters_with_one_that_lags(self):
        masters = [self.master().admitted() for _ in range(3)]
        for i in range(3):
            for m in masters[:2]:
                self.assertTrue(m.vote("k", f"a:{i}").startswith("granted"))
                m.release("k", f"a:{i}")
        votes = [m.vote("k", "b:1") for m in masters]
        self.assertEqual(votes, ["granted 256", "granted 256", "granted 64"])
        self.assertEqual(masters[2].raise_to("k", "b:1", 256), "yes")
        for m in masters:
            m.release("k", "b:1")
        self.assertEqual({m.vote("k", "c:1") for m in masters}, {"granted 320"})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: vote_commands_test.py path/to/vote_commands_helper [unittest options]")
    os.environ["VOTE_COMMANDS_HELPER"] = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
