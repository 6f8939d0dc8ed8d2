"""RedLock.net on StackExchange.Redis, replayed, over one server and over three.

Its scripts are known to Lockkeeper by their SHA-1, which is all that we keep of them. Redis has to be told what they do: in
our own words, which have another SHA-1.
"""

import hashlib
import threading
import time

from multiplexer import Multiplexer, token
from scenarios import (FOREVER, INCREMENTS, KIND, PASSWORD, PORT, PORTS, USER, WORKERS, Holder, NotApplicable, Worker,
                       holding, in_threads, restart_server, run, wait_until)
from support import Error

UNLOCK = """
if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
else
    return 0
end
"""

# Creates what has ended meanwhile.
EXTEND = """
local owner = redis.call('get', KEYS[1])
if owner == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
elseif not owner then
    redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
else
    return -1
end
"""

RECORDED = {UNLOCK: "18b2a577dbe847b16bebde190d69a1613d68e60e", EXTEND: "9f614a785a5f9ae8c6396c6b4bf94d2087342603"}
LEASE_ON_WATCH = 1500


class Server:
    def __init__(self, port=PORT, **options):
        self.on = Multiplexer(port=port, **options)
        self.call = self.on.call
        self.loaded = set()

    def script(self, text, key, *arguments):
        """The first time SCRIPT LOAD goes in front of EVALSHA, in the same packet."""
        sha = hashlib.sha1(text.encode()).hexdigest() if KIND == "redis" else RECORDED[text]
        commands = [["EVALSHA", sha, "1", key, *arguments]]
        if KIND == "redis" and text not in self.loaded:
            commands.insert(0, ["SCRIPT", "LOAD", text])
            self.loaded.add(text)
        return self.on.pipeline(*commands)[-1]


class RedLock:
    """One lock of a factory over these servers."""

    def __init__(self, servers, name, milliseconds):
        self.servers, self.key, self.milliseconds = servers, f"redlock:{name}", milliseconds
        self.id = token()

    def quorum(self, answers):
        return sum(answers) > len(self.servers) // 2

    def try_once(self):
        if self.quorum(one.call("SET", self.key, self.id, "PX", str(self.milliseconds), "NX") == "OK"
                       for one in self.servers):
            return True
        self.release()
        return False

    def wait(self, pause=0.02):
        while not self.try_once():
            time.sleep(pause)
        return self

    def extend(self):
        return [one.script(EXTEND, self.key, self.id, str(self.milliseconds)) for one in self.servers]

    def release(self):
        return [one.script(UNLOCK, self.key, self.id) for one in self.servers]

    def keep(self):
        """The timer of the library: every half of the lease."""
        def renew():
            while self.quorum(answer == 1 for answer in self.extend()):
                time.sleep(self.milliseconds / 2000)

        threading.Thread(target=renew, daemon=True).start()


def lock(name, milliseconds=1000 * FOREVER, server=None):
    return RedLock([server or here], name, milliseconds)


here = Server()
holding(lambda key: lock(key, LEASE_ON_WATCH).wait().keep())


def handshake():
    one = Server(user=USER, password=PASSWORD, name="worker", database=3)
    assert one.call("CLIENT", "GETNAME") == b"worker"
    held = lock("hello", server=one).wait()
    assert here.call("EXISTS", held.key) == 0, "another database has the same lock"
    assert held.release() == [1]


def acquire_release(server=None):
    one = lock("acquire", 10_000, server)
    assert one.try_once()
    assert 9_000 < here.call("PTTL", one.key) <= 10_000
    assert here.call("GET", one.key) == one.id
    assert one.release() == [1]
    assert here.call("EXISTS", one.key) == 0


def refused_while_held():
    held = lock("refused").wait()
    assert not lock("refused").try_once()
    assert here.call("GET", held.key) == held.id
    assert held.release() == [1]


def wakes_on_release():
    held = lock("wakes").wait()
    woken = []

    def wait():
        other = lock("wakes", server=Server()).wait()
        woken.append(time.monotonic())
        other.release()

    waiter = Worker(wait)
    time.sleep(0.5)  # it has asked a few times by now
    assert not woken
    held.release()
    released = time.monotonic()
    waiter.join()
    return f"{1000 * max(0, woken[0] - released):.0f} ms, polls every 20 ms"


