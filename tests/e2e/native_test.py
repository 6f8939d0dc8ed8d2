"""The native verbs: what each of them answers, on every kind of lock, and that a mistake changes nothing."""

from native_support import KEYS, NativeCase, as_map, on_all_servers, texts
from scripts_test import COMPARE_AND_DELETE, COMPARE_AND_PEXPIRE, SHA
from support import Client, Error, Lockkeeper, encode, main

NOT_AN_INTEGER = "ERR value is not an integer or out of range"
SYNTAX = "ERR syntax error"
MINUTE = 60_000


def arity(verb):
    return f"ERR wrong number of arguments for '{verb}' command"


def bad_ttl(verb):
    return f"ERR invalid expire time in '{verb}' command"


def long_ttl(verb):
    return f"{bad_ttl(verb)}: at most 600000 ms (leases.max_ttl)"


# What is sent -> the error that it gets. K is the key, and "me" holds it or does not.
MISTAKES = [
    *[((verb.upper(), *["K"] * count), arity(verb))
      for verb, counts in {
          "lk.acquire": [0, 1], "lk.release": [0, 1, 3], "lk.extend": [0, 1, 2, 4], "lk.acquireall": [0, 1, 2],
          "lk.releaseall": [0, 1, 2], "lk.fence": [0, 2], "lk.holders": [0, 2], "lk.waiters": [0, 2],
          "lk.break": [0, 2], "lk.top": [2]}.items() for count in counts],
    *[(("LK.ACQUIRE", "K", "me", *options.split(",")), error) for options, error in {
        "TTL,0": bad_ttl("lk.acquire"),
        "TTL,-1": bad_ttl("lk.acquire"),
        "TTL,-9223372036854775808": bad_ttl("lk.acquire"),
        "TTL,600001": long_ttl("lk.acquire"),
        "TTL,9223372036854775807": long_ttl("lk.acquire"),
        "TTL,9223372036854775808": NOT_AN_INTEGER,
        "TTL,99999999999999999999": NOT_AN_INTEGER,
        "TTL,1.5": NOT_AN_INTEGER,
        "TTL,": NOT_AN_INTEGER,
        "TTL, 5": NOT_AN_INTEGER,
        "TTL,5s": NOT_AN_INTEGER,
        "TTL": SYNTAX,
        "TTL,5000,TTL,5000": SYNTAX,
        "WAIT,-1": "ERR timeout is negative",
        "WAIT,x": NOT_AN_INTEGER,
        "WAIT,0.5": NOT_AN_INTEGER,
        "WAIT,9223372036854775808": NOT_AN_INTEGER,
        "WAIT": SYNTAX,
        "WAIT,1,WAIT,1": SYNTAX,
        "SHARED,SHARED": SYNTAX,
        "SHARED,PERMITS,1,OF,2": SYNTAX,
        "PERMITS,1,OF,2,SHARED": SYNTAX,
        "PERMITS,1,OF,2,PERMITS,1,OF,2": SYNTAX,
        "PERMITS": SYNTAX,
        "PERMITS,1": SYNTAX,
        "PERMITS,1,OF": SYNTAX,
        "PERMITS,1,IN,2": SYNTAX,
        "OF,2": SYNTAX,
        "PERMITS,0,OF,2": "ERR PERMITS and OF must be positive",
        "PERMITS,-1,OF,2": "ERR PERMITS and OF must be positive",
        "PERMITS,1,OF,0": "ERR PERMITS and OF must be positive",
        "PERMITS,1,OF,2147483648": "ERR PERMITS and OF must be positive",
        "PERMITS,3,OF,2": "ERR PERMITS is above OF: that many can never be granted",
        "PERMITS,x,OF,2": NOT_AN_INTEGER,
        "PERMITS,1,OF,x": NOT_AN_INTEGER,
        "PRIORITY": SYNTAX,
        "PRIORITY,1,PRIORITY,1": SYNTAX,
        "PRIORITY,x": NOT_AN_INTEGER,
        "PRIORITY,1000001": "ERR PRIORITY is not between -1000000 and 1000000",
        "PRIORITY,-1000001": "ERR PRIORITY is not between -1000000 and 1000000",
        "FOREVER": SYNTAX,
        "TTL,5000,FOREVER": SYNTAX,
        "NX": SYNTAX,
    }.items()],
    *[(("LK.EXTEND", "K", "me", ttl), error) for ttl, error in {
        "0": bad_ttl("lk.extend"), "-1": bad_ttl("lk.extend"), "600001": long_ttl("lk.extend"),
        "9223372036854775808": NOT_AN_INTEGER, "x": NOT_AN_INTEGER, "": NOT_AN_INTEGER}.items()],
    *[(("LK.ACQUIREALL", *line.split(",")), error) for line, error in {
        "x,K,me": NOT_AN_INTEGER,
        "0,K,me": "ERR numkeys should be greater than 0",
        "-1,K,me": "ERR numkeys should be greater than 0",
        "2,K,me": "ERR Number of keys can't be greater than number of args",
        "9223372036854775807,K,me": "ERR Number of keys can't be greater than number of args",
        "2,K,K,me": "ERR the same key is given twice",
        "3,K,L,K,me": "ERR the same key is given twice",
        "2,K,L,me,TTL,0": bad_ttl("lk.acquireall"),
        "2,K,L,me,TTL,600001": long_ttl("lk.acquireall"),
        "2,K,L,me,WAIT,-1": "ERR timeout is negative",
        "2,K,L,me,SHARED": SYNTAX,
        "2,K,L,me,PERMITS,1,OF,2": SYNTAX,
        "2,K,L,me,FOREVER": SYNTAX,
        "2,K,L,me,TTL": SYNTAX,
    }.items()],
    *[(("LK.RELEASEALL", *line.split(",")), error) for line, error in {
        "x,K,me": NOT_AN_INTEGER,
        "0,K,me": "ERR numkeys should be greater than 0",
        "2,K,me": "ERR Number of keys can't be greater than number of args",
        "2,K,K,me": "ERR the same key is given twice",
        "1,K,me,TTL,5": SYNTAX,
    }.items()],
    *[(("LK.LIST", *line.split(",")), error) for line, error in {
        "MATCH": SYNTAX, "COUNT,0": NOT_AN_INTEGER, "COUNT,-1": NOT_AN_INTEGER, "COUNT,x": NOT_AN_INTEGER,
        "CURSOR,x": "ERR invalid cursor", "CURSOR,-1": "ERR invalid cursor", "EVERY,1": SYNTAX}.items()],
    *[(("LK.TOP", number), NOT_AN_INTEGER) for number in ("0", "-1", "x")],
    (("LK.ACQUIRE", "K", "x" * 1025), "ERR OWNERTOOLONG an owner has at most 1024 bytes"),
    (("LK.ACQUIREALL", "2", "K", "L", "x" * 1025), "ERR OWNERTOOLONG an owner has at most 1024 bytes"),
    (("LK.ACQUIRE", "k" * 8193, "me"), "ERR KEYTOOLONG the name of a lock is longer than limits.key_bytes"),
    (("LK.ACQUIRE", "k" * 8193, "me", "WAIT", "0"), "ERR KEYTOOLONG the name of a lock is longer than limits.key_bytes"),
    (("LK.ACQUIREALL", "2", "K2", "k" * 8193, "me"), "ERR KEYTOOLONG the name of a lock is longer than limits.key_bytes"),
]


