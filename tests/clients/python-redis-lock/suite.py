"""python-redis-lock: waits by BLPOP on a list of signals, renews itself in a thread."""

import importlib.metadata
import time

import redis
import redis_lock

from scenarios import (FOREVER, HOST, INCREMENTS, PASSWORD, PATIENCE, PORT, USER, WORKERS, Holder, NotApplicable, Worker,
                       expect, holding, in_threads, restart_server, run, time_hand_offs, wait_until)


def connect(**options):
    # Its waits are longer than the 5 s that redis-py 8 gives an answer.
    return redis.Redis(HOST, PORT, socket_timeout=None, **options)


client = connect(max_connections=200)


def lock(name, on=client, **options):
    return redis_lock.Lock(on, name, **options)


def key_of(name):
    return f"lock:{name}"


def handshake():
    with connect(username=USER, password=PASSWORD, client_name="suite", db=3) as one:
        with lock("hello", on=one, expire=10):
            assert not client.exists(key_of("hello")), "another database has the same lock"


def acquire_release(on=client):
    one = lock("acquire", on=on, expire=10)
    assert one.acquire(blocking=False)
    assert one.locked() and one.get_owner_id() == one.id
    assert 9_000 < on.pttl(key_of("acquire")) <= 10_000
    one.release()
    assert not one.locked()


def refused_while_held():
    held = lock("refused", expire=30)
    assert held.acquire()
    assert not lock("refused", expire=30).acquire(blocking=False)
    assert not lock("refused", expire=30).acquire(timeout=1)
    assert held.get_owner_id() == held.id
    held.release()


def wakes_on_release():
    held = lock("wakes", expire=FOREVER)
    assert held.acquire()
    woken = []

    def wait():
        with lock("wakes", expire=10):
            woken.append(time.monotonic())

    waiter = Worker(wait)
    time.sleep(0.5)  # it waits by now
    assert not woken
    held.release()
    released = time.monotonic()
    waiter.join()
    return f"{1000 * (woken[0] - released):.0f} ms, by BLPOP"


def extend():
    one = lock("extend", expire=10)
    assert one.acquire()
    one.extend(100)
    assert 90_000 < client.pttl(key_of("extend")) <= 100_000
    one.release()
    expect(redis_lock.NotAcquired, one.extend, 10)


def expiry_frees():
    assert lock("expiry", expire=1).acquire()
    other = lock("expiry", expire=10)
    # Nothing signals the end of a lease: it is found at the end of a wait.
    wait_until(lambda: other.acquire(timeout=1), "the end of a lease")
    other.release()


def release_of_expired_or_foreign():
    first = lock("foreign", expire=1)
    assert first.acquire()
    wait_until(lambda: not first.locked(), "the end of a lease")
    expect(redis_lock.NotAcquired, first.release)
    second = lock("foreign", expire=30)
    assert second.acquire()
    expect(redis_lock.NotAcquired, lock("foreign", id="another").release)
    expect(redis_lock.NotAcquired, lock("foreign", id="another").extend, 10)
    assert second.get_owner_id() == second.id
    second.release()


def reentrancy():
    raise NotApplicable("a second acquire by the same id is AlreadyAcquired")


def watchdog():
    holder = Holder("watchdog")
    end = time.monotonic() + 3 * 2 + 0.5
    while time.monotonic() < end:
        assert client.exists(key_of("watchdog")), "lost while its process lived"
        time.sleep(0.05)
    holder.kill()
    other = lock("watchdog", expire=10)
    wait_until(lambda: other.acquire(timeout=1), "the end of a lease")
    other.release()


def counter():
    count = [0]

    def work():
        for _ in range(INCREMENTS):
            with lock("counter", expire=FOREVER):
                seen = count[0]
                time.sleep(0)  # another thread may run
                count[0] = seen + 1

    in_threads([work] * WORKERS)
    assert count[0] == WORKERS * INCREMENTS, f"{count[0]} of {WORKERS * INCREMENTS}"


def fairness():
    turns = [0] * 5

    def work(me):
        while min(turns) < 5:
            with lock("fair", expire=30):
                turns[me] += 1

    in_threads([lambda me=me: work(me) for me in range(5)])
    return f"turns until everybody had 5: {turns}"


def reconnect():
    with lock("restart", expire=10):
        pass
    restart_server()
    one = lock("after", expire=2 * PATIENCE)
    assert one.acquire(timeout=PATIENCE)
    one.release()


def resp2():
    with connect(protocol=2) as one:
        acquire_release(one)


def resp3():
    with connect(protocol=3) as one:
        acquire_release(one)


def usage_errors():
    expect(redis_lock.InvalidTimeout, lock("errors", expire=10).acquire, timeout=-1)
    expect(redis_lock.TimeoutTooLarge, lock("errors", expire=1).acquire, timeout=5)
    expect(TypeError, lock("errors").extend)
    one = lock("errors", expire=10)
    assert one.acquire()
    expect(redis_lock.AlreadyAcquired, one.acquire)
    one.release()
    client.rpush(key_of("errors"), "a list")
    assert "WRONGTYPE" in str(expect(redis.ResponseError, lock("errors", expire=1).acquire, blocking=False))
    client.delete(key_of("errors"))


def hand_offs():
    def take(key_holder):
        one = lock("hand-offs", on=key_holder, expire=FOREVER)
        assert one.acquire()
        return one.release

    with connect() as elsewhere:
        return time_hand_offs(lambda: take(client), lambda: take(elsewhere), "by BLPOP")


def reset():
    held = lock("reset", expire=FOREVER)
    assert held.acquire()
    got = []

    def wait():
        with lock("reset", expire=10):
            got.append(True)

    waiter = Worker(wait)
    time.sleep(0.3)  # it waits by now
    lock("reset").reset()
    waiter.join()
    assert got


if __name__ == "__main__":
    kept = []  # a lock that nobody refers to is not renewed any more

    def hold(key):
        kept.append(lock(key, expire=2, auto_renewal=True))
        assert kept[0].acquire()

    holding(hold)
    run(f"python-redis-lock {importlib.metadata.version('python-redis-lock')}", {
        one.__name__: one for one in (
            handshake, acquire_release, refused_while_held, wakes_on_release, extend, expiry_frees,
            release_of_expired_or_foreign, reentrancy, watchdog, counter, fairness, reconnect, resp2, resp3, usage_errors,
            reset, hand_offs)
    })
