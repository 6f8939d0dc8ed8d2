"""WATCH, MULTI, EXEC: as Redis does it, and never half visible however many cores the keys are of."""

import threading
import unittest

from support import Client, Error, Lockkeeper, Redis, main

ABORTED = Error("EXECABORT Transaction discarded because of previous errors.")
ROUNDS = 2000

# name -> commands of one connection; "other: ..." is a second connection. Replies are those of a real redis-server.
SEQUENCES = {
    "a plain one": "MULTI | SET k v | GET k | INCR n | EXEC | GET k | EXEC",
    "an empty one": "MULTI | EXEC | MULTI | DISCARD | DISCARD",
    "discard": "SET k v | MULTI | DEL k | DISCARD | GET k | MULTI | GET k | EXEC",
    "nested": "MULTI | MULTI | SET k v | EXEC | GET k",
    "watch inside": "MULTI | WATCH k | SET k v | EXEC | GET k",
    "an unknown command breaks it": "MULTI | SET k v | NOSUCH | GET k | EXEC | GET k | MULTI | PING | EXEC",
    "a wrong number of arguments breaks it": "MULTI | GET | SET k v | EXEC | EXISTS k",
    "a broken one can be discarded": "MULTI | NOSUCH | DISCARD | MULTI | PING | EXEC",
    "an error when it runs does not stop the rest": "SET s x | MULTI | INCR s | LPUSH s y | SET k v | SET k v EX 0 | EXEC | GET k",
    "a bad option is noticed when it runs": "MULTI | SET k v FOO | SET k2 v | EXEC | EXISTS k k2",
    "watched and unchanged": "SET k v | WATCH k | GET k | MULTI | DEL k | EXEC | EXISTS k",
    "watched and changed": "SET k v | WATCH k | GET k | other: SET k w | MULTI | DEL k | EXEC | GET k",
    "changed by oneself": "WATCH k | SET k v | MULTI | GET k | EXEC",
    "watched, changed and changed back": "SET k v | WATCH k | other: SET k w | other: SET k v | MULTI | GET k | EXEC",
    "a removed key": "SET k v | WATCH k | other: DEL k | MULTI | SET k w | EXEC | GET k",
    "removed and created anew": "SET k v | WATCH k | other: DEL k | other: SET k v | MULTI | GET k | EXEC",
    "an absent key that came": "WATCH k | other: SET k v | MULTI | GET k | EXEC",
    "an absent key that stayed away": "WATCH k | other: SET k2 v | other: DEL k | MULTI | GET k | EXEC",
    "a refused change is none": "SET k v | WATCH k | other: SET k w NX | other: DEL none | MULTI | GET k | EXEC",
    "a new lifetime is a change": "SET k v | WATCH k | other: EXPIRE k 100 | MULTI | GET k | EXEC",
    "a refused lifetime is none": "SET k v | WATCH k | other: EXPIRE k 100 XX | MULTI | GET k | EXEC",
    "persist is a change": "SET k v EX 100 | WATCH k | other: PERSIST k | MULTI | GET k | EXEC",
    "persist of what has no end is none": "SET k v | WATCH k | other: PERSIST k | MULTI | GET k | EXEC",
    "a push is a change": "WATCH l | other: RPUSH l x | MULTI | LLEN l | EXEC",
    "a pop is a change": "RPUSH l x y | WATCH l | other: LPOP l | MULTI | LLEN l | EXEC",
    "a read is none": "SET k v | WATCH k | other: GET k | other: TTL k | other: TYPE k | MULTI | GET k | EXEC",
    "flushdb is a change": "SET k v | WATCH k | other: FLUSHDB | MULTI | GET k | EXEC",
    "flushdb of nothing is none": "WATCH k | other: FLUSHDB | MULTI | GET k | EXEC",
    "flushall is a change": "SET k v | WATCH k | other: FLUSHALL | MULTI | GET k | EXEC",
    "unwatch": "SET k v | WATCH k | other: SET k w | UNWATCH | MULTI | GET k | EXEC",
    "discard unwatches": "WATCH k | other: SET k w | MULTI | DISCARD | MULTI | GET k | EXEC",
    "exec unwatches": "WATCH k | other: SET k w | MULTI | EXEC | MULTI | GET k | EXEC",
    "an aborted exec unwatches": "WATCH k | other: SET k w | MULTI | NOSUCH | EXEC | MULTI | GET k | EXEC",
    "unwatch inside comes too late": "SET k v | WATCH k | other: SET k w | MULTI | UNWATCH | EXEC",
    "several watched, one changed": "WATCH a b c d e | other: SET d v | MULTI | PING | EXEC",
    "watched in another database": "SELECT 1 | WATCH k | SELECT 0 | other: SET k v | MULTI | PING | EXEC",
    "watched twice": "WATCH k k | WATCH k | MULTI | PING | EXEC | WATCH k | other: SET k v | WATCH k | MULTI | PING | EXEC",
    "select inside": "MULTI | SET k zero | SELECT 1 | GET k | SET k one | EXEC | GET k | SELECT 0 | GET k",
    "keys of several cores": "MULTI | SET a 1 | SET b 2 | SET c 3 | DEL a b none | EXISTS a b c | EXEC | EXISTS a b c",
    "keys of several cores, watched": "SET a 1 | WATCH a b c d | MULTI | DEL a b | SET c 1 | EXISTS a b c d | EXEC",
    "the whole database inside": "SET a 1 | SET b 1 | MULTI | DBSIZE | FLUSHDB | DBSIZE | SET c 1 | DBSIZE | EXEC | DBSIZE",
    "a blocking command inside does not block": "MULTI | BLPOP l 0 | RPUSH l x | BLPOP l 0 | BRPOP a b l 0 | EXEC",
    "wait inside": "MULTI | WAIT 0 0 | EXEC",
    "echo and ping inside": "MULTI | PING | PING hi | ECHO x | EXEC",
    "reset ends it": "WATCH k | MULTI | SET k v | RESET | EXEC | GET k",
    "the null of RESP3": "HELLO 3 | WATCH k | SET k v | MULTI | GET k | GET none | EXEC | MULTI | GET none | EXEC",
    "a wrong number of arguments": "MULTI x | WATCH | UNWATCH x | DISCARD x | MULTI | WATCH | DISCARD x | EXEC",
    "hello inside": "MULTI | PING | DISCARD | MULTI | SELECT 99 | SELECT abc | EXEC",
    "client inside": "MULTI | CLIENT SETNAME me | CLIENT GETNAME | EXEC",
    "quit inside": "MULTI | SET k v | QUIT",
}


