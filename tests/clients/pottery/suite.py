"""pottery's Redlock, over three servers."""

import importlib.metadata
import time

import redis
from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock, TooManyExtensions

from scenarios import (FOREVER, HOST, INCREMENTS, PASSWORD, PATIENCE, PORTS, USER, WORKERS, NotApplicable, Worker, expect,
                       in_threads, restart_server, run, wait_until)


def connect(**options):
    return {redis.Redis(HOST, port, **options) for port in PORTS}


masters = connect(max_connections=200)


def lock(name, seconds=30, on=masters):
    return Redlock(key=name, masters=on, auto_release_time=seconds, num_extensions=2)


def held_by(name, on=masters):
    """How many servers have it."""
    return sum(one.exists(f"redlock:{name}") for one in on)


def handshake():
    three = connect(username=USER, password=PASSWORD, client_name="suite", db=3)
    with lock("hello", on=three):
        assert held_by("hello") == 0, "another database has the same lock"


def acquire_release(on=masters):
    one = lock("acquire", 10, on)
    assert one.acquire(blocking=False)
    assert 8 < one.locked() <= 10
    assert held_by("acquire", on) >= 2
    one.release()
    wait_until(lambda: held_by("acquire", on) == 0, "the release")


def refused_while_held():
    with lock("refused"):
        assert not lock("refused").acquire(blocking=False)
        assert not lock("refused").acquire(timeout=0.3)
        assert held_by("refused") >= 2


def wakes_on_release():
    held = lock("wakes", FOREVER)
    assert held.acquire()
    woken = []

    def wait():
        with lock("wakes"):
            woken.append(time.monotonic())

    waiter = Worker(wait)
    time.sleep(0.5)  # it has asked a few times by now
    assert not woken
    held.release()
    released = time.monotonic()
    waiter.join()
    return f"{1000 * (woken[0] - released):.0f} ms, it polls every 0 to 200 ms"


def extend():
    one = lock("extend", 20)
    assert one.acquire()
    wait_until(lambda: one.locked() < 18, "two seconds")
    one.extend()
    # It returns when two of three servers have done it, and locked() tells of the two that are the first to answer.
    wait_until(lambda: one.locked() > 18, "the third server")
    one.extend()
    expect(TooManyExtensions, one.extend)
    one.release()


def expiry_frees():
    assert lock("expiry", 0.5).acquire()
    other = lock("expiry")
    assert other.acquire(timeout=PATIENCE)
    other.release()


def release_of_expired_or_foreign():
    first = lock("foreign", 0.5)
    assert first.acquire()
    second = lock("foreign")
    assert second.acquire(timeout=PATIENCE)
    expect(ReleaseUnlockedLock, first.release)
    expect(ExtendUnlockedLock, first.extend)
    assert second.locked()
    second.release()
    expect(ReleaseUnlockedLock, second.release)


def reentrancy():
    raise NotApplicable("Redlock is not reentrant")


def watchdog():
    raise NotApplicable("Redlock does not renew itself")


# Each attempt asks three servers and is taken back if it fails: the control takes minutes for 50 x 200.
FEWER = 10


def counter():
    count = [0]

    def work():
        for _ in range(max(1, INCREMENTS // FEWER)):
            with lock("counter", FOREVER):
                seen = count[0]
                time.sleep(0)  # another thread may run
                count[0] = seen + 1

    workers = WORKERS // FEWER
    in_threads([work] * workers)
    assert count[0] == workers * max(1, INCREMENTS // FEWER), count
    return f"{workers} workers, {INCREMENTS // FEWER} increments each: the control takes minutes for more"


def fairness():
    turns = [0] * 4

    def work(me):
        while min(turns) < 3:
            with lock("fair"):
                turns[me] += 1
            time.sleep(0.01)

    in_threads([lambda me=me: work(me) for me in range(4)])
    return f"turns until everybody had 3: {turns}"


def reconnect():
    with lock("restart"):
        pass
    restart_server()  # one of the three
    one = lock("after")
    assert one.acquire(timeout=PATIENCE)
    one.release()
    first = next(one for one in masters if one.connection_pool.connection_kwargs["port"] == PORTS[0])

    def again():
        try:
            return first.ping()
        except redis.ConnectionError:
            return False

    wait_until(again, "the server that was restarted")


def resp2():
    acquire_release(connect(protocol=2))


def resp3():
    acquire_release(connect(protocol=3))


def usage_errors():
    expect(ReleaseUnlockedLock, lock("errors").release)
    expect(ValueError, lock("errors").acquire, blocking=False, timeout=1)
    for one in masters:
        one.rpush("redlock:errors", "a list")
        assert "WRONGTYPE" in str(expect(redis.ResponseError, one.get, "redlock:errors"))
    assert not lock("errors").acquire(blocking=False)
    for one in masters:
        one.delete("redlock:errors")


if __name__ == "__main__":
    run(f"pottery {importlib.metadata.version('pottery')}", {
        one.__name__: one for one in (
            handshake, acquire_release, refused_while_held, wakes_on_release, extend, expiry_frees,
            release_of_expired_or_foreign, reentrancy, watchdog, counter, fairness, reconnect, resp2, resp3, usage_errors)
    })
