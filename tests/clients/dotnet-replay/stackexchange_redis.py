"""LockTake, LockQuery, LockExtend and LockRelease of StackExchange.Redis, replayed.

Below Redis 8.4 the library compares the owner itself, in an optimistic transaction; from 8.4 on the server does.
"""

import time

from multiplexer import Multiplexer, listen, token
from scenarios import (FOREVER, INCREMENTS, KIND, PASSWORD, USER, WORKERS, NotApplicable, Worker, in_threads, restart_server,
                       run, wait_until)
from support import Error


def expiry(milliseconds):
    """It writes whole seconds as such."""
    seconds, rest = divmod(milliseconds, 1000)
    return ("PX", str(milliseconds)) if rest else ("EX", str(seconds))


class Database:
    """IDatabase's locks on one multiplexer."""

    def __init__(self, **options):
        self.on = Multiplexer(**options)
        self.call = self.on.call

    def take(self, key, owner, milliseconds):
        answer = self.call("SET", key, owner, *expiry(milliseconds), "NX")
        assert answer in ("OK", None), answer
        return answer == "OK"

    def query(self, key):
        return self.call("GET", key)

    def if_owner(self, key, owner, *change):
        """WATCH and GET in one packet; then either the transaction or UNWATCH."""
        watched, value = self.on.pipeline(["WATCH", key], ["GET", key])
        assert watched == "OK", watched
        if isinstance(value, Error) or value != owner:
            assert self.call("UNWATCH") == "OK"
            if isinstance(value, Error):
                raise value
            return False
        began, queued, done = self.on.pipeline(["MULTI"], change, ["EXEC"])
        assert (began, queued) == ("OK", "QUEUED"), (began, queued)
        return done == [1]

    def release(self, key, owner):
        return self.if_owner(key, owner, "DEL", key)

    def extend(self, key, owner, milliseconds):
        unit, number = expiry(milliseconds)
        return self.if_owner(key, owner, "PEXPIRE" if unit == "PX" else "EXPIRE", key, number)

    def wait(self, key, milliseconds=1000 * FOREVER, pause=0.02):
        """The library has no waiting; applications ask again. Gives the release."""
        owner = token()
        while not self.take(key, owner, milliseconds):
            time.sleep(pause)

        def release():
            assert self.release(key, owner), "not released"

        return release


db = Database()


def handshake():
    one = Database(user=USER, password=PASSWORD, name="worker", database=3)
    assert one.call("CLIENT", "GETNAME") == b"worker"
    assert {**one.on.handshake[1]}[b"mode"] == b"standalone"
    listen().close()
    release = one.wait("hello")
    assert db.query("hello") is None, "another database has the same lock"
    release()


def acquire_release(one=db):
    owner = token()
    assert one.take("acquire", owner, 10_000)
    assert one.query("acquire") == owner
    assert 9_000 < one.call("PTTL", "acquire") <= 10_000
    assert one.release("acquire", owner)
    assert one.call("EXISTS", "acquire") == 0


def refused_while_held():
    owner = token()
    assert db.take("refused", owner, 1000 * FOREVER)
    assert not db.take("refused", token(), 10_500)
    assert db.query("refused") == owner
    assert db.release("refused", owner)


def wakes_on_release():
    release = db.wait("wakes")
    woken = []

    def wait():
        other = Database().wait("wakes")
        woken.append(time.monotonic())
        other()

    waiter = Worker(wait)
    time.sleep(0.5)  # it has asked a few times by now
    assert not woken
    release()
    released = time.monotonic()
    waiter.join()
    return f"{1000 * max(0, woken[0] - released):.0f} ms, polls every 20 ms"


def extend():
    owner = token()
    assert db.take("extend", owner, 10_000)
    assert db.extend("extend", owner, 100_500)
    assert 90_000 < db.call("PTTL", "extend") <= 100_500
    assert db.extend("extend", owner, 50_000)
    assert 40_000 < db.call("PTTL", "extend") <= 50_000
    assert db.release("extend", owner)
    assert not db.extend("extend", owner, 1000)


