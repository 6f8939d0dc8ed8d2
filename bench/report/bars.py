"""What a run must show: each bar with its limit, how its figure is found, and whether it is met."""

from dataclasses import dataclass
from typing import Callable

from lines import Figure, Missing


def hot(contender):
    return {"benchmark": "hot-key", "contender": contender}


def crowd(contender):
    return {"benchmark": "hot-key-crowd", "contender": contender}


def alone(group, contender):
    return {"benchmark": "uncontended", "group": group, "contender": contender}


def unmodified(library, place):
    return {"benchmark": "unmodified", "library": library, "place": place}


def proxies(contender, mode="hot"):
    return {"benchmark": "proxies", "group": mode, "contender": contender}


def fleet(group, contender):
    return {"benchmark": "fleet", "group": group, "contender": contender}


def hand_offs(line):
    return line["hand_offs_per_s"]


def sections(line):
    return line["sections_per_s"]


def over_ideal(line):
    """The 99th percentile of the wait by what a perfect queue at that rate would take."""
    return line["wait_us"]["p99"] / (line["clients"] / line["hand_offs_per_s"] * 1e6)


def longest_over_mean(line):
    """Of the waits, of those too who still waited at the end."""
    return max(line["wait_us"]["max"], line["longest_wait_at_end_us"]) / line["wait_us"]["mean"]


def longest_over_mean_in_turns(line):
    return line["wait_turns"]["max"] / line["wait_turns"]["mean"]


def redis_commands_per_section(line):
    return sum(one["commands"] for one in line["masters"]) / max(line["sections"], 1)


def redis_cpu_per_section(line):
    return sum(one["cpu_us_per_section"] for one in line["servers"] if one["name"] == "redis-server")


OURS = "lockkeeper-5"
EMBEDDED = "lockkeeper-memory"
# As it comes, and as it is set for crowds.
PLACES = {"": ("Lockkeeper", "as it comes"), "-parked": ("Lockkeeper, park", "`pollers: park, park: 3s`")}


@dataclass
class Bar:
    name: str
    what: str
    least: float | None = None  # one of these two
    most: float | None = None
    find: Callable = None
    below: bool = False  # `most` itself is too much

    @property
    def wanted(self):
        if self.least is not None:
            return f"at least {self.least:g}"
        if self.most == 0:
            return "0"
        return f"{'below' if self.below else 'at most'} {self.most:g}"

    def is_met(self, figure):
        if self.least is not None:
            return figure.median >= self.least
        # What must not happen must not happen in any round.
        value = figure.most if self.most == 0 else figure.median
        return value < self.most if self.below else value <= self.most


def times(name, limit, what, mine, theirs, value):
    return Bar(name, what, least=limit, find=lambda lines: lines.ratio(value, mine, theirs))