class Verbs:
    def test_a_free_lock_is_granted_with_a_fence_its_time_and_one_hold(self):
        for key in KEYS:
            self.assert_granted(self.control.call("LK.ACQUIRE", key, "me", "TTL", MINUTE), ttl=MINUTE)
            self.assertLessEqual(self.control.call("PTTL", key), MINUTE)

    def test_without_a_ttl_it_is_granted_for_the_longest_hold(self):
        for key in KEYS:
            self.assert_granted(self.control.call("LK.ACQUIRE", key, "me"), ttl=600_000)

    def test_the_bytes_of_the_replies(self):
        nothing = {2: (b"*-1\r\n", b"$-1\r\n"), 3: (b"_\r\n", b"_\r\n")}[self.version]
        with Client(self.server.port) as client:
            client.call("HELLO", self.version)
            fence = self.acquire("k", "me", "TTL", MINUTE)
            client.send_bytes(encode("LK.ACQUIRE", "k", "you") + encode("LK.RELEASE", "k", "you")
                              + encode("LK.EXTEND", "k", "you", 5) + encode("LK.FENCE", "none")
                              + encode("LK.ACQUIREALL", 2, "k", "l", "you") + encode("LK.FENCE", "k")
                              + encode("LK.RELEASE", "k", "me") + encode("LK.RELEASEALL", 1, "k", "me") + encode("QUIT"))
            self.assertEqual(client.read_all(), nothing[0] + nothing[1] * 3 + nothing[0] + b":%d\r\n:0\r\n:0\r\n+OK\r\n" % fence)

    def test_a_lock_of_somebody_else_is_refused(self):
        for options in ([], ["TTL", MINUTE], ["SHARED"], ["WAIT", 1]):
            self.acquire("k", "me")
            self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "you", *options))
            self.release("k", "me")

    def test_options_in_any_order_and_case(self):
        self.assert_granted(self.control.call("lk.acquire", "k", "me", "priority", "-5", "wait", 0, "Ttl", MINUTE), ttl=MINUTE)
        self.assert_granted(self.control.call("Lk.Acquire", "s", "me", "tTL", MINUTE, "shared", "WAIT", 5), ttl=MINUTE)
        self.assert_granted(self.control.call("LK.ACQUIRE", "p", "me", "permits", 2, "of", 3, "ttl", MINUTE), ttl=MINUTE)

    def test_the_owner_takes_it_again_and_gives_back_as_often(self):
        for key in KEYS:
            first = self.acquire(key, "me", "TTL", MINUTE)
            for holds in (2, 3):
                self.assertEqual(self.acquire(key, "me", "TTL", MINUTE, holds=holds), first)
            for left in (2, 1, 0):
                self.assertIsNone(self.control.call("LK.ACQUIRE", key, "you"))
                self.release(key, "me", left=left)
            self.assertIsNone(self.control.call("LK.RELEASE", key, "me"))
            self.acquire(key, "you")

    def test_taking_it_again_never_makes_it_shorter(self):
        self.acquire("k", "me", "TTL", MINUTE)
        self.assertGreater(self.control.call("LK.ACQUIRE", "k", "me", "TTL", 1_000)[1], 1_000)
        self.assertGreater(self.control.call("LK.ACQUIRE", "k", "me", "TTL", 2 * MINUTE)[1], MINUTE)

    def test_a_try_with_a_wait_is_one_that_the_owner_need_not_wait_for(self):
        self.acquire("k", "me")
        self.acquire("k", "me", "WAIT", 0, holds=2)

    def test_release_is_for_the_owner(self):
        self.assertIsNone(self.control.call("LK.RELEASE", "k", "me"))
        self.acquire("k", "me")
        self.assertIsNone(self.control.call("LK.RELEASE", "k", "you"))
        self.assertEqual(self.control.call("GET", "k"), b"me")
        # From whatever connection.
        self.release("k", "me", client=self.client())
        self.assertEqual(self.control.call("EXISTS", "k"), 0)

    def test_extend_is_for_the_owner_and_sets_the_time(self):
        self.assertIsNone(self.control.call("LK.EXTEND", "k", "me", MINUTE))
        for options in ([], ["SHARED"], ["PERMITS", 1, "OF", 2]):
            self.acquire("k", "me", "TTL", MINUTE, *options)
            self.assertIsNone(self.control.call("LK.EXTEND", "k", "you", MINUTE))
            left = self.control.call("LK.EXTEND", "k", "me", 5 * MINUTE)
            self.assertTrue(4 * MINUTE < left <= 5 * MINUTE, left)
            # Shorter, too.
            left = self.control.call("LK.EXTEND", "k", "me", 30_000)
            self.assertTrue(0 < left <= 30_000, left)
            self.assertLessEqual(self.control.call("PTTL", "k"), 30_000)
            self.assertEqual(self.control.call("LK.EXTEND", "k", "me", 600_000), 600_000)
            self.release("k", "me")

    def test_fences_grow_with_each_grant_of_a_key_whoever_gets_it(self):
        for key in KEYS:
            last = 0
            for owner, options in (("a", []), ("b", ["TTL", MINUTE]), ("a", ["SHARED"]), ("c", ["PERMITS", 1, "OF", 1])):
                fence = self.acquire(key, owner, *options)
                self.assertEqual(self.control.call("LK.FENCE", key), fence)
                self.assertGreater(fence, last)
                last = fence
                self.release(key, owner)
                self.assertIsNone(self.control.call("LK.FENCE", key))
            self.assertEqual(self.control.call("SET", key, "d", "NX"), "OK")
            self.assertGreater(self.control.call("LK.FENCE", key), last)
            last = self.control.call("LK.FENCE", key)
            self.assertEqual(self.control.call("SET", key, "e"), "OK")
            self.assertGreater(self.control.call("LK.FENCE", key), last)
            last = self.control.call("LK.FENCE", key)
            self.control.call("FLUSHALL")
            self.assertGreater(self.acquire(key, "me"), last)

    def test_a_lock_ends_with_its_time(self):
        self.acquire("k", "me", "TTL", 20)
        while self.control.call("EXISTS", "k"):
            pass
        self.assertIsNone(self.control.call("LK.RELEASE", "k", "me"))
        self.assertIsNone(self.control.call("LK.EXTEND", "k", "me", MINUTE))
        self.assertEqual(self.holders("k"), [])
        self.acquire("k", "you")

    def test_limits_are_met_exactly(self):
        for key, owner in (("k" * 8192, "me"), ("k", "x" * 1024), ("k\r\n\0", "\r\n\0")):
            self.acquire(key, owner, "TTL", 600_000)
            self.assertEqual(self.control.call("GET", key), owner.encode())
            self.release(key, owner)

    def test_all_or_nothing(self):
        reply = self.control.call("LK.ACQUIREALL", len(KEYS), *KEYS, "me", "TTL", MINUTE)
        fences, ttl = reply
        self.assertEqual(fences, [self.control.call("LK.FENCE", key) for key in KEYS])
        self.assertTrue(0 < ttl <= MINUTE)
        self.assertEqual({self.control.call("GET", key) for key in KEYS}, {b"me"})
        self.assertEqual(self.control.call("LK.RELEASEALL", len(KEYS), *KEYS, "me"), len(KEYS))
        self.assertEqual(self.control.call("DBSIZE"), 0)
        for busy in KEYS:
            self.acquire(busy, "you")
            for options in ([], ["TTL", MINUTE], ["WAIT", 1], ["TTL", MINUTE, "WAIT", 1]):
                self.assertIsNone(self.control.call("LK.ACQUIREALL", len(KEYS), *KEYS, "me", *options))
                self.assertEqual(self.control.call("DBSIZE"), 1)
            self.release(busy, "you")

    def test_all_without_a_ttl_have_the_longest_hold(self):
        ttl = self.control.call("LK.ACQUIREALL", 2, "a", "b", "me")[1]
        self.assertTrue(590_000 < ttl <= 600_000)

    def test_all_of_them_again(self):
        first = self.control.call("LK.ACQUIREALL", 3, *KEYS[:3], "me", "TTL", MINUTE)
        self.assertEqual(self.control.call("LK.ACQUIREALL", 3, *KEYS[:3], "me", "TTL", MINUTE)[0], first[0])
        self.assertEqual(self.control.call("LK.RELEASEALL", 3, *KEYS[:3], "me"), 3)
        self.assertEqual(self.control.call("DBSIZE"), 3)
        self.assertEqual(self.control.call("LK.RELEASEALL", 3, *KEYS[:3], "me"), 3)
        self.assertEqual(self.control.call("DBSIZE"), 0)

    def test_release_of_all_counts_those_that_were_the_owners(self):
        self.acquire(KEYS[0], "me")
        self.acquire(KEYS[1], "you")
        self.assertEqual(self.control.call("LK.RELEASEALL", 3, *KEYS[:3], "me"), 1)
        self.assertEqual(self.control.call("GET", KEYS[1]), b"you")

    def test_a_mistake_is_told_and_changes_nothing(self):
        def state():
            moving = ("ttl", "held", "waited")
            return ([{name: value for name, value in one.items() if name not in moving}
                     for one in self.holders("K") + self.waiters("K")],
                    self.control.call("LK.FENCE", "K"), self.control.call("DBSIZE"))

        def free():
            pass

        def mine():
            self.acquire("K", "me", "TTL", MINUTE)

        def waited_for():
            self.acquire("K", "you", "TTL", MINUTE)
            return self.in_line("K", "third")

        for situation in (free, mine, waited_for):
            self.control.call("FLUSHALL")
            waiter = situation()
            before = state()
            for command, error in MISTAKES:
                with self.subTest(command=[word[:50] for word in command], situation=situation.__name__):
                    self.assertEqual(self.control.call(*command), Error(error))
                    self.assertEqual(state(), before)
            if waiter:
                self.release("K", "you")
                self.assert_granted(waiter.read())