def run(port, line):
    with Client(port) as client, Client(port) as other:
        client.call("FLUSHALL")
        replies = []
        for command in line.split("|"):
            command = command.split()
            if command[0] == "other:":
                replies.append(other.call(*command[1:]))
            else:
                reply = client.call(*command)
                # HELLO tells what is different: the version and the connection's id.
                replies.append("hello" if command[0] == "HELLO" else reply)
        return replies


class SameAsRedis(unittest.TestCase):
    def test_every_sequence_is_answered_as_redis_does(self):
        with Redis() as redis, Lockkeeper(cores=1) as one, Lockkeeper(cores=2) as two:
            for name, line in SEQUENCES.items():
                expected = run(redis.port, line)
                for server, cores in ((one, 1), (two, 2)):
                    with self.subTest(name, cores=cores):
                        self.assertEqual(run(server.port, line), expected)

    def test_a_watched_key_whose_time_ended_has_changed(self):
        with Redis() as redis, Lockkeeper(cores=2) as server:
            for port in (redis.port, server.port):
                with Client(port) as client:
                    client.call("SET", "k", "v", "PX", 50)
                    self.assertEqual(client.call("WATCH", "k"), "OK")
                    while client.call("EXISTS", "k"):
                        pass
                    client.call("MULTI")
                    client.call("PING")
                    self.assertIsNone(client.call("EXEC"))

    def test_the_idiom_of_dotnet(self):
        """StackExchange.Redis' LockRelease: WATCH and GET, a look at the value, then MULTI DEL EXEC or UNWATCH."""
        with Lockkeeper(cores=2) as server, Client(server.port) as mine, Client(server.port) as theirs:
            def release(token, between=lambda: None):
                mine.send("WATCH", "lock")
                mine.send("GET", "lock")
                self.assertEqual(mine.read(), "OK")
                if mine.read() != token:
                    self.assertEqual(mine.call("UNWATCH"), "OK")
                    return False
                between()
                mine.send("MULTI")
                mine.send("DEL", "lock")
                mine.send("EXEC")
                self.assertEqual([mine.read(), mine.read()], ["OK", "QUEUED"])
                return mine.read()

            mine.call("SET", "lock", "me", "NX", "PX", 100_000)
            self.assertEqual(release(b"me"), [1])
            theirs.call("SET", "lock", "them", "NX", "PX", 100_000)
            self.assertEqual(release(b"me"), False)
            theirs.call("DEL", "lock")
            mine.call("SET", "lock", "me", "NX", "PX", 100_000)

            def lose_it():  # it expired and somebody else has it now
                theirs.call("DEL", "lock")
                self.assertEqual(theirs.call("SET", "lock", "them", "NX", "PX", 100_000), "OK")

            self.assertIsNone(release(b"me", lose_it))
            self.assertEqual(theirs.call("GET", "lock"), b"them")


