"""redis-py's asyncio Lock, called by tasks of one event loop."""

import asyncio
import functools
import time

import redis
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, LockError, LockNotOwnedError

from scenarios import FOREVER, HOST, INCREMENTS, PASSWORD, PATIENCE, PORT, USER, WORKERS, NotApplicable, restart_server, run


def scenario(function):
    """Each scenario has an event loop and a client of its own."""

    @functools.wraps(function)
    def whole():
        async def with_client():
            async with Redis(host=HOST, port=PORT) as client:
                return await function(client)
        return asyncio.run(with_client())
    return whole


async def expect(error, call, *arguments, **named):
    try:
        result = await call(*arguments, **named)
    except error as expected:
        return expected
    raise AssertionError(f"no {error.__name__}, but {result!r}")


@scenario
async def handshake(client):
    async with Redis(host=HOST, port=PORT, username=USER, password=PASSWORD, client_name="suite", db=3) as one:
        assert await one.ping()
        assert await one.client_getname() in ("suite", b"suite")
        async with one.lock("hello", timeout=10):
            assert await client.get("hello") is None, "another database has the same lock"
    async with Redis(host=HOST, port=PORT, username=USER, password="a wrong one") as one:
        await expect(AuthenticationError, one.lock("hello").acquire)


async def life_of_a_lock(client):
    lock = client.lock("acquire", timeout=10)
    assert await lock.acquire(blocking=False)
    assert await lock.locked() and await lock.owned()
    assert 9000 < await client.pttl("acquire") <= 10000
    await lock.release()
    assert await client.exists("acquire") == 0 and not await lock.locked()


@scenario
async def acquire_release(client):
    await life_of_a_lock(client)


@scenario
async def refused_while_held(client):
    async with client.lock("refused", timeout=30) as held:
        other = client.lock("refused", timeout=30)
        assert not await other.acquire(blocking=False)
        assert not await other.acquire(blocking_timeout=0.3)
        assert await held.owned() and not await other.owned()


@scenario
async def wakes_on_release(client):
    held = client.lock("wakes", timeout=FOREVER)
    assert await held.acquire()
    waiter = client.lock("wakes", timeout=10)
    waiting = asyncio.create_task(waiter.acquire())
    await asyncio.sleep(0.5)
    assert not waiting.done()
    await held.release()
    released = time.monotonic()
    assert await waiting
    await waiter.release()
    return f"{1000 * (time.monotonic() - released):.0f} ms, it polls every 100 ms"


@scenario
async def extend(client):
    lock = client.lock("extend", timeout=10)
    assert await lock.acquire()
    assert await lock.extend(100)
    assert 100_000 < await client.pttl("extend") <= 110_000
    assert await lock.extend(50, replace_ttl=True)
    assert 40_000 < await client.pttl("extend") <= 50_000
    assert await lock.reacquire()
    assert 9_000 < await client.pttl("extend") <= 10_000
    await lock.release()


@scenario
async def expiry_frees(client):
    first = client.lock("expiry", timeout=0.3)
    assert await first.acquire()
    async with client.lock("expiry", timeout=10, sleep=0.01):
        assert not await first.owned()


@scenario
async def release_of_expired_or_foreign(client):
    first = client.lock("foreign", timeout=0.2)
    assert await first.acquire()
    second = client.lock("foreign", timeout=30)
    assert await second.acquire()
    await expect(LockNotOwnedError, first.extend, 10)
    await expect(LockNotOwnedError, first.release)
    assert await second.owned()
    await second.release()
    first = client.lock("foreign", timeout=0.2)
    assert await first.acquire()
    end = time.monotonic() + PATIENCE
    while await first.locked():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)
    await expect(LockNotOwnedError, first.release)


def reentrancy():
    raise NotApplicable("Lock is not reentrant")


def watchdog():
    raise NotApplicable("Lock does not renew itself")


@scenario
async def counter(client):
    count = 0

    async def work():
        nonlocal count
        for _ in range(INCREMENTS):
            async with client.lock("counter", timeout=FOREVER, sleep=0.1):
                seen = count
                await asyncio.sleep(0)  # another task may run
                count = seen + 1

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    assert count == WORKERS * INCREMENTS, f"{count} of {WORKERS * INCREMENTS}"


@scenario
async def fairness(client):
    turns = [0] * 5

    async def work(me):
        while min(turns) < 5:
            async with client.lock("fair", timeout=30, sleep=0.01):
                turns[me] += 1
            await asyncio.sleep(0.001)

    await asyncio.gather(*(work(me) for me in range(5)))
    return f"turns until everybody had 5: {turns}"


@scenario
async def reconnect(client):
    async with client.lock("restart", timeout=30):
        pass
    await asyncio.to_thread(restart_server)
    lock = client.lock("after", timeout=30)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            assert await lock.acquire()
            break
        except redis.ConnectionError:  # redis-py 5 does not try again by itself
            assert time.monotonic() < end
    assert await lock.extend(10)
    await lock.release()


@scenario
async def resp2(_):
    async with Redis(host=HOST, port=PORT, protocol=2) as one:
        await life_of_a_lock(one)


@scenario
async def resp3(_):
    async with Redis(host=HOST, port=PORT, protocol=3) as one:
        await life_of_a_lock(one)


@scenario
async def usage_errors(client):
    await expect(LockError, client.lock("errors", timeout=1).extend, 1)
    await client.rpush("errors", "a list")
    assert not await client.lock("errors", timeout=1).acquire(blocking=False)
    assert "WRONGTYPE" in str(await expect(redis.ResponseError, client.get, "errors"))
    await client.delete("errors")
    error = await expect(redis.ResponseError, client.set, "errors", "x", nx=True, px=0)
    assert str(error) == "invalid expire time in 'set' command", error


if __name__ == "__main__":
    run(f"redis-py {redis.__version__} asyncio", {
        one.__name__: one for one in (
            handshake, acquire_release, refused_while_held, wakes_on_release, extend, expiry_frees,
            release_of_expired_or_foreign, reentrancy, watchdog, counter, fairness, reconnect, resp2, resp3, usage_errors)
    })