class Types:
    def test_shared_owners_share_and_exclude_the_exclusive_one(self):
        fences = [self.acquire("k", f"reader {number}", "SHARED") for number in range(5)]
        self.assertEqual(fences, sorted(set(fences)))
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "writer"))
        self.assertEqual([one["owner"] for one in self.holders("k")], [f"reader {number}" for number in range(5)])
        self.assertEqual({one["mode"] for one in self.holders("k")}, {"shared"})
        for number in (3, 0, 4, 1, 2):
            self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "writer"))
            self.release("k", f"reader {number}")
        self.acquire("k", "writer")
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "reader", "SHARED"))

    def test_a_shared_owner_takes_it_again(self):
        fence = self.acquire("k", "me", "SHARED")
        self.assertEqual(self.acquire("k", "me", "SHARED", holds=2), fence)
        self.release("k", "me", left=1)
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "writer"))
        self.release("k", "me")
        self.acquire("k", "writer")

    def test_each_shared_owner_has_its_own_time(self):
        self.acquire("k", "short", "SHARED", "TTL", 30)
        self.acquire("k", "long", "SHARED", "TTL", MINUTE)
        while len(self.holders("k")) == 2:
            pass
        self.assertEqual([one["owner"] for one in self.holders("k")], ["long"])
        self.assertIsNone(self.control.call("LK.RELEASE", "k", "short"))
        self.release("k", "long")
        self.assertEqual(self.control.call("EXISTS", "k"), 0)

    def test_an_upgrade_is_refused_clearly(self):
        upgrade = Error("ERR UPGRADE this owner shares the lock: release it before asking for it exclusively")
        self.acquire("k", "me", "SHARED")
        self.assertEqual(self.control.call("LK.ACQUIRE", "k", "me"), upgrade)
        self.assertEqual(self.control.call("LK.ACQUIRE", "k", "me", "WAIT", 0), upgrade)
        self.assertEqual([one["holds"] for one in self.holders("k")], [1])

    def test_a_downgrade_is_granted_and_lets_others_in(self):
        exclusive = self.acquire("k", "me")
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "you", "SHARED"))
        self.assertGreater(self.acquire("k", "me", "SHARED"), exclusive)
        self.acquire("k", "you", "SHARED")
        self.release("k", "me")
        self.release("k", "you")
        self.assertEqual(self.control.call("EXISTS", "k"), 0)

    def test_a_semaphore_gives_as_many_permits_as_it_has(self):
        self.acquire("k", "a", "PERMITS", 2, "OF", 4)
        self.acquire("k", "b", "PERMITS", 1, "OF", 4)
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "c", "PERMITS", 2, "OF", 4))
        self.acquire("k", "c", "PERMITS", 1, "OF", 4)
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "d", "PERMITS", 1, "OF", 4))
        self.assertEqual([(one["owner"], one["permits"]) for one in self.holders("k")], [("a", 2), ("b", 1), ("c", 1)])
        self.release("k", "a")
        self.acquire("k", "d", "PERMITS", 2, "OF", 4)

    def test_an_owner_may_take_its_permits_again_while_there_are_some(self):
        fence = self.acquire("k", "me", "PERMITS", 2, "OF", 5)
        self.assertEqual(self.acquire("k", "me", "PERMITS", 2, "OF", 5, holds=2), fence)
        self.assertIsNone(self.control.call("LK.ACQUIRE", "k", "me", "PERMITS", 2, "OF", 5))
        self.release("k", "me", left=1)
        self.acquire("k", "you", "PERMITS", 3, "OF", 5)

    def test_permits_expire_one_by_one(self):
        self.acquire("k", "short", "PERMITS", 1, "OF", 2, "TTL", 30)
        self.acquire("k", "long", "PERMITS", 1, "OF", 2, "TTL", MINUTE)
        while (reply := self.control.call("LK.ACQUIRE", "k", "next", "PERMITS", 1, "OF", 2)) is None:
            pass
        self.assert_granted(reply)
        self.assertEqual([one["owner"] for one in self.holders("k")], ["long", "next"])

    def test_types_are_not_mixed_on_one_key(self):
        other_type = Error("ERR LOCKTYPE this key is a lock of another type: semaphores (PERMITS) and exclusive or "
                           "shared locks cannot be mixed on one key")
        other_permits = Error("ERR PERMITS this semaphore has another number of permits, or its owner holds another "
                              "number of them")
        semaphore = ["PERMITS", 1, "OF", 2]
        cases = [([], semaphore, other_type), (["SHARED"], semaphore, other_type), (semaphore, [], other_type),
                 (semaphore, ["SHARED"], other_type), (semaphore, ["PERMITS", 1, "OF", 3], other_permits),
                 (["PERMITS", 2, "OF", 3], ["PERMITS", 1, "OF", 3], other_permits)]
        for held, wanted, error in cases:
            with self.subTest(held=held, wanted=wanted):
                self.acquire("k", "me", *held)
                before = self.control.call("LK.FENCE", "k")
                owner = "me" if error == other_permits else "you"
                for wait in ([], ["WAIT", 0]):
                    self.assertEqual(self.control.call("LK.ACQUIRE", "k", owner, *wanted, *wait), error)
                self.assertEqual(self.control.call("LK.FENCE", "k"), before)
                self.assertEqual((len(self.holders("k")), self.waiters("k")), (1, []))
                self.release("k", "me")

    def test_keys_of_another_kind(self):
        wrong_type = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
        self.control.call("RPUSH", "list", "x")
        for command in (("LK.ACQUIRE", "list", "me"), ("LK.ACQUIRE", "list", "me", "WAIT", 0), ("LK.RELEASE", "list", "me"),
                        ("LK.EXTEND", "list", "me", 5), ("LK.ACQUIREALL", 2, "a", "list", "me")):
            self.assertEqual(self.control.call(*command), wrong_type, command)
        self.assertEqual(self.control.call("LLEN", "list"), 1)
        self.assertEqual(self.control.call("EXISTS", "a"), 0)
        # A lock of Redisson's is a lock: busy, and nobody's whom we know.
        self.assertIsNone(self.control.call("EVALSHA", SHA["149c5a8b"], 1, "hash", MINUTE, "uuid:1"))
        self.assertIsNone(self.control.call("LK.ACQUIRE", "hash", "uuid:1"))
        self.assertEqual(self.control.call("LK.RELEASE", "hash", "uuid:1"), wrong_type)
        self.assertEqual([one["owner"] for one in self.holders("hash")], ["uuid:1"])


