"""Commands on lock keys: the same sequences on a real redis-server and on Lockkeeper with one core and with two.

Commands that are newer than the redis-server at hand (IFEQ, DELEX, DELIFEQ) are held against what is written here.
"""

import threading
import time
import unittest

from support import Client, Error, Lockkeeper, Redis, encode, main

HOUR = 3600
SYNTAX = Error("ERR syntax error")
WRONG_TYPE = Error("WRONGTYPE Operation against a key holding the wrong kind of value")

# Replies of these count down, or tell the time of day: two servers agree to within a moment.
TIMES = {"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"}
MOMENT_MS = 30_000

# name -> commands. Every sequence begins with empty databases and a new connection.
SEQUENCES = {
    "set and get": """
        GET k | SET k v | GET k | SET k w | GET k | STRLEN k | TYPE k | STRLEN none | TYPE none | EXISTS k""",
    "set if absent": """
        SET k v NX | SET k w NX | GET k | SET none w XX | EXISTS none | SET k w XX | GET k | SET k v NX XX | SETNX k x
        SETNX new x | GET new""",
    "set and get at once": """
        SET k v GET | SET k w GET | SET k x NX GET | GET k | SET new x NX GET | GET new | SET none x XX GET | GET none
        SET k y XX GET | GET k | SET k z GET GET""",
    "set with a lifetime": """
        SET k v EX 100 | TTL k | PTTL k | SET k v PX 100000 | PTTL k | SET k v | TTL k | SET k v PX 100000 NX | TTL k
        SET k v NX PX 100000 GET | SET k v EXAT 4102444800 | EXPIRETIME k | SET k v PXAT 4102444800123
        PEXPIRETIME k | EXPIRETIME k | SET k w KEEPTTL | PEXPIRETIME k | GET k | SET new v KEEPTTL | TTL new""",
    "options in any order and case": """
        SET k v px 100000 nx | SET k v Nx pX 100000 | SET k w XX eX 100 gEt | TTL k | SET k v GET KEEPTTL XX | TTL k""",
    "a lifetime that has passed": """
        SET k v EXAT 1 | EXISTS k | GET k | SET k v PXAT 1 | GET k | SET k v | EXPIREAT k 1 | EXISTS k | SET k v
        PEXPIREAT k 1 | EXISTS k | SET k v | EXPIRE k 0 | EXISTS k | SET k v | PEXPIRE k -1 | EXISTS k | DBSIZE""",
    "options that contradict each other": """
        SET k v NX XX | SET k v XX NX | SET k v EX 10 PX 10 | SET k v EX 10 KEEPTTL | SET k v KEEPTTL PX 10
        SET k v EX | SET k v PX | SET k v FOO | SET k v NX FOO | SET k v EXAT 1 PXAT 1 | SET k v EX 100 EX 200
        SET k v PX 100000 PX 200000 | SET k | SET | SET k v NX NX | SET k v XX XX | SET k v KEEPTTL KEEPTTL
        SET k v PX 100000 EX 5 | SET k v KEEPTTL EX 5 | SET k v EXAT | SET k v 10 | SET k v "" """,
    "lifetimes that make no sense": """
        SET k v EX 0 | SET k v PX 0 | SET k v PX -5 | SET k v EX -5 | SET k v EXAT 0 | SET k v PXAT -1 | SET k v EX abc
        SET k v PX 1.5 | SET k v PX "" | SET k v EX 9223372036854775807 | SET k v PX 9223372036854775807
        SET k v EX 9223372036854775808 | SETEX k 0 v | SETEX k -1 v | SETEX k abc v | PSETEX k 0 v | PSETEX k 1.5 v
        SETEX k 9223372036854775807 v | EXPIRE k 9223372036854775807 | EXPIRE k abc | EXPIRE k 1.5 | PEXPIRE k ""
        EXPIREAT k 9223372036854775807 | PEXPIRE k 9223372036854775807 | EXPIRE k -9223372036854775808 | EXISTS k""",
    "setex and psetex": """
        SETEX k 100 v | TTL k | GET k | PSETEX k 100000 w | PTTL k | GET k | SETEX k 100 | PSETEX k 100""",
    "getdel": """
        SET k v | GETDEL k | EXISTS k | GETDEL k | RPUSH l a | GETDEL l | LLEN l""",
    "removal and existence": """
        SET a 1 | SET b 2 | RPUSH c x | EXISTS a | EXISTS a b c d a | TOUCH a b d | DEL a d | UNLINK b b c | DEL a
        EXISTS a b c | DEL | EXISTS | UNLINK | TOUCH""",
    "many keys over all cores": """
        SET k1 v | SET k2 v | SET k3 v | SET k4 v | SET k5 v | SET k6 v | SET k7 v | SET k8 v | DBSIZE
        EXISTS k1 k2 k3 k4 k5 k6 k7 k8 none | TOUCH k1 k2 k3 k4 k5 k6 k7 k8 none | DEL k1 k2 k3 k4 none k1
        UNLINK k5 k6 k7 k8 k8 | DBSIZE""",
    "expire": """
        EXPIRE none 100 | SET k v | TTL k | EXPIRE k 100 | TTL k | PEXPIRE k 200000 | PTTL k | PERSIST k | TTL k
        PERSIST k | PERSIST none | TTL none | PTTL none | EXPIRETIME none | PEXPIRETIME none | EXPIRETIME k
        PEXPIREAT k 4102444800123 | PEXPIRETIME k | EXPIREAT k 4102444801 | EXPIRETIME k | RPUSH l x | EXPIRE l 100
        TTL l | LPOP l | RPUSH l y | TTL l""",
    "expire with conditions": """
        SET k v | EXPIRE k 100 XX | EXPIRE k 100 GT | TTL k | EXPIRE k 100 LT | TTL k | PERSIST k | EXPIRE k 100 NX
        EXPIRE k 200 NX | TTL k | EXPIRE k 50 GT | EXPIRE k 500 GT | TTL k | EXPIRE k 600 LT | EXPIRE k 400 LT | TTL k
        EXPIRE k 700 XX | EXPIRE k 800 XX GT | EXPIRE k 100 XX LT | TTL k | PEXPIRE k 900000 xx gt | PTTL k
        EXPIREAT k 1 GT | EXISTS k | EXPIREAT k 1 LT | EXISTS k | EXPIRE none 100 NX""",
    "conditions that contradict each other": """
        SET k v | EXPIRE k 100 NX XX | EXPIRE k 100 NX GT | EXPIRE k 100 NX LT | EXPIRE k 100 GT LT | EXPIRE k 100 FOO
        EXPIRE k abc FOO | EXPIRE k abc NX XX | EXPIRE k | EXPIRE | PEXPIREAT k 1 XX XX | EXPIRE k 100 GT GT""",
    "counters": """
        INCR n | INCR n | INCRBY n 10 | DECR n | DECRBY n 5 | GET n | INCRBY n -3 | TYPE n | SET n 9223372036854775807
        INCR n | GET n | SET n -9223372036854775808 | DECR n | DECRBY n -9223372036854775808 | DECRBY n 1
        INCRBY n -1 | SET n abc | INCR n | SET n "" | INCR n | SET n " 1" | INCR n | SET n 01 | INCR n | SET n 1.0
        DECR n | INCRBY n abc | INCRBY n 1.5 | INCRBY n | SET n 5 EX 100 | INCR n | TTL n | INCRBY m 9223372036854775807
        SET n -0 | INCR n | SET n +1 | INCR n | STRLEN m""",
    "lists": """
        LPUSH l a | RPUSH l b c | LPUSH l x y | LLEN l | LPOP l | RPOP l | LPOP l 2 | LPOP l 0 | LPOP l 10 | LPOP l
        RPOP l | LPOP l 1 | LPOP l 0 | LLEN l | EXISTS l | TYPE l | LPOP l -1 | LPOP l abc | RPOP l 1.5 | LPOP l 1 2
        RPUSH l a b c d | RPOP l 3 | TYPE l | LPUSH l | LLEN | LPOP | RPUSH""",
    "the wrong kind of key": """
        SET s v | RPUSH l x | GET l | SET l v GET | LLEN l | LPUSH s x | RPUSH s x | LPOP s | RPOP s 1 | LPOP s abc
        LLEN s | INCR l | STRLEN l | GETDEL l | HGET s f | HEXISTS s f | HGETALL s | HLEN s | HKEYS s | HGET l f
        SETNX l v | SET l v NX | SET l v XX | GET l | BLPOP s 0 | RPUSH l2 x | BLPOP s l2 0 | BLPOP l2 s 0 | LLEN l2""",
    "hashes that are not there": """
        HGET k f | HEXISTS k f | HGETALL k | HLEN k | HKEYS k | HGET k | HEXISTS k | HGETALL | HGETALL k x""",
    "the same in RESP3": """
        HELLO 3 | GET k | SET k v XX | SET k v GET | LPOP l | LPOP l 1 | HGET k2 f | HGETALL k2 | BLPOP none 0.01
        WATCH k | SET k w | MULTI | GET k | EXEC | SET s x | HGETALL s | CLIENT GETNAME | HELLO 2 | GET none
        LPOP none 1 | HGETALL none""",
    "databases are separate": """
        SET k zero | SELECT 1 | GET k | SET k one | DBSIZE | SELECT 15 | DBSIZE | SET only here | SELECT 0 | GET k
        FLUSHDB | GET k | SELECT 1 | GET k | EXISTS k | FLUSHALL | GET k | SELECT 15 | EXISTS only | SELECT 16
        SELECT -1 | SELECT abc | SELECT | SELECT 1.5 | SELECT 99999999999 | GET only""",
    "flush": """
        SET k v | FLUSHDB | DBSIZE | SET k v | FLUSHDB SYNC | SET k v | FLUSHDB ASYNC | FLUSHALL sync | FLUSHALL FOO
        FLUSHDB SYNC ASYNC | DBSIZE""",
    "scan's mistakes": """
        SCAN abc | SCAN "" | SCAN 0 COUNT | SCAN 0 COUNT 0 | SCAN 0 COUNT -1 | SCAN 0 COUNT abc | SCAN 0 FOO
        SCAN 0 FOO bar | SCAN | SCAN 0 MATCH | SCAN 0 TYPE | KEYS | KEYS a b | SCAN 0 COUNT 1000 MATCH nothing""",
    "mistakes in number": """
        GET | GET a b | SETNX k | SETEX k 1 | GETDEL | TTL | TTL a b | PERSIST | TYPE | TYPE a b | INCR | INCR a b
        DECRBY n | STRLEN | PTTL | EXPIRETIME | DBSIZE x | LLEN a b | SELECT 1 2""",
    "strange keys and values": r"""
        SET "" empty | GET "" | SET "a b" "c d" | GET "a b" | SET "\r\n" "\x00\xff" | GET "\r\n" | DEL "" "a b" "\r\n"
        SET {tag}x 1 | SET x{tag} 2 | DEL {tag}x x{tag} | SET {} 1 | GET {} | STRLEN {}""",
    "large values": f"""SET k {"x" * 60_000} | STRLEN k | GET k | SET k {"y" * 100} | STRLEN k""",
}


