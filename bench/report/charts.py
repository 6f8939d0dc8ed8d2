"""Which charts a run has: a file name, a title and the SVG of each; none without lines for it."""

import svg
from bars import hand_offs, judge
from lines import Missing, figure_of, number

SHARES = ["p10", "p25", "p50", "p75", "p90", "p99", "p999", "max"]
LATENCY = ["lockkeeper-5", "redis-blpop", "redis-poll-10ms", "redlock-5", "redisson-rfairlock", "etcd"]


def words(figure):
    return number(figure.median) + (" (noisy)" if figure.is_noisy else "")


def contenders(lines, benchmark):
    """Names in the order of their first line, failed ones included."""
    names = {}
    for line in lines.all:
        if line.get("benchmark") == benchmark:
            names.setdefault(line["contender"], line.get("title", line["contender"]))
            if "title" in line:
                names[line["contender"]] = line["title"]
    return names


def hot_key(lines):
    rows = []
    for name, title in contenders(lines, "hot-key").items():
        try:
            figure = lines.figure(hand_offs, benchmark="hot-key", contender=name)
            rows.append((title, figure, name.startswith("lockkeeper"), words(figure)))
        except Missing as error:
            rows.append((title, None, False, "failed" if "failed" in str(error) else str(error)))
    rows.sort(key=lambda row: -(row[1].median if row[1] else 0))
    if rows:
        yield ("hot-key.svg", "Hand-offs of one hot key",
               svg.bars("One hot key, 100 waiters: how often a second does it change hands?", "hand-offs/s to another client",
                        rows, log=True, note="Bars: medians. Lines across: least and most of the rounds."))


def latency(lines):
    series = []
    names = contenders(lines, "hot-key")
    for name in LATENCY:
        points = []
        for place, share in enumerate(SHARES):
            try:
                points.append((place, lines.figure(lambda line, one=share: line["wait_us"][one] / 1e3,
                                                   benchmark="hot-key", contender=name)))
            except (Missing, KeyError):
                continue
        if points:
            series.append((names[name], points))
    if series:
        yield ("waits.svg", "Waits for one hot key",
               svg.curves("One hot key, 100 waiters: how long does a client wait?", "percentile of the waits",
                          "milliseconds", series, log_y=True, names_of_x=["p10", "p25", "p50", "p75", "p90", "p99", "p99.9", "max"],
                          note="A flat curve is a queue, a steep one a lottery: most are quick because some wait for long."))


ALONE = {"alone-5": "5 masters, beside RedLock", "alone-3": "3 masters, beside RedLock",
         "alone-1-unfenced": "1 master, no fences, beside Redis", "alone-1-fenced": "1 master, fences, beside Redis",
         "alone-memory": "memory, beside Redis", "alone-memory-piped": "memory, 32 at a time, beside Redis"}


def uncontended(lines):
    rows = []
    for verdict in judge(lines):
        title = ALONE.get(verdict.bar.name)
        if title and verdict.figure:
            rows.append((title, verdict.figure, True, f"{number(verdict.figure.median)} (bar: {number(verdict.bar.least)})"))
    if rows:
        yield ("uncontended.svg", "Uncontended locks",
               svg.bars("Locks that nobody else wants: how many times the sections of the others?", "ratio of sections/s",
                        rows, target=1, note="The dashed line is the other's rate. Lines across: least and most of the rounds."))


def unmodified(lines):
    places = {}
    for line in lines.of(benchmark="unmodified"):
        places.setdefault((line["library"], line["place"]), None)
    for name, title, unit, value, log in (
            ("unmodified-starved.svg", "1,000 waiters of unmodified libraries: how many starve for 3 s?", "clients of 1,000",
             lambda line: line["starved"], False),
            ("unmodified-commands.svg", "1,000 waiters of unmodified libraries: what does Redis have to do?",
             "commands a second at Redis, all masters together", lambda line: line["redis_commands_per_s"], True)):
        rows = []
        for library, place in places:
            figure = lines.figure(value, benchmark="unmodified", library=library, place=place)
            rows.append((f"{library} on {place}", figure, place != "Redis", words(figure)))
        if rows:
            yield name, title, svg.bars(title, unit, rows, log=log)


TITLES = {
    "waiters": ("Waiters on one key", "waiters", "hand-offs/s", True),
    "keys": ("200 clients and more and more keys", "keys", "sections/s", True),
    "masters": ("Masters, each client with a key of its own", "masters", "sections/s", False),
    "connections": ("Connections, each with a key of its own", "connections", "sections/s", True),
    "cores": ("Cores of Lockkeeper; the generator shares the machine", "cores", "a second", False),
}


def ours_first(series):
    """So that Lockkeeper has the same colour everywhere."""
    name = series[0]
    return not name.startswith("Lockkeeper"), not name.endswith("masters"), name


def scaling(lines):
    for curve, (title, x_title, y_title, log_x) in TITLES.items():
        series = {}
        for line in lines.of(benchmark="scaling", curve=curve):
            series.setdefault(line["contender"], {}).setdefault(line["x"], []).append((line["value"], line["noisy"]))
        if series:
            yield (f"scaling-{curve}.svg", title,
                   svg.curves(title, x_title + (", logarithmic scale" if log_x else ""), y_title,
                              [(name, [(x, figure_of(pairs)) for x, pairs in sorted(points.items())])
                               for name, points in sorted(series.items(), key=ours_first)], log_x=log_x))


def all_charts(lines):
    for make in (hot_key, latency, uncontended, unmodified, scaling):
        yield from make(lines)