class Views:
    def test_holders(self):
        self.assertEqual(self.control.call("LK.HOLDERS", "k"), [])
        me = self.client()
        number = me.call("CLIENT", "ID")
        fence = self.acquire("k", "me", "TTL", MINUTE, client=me)
        self.acquire("k", "me", "TTL", MINUTE, client=me, holds=2)
        (holder,) = self.holders("k")
        self.assertTrue(0 < holder.pop("ttl") <= MINUTE)
        self.assertTrue(0 <= holder.pop("held") < MINUTE)
        self.assertEqual(holder, {"owner": "me", "fence": fence, "mode": "exclusive", "holds": 2, "permits": 1, "client": number})

    def test_holders_of_a_plain_lock(self):
        self.control.call("SET", "k", "token", "NX")
        (holder,) = self.holders("k")
        self.assertEqual((holder["owner"], holder["mode"], holder["ttl"]), ("token", "exclusive", -1))
        self.assertEqual(holder["client"], self.control.call("CLIENT", "ID"))

    def test_waiters(self):
        self.assertEqual(self.control.call("LK.WAITERS", "k"), [])
        self.acquire("k", "me", "SHARED")
        writer, reader = self.client(), self.client()
        self.in_line("k", "writer", "PRIORITY", 3, client=writer)
        self.in_line("k", "reader", "SHARED", client=reader)
        ids = []
        for one in self.waiters("k"):
            self.assertTrue(0 <= one.pop("waited") < MINUTE)
            ids.append(one.pop("client"))
            mode = "shared" if one["owner"] == "reader" else "exclusive"
            self.assertEqual(one, {"owner": one["owner"], "kind": "waiting", "mode": mode, "permits": 1,
                                   "priority": 3 if mode == "exclusive" else 0, "deadlock": 0})
        self.release("k", "me")
        self.assert_granted(writer.read())
        self.release("k", "writer")
        self.assert_granted(reader.read())
        self.assertEqual(ids, [writer.call("CLIENT", "ID"), reader.call("CLIENT", "ID")])

    def test_those_who_poll_are_in_line_too(self):
        self.control.call("SET", "k", "token", "NX", "PX", MINUTE)
        poller = self.client()
        for _ in range(2):
            self.assertIsNone(poller.call("SET", "k", "other", "NX", "PX", MINUTE))
        (seat,) = self.waiters("k")
        self.assertEqual((seat["kind"], seat["client"]), ("polling", poller.call("CLIENT", "ID")))
        self.assertEqual(set(seat), {"kind", "waited", "pause", "client"})

    def test_list_goes_over_all_locks_once(self):
        names = {f"lock:{number}" for number in range(500)}
        for name in names:
            self.control.send("LK.ACQUIRE", name, "me", "TTL", MINUTE)
        for _ in names:
            self.assert_granted(self.control.read())
        self.control.call("LK.ACQUIRE", "other", "me", "TTL", MINUTE)
        self.control.call("RPUSH", "list", "no lock")
        for options in ([], ["COUNT", 7], ["MATCH", "*", "COUNT", 1000]):
            found, cursor = [], b"0"
            while True:
                cursor, page = self.control.call("LK.LIST", "CURSOR", cursor.decode(), *options)
                found += [texts(as_map(row)) for row in page]
                if cursor == b"0":
                    break
            self.assertEqual(sorted(row["key"] for row in found), sorted(names | {"other"}))
        (row,) = [row for row in found if row["key"] == "other"]
        self.assertTrue(0 < row.pop("ttl") <= MINUTE)
        self.assertGreaterEqual(row.pop("held"), 0)
        self.assertEqual(row, {"key": "other", "owner": "me", "mode": "exclusive", "fence": self.control.call("LK.FENCE", "other"),
                               "holders": 1, "waiters": 0, "polling": 0, "handoffs": 0})
        cursor, found = b"0", []
        while True:
            cursor, page = self.control.call("LK.LIST", "MATCH", "lock:1?", "CURSOR", cursor.decode())
            found += [texts(as_map(row))["key"] for row in page]
            if cursor == b"0":
                break
        self.assertEqual(sorted(found), [f"lock:1{digit}" for digit in range(10)])
        self.assertEqual(self.control.call("LK.LIST", "CURSOR", 2**60), [b"0", []])

    def test_top_tells_the_most_wanted_first(self):
        self.assertEqual(self.control.call("LK.TOP"), [])
        for number, key in enumerate(KEYS[:6]):
            self.acquire(key, "me")
            for waiter in range(number):
                self.in_line(key, f"waiter {waiter}")
        rows = [texts(as_map(row)) for row in self.control.call("LK.TOP")]
        self.assertEqual([(row["key"], row["waiters"]) for row in rows], [(KEYS[n], n) for n in range(5, 0, -1)])
        rows = [texts(as_map(row)) for row in self.control.call("LK.TOP", 2)]
        self.assertEqual([row["key"] for row in rows], [KEYS[5], KEYS[4]])
        self.control.call("SELECT", 1)
        self.assertEqual(self.control.call("LK.TOP"), [])

    def test_break_ends_a_lock_whoever_holds_it(self):
        self.assertEqual(self.control.call("LK.BREAK", "k"), 0)
        for options in ([], ["TTL", MINUTE], ["SHARED"], ["PERMITS", 1, "OF", 2]):
            self.acquire("k", "me", *options)
            self.assertEqual(self.control.call("LK.BREAK", "k"), 1)
            self.assertEqual(self.control.call("EXISTS", "k"), 0)
        self.control.call("SET", "k", "token")
        self.assertEqual(self.control.call("LK.BREAK", "k"), 1)
        self.acquire("k", "me")
        waiter = self.in_line("k", "you")
        self.assertEqual(self.control.call("LK.BREAK", "k"), 1)
        self.assert_granted(waiter.read())

    def test_the_verbs_are_in_the_command_table(self):
        verbs = ["acquire", "acquireall", "break", "extend", "fence", "holders", "list", "release", "releaseall", "top", "waiters"]
        listed = [name for name in self.control.call("COMMAND", "LIST") if name.startswith(b"lk.")]
        self.assertEqual(sorted(listed), sorted(f"lk.{verb}".encode() for verb in verbs))
        self.assertEqual(self.control.call("COMMAND", "GETKEYS", "LK.ACQUIRE", "k", "me"), [b"k"])
        self.assertEqual(self.control.call("COMMAND", "GETKEYS", "LK.ACQUIREALL", 2, "a", "b", "me"), [b"a", b"b"])


