"""redis-py's Lock, called by threads."""

import time

import redis
from redis.exceptions import AuthenticationError, LockError, LockNotOwnedError

from scenarios import (FOREVER, HOST, INCREMENTS, PASSWORD, PORT, USER, WORKERS, NotApplicable, Worker, asked_for_latency,
                       expect, in_threads, latency, restart_server, run, wait_until)


def connect(**options):
    return redis.Redis(HOST, PORT, **options)


client = connect(max_connections=200)


def handshake():
    with connect(username=USER, password=PASSWORD, client_name="suite", db=3) as one:
        assert one.ping()
        assert one.client_getname() == "suite" or one.client_getname() == b"suite"
        assert one.info("server")["redis_mode"] == "standalone"
        with one.lock("hello", timeout=10):
            assert client.get("hello") is None, "another database has the same lock"
    with connect(username=USER, password="a wrong one") as one:
        expect(AuthenticationError, one.lock("hello").acquire)


def acquire_release(one=client):
    lock = one.lock("acquire", timeout=10)
    assert lock.acquire(blocking=False)
    assert lock.locked() and lock.owned()
    assert 9000 < one.pttl("acquire") <= 10000
    lock.release()
    assert one.exists("acquire") == 0 and not lock.locked()


def refused_while_held():
    with client.lock("refused", timeout=30) as held:
        other = client.lock("refused", timeout=30)
        assert not other.acquire(blocking=False)
        assert not other.acquire(blocking_timeout=0.3)
        assert held.owned() and not other.owned()


def wakes_on_release():
    held = client.lock("wakes", timeout=FOREVER)
    assert held.acquire()

    def wait():
        with client.lock("wakes", timeout=10):
            woken.append(time.monotonic())

    woken = []
    waiter = Worker(wait)
    time.sleep(0.5)  # it has asked a few times by now
    assert not woken
    held.release()
    released = time.monotonic()
    waiter.join()
    return f"{1000 * (woken[0] - released):.0f} ms, it polls every 100 ms"


def extend():
    lock = client.lock("extend", timeout=10)
    assert lock.acquire()
    assert lock.extend(100)
    assert 100_000 < client.pttl("extend") <= 110_000
    assert lock.extend(50, replace_ttl=True)
    assert 40_000 < client.pttl("extend") <= 50_000
    assert lock.reacquire()
    assert 9_000 < client.pttl("extend") <= 10_000
    lock.release()
    expect(LockError, lock.extend, 10)


def expiry_frees():
    first = client.lock("expiry", timeout=0.3)
    assert first.acquire()
    with client.lock("expiry", timeout=10, sleep=0.01):
        assert not first.owned()


def release_of_expired_or_foreign():
    first = client.lock("foreign", timeout=0.2)
    assert first.acquire()
    wait_until(lambda: not first.locked(), "the end of a lease")
    expect(LockNotOwnedError, first.release)
    first = client.lock("foreign", timeout=0.2)
    assert first.acquire()
    second = client.lock("foreign", timeout=30)
    assert second.acquire()
    expect(LockNotOwnedError, first.release)
    first.local.token = b"another"
    expect(LockNotOwnedError, first.extend, 10)
    expect(LockNotOwnedError, first.reacquire)
    assert second.owned()
    second.release()


def reentrancy():
    raise NotApplicable("Lock is not reentrant")


def watchdog():
    raise NotApplicable("Lock does not renew itself")


def counter():
    count = [0]

    def work():
        for _ in range(INCREMENTS):
            with client.lock("counter", timeout=FOREVER, sleep=0.1):
                seen = count[0]
                time.sleep(0)  # another thread may run
                count[0] = seen + 1

    in_threads([work] * WORKERS)
    assert count[0] == WORKERS * INCREMENTS, f"{count[0]} of {WORKERS * INCREMENTS}"


def fairness():
    turns = [0] * 5

    def work(me):
        while min(turns) < 5:
            with client.lock("fair", timeout=30, sleep=0.01):
                turns[me] += 1
            time.sleep(0.001)

    in_threads([lambda me=me: work(me) for me in range(5)])
    return f"turns until everybody had 5: {turns}"


def reconnect():
    lock = client.lock("restart", timeout=30)
    assert lock.acquire()
    lock.release()
    restart_server()
    lock = client.lock("after", timeout=30)

    def again():
        try:
            return lock.acquire()
        except redis.ConnectionError:  # redis-py 5 does not try again by itself
            return False

    wait_until(again, "a lock after a restart")
    assert lock.extend(10)
    lock.release()


def resp2():
    with connect(protocol=2) as one:
        acquire_release(one)


def resp3():
    with connect(protocol=3) as one:
        acquire_release(one)


def usage_errors():
    expect(LockError, client.lock("errors", timeout=1).release)
    with client.lock("errors", timeout=None) as forever:
        expect(LockError, forever.extend, 1)
        expect(LockError, forever.reacquire)
        assert client.pttl("errors") == -1
    client.rpush("errors", "a list")
    assert not client.lock("errors", timeout=1).acquire(blocking=False)
    assert "WRONGTYPE" in str(expect(redis.ResponseError, client.get, "errors"))
    client.delete("errors")
    error = expect(redis.ResponseError, client.set, "errors", "x", nx=True, px=0)
    assert str(error) == "invalid expire time in 'set' command", error
    error = expect(redis.ResponseError, client.execute_command, "SET", "errors", "x", "NX", "XX")
    assert str(error) == "syntax error", error


if __name__ == "__main__":
    if asked_for_latency():
        run("redis-py", {"latency": lambda: latency(lambda key: client.lock(key, timeout=30, sleep=0.01))})
        raise SystemExit
    run(f"redis-py {redis.__version__}", {
        one.__name__: one for one in (
            handshake, acquire_release, refused_while_held, wakes_on_release, extend, expiry_frees,
            release_of_expired_or_foreign, reentrancy, watchdog, counter, fairness, reconnect, resp2, resp3, usage_errors)
    })