def extend():
    held = lock("extend", 10_000).wait()
    here.call("PEXPIRE", held.key, "5000")
    assert held.extend() == [1]
    assert 9_000 < here.call("PTTL", held.key) <= 10_000
    assert held.release() == [1]
    assert held.extend() == [1] and here.call("GET", held.key) == held.id, "it creates what has ended"
    assert held.release() == [1]


def expiry_frees():
    lock("expiry", 300).wait()
    lock("expiry").wait().release()


def release_of_expired_or_foreign():
    late = lock("foreign", 300).wait()
    held = lock("foreign").wait()
    assert late.release() == [0] and late.extend() == [-1]
    assert here.call("GET", held.key) == held.id
    assert held.release() == [1]
    assert held.release() == [0]


def reentrancy():
    raise NotApplicable("a RedLock is not reentrant")


def watchdog():
    holder = Holder("watchdog")
    end = time.monotonic() + 3 * LEASE_ON_WATCH / 1000 + 0.5
    while time.monotonic() < end:
        assert here.call("EXISTS", "redlock:watchdog") == 1, "it was lost while its process lived"
        time.sleep(0.05)
    holder.kill()
    lock("watchdog").wait().release()


def counter():
    count = 0

    def work():
        nonlocal count
        server = Server()
        for _ in range(INCREMENTS):
            held = lock("counter", server=server).wait(0.1)
            seen = count
            time.sleep(0)  # another thread may run
            count = seen + 1
            assert held.release() == [1]

    in_threads([work] * WORKERS)
    assert count == WORKERS * INCREMENTS, f"{count} of {WORKERS * INCREMENTS}"


def fairness():
    turns = [0] * 5

    def work(me):
        server = Server()
        while min(turns) < 5:
            held = lock("fair", server=server).wait()
            turns[me] += 1
            held.release()
            time.sleep(0.001)

    in_threads([lambda me=me: work(me) for me in range(len(turns))])
    return f"turns until everybody had 5: {turns}"


def usage_errors():
    here.call("RPUSH", "redlock:errors", "a list")
    wrong = lock("errors", 1000)
    for answer in (here.call("GET", wrong.key), *wrong.release(), *wrong.extend()):
        assert isinstance(answer, Error) and "WRONGTYPE" in str(answer), answer
    assert here.call("SET", wrong.key, wrong.id, "PX", "1000", "NX") is None
    assert here.call("DEL", wrong.key) == 1
    assert here.call("SET", wrong.key, wrong.id, "PX", "0", "NX") == Error("ERR invalid expire time in 'set' command")
    assert here.call("EVALSHA", "0" * 40, "0") == Error("NOSCRIPT No matching script. Please use EVAL.")


def quorum_of_three():
    servers = [Server(port) for port in PORTS]
    held = RedLock(servers, "quorum", 10_000)
    assert held.try_once()
    assert not RedLock(servers, "quorum", 10_000).try_once()
    assert held.release() == [1, 1, 1]
    # A minority that somebody else has does not matter.
    servers[1].call("SET", held.key, "somebody")
    assert held.try_once()
    assert held.extend() == [1, -1, 1]
    assert held.release() == [1, 0, 1]


def reconnect():
    lock("restart").wait().release()
    restart_server()

    def again():
        try:
            lock("after", server=Server()).wait().release()
            return True
        except OSError:
            return False

    wait_until(again, "a lock after a restart")


run("RedLock.net 2.3 (replay)", {
    "handshake": handshake, "acquire_release": acquire_release, "refused_while_held": refused_while_held,
    "wakes_on_release": wakes_on_release, "extend": extend, "expiry_frees": expiry_frees,
    "release_of_expired_or_foreign": release_of_expired_or_foreign, "reentrancy": reentrancy, "watchdog": watchdog,
    "counter": counter, "fairness": fairness, "resp2": lambda: acquire_release(Server(protocol=2)),
    "resp3": lambda: acquire_release(Server(protocol=3)), "usage_errors": usage_errors,
    "quorum_of_three": quorum_of_three, "reconnect": reconnect,
})