class BesideRedis:
    """Native verbs and commands of Redis meet at one lock."""

    def test_set_nx_and_acquire_exclude_each_other(self):
        for key in KEYS:
            self.acquire(key, "me")
            self.assertIsNone(self.control.call("SET", key, "you", "NX", "PX", MINUTE))
            self.assertEqual(self.control.call("SETNX", key, "you"), 0)
            self.assertEqual((self.control.call("GET", key), self.control.call("TYPE", key)), (b"me", "string"))
            self.release(key, "me")
            self.assertEqual(self.control.call("SET", key, "you", "NX", "PX", MINUTE), "OK")
            self.assertIsNone(self.control.call("LK.ACQUIRE", key, "me"))
            self.release(key, "you")

    def test_the_owner_of_a_plain_lock_may_go_on_in_native_words(self):
        self.control.call("SET", "k", "token", "NX", "PX", MINUTE)
        self.acquire("k", "token", "TTL", MINUTE, holds=2)
        self.assertEqual(self.control.call("EVAL", COMPARE_AND_PEXPIRE, 1, "k", "token", 2 * MINUTE), 1)
        self.assertGreater(self.control.call("PTTL", "k"), MINUTE)
        self.assertEqual(self.control.call("EVAL", COMPARE_AND_DELETE, 1, "k", "token"), 1)
        self.assertEqual(self.holders("k"), [])

    def test_whatever_removes_the_key_hands_the_lock_on(self):
        ways = [("DEL", "k"), ("UNLINK", "k"), ("FLUSHALL",), ("FLUSHDB",), ("EVAL", COMPARE_AND_DELETE, 1, "k", "me"),
                ("DELIFEQ", "k", "me"), ("GETDEL", "k"), ("PEXPIRE", "k", "0"), ("PEXPIREAT", "k", "1"), ("LK.BREAK", "k"),
                ("SET", "k", "x", "PXAT", "1")]
        for way in ways:
            with self.subTest(way[0]):
                self.acquire("k", "me")
                waiter = self.in_line("k", "you")
                self.control.call(*way)
                self.assert_granted(waiter.read())
                self.release("k", "you")

    def test_a_shorter_life_ends_a_wait_sooner(self):
        self.acquire("k", "me", "TTL", 10 * MINUTE)
        waiter = self.in_line("k", "you")
        self.assertEqual(self.control.call("PEXPIRE", "k", 30), 1)
        self.assert_granted(waiter.read())

    def test_an_overwritten_lock_is_the_new_owners(self):
        first = self.acquire("k", "me")
        waiter = self.in_line("k", "you")
        self.assertEqual(self.control.call("SET", "k", "thief", "PX", MINUTE), "OK")
        self.assertIsNone(self.control.call("LK.RELEASE", "k", "me"))
        self.assertEqual(self.queue("k"), ["you"])
        self.assertGreater(self.control.call("LK.FENCE", "k"), first)
        self.release("k", "thief")
        self.assert_granted(waiter.read())

    def test_shared_locks_and_semaphores_are_no_strings(self):
        wrong_type = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
        for options in (["SHARED"], ["PERMITS", 1, "OF", 2]):
            self.acquire("k", "me", *options)
            self.assertIsNone(self.control.call("SET", "k", "you", "NX"))
            self.assertEqual(self.control.call("GET", "k"), wrong_type)
            self.assertEqual(self.control.call("EXISTS", "k"), 1)
            self.assertEqual(self.control.call("EVAL", COMPARE_AND_DELETE, 1, "k", "me"), wrong_type)
            self.assertEqual(self.control.call("DEL", "k"), 1)

    def test_databases_are_separate(self):
        other = self.client()
        other.call("SELECT", 1)
        self.acquire("k", "me")
        self.acquire("k", "you", client=other)
        waiter = self.in_line("k", "third")
        self.release("k", "you", client=other)
        self.assertEqual(self.queue("k"), ["third"])
        self.assertEqual(other.call("LK.WAITERS", "k"), [])
        self.release("k", "me")
        self.assert_granted(waiter.read())
        other.call("FLUSHDB")
        self.assertEqual(self.control.call("EXISTS", "k"), 1)

    def test_a_transaction_never_waits(self):
        self.acquire("busy", "you", "TTL", MINUTE)
        commands = [("LK.ACQUIRE", "free", "me", "WAIT", 0, "TTL", MINUTE), ("LK.ACQUIRE", "busy", "me", "WAIT", 0),
                    ("LK.ACQUIREALL", 2, "free2", "free3", "me", "WAIT", 0, "TTL", MINUTE),
                    ("LK.ACQUIREALL", 2, "busy", "free4", "me", "WAIT", 0), ("LK.FENCE", "busy"), ("LK.HOLDERS", "free"),
                    ("LK.EXTEND", "free", "me", MINUTE), ("LK.RELEASE", "free", "me"), ("LK.RELEASE", "free", "me"),
                    ("LK.RELEASEALL", 2, "free2", "free3", "me"), ("LK.ACQUIRE", "free")]
        self.assertEqual(self.control.call("MULTI"), "OK")
        for command in commands[:-1]:
            self.assertEqual(self.control.call(*command), "QUEUED")
        replies = self.control.call("EXEC")
        self.assert_granted(replies[0], ttl=MINUTE)
        self.assertIsNone(replies[1])
        self.assertEqual(len(replies[2][0]), 2)
        self.assertIsNone(replies[3])
        self.assertGreater(replies[4], 0)
        self.assertEqual(len(replies[5]), 1)
        self.assertLessEqual(replies[6], MINUTE)
        self.assertEqual(replies[7:], [0, None, 2])
        self.assertEqual(self.control.call("DBSIZE"), 1)
        self.assertEqual(self.waiters("busy"), [])
        self.control.call("MULTI")
        self.control.call(*commands[-1])
        self.assertEqual(self.control.call("EXEC"), Error("EXECABORT Transaction discarded because of previous errors."))

    def test_a_transaction_hands_on_what_it_frees_when_it_is_done(self):
        for key in KEYS:
            self.acquire(key, "me")
            waiter = self.in_line(key, "you")
            self.control.send_bytes(encode("MULTI") + encode("LK.RELEASE", key, "me") + encode("LK.ACQUIRE", key, "me")
                                    + encode("EXISTS", key) + encode("EXEC"))
            replies = [self.control.read() for _ in range(5)][-1]
            # Those in line come before who asks later, within the transaction too.
            self.assertEqual(replies[:2], [0, None])
            self.assert_granted(waiter.read())

    def test_watch_sees_a_native_change(self):
        for change in (("LK.ACQUIRE", "k", "me"), ("LK.ACQUIRE", "k", "me"), ("LK.EXTEND", "k", "me", MINUTE),
                       ("LK.RELEASE", "k", "me"), ("LK.RELEASE", "k", "me"), ("LK.ACQUIRE", "k", "me", "SHARED"),
                       ("LK.BREAK", "k")):
            self.control.call("WATCH", "k")
            self.client().call(*change)
            self.control.call("MULTI")
            self.control.call("PING")
            self.assertIsNone(self.control.call("EXEC"), change)