class NothingIsHalfVisible(unittest.TestCase):
    """Clients at both cores work on pairs of keys that are of different cores; what they see is whole."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(cores=2))

    def together(self, *jobs):
        """Runs the jobs at once, each with a connection; the first one ends it all. Raises what any raised."""
        done, problems = threading.Event(), []

        def work(job, is_first):
            try:
                with Client(self.server.port) as client:
                    while not done.is_set() and not problems:
                        if job(client) is False:
                            break
            except BaseException as problem:
                problems.append(problem)
            finally:
                if is_first:
                    done.set()

        threads = [threading.Thread(target=work, args=(job, i == 0)) for i, job in enumerate(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]

    def rounds(self, job, count=ROUNDS):
        left = [count]

        def once(client):
            job(client)
            left[0] -= 1
            return left[0] > 0

        return once

    def transact(self, client, *commands):
        for command in (("MULTI",), *commands, ("EXEC",)):
            client.send(*command)
        replies = [client.read() for _ in range(len(commands) + 2)]
        self.assertEqual(replies[:-1], ["OK"] + ["QUEUED"] * len(commands))
        return replies[-1]

    # Sixteen keys are of both cores; that all are of one has a chance of 2^-15.
    KEYS = [f"pair:{i}" for i in range(16)]

    def setUp(self):
        with Client(self.server.port) as client:
            client.call("FLUSHALL")

    def test_exec_against_exists(self):
        def write(client):
            self.transact(client, *[("SET", key, "v") for key in self.KEYS])
            self.transact(client, *[("DEL", key) for key in self.KEYS])

        def observe(client):
            self.assertIn(client.call("EXISTS", *self.KEYS), (0, len(self.KEYS)))

        self.together(self.rounds(observe), write, write, observe)

    def test_del_over_several_cores_against_exec(self):
        def write(client):
            self.transact(client, *[("SET", key, "v") for key in self.KEYS])
            self.assertIn(client.call("DEL", *self.KEYS), (0, len(self.KEYS)))

        def observe(client):
            seen = self.transact(client, *[("EXISTS", key) for key in self.KEYS])
            self.assertEqual(len(set(seen)), 1, seen)

        self.together(self.rounds(observe), write, write, observe)

    def test_the_whole_database(self):
        def write(client):
            self.transact(client, *[("SET", key, "v") for key in self.KEYS])
            client.call("FLUSHDB")

        def observe(client):
            self.assertIn(client.call("EXISTS", *self.KEYS), (0, len(self.KEYS)))
            self.assertIn(client.call("DBSIZE"), (0, len(self.KEYS)))
            self.assertIn(len(client.call("KEYS", "*")), (0, len(self.KEYS)))

        self.together(self.rounds(observe, ROUNDS // 2), write, write, observe)

    def test_sums_stay_the_same(self):
        """Money moves between accounts of both cores, under WATCH: none is lost, none appears."""
        accounts = [f"account:{i}" for i in range(8)]
        with Client(self.server.port) as client:
            for account in accounts:
                client.call("SET", account, 100)
        moved = []

        def move(client):
            source, target = accounts[len(moved) % 8], accounts[(len(moved) * 3 + 1) % 8]
            client.send("WATCH", source, target)
            client.send("GET", source)
            client.send("GET", target)
            _, a, b = client.read(), int(client.read()), int(client.read())
            if self.transact(client, ("SET", source, a - 1), ("SET", target, b + 1 if source != target else a)) is not None:
                moved.append(1)

        def observe(client):
            values = self.transact(client, *[("GET", account) for account in accounts])
            self.assertEqual(sum(map(int, values)), 800, values)

        self.together(self.rounds(observe), move, move, move)
        self.assertTrue(moved)

    def test_a_pop_that_waits_gets_nothing_out_of_the_middle(self):
        """What a transaction pushes and takes away again nobody else ever sees."""
        lists = ["list:a", "list:b", "list:c"]

        def write(client):
            for name in lists:
                self.assertEqual(self.transact(client, ("RPUSH", name, "x"), ("LLEN", name), ("LPOP", name)), [1, 1, b"x"])

        def wait(client):
            self.assertIsNone(client.call("BLPOP", *lists, "0.02"))

        self.together(self.rounds(write, ROUNDS // 4), wait, wait)


if __name__ == "__main__":
    main()