BARS = [
    times("hot-blpop", 2, "One hot key, 100 waiters, five masters: hand-offs/s over the BLPOP token on one Redis",
          hot(OURS), hot("redis-blpop"), hand_offs),
    times("hot-redlock", 20, "... over client-side RedLock on five masters", hot(OURS), hot("redlock-5"), hand_offs),
    times("hot-rfairlock", 20, "... over Redisson's RFairLock", hot(OURS), hot("redisson-rfairlock"), hand_offs),
    times("hot-etcd", 30, "... over etcd", hot(OURS), hot("etcd"), hand_offs),
    times("hot-zookeeper", 30, "... over ZooKeeper", hot(OURS), hot("zookeeper"), hand_offs),
    Bar("hot-p99", "... p99 of the wait over the ideal (waiters / hand-offs a second)", most=1.2,
        find=lambda lines: lines.figure(over_ideal, **hot(OURS))),
    Bar("hot-commands", "... Redis commands per critical section, all masters together", most=0.05, below=True,
        find=lambda lines: lines.figure(redis_commands_per_section, **hot(OURS))),
    Bar("hot-cpu", "... CPU of the masters per section over that of client-side RedLock", most=0.02, below=True,
        find=lambda lines: lines.ratio(redis_cpu_per_section, hot(OURS), hot("redlock-5"))),
    times("crowd-blpop", 2, "One hot key, 1,000 waiters, five masters: hand-offs/s over the BLPOP token on one Redis",
          crowd(OURS), crowd("redis-blpop"), hand_offs),
    Bar("hot-starved", "... clients that starve for 3 s", most=0,
        find=lambda lines: lines.figure(lambda line: line["starved"], **crowd(OURS))),
    Bar("crowd-jain", "... Jain's index of the clients' sections", least=0.999,
        find=lambda lines: lines.figure(lambda line: line["jain"], **crowd(OURS))),
    Bar("crowd-longest", "... longest wait over the mean one, in time", most=1.5,
        find=lambda lines: lines.figure(longest_over_mean, **crowd(OURS))),
    Bar("crowd-longest-turns", "... longest wait over the mean one, in turns (grants in between: a slow machine does not stretch "
        "them)", most=1.5, find=lambda lines: lines.figure(longest_over_mean_in_turns, **crowd(OURS))),
    times("memory-blpop", 2, "One hot key, 100 waiters, embedded store: hand-offs/s over the BLPOP token on one Redis",
          hot(EMBEDDED), hot("redis-blpop"), hand_offs),
    times("memory-crowd-blpop", 2, "... the same with 1,000 waiters", crowd(EMBEDDED), crowd("redis-blpop"), hand_offs),
    Bar("memory-crowd-jain", "... Jain's index of the sections of 1,000", least=0.999,
        find=lambda lines: lines.figure(lambda line: line["jain"], **crowd(EMBEDDED))),
    Bar("memory-crowd-longest", "... longest wait of 1,000 over the mean one, in time", most=1.5,
        find=lambda lines: lines.figure(longest_over_mean, **crowd(EMBEDDED))),
    Bar("memory-crowd-longest-turns", "... longest wait of 1,000 over the mean one, in turns", most=1.5,
        find=lambda lines: lines.figure(longest_over_mean_in_turns, **crowd(EMBEDDED))),
    times("fleet-embedded", 0.8, "One hot key, 100 waiters: hand-offs/s on five masters over those of the embedded store",
          fleet("hot", "Lockkeeper on five masters"), fleet("hot", "embedded store"), hand_offs),
    Bar("fleet-frozen", "Two of five masters frozen, 50 clients with keys of their own: p99 of the wait in ms", most=250, below=True,
        find=lambda lines: lines.figure(lambda line: line["wait_us"]["p99"] / 1e3, **fleet("frozen", "two of five"))),
    times("proxies-rate", 0.5, "One hot key at three proxies: hand-offs/s over those of one proxy", proxies("three proxies"),
          proxies("one proxy"), hand_offs),
    Bar("proxies-order", "... pairs served in another order than that of their arrival", most=0,
        find=lambda lines: lines.figure(lambda line: line["order"]["inversions"], **proxies("three proxies", "once"))),
    Bar("proxies-commands", "... Redis commands per critical section, all masters together", most=0.05, below=True,
        find=lambda lines: lines.figure(lambda line: line["store_commands_per_section"], **proxies("three proxies"))),
    times("alone-5", 2, "Uncontended: sections/s over client-side RedLock, five masters",
          alone("5 masters", "Lockkeeper"), alone("5 masters", "client-side RedLock"), sections),
    times("alone-3", 1.5, "... over client-side RedLock, three masters", alone("3 masters", "Lockkeeper"),
          alone("3 masters", "client-side RedLock"), sections),
    times("alone-1-unfenced", 0.8, "... over Redis directly, one master, fences off",
          alone("one master", "Lockkeeper, no fences"), alone("one master", "redis-server"), sections),
    times("alone-1-fenced", 0.7, "... over Redis directly, one master, fences on", alone("one master", "Lockkeeper, fences"),
          alone("one master", "redis-server"), sections),
    times("alone-memory", 1, "... over Redis directly, embedded store", alone("memory", "Lockkeeper"),
          alone("memory", "redis-server"), sections),
    times("alone-memory-piped", 1.5, "... over Redis directly, embedded store, 32 requests at a time",
          alone("memory, 32 at a time", "Lockkeeper"), alone("memory, 32 at a time", "redis-server"), sections),
]
for library in ("redis-py", "npm redlock", "redis-semaphore"):
    for suffix, (place, how) in PLACES.items():
        BARS += [
            Bar(f"unmodified-{library}{suffix}-starved", f"1,000 waiters of {library}, unmodified, through Lockkeeper ({how}): "
                "starve for 3 s", most=0,
                find=lambda lines, one=library, there=place: lines.figure(lambda line: line["starved"], **unmodified(one, there))),
            Bar(f"unmodified-{library}{suffix}-commands", "... commands that Redis sees, over those without Lockkeeper", most=0.1,
                find=lambda lines, one=library, there=place: lines.ratio(
                    lambda line: line["redis_commands_per_s"], unmodified(one, there), unmodified(one, "Redis"))),
        ]


@dataclass
class Verdict:
    bar: Bar
    full_name: str
    figure: Figure | None
    why_not: str = ""

    @property
    def word(self):
        if self.figure is None:
            return "not measured"
        return "met" if self.bar.is_met(self.figure) else "**missed**"

    @property
    def mark(self):
        """The word, with how far it is to be trusted."""
        return self.word + (", but noisy" if self.figure and self.figure.is_noisy else "")


def judge(lines):
    verdicts, subject = [], ""
    for bar in BARS:
        # "..." stands for the subject of the bars before.
        if not bar.what.startswith("... "):
            subject = bar.what.split(":")[0]
        full = bar.what.replace("... ", subject + ": ", 1)
        try:
            verdicts.append(Verdict(bar, full, bar.find(lines)))
        except Missing as error:
            verdicts.append(Verdict(bar, full, None, str(error)))
        except KeyError as error:
            verdicts.append(Verdict(bar, full, None, f"the lines of this run have no {error}"))
        except ZeroDivisionError:
            verdicts.append(Verdict(bar, full, None, "nothing was done in a round"))
    return verdicts
