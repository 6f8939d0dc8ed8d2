"""Where others are better: found in the figures, not chosen."""

from bars import alone, crowd, fleet, hand_offs, hot, longest_over_mean, over_ideal, proxies, sections, unmodified
from lines import Missing, figure_of, number

OURS = "lockkeeper-5"
# What may be within the noise of a machine is no loss yet.
CLEARLY = 0.97


def wait(share):
    return lambda line: line["wait_us"][share]


def starved(line):
    return line["starved"]


def cpu(line):
    return sum(one["cpu_us_per_section"] for one in line["servers"])


def memory(what, where):
    return {"benchmark": "memory", "contender": where, "what": what}


def used(line):
    return line["used_bytes_each"]


def at(curve, contender, x):
    return {"benchmark": "scaling", "curve": curve, "contender": contender, "x": x}


def value(line):
    return line["value"]


def beside_redis(benchmark, group, contender):
    return {"benchmark": benchmark, "group": group, "contender": contender}


def commands(line):
    return line["commands_per_s"]


# As bench/memtier names them; those that a run does not have are not compared.
GROUPS = {
    "beside-redis": [f"{name}, {pipeline} at a time" for pipeline in (1, 32) for name in
                     ("SET k v NX PX, then EVALSHA", "SET k v NX PX 30000, then DEL k", "GET", "PING")],
    "memtier": [f"{name}, {protocol}, {pipeline} at a time" for pipeline in (1, 32) for protocol in ("resp2", "resp3") for name in
                ("SET NX PX, then EVALSHA", "SET and GET, 1 to 10", "SET key data NX PX 30000")],
}
# As bench/modes.py names them.
MODES = ("popular keys", "everybody once", "renewals", "pauses", "backing off", "idle")
LIBRARIES = ("redis-py", "npm redlock", "redis-semaphore")

# (what, unit, ours, theirs, value, more is better, whose)
COMPARED = [
    *[(f"hot key, 100 waiters, median wait beside {whose}", "us", hot(OURS), hot(name), wait("p50"), False, whose)
      for name, whose in (("redis-blpop", "the BLPOP token"), ("redis-poll-10ms", "SET NX every 10 ms"),
                          ("redis-poll-50ms", "SET NX every 50 ms"), ("redis-poll-random", "SET NX after 0-100 ms"))],
    ("hot key, 100 waiters, hand-offs/s on five masters beside the BLPOP token", "/s", hot(OURS), hot("redis-blpop"), hand_offs,
     True, "the BLPOP token"),
    ("hot key, 100 waiters, CPU of all servers per section beside the BLPOP token", "us", hot(OURS), hot("redis-blpop"), cpu,
     False, "the BLPOP token"),
    ("hot key, 100 waiters, p99 of the wait over the ideal, five masters beside the BLPOP token", "", hot(OURS), hot("redis-blpop"),
     over_ideal, False, "the BLPOP token"),
    ("hot key, 1,000 waiters, longest wait over the mean, five masters beside the BLPOP token", "", crowd(OURS), crowd("redis-blpop"),
     longest_over_mean, False, "the BLPOP token"),
    *[(f"{what}, in memory, a second on two cores beside one (`-c 1`)", "", at("cores", what, 2), at("cores", what, 1), value, True,
       "one core") for what in ("keys of their own", "keys of their own, 32 at a time", "one hot key")],
    *[(f"one key, {count} waiter{'s' if count > 1 else ''}, hand-offs/s on five masters beside the BLPOP token", "/s",
       at("waiters", "Lockkeeper, 5 masters", count), at("waiters", "Redis, BLPOP token", count), value, True, "the BLPOP token")
      for count in (1, 10, 1_000, 10_000)],
    ("hot key, 1,000 waiters, hand-offs/s on five masters beside the BLPOP token", "/s", crowd(OURS), crowd("redis-blpop"),
     hand_offs, True, "the BLPOP token"),
    ("one hot key at three proxies, hand-offs/s beside one proxy", "/s", proxies("three proxies"), proxies("one proxy"), hand_offs,
     True, "one proxy"),
    ("one hot key at three proxies, p99 of the wait beside one proxy", "us", proxies("three proxies"), proxies("one proxy"),
     wait("p99"), False, "one proxy"),
    ("one hot key at three proxies that look for work, hand-offs/s beside one that does", "/s", proxies("three proxies", "hot, looking"),
     proxies("one proxy", "hot, looking"), hand_offs, True, "one proxy"),
    ("one hot key, hand-offs/s on five masters beside the embedded store", "/s", fleet("hot", "Lockkeeper on five masters"),
     fleet("hot", "embedded store"), hand_offs, True, "our own memory"),
    *[(f"1,000 waiters of {name}, unmodified, hand-offs/s as we come (`auto`) beside plain Redis", "/s",
       unmodified(name, "Lockkeeper"), unmodified(name, "Redis"), hand_offs, True, "Redis") for name in LIBRARIES],
    *[(f"1,000 waiters of {name}, unmodified, starved as we come (`auto`) beside plain Redis", "clients",
       unmodified(name, "Lockkeeper"), unmodified(name, "Redis"), starved, False, "Redis") for name in LIBRARIES],
    *[(f"{benchmark}: {group}, commands/s of the embedded store beside Redis", "/s", beside_redis(benchmark, group, "Lockkeeper"),
       beside_redis(benchmark, group, "redis-server"), commands, True, "Redis")
      for benchmark, groups in GROUPS.items() for group in groups],
    *[(f"other loads, {mode}, {where} beside Redis", "/s", beside_redis("modes", mode, f"Lockkeeper, {where}"),
       beside_redis("modes", mode, "redis-server"), value, True, "Redis") for mode in MODES for where in ("memory", "5 masters")],
    *[(f"one connection to a master, {count} request{'s' if count > 1 else ''} in flight, requests/s beside redis-benchmark", "/s",
       beside_redis("master", f"{count} in flight", "Lockkeeper"), beside_redis("master", f"{count} in flight", "redis-benchmark"),
       commands, True, "redis-benchmark") for count in (1, 16, 64, 256)],
    ("uncontended, one master with fences, sections/s beside Redis directly", "/s", alone("one master", "Lockkeeper, fences"),
     alone("one master", "redis-server"), sections, True, "Redis directly"),
    ("uncontended, one master without fences, sections/s beside Redis directly", "/s",
     alone("one master", "Lockkeeper, no fences"), alone("one master", "redis-server"), sections, True, "Redis directly"),
    ("uncontended, one master with fences, median wait beside Redis directly", "us", alone("one master", "Lockkeeper, fences"),
     alone("one master", "redis-server"), wait("p50"), False, "Redis directly"),
    ("uncontended, five masters, median wait beside client-side RedLock", "us", alone("5 masters", "Lockkeeper"),
     alone("5 masters", "client-side RedLock"), wait("p50"), False, "client-side RedLock"),
    ("uncontended, embedded store, median wait beside Redis", "us", alone("memory", "Lockkeeper"),
     alone("memory", "redis-server"), wait("p50"), False, "Redis"),
    *[(f"{count} connection{'s' if count > 1 else ''}, sections/s of the embedded store beside Redis", "/s",
       at("connections", "Lockkeeper, memory", count), at("connections", "Redis", count), value, True, "Redis")
      for count in (1, 10, 100, 1_000, 10_000)],
    *[(f"memory of {what}", "bytes", memory(what, "Lockkeeper"), memory(what, "redis-server"), used, False, "Redis")
      for what in ("locks by SET NX PX", "idle connections", "waiters by BLPOP")],
]


