"""Where others are better: found in the figures, not chosen."""

from bars import alone, hand_offs, hot, sections
from lines import Missing, number

OURS = "lockkeeper-5"
# What may be within the noise of a machine is no loss yet.
CLEARLY = 0.97


def wait(share):
    return lambda line: line["wait_us"][share]


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


# (what, unit, ours, theirs, value, more is better, whose)
COMPARED = [
    *[(f"hot key, 100 waiters, median wait beside {name}", "us", hot(OURS), hot(name), wait("p50"), False, name)
      for name in ("redis-blpop", "redis-poll-10ms", "redis-poll-50ms", "redis-poll-random")],
    ("hot key, 100 waiters, hand-offs/s on five masters beside the BLPOP token", "/s", hot(OURS), hot("redis-blpop"), hand_offs,
     True, "the BLPOP token"),
    ("hot key, 100 waiters, CPU of all servers per section beside the BLPOP token", "us", hot(OURS), hot("redis-blpop"), cpu,
     False, "the BLPOP token"),
    *[(f"one key, {count} waiter{'s' if count > 1 else ''}, hand-offs/s on five masters beside the BLPOP token", "/s",
       at("waiters", "Lockkeeper, 5 masters", count), at("waiters", "Redis, BLPOP token", count), value, True, "the BLPOP token")
      for count in (1, 10, 1_000, 10_000)],
    ("uncontended, one master with fences, sections/s beside Redis directly", "/s", alone("one master", "Lockkeeper, fences"),
     alone("one master", "redis-server"), sections, True, "Redis directly"),
    ("uncontended, one master without fences, sections/s beside Redis directly", "/s",
     alone("one master", "Lockkeeper, no fences"), alone("one master", "redis-server"), sections, True, "Redis directly"),
    ("uncontended, one master with fences, median wait beside Redis directly", "us", alone("one master", "Lockkeeper, fences"),
     alone("one master", "redis-server"), wait("p50"), False, "Redis directly"),
    ("uncontended, five masters, median wait beside RedLock of the clients", "us", alone("5 masters", "Lockkeeper"),
     alone("5 masters", "RedLock of the clients"), wait("p50"), False, "RedLock of the clients"),
    ("uncontended, embedded store, median wait beside Redis", "us", alone("memory", "Lockkeeper"),
     alone("memory", "redis-server"), wait("p50"), False, "Redis"),
    *[(f"{count} connection{'s' if count > 1 else ''}, sections/s of the embedded store beside Redis", "/s",
       at("connections", "Lockkeeper, memory", count), at("connections", "Redis", count), value, True, "Redis")
      for count in (1, 10, 100, 1_000, 10_000)],
    *[(f"memory of {what}", "bytes", memory(what, "Lockkeeper"), memory(what, "redis-server"), used, False, "Redis")
      for what in ("locks by SET NX PX", "idle connections", "waiters by BLPOP")],
]


def losses(lines):
    """(what, our figure, theirs, unit, whose), the worst first."""
    found = []
    for what, unit, mine, theirs, of, more, whose in COMPARED:
        try:
            ratio = lines.ratio(of, mine, theirs)
            ours, other = lines.figure(of, **mine), lines.figure(of, **theirs)
        except (Missing, KeyError):
            continue
        goodness = ratio.median if more else 1 / ratio.median if ratio.median else float("inf")
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
        yield (f"| {what} | {number(ours.median)} {unit} | {number(other.median)} {unit} ({whose})"
               f" | {number(goodness)}x as good{noisy} |")