def words(line):
    """Splits a command as a shell would; "\\xNN" and the like only within quotes."""
    found, rest = [], line.strip()
    while rest:
        if rest[0] == '"':
            end = rest.index('"', 1)
            found.append(rest[1:end].encode().decode("unicode_escape").encode("latin-1"))
            rest = rest[end + 1:].lstrip()
        else:
            word, _, rest = rest.partition(" ")
            found.append(word.encode())
            rest = rest.lstrip()
    return found


def commands(text):
    return [words(line) for row in text.strip().splitlines() for line in row.split("|") if line.strip()]


def run(port, sequence):
    with Client(port) as client:
        client.call("FLUSHALL")
        replies = [client.call(*command) for command in sequence]
        # HELLO tells what is different: the version and the connection's id.
        return ["hello" if command[0] == b"HELLO" else reply for command, reply in zip(sequence, replies)]


def alike(command, theirs, ours):
    if command[0].decode().upper() not in TIMES or not isinstance(ours, int) or not isinstance(theirs, int):
        return type(theirs) is type(ours) and theirs == ours
    if min(theirs, ours) < 0:
        return theirs == ours
    return abs(theirs - ours) <= (MOMENT_MS if command[0].upper().startswith(b"P") else MOMENT_MS // 1000)


class SameSequences(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = cls.enterClassContext(Redis())
        cls.servers = {cores: cls.enterClassContext(Lockkeeper(cores=cores)) for cores in (1, 2)}

    def test_every_sequence_is_answered_as_redis_does(self):
        for name, text in SEQUENCES.items():
            sequence = commands(text)
            expected = run(self.redis.port, sequence)
            for cores, server in self.servers.items():
                for command, theirs, ours in zip(sequence, expected, run(server.port, sequence)):
                    with self.subTest(name, cores=cores, command=b" ".join(command)[:200]):
                        self.assertTrue(alike(command, theirs, ours), f"redis {theirs!r}, lockkeeper {ours!r}")

    def test_the_null_and_map_of_each_protocol_are_the_same_bytes(self):
        for version, asked in ((2, "GET none|LPOP none 1|HGETALL none|BLPOP none 0.01|SET none v XX"),
                               (3, "GET none|LPOP none 1|HGETALL none|BLPOP none 0.01|SET none v XX")):
            data = b"".join(encode(*line.split()) for line in asked.split("|"))
            answers = []
            for port in [self.redis.port] + [server.port for server in self.servers.values()]:
                with Client(port) as client:
                    client.call("HELLO", version)
                    client.send_bytes(data + encode("QUIT"))
                    answers.append(client.read_all())
            self.assertEqual(len(set(answers)), 1, answers)
            self.assertTrue(answers[0].startswith(b"_\r\n_\r\n%0\r\n" if version == 3 else b"$-1\r\n*-1\r\n*0\r\n"))


class NewerCommands(unittest.TestCase):
    """Redis 8.4 and Valkey 8.1/9.0."""

    @classmethod
    def setUpClass(cls):
        cls.servers = [cls.enterClassContext(Lockkeeper(cores=cores)) for cores in (1, 2)]

    def expect(self, *steps):
        for server in self.servers:
            with Client(server.port) as client:
                client.call("FLUSHALL")
                for line, expected in steps:
                    with self.subTest(line):
                        self.assertEqual(client.call(*words(line)), expected)

    def test_set_ifeq_changes_only_what_is_equal_and_never_creates(self):
        self.expect(
            ("SET k v IFEQ v", None), ("EXISTS k", 0), ("SET k mine", "OK"), ("SET k w IFEQ other", None),
            ("GET k", b"mine"), ("SET k mine PX 100000 IFEQ mine", "OK"), ("SET k w IFEQ mine KEEPTTL", "OK"),
            ("GET k", b"w"), ("PERSIST k", 1), ("SET k x IFEQ w EX 100", "OK"), ("PERSIST k", 1),
            ("SET k y IFEQ x GET", b"x"), ("SET k z IFEQ x GET", b"y"), ("GET k", b"y"), ("SET none z IFEQ x GET", None),
            ("EXISTS none", 0),
        )

    def test_set_ifne_creates_what_is_absent(self):
        self.expect(
            ("SET k v IFNE x", "OK"), ("SET k w IFNE v", None), ("GET k", b"v"), ("SET k w IFNE x PX 100000", "OK"),
            ("GET k", b"w"), ("PERSIST k", 1), ("SET k x ifne y GET", b"w"), ("GET k", b"x"),
        )

    def test_conditions_exclude_each_other(self):
        for options in ("NX IFEQ v", "IFEQ v XX", "IFEQ v IFNE v", "IFNE v NX", "IFEQ", "PX 100000 IFEQ"):
            self.expect((f"SET k v {options}", SYNTAX), ("EXISTS k", 0))

    def test_delex_removes_under_a_condition(self):
        self.expect(
            ("DELEX k", 0), ("DELEX k IFEQ v", 0), ("SET k v", "OK"), ("DELEX k IFEQ other", 0), ("GET k", b"v"),
            ("DELEX k IFNE v", 0), ("DELEX k IFEQ v", 1), ("EXISTS k", 0), ("SET k v", "OK"), ("DELEX k ifne w", 1),
            ("EXISTS k", 0), ("SET k v", "OK"), ("DELEX k", 1), ("RPUSH l x", 1), ("DELEX l IFEQ x", WRONG_TYPE),
            ("DELEX l", 1), ("DELEX k IFEQ", SYNTAX),
            ("DELEX k FOO v", SYNTAX), ("DELEX k IFEQ v IFNE w", SYNTAX),
        )

    def test_delifeq_removes_what_is_equal(self):
        self.expect(
            ("DELIFEQ k v", 0), ("SET k v", "OK"), ("DELIFEQ k w", 0), ("EXISTS k", 1), ("DELIFEQ k v", 1),
            ("EXISTS k", 0), ("RPUSH l x", 1), ("DELIFEQ l x", WRONG_TYPE),
            ("DELIFEQ k", Error("ERR wrong number of arguments for 'delifeq' command")),
        )

    def test_digest_is_xxh3_in_sixteen_digits(self):
        leading_zeros = "v8lf0c11xh8ymlqztfd3eeq16kfn4sspw7fqmnuuq3k3t75em5wdizgcdw7uc26nnf961u2jkfzkjytls2kwlj7626sd"
        self.expect(
            ("DIGEST k", None), ("SET k token", "OK"), ("DIGEST k", b"ae23c8ed1a12e619"),
            (f"SET k {leading_zeros}", "OK"), ("DIGEST k", b"00006c38adf31777"), ("RPUSH l x", 1), ("DIGEST l", WRONG_TYPE),
        )

    def test_conditions_on_the_digest(self):
        is_token, is_other = "AE23c8ed1a12e619", "00006c38adf31777"
        bad = Error("ERR must be exactly 16 hexadecimal characters")
        self.expect(
            (f"SET k v IFDEQ {is_token}", None), ("EXISTS k", 0), (f"SET k token IFDNE {is_token}", "OK"),
            (f"SET k v IFDNE {is_token}", None), (f"SET k v IFDEQ {is_other} GET", b"token"), ("GET k", b"token"),
            (f"SET k token PX 100000 IFDEQ {is_token}", "OK"), ("PERSIST k", 1),
            (f"SET k v IFDEQ {is_token} GET", b"token"), ("GET k", b"v"), ("SET k token", "OK"),
            (f"DELEX k IFDEQ {is_other}", 0), (f"DELEX k IFDNE {is_token}", 0), (f"DELEX k ifdeq {is_token}", 1),
            (f"DELEX k IFDNE {is_other}", 0), ("SET k token", "OK"), (f"DELEX k IFDNE {is_other}", 1),
            ("SET k v IFDEQ 123", bad), ("SET k v IFDNE 000000000000000g", bad), ("DELEX k IFDEQ 00006c38adf317770", bad),
            (f"SET k v IFDEQ {is_token} IFEQ v", SYNTAX), (f"SET k v NX IFDNE {is_token}", SYNTAX), ("SET k v IFDEQ", SYNTAX),
            ("RPUSH l x", 1), (f"SET l v IFDEQ {is_token}", WRONG_TYPE), (f"DELEX l IFDNE {is_token}", WRONG_TYPE),
        )

    def test_a_refused_comparison_is_the_null_of_the_protocol(self):
        for server in self.servers:
            with Client(server.port) as client:
                client.call("HELLO", 3)
                client.send_bytes(encode("SET", "none", "v", "IFEQ", "v") + encode("QUIT"))
                self.assertEqual(client.read_all(), b"_\r\n+OK\r\n")


class LookingOverAllKeys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(cores=2))

    def setUp(self):
        self.client = self.enterContext(Client(self.server.port))
        self.client.call("FLUSHALL")

    def scan(self, *options, client=None):
        """All pages, and every name as often as it came."""
        names, cursor = [], b"0"
        while True:
            cursor, page = (client or self.client).call("SCAN", cursor, *options)
            names += page
            if cursor == b"0":
                return names

    def fill(self, names):
        self.client.send_bytes(b"".join(encode("SET", name, "v") for name in names))
        for _ in names:
            self.assertEqual(self.client.read(), "OK")

    def test_scan_tells_every_key_once(self):
        names = [b"key:%d" % i for i in range(5000)]
        self.fill(names)
        for count in (1, 10, 1000, 1_000_000):
            if count == 1:
                continue  # a page for each key: slow, and the next one shows the same
            found = self.scan("COUNT", count)
            self.assertEqual(sorted(found), sorted(names))
        self.assertEqual(self.client.call("DBSIZE"), 5000)

    def test_a_page_of_long_names_ends_early_and_the_cursor_leads_to_the_rest(self):
        names = [b"%08d" % i + b"x" * 8000 for i in range(200)]
        self.fill(names)
        cursor, page = self.client.call("SCAN", 0, "COUNT", 1000)
        self.assertLess(len(page), 150)
        self.assertNotEqual(cursor, b"0")
        self.assertEqual(sorted(self.scan("COUNT", 1000)), names)

    def test_keys_answers_up_to_eight_mebibytes(self):
        size, most = 8192, 8 * 1024 * 1024
        self.fill([b"%08d" % i + b"x" * (size - 8) for i in range(most // size)])
        self.assertEqual(len(self.client.call("KEYS", "*")), most // size)
        self.client.call("SET", "", "v")
        self.assertEqual(len(self.client.call("KEYS", "*")), most // size + 1, "an empty name adds no byte")
        self.client.call("SET", "k", "v")
        self.assertEqual(self.client.call("KEYS", "*"), Error("ERR too many keys match; use SCAN"))
        self.assertEqual(self.client.call("KEYS", "k"), [b"k"])

    def test_scan_chooses_by_pattern_and_kind(self):
        self.fill([b"a1", b"a2", b"b1"])
        self.client.call("RPUSH", "a3", "x")
        self.assertEqual(sorted(self.scan("MATCH", "a*")), [b"a1", b"a2", b"a3"])
        self.assertEqual(self.scan("TYPE", "list"), [b"a3"])
        self.assertEqual(sorted(self.scan("TYPE", "STRING", "MATCH", "[a]?")), [b"a1", b"a2"])
        self.assertEqual(self.scan("TYPE", "zset"), [])

    def test_keys_by_patterns_are_those_of_redis(self):
        names = ["a", "b", "ab", "abc", "a*c", "a[b]", "{x}y", "", "x\\y", "z-1", "]", "^a"]
        with Redis() as redis, Client(redis.port) as theirs:
            for name in names:
                theirs.call("SET", name, "v")
                self.client.call("SET", name, "v")
            for pattern in ("*", "?", "a*", "a?", "*b*", "[ab]", "[^a]", "[a-c]", "[c-a]", "a\\*c", "a[[]b]", "{*}?",
                            "", "[", "[a", "a[", "\\", "a\\", "x\\\\y", "**", "*?*", "z-[0-9]", "[]]", "[^]]", "[\\]]", "[-a]"):
                with self.subTest(pattern):
                    self.assertEqual(sorted(self.client.call("KEYS", pattern)), sorted(theirs.call("KEYS", pattern)))

    def test_keys_that_stay_are_seen_while_others_come_and_go(self):
        stay = [b"stay:%d" % i for i in range(2000)]
        self.fill(stay)
        done = threading.Event()

        def disturb():
            with Client(self.server.port) as other:
                turn = 0
                while not done.is_set():
                    turn += 1
                    some = [f"go:{turn % 7}:{i}" for i in range(500)]
                    other.send_bytes(b"".join(encode("SET", name, "v") for name in some) + encode("DEL", *some[:400]))
                    for _ in range(len(some) + 1):
                        other.read()

        disturber = threading.Thread(target=disturb)
        disturber.start()
        try:
            for _ in range(10):
                found = self.scan("COUNT", 50, "MATCH", "stay:*")
                self.assertEqual(sorted(set(found)), sorted(stay))
                self.assertEqual(sorted(self.client.call("KEYS", "stay:*")), sorted(stay))
        finally:
            done.set()
            disturber.join()

    def test_a_cursor_nobody_gave_out_does_no_harm(self):
        self.fill([b"a", b"b"])
        for cursor in (1, 7, 4294967295, 4294967296, 4294967297, 99 << 32, (1 << 63) - 1):
            next_one, names = self.client.call("SCAN", cursor)
            self.assertLessEqual(set(names), {b"a", b"b"})
            self.assertTrue(next_one.isdigit())

    def test_expired_keys_are_not_told(self):
        self.fill([b"stays"])
        self.client.call("SET", "goes", "v", "PX", 1)
        while self.client.call("EXISTS", "goes"):
            pass
        self.assertEqual(self.scan(), [b"stays"])
        self.assertEqual(self.client.call("KEYS", "*"), [b"stays"])


class Time(unittest.TestCase):
    def test_a_lock_ends_when_its_time_is_over_and_not_before(self):
        with Lockkeeper(cores=2) as server, Client(server.port) as client:
            for key in ("a", "b", "c", "d"):
                began = time.monotonic()
                self.assertEqual(client.call("SET", key, "mine", "NX", "PX", 300), "OK")
                while client.call("SET", key, "theirs", "NX") is None:
                    pass
                self.assertGreaterEqual(time.monotonic() - began, 0.299)
                self.assertEqual(client.call("GET", key), b"theirs")

    def test_the_time_left_counts_down(self):
        with Lockkeeper(cores=1) as server, Client(server.port) as client:
            client.call("SET", "k", "v", "PX", 100_000)
            first = client.call("PTTL", "k")
            self.assertLessEqual(first, 100_000)
            while client.call("PTTL", "k") >= first:
                pass
            self.assertEqual(client.call("TTL", "k"), 100)

    def test_a_lifetime_of_thousands_of_years_is_a_very_long_one(self):
        with Lockkeeper(cores=1) as server, Client(server.port) as client:
            for command in (("SET", "k", "v", "EX", 9_000_000_000_000), ("EXPIRE", "k", 9_000_000_000_000_000)):
                client.call(*command)
                self.assertGreater(client.call("TTL", "k"), 200 * 365 * 24 * HOUR)
                self.assertEqual(client.call("GET", "k"), b"v")


if __name__ == "__main__":
    main()