def how_good(lines, of, mine, theirs, more):
    """Above 1 we are better. Of a pair of which one is nothing, nothing is the better or the worse one, by far."""
    pairs = lines.pairs(of, mine, theirs)
    if not pairs:
        raise Missing("no round has both")
    return figure_of([(quotient(*((ours, other) if more else (other, ours))), noisy) for ours, other, noisy in pairs]).median


def quotient(one, other):
    if other:
        return one / other
    return float("inf") if one else 1


def losses(lines):
    """(what, our figure, theirs, unit, whose), the worst first."""
    found = []
    for what, unit, mine, theirs, of, more, whose in COMPARED:
        try:
            ours, other = lines.figure(of, **mine), lines.figure(of, **theirs)
            goodness = how_good(lines, of, mine, theirs, more)
        except (Missing, KeyError):
            continue
        if goodness < CLEARLY:
            found.append((goodness, what, ours, other, unit, whose))
    return sorted(found, key=lambda one: one[0])


def write(lines):
    found = losses(lines)
    if not found:
        yield "Nothing of what this run compares. That is rather a sign of a run with gaps than of perfection."
        return
    yield ("Found by comparing, the worst first. Beside clients that poll, a median wait is that of those who got the lock, mostly "
           "the one that had it just before; their Jain index and the starved ones are the other side of it.\n")
    yield "| What | Lockkeeper | The other | |"
    yield "|---|---|---|---|"
    for goodness, what, ours, other, unit, whose in found:
        noisy = " (noisy)" if ours.is_noisy or other.is_noisy else ""
        words = f"{number(goodness)}x as good" if goodness else "none, and some"
        behind = unit if unit.startswith("/") or not unit else " " + unit
        yield f"| {what} | {number(ours.median)}{behind} | {number(other.median)}{behind} ({whose}) | {words}{noisy} |"