class Losses:
    """Who loses a lock before its time is told."""

    def loser(self):
        client = self.client(3)
        client.call("LK.ACQUIRE", "warm up", "me")
        client.call("LK.RELEASE", "warm up", "me")
        return client

    def test_a_client_that_speaks_resp3_hears_of_it(self):
        for options in ([], ["SHARED"], ["PERMITS", 1, "OF", 2]):
            holder = self.loser()
            fence = self.acquire("k", "me", "TTL", MINUTE, *options, client=holder)
            self.assertEqual(self.control.call("LK.BREAK", "k"), 1)
            self.assertEqual(holder.read(), [b"lk.lost", b"k", b"me", fence])

    def test_so_does_one_whose_time_is_over(self):
        for options in ([], ["SHARED"], ["PERMITS", 1, "OF", 2]):
            holder = self.loser()
            fence = self.acquire("k", "me", "TTL", 20, *options, client=holder)
            self.assertEqual(holder.read(), [b"lk.lost", b"k", b"me", fence])

    def test_everybody_can_listen_on_a_channel(self):
        listener = self.client(2)
        listener.call("SUBSCRIBE", "lockkeeper:lost")
        holder = self.client(2)
        fence = self.acquire("k", "me", "TTL", 20, client=holder)
        self.assertEqual(listener.read(), [b"message", b"lockkeeper:lost", b"k me %d" % fence])
        self.assertEqual(holder.call("PING"), "PONG")

    def test_a_release_is_no_loss(self):
        holder = self.loser()
        for options in ([], ["SHARED"], ["PERMITS", 1, "OF", 2]):
            self.acquire("k", "me", "TTL", MINUTE, *options, client=holder)
            self.release("k", "me", client=holder)
        self.acquire("l", "me", client=holder)
        self.control.call("LK.BREAK", "l")
        self.assertEqual(holder.read()[:2], [b"lk.lost", b"l"])

    def test_plain_locks_end_in_silence_as_in_redis(self):
        holder = self.loser()
        holder.call("SET", "k", "me", "NX", "PX", 20)
        while self.control.call("EXISTS", "k"):
            pass
        self.acquire("l", "me", client=holder)
        self.control.call("LK.BREAK", "l")
        self.assertEqual(holder.read()[:2], [b"lk.lost", b"l"])


on_all_servers(globals(), Verbs, Types, Views, BesideRedis, Losses)


class BesideData(NativeCase):
    def test_native_verbs_are_ours_whatever_the_key(self):
        """The Redis behind us does not know them."""
        from support import Redis  # pylint: disable=import-outside-toplevel
        with Redis() as redis:
            config = f"data: redis://127.0.0.1:{redis.port}/0\nlocks: ['lock:*']"
            with Lockkeeper(config=config) as server, Client(server.port) as client:
                for key in ("lock:a", "data:a"):
                    self.assert_granted(client.call("LK.ACQUIRE", key, "me"))
                    self.assertEqual(len(client.call("LK.HOLDERS", key)), 1)
                    self.assertEqual(client.call("LK.RELEASE", key, "me"), 0)
                self.assertEqual(len(client.call("LK.ACQUIREALL", 2, "lock:a", "data:a", "me")[0]), 2)


if __name__ == "__main__":
    main()