def expiry_frees():
    assert db.take("expiry", token(), 300)
    db.wait("expiry")()


def release_of_expired_or_foreign():
    late = token()
    assert db.take("foreign", late, 300)
    release = db.wait("foreign")
    assert not db.release("foreign", late) and not db.extend("foreign", late, 1000)
    release()
    # Whoever takes it between the comparison and the transaction keeps it.
    assert db.take("foreign", late, 10_000)
    assert db.on.pipeline(["WATCH", "foreign"], ["GET", "foreign"]) == ["OK", late]
    other = Database()
    assert other.call("DEL", "foreign") == 1 and other.take("foreign", b"the next", 10_000)
    assert db.on.pipeline(["MULTI"], ["DEL", "foreign"], ["EXEC"]) == ["OK", "QUEUED", None]
    assert other.release("foreign", b"the next")


def reentrancy():
    raise NotApplicable("LockTake is not reentrant")


def watchdog():
    raise NotApplicable("a lock of StackExchange.Redis does not renew itself")


def counter():
    count = 0

    def work():
        nonlocal count
        one = Database()
        for _ in range(INCREMENTS):
            release = one.wait("counter", pause=0.1)
            seen = count
            time.sleep(0)  # another thread may run
            count = seen + 1
            release()

    in_threads([work] * WORKERS)
    assert count == WORKERS * INCREMENTS, f"{count} of {WORKERS * INCREMENTS}"


def fairness():
    turns = [0] * 5

    def work(me):
        one = Database()
        while min(turns) < 5:
            release = one.wait("fair")
            turns[me] += 1
            release()
            time.sleep(0.001)

    in_threads([lambda me=me: work(me) for me in range(len(turns))])
    return f"turns until everybody had 5: {turns}"


def usage_errors():
    db.call("RPUSH", "errors", "a list")
    assert not db.take("errors", token(), 1000)
    try:
        db.release("errors", token())
        raise AssertionError("released a list")
    except Error as error:
        assert str(error).startswith("WRONGTYPE"), error
    assert db.call("DEL", "errors") == 1
    assert db.call("SET", "errors", "x", "PX", "0", "NX") == Error("ERR invalid expire time in 'set' command")
    assert db.call("EXEC") == Error("ERR EXEC without MULTI")


def reconnect():
    db.wait("restart")()
    restart_server()

    def again():
        try:
            Database().wait("after")()
            return True
        except OSError:
            return False

    wait_until(again, "a lock after a restart")


def compare_commands():
    """What it sends to a server that says to be 8.4 or newer."""
    if KIND == "redis":
        raise NotApplicable("redis-server 7.0 has neither DELEX nor SET IFEQ")
    owner = token()
    assert db.take("compare", owner, 10_000)
    assert db.call("SET", "compare", owner, "PX", "100500", "IFEQ", owner) == "OK"
    assert 90_000 < db.call("PTTL", "compare") <= 100_500
    assert db.call("SET", "compare", b"another", "EX", "5", "IFEQ", b"another") is None
    assert db.call("DELEX", "compare", "IFEQ", b"another") == 0
    assert db.call("DELEX", "compare", "IFEQ", owner) == 1
    assert db.call("DELEX", "compare", "IFEQ", owner) == 0


run("StackExchange.Redis 3.1 (replay)", {
    "handshake": handshake, "acquire_release": acquire_release, "refused_while_held": refused_while_held,
    "wakes_on_release": wakes_on_release, "extend": extend, "expiry_frees": expiry_frees,
    "release_of_expired_or_foreign": release_of_expired_or_foreign, "reentrancy": reentrancy, "watchdog": watchdog,
    "counter": counter, "fairness": fairness, "resp2": lambda: acquire_release(Database(protocol=2)),
    "resp3": lambda: acquire_release(Database(protocol=3)), "usage_errors": usage_errors,
    "compare_commands": compare_commands, "reconnect": reconnect,
})
