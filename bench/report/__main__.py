"""Writes the report of a run: report.md and its charts, from the JSON lines that the benchmarks left in a folder.

    python3 -B bench/report bench/results/2026-01-31-120000

The folder has runs.jsonl, run.json (machine, commands, when) and, of each benchmark, what it printed (NAME.txt).
Only Python's standard library.
"""

import argparse
import glob
import json
import os
import statistics
import sys

import charts
import losses
from bars import judge
from lines import Lines, Missing, number

EXPLANATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "explanations.md")


WORDS = """A *section* is a lock acquired, held and released; a *hand-off* is a grant of a key to another client than the one before.
Waits count from the first request of a section to its grant. *Jain's index* is 1 if all clients got the same, and 1/n if one of n got
everything; a client is *starved* if a wait of it took 3 s or longer. *Intrusions* are sections of one key that overlapped: there must
be none. A round is *noisy* if others used the machine meanwhile, and proves nothing then.
[docs/performance.md](../../../docs/performance.md) tells how it was measured.
"""


def explanations():
    """What is known about bars that are missed: by the bar's name, from the headings of explanations.md."""
    found, name = {}, None
    with open(EXPLANATIONS) as file:
        for line in file:
            if line.startswith("## "):
                name = line[3:].strip()
                found[name] = ""
            elif name:
                found[name] += line
    return {name: text.strip() for name, text in found.items()}


def show(figure):
    text = number(figure.median)
    if len(figure.values) > 1:
        text += f" ({number(figure.least)} to {number(figure.most)})"
    return text


def cell(words):
    """Words of others, in a table."""
    return str(words).replace("|", "\\|")


def rounds_of(figure):
    if figure.noisy == 0:
        return f"{figure.of}"
    if figure.is_noisy:
        return f"{figure.of}, **{figure.noisy} noisy**"
    return f"{len(figure.values)} calm of {figure.of}"


def table_of_bars(verdicts):
    yield "| What | Wanted | Found: median (least to most) | Rounds | |"
    yield "|---|---|---|---|---|"
    for one in verdicts:
        if one.figure:
            yield f"| {one.bar.what} | {one.bar.wanted} | {show(one.figure)} | {rounds_of(one.figure)} | {one.mark} |"
        else:
            yield f"| {one.bar.what} | {one.bar.wanted} | {cell(one.why_not)} | | {one.word} |"


def reading(verdicts):
    count = {word: sum(1 for one in verdicts if one.word == word) for word in ("met", "**missed**", "not measured")}
    yield (f"Of {len(verdicts)} bars {count['met']} are met, {count['**missed**']} missed"
           + (f" and {count['not measured']} not measured." if count["not measured"] else "."))
    noisy = sum(1 for one in verdicts if one.figure and one.figure.is_noisy)
    if noisy:
        yield (f"\n**{noisy} figures are of noisy rounds**: other programs, or other guests of the host, used the machine while "
               "they were taken. They are no evidence of anything.")
    known = explanations()
    missed = [one for one in verdicts if one.word == "**missed**"]
    for one in missed:
        yield (f"\n**Missed: {one.full_name}.** Wanted {one.bar.wanted}, found {show(one.figure)}. "
               + ("These rounds were noisy: measure again before believing it. " if one.figure.is_noisy else "")
               + known.get(one.bar.name, "Nobody has explained this one yet."))


def commands_seen(line):
    """By Redis itself, where there is one, all masters together; else requests that clients sent."""
    if line.get("masters"):
        return sum(one["commands"] for one in line["masters"]) / max(line["sections"], 1)
    return line.get("commands_per_section", 0)


def intrusions(lines, wanted):
    """Of all rounds, noisy ones too; a dash if nobody looked."""
    seen = [line["verify"]["intrusions"] for line in lines.of(**wanted) if line.get("verify", {}).get("on")]
    return sum(seen) if seen else "-"


def jain(lines, wanted):
    """Near 1 the third digit counts."""
    return f"{lines.figure(lambda line: line['jain'], **wanted).median:.3f}"


def hot_key_table(lines, benchmark):
    names = charts.contenders(lines, benchmark)
    if not names:
        return
    yield ("| | Hand-offs/s (least to most) | Wait p50, p99, max (ms) | Jain | Starved 3 s | Commands at the store per section | CPU of all "
           "servers per section (us) | Load (cores) | Intrusions | Rounds |")
    yield "|---|---|---|---|---|---|---|---|---|---|"
    rows = []
    for name, title in names.items():
        chosen = {"benchmark": benchmark, "contender": name}
        try:
            rate = lines.figure(lambda line: line["hand_offs_per_s"], **chosen)
        except Missing as error:
            rows.append((0, f"| {title} | {cell(error)} | | | | | | | | |"))
            continue

        def middle(value):
            return number(lines.figure(value, **chosen).median)

        waits = ", ".join(middle(lambda line, one=share: line["wait_us"][one] / 1e3) for share in ("p50", "p99"))
        longest = middle(lambda line: max(line["wait_us"]["max"], line["longest_wait_at_end_us"]) / 1e3)
        starved = max(line["starved"] for line in lines.of(**chosen))
        commands = middle(commands_seen)
        cpu = middle(lambda line: sum(one.get("cpu_us_per_section", 0) for one in line["servers"]))
        rows.append((-rate.median, f"| {title} | {show(rate)} | {waits}, {longest} | {jain(lines, chosen)} | "
                     f"{starved} | {commands} | {cpu} | {middle(lambda line: line['generator_cpu_cores'])} | {intrusions(lines, chosen)} | {rounds_of(rate)} |"))
    for _, row in sorted(rows, key=lambda row: row[0]):
        yield row


def unmodified_table(lines):
    chosen = lines.of(benchmark="unmodified")
    if not chosen:
        return
    yield "| Library | On | Starved 3 s | Hand-offs/s | p99 (ms) | Jain | Redis commands/s | per section | Load (cores) | Intrusions | Rounds |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for library, place in dict.fromkeys((line["library"], line["place"]) for line in chosen):
        wanted = {"benchmark": "unmodified", "library": library, "place": place}

        def middle(value):
            return number(lines.figure(value, **wanted).median)

        starved = lines.figure(lambda line: line["starved"], **wanted)
        yield (f"| {library} | {place} | {show(starved)} | {middle(lambda line: line['hand_offs_per_s'])} | "
               f"{middle(lambda line: line['wait_us']['p99'] / 1e3)} | {jain(lines, wanted)} | "
               f"{middle(lambda line: line['redis_commands_per_s'])} | {middle(lambda line: line['redis_commands_per_section'])} | "
               f"{middle(lambda line: line['generator_cpu_cores'])} | {intrusions(lines, wanted)} | {rounds_of(starved)} |")


# What the groups of fleet and proxies are, and which figure counts; the first contender is the yardstick.
GROUPS = {
    ("fleet", "hot"): ("one hot key, 100 clients", "hand_offs_per_s"),
    ("fleet", "five"): ("keys of their own, 200 clients, five masters", "sections_per_s"),
    ("fleet", "one"): ("keys of their own, 200 clients, one master", "sections_per_s"),
    ("fleet", "frozen"): ("keys of their own, 50 clients, masters frozen", "sections_per_s"),
    ("proxies", "hot"): ("one hot key, 99 clients", "hand_offs_per_s"),
    ("proxies", "hot, looking"): ("the same, proxies look for work before they sleep", "hand_offs_per_s"),
}


def stores(chosen):
    """Commands at the stores per section; empty if there are none, or if nobody has counted."""
    spent = [line["store_commands_per_section"] for line in chosen if line.get("store_commands_per_section")]
    return number(statistics.median(spent)) if spent else ""


def groups_table(lines, benchmark):
    head = ["| What | Who | A second (least to most) | Ratio to the first | Wait p50, p99, max (ms) | Commands at the stores per section "
            "| Intrusions | Rounds |", "|---|---|---|---|---|---|---|---|"]
    for (of, group), (title, name) in GROUPS.items():
        first = None
        for contender in dict.fromkeys(line["contender"] for line in lines.of(benchmark=benchmark, group=group)
                                       if of == benchmark and name in line):
            wanted = {"benchmark": benchmark, "group": group, "contender": contender}
            first = first or wanted
            rate = lines.figure(lambda line: line[name], **wanted)
            waits = ", ".join(number(lines.figure(lambda line, one=share: line["wait_us"][one] / 1e3, **wanted).median)
                              for share in ("p50", "p99", "max"))
            try:
                ratio = number(lines.ratio(lambda line: line[name], wanted, first).median) if wanted != first else ""
            except Missing:
                ratio = "-"
            yield from head
            head = []
            yield (f"| {title} | {contender} | {show(rate)} | {ratio} | {waits} | {stores(lines.of(**wanted))} | "
                   f"{intrusions(lines, wanted)} | {rounds_of(rate)} |")


def fleet_words(lines):
    try:
        error, again = (lines.figure(lambda line, one=name: line[one], benchmark="fleet", group="frozen", contender="three of five")
                        for name in ("error_ms", "again_ms"))
    except Missing:
        return
    yield (f"With three of the five masters frozen an error takes {show(error)} ms, and a lock is given again {show(again)} ms after "
           "they are back.")


def proxies_words(lines):
    try:
        order = lines.figure(lambda line: line["order"]["inversions"], benchmark="proxies", group="once", contender="three proxies")
    except Missing:
        return
    yield (f"Once all clients stood in line at three proxies, {number(order.most)} pairs of them were served in another order than "
           "that of their arrival.")


MODES = """Popular keys: 200 clients want any of 1,000 keys, some far more often than others, and hold them for 1 ms. Everybody once:
500 clients stand in line before the first release. Renewals: 1,000 clients renew a lock every 100 ms, so 10,000 a second is all.
Pauses: 100 clients of one key hold it for 100 us and think for 10 ms. Backing off: 100 clients of one key poll after 1 to 64 ms.
Idle: 50 clients with a key each beside 10,000 connections that do nothing. redis-server has a BLPOP token where clients wait in
line, else `SET NX PX`; Lockkeeper its native verbs, but for the last two."""


def modes_table(lines):
    rows = dict.fromkeys((line["group"], line["contender"]) for line in lines.of(benchmark="modes"))
    if not rows:
        return
    yield ("| Load | On | A second (least to most) | p50, p99 (ms) | Jain | Starved 3 s | Served out of order (pairs) | Commands at the "
           "stores per section | Intrusions | Rounds |")
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for group, contender in rows:
        wanted = {"benchmark": "modes", "group": group, "contender": contender}
        chosen = lines.of(**wanted)
        rate = lines.figure(lambda line: line["value"], **wanted)
        times = ", ".join(number(lines.figure(lambda line, one=share: line["times_us"][one] / 1e3, **wanted).median)
                          for share in ("p50", "p99"))
        order = max(line["order"]["inversions"] for line in chosen) if "order" in chosen[0] else ""
        commands = stores(chosen)
        unit = chosen[0]["unit"].removesuffix("_per_s").replace("_", "-")
        yield (f"| {group} | {contender} | {show(rate)} {unit} | {times} | {jain(lines, wanted)} | "
               f"{max(line['starved'] for line in chosen)} | {order} | {commands} | {intrusions(lines, wanted)} | {rounds_of(rate)} |")


def beside_table(lines):
    rows = dict.fromkeys((line["benchmark"], line["group"]) for one in ("beside-redis", "memtier") for line in lines.of(benchmark=one))
    if not rows:
        return
    yield "| Load | Commands | redis-server, commands/s | Lockkeeper, commands/s | Ratio (least to most) | Rounds |"
    yield "|---|---|---|---|---|---|"
    for benchmark, group in rows:
        ours, theirs = ({"benchmark": benchmark, "group": group, "contender": one} for one in ("Lockkeeper", "redis-server"))
        try:
            mine, its = (lines.figure(lambda line: line["commands_per_s"], **one) for one in (ours, theirs))
            ratio = lines.ratio(lambda line: line["commands_per_s"], ours, theirs)
        except Missing:
            continue
        load = "redis-benchmark" if benchmark == "beside-redis" else "memtier_benchmark"
        yield f"| {load} | {group} | {number(its.median)} | {number(mine.median)} | {show(ratio)} | {rounds_of(ratio)} |"


def master_table(lines):
    rows = dict.fromkeys(line["group"] for line in lines.of(benchmark="master"))
    if not rows:
        return
    yield "| One connection | Requests/s (least to most) | redis-benchmark | Ratio | CPU a request (us), and of redis-benchmark |"
    yield "|---|---|---|---|---|"
    for group in rows:
        ours, theirs = ({"benchmark": "master", "group": group, "contender": one} for one in ("Lockkeeper", "redis-benchmark"))
        try:
            mine, its = (lines.figure(lambda line: line["commands_per_s"], **one) for one in (ours, theirs))
            ratio = lines.ratio(lambda line: line["commands_per_s"], ours, theirs)
            cpu = ", ".join(number(lines.figure(lambda line: line["cpu_us"], **one).median) for one in (ours, theirs))
        except Missing:
            continue
        yield f"| {group} | {show(mine)} | {number(its.median)} | {show(ratio)} | {cpu} |"


def memory_table(lines):
    chosen = lines.of(benchmark="memory")
    if not chosen:
        return
    yield "| What | On | How many | Bytes each (INFO) | Bytes each (RSS) |"
    yield "|---|---|---|---|---|"
    for line in chosen:
        yield (f"| {line['what']} | {line['contender']} | {line['count']:,} | {number(line['used_bytes_each'])} | "
               f"{number(line['resident_bytes_each'])} |")


def instructions_table(lines):
    chosen = lines.of(benchmark="instructions")
    if not chosen:
        return
    yield "| Operation | Instructions | Allocations |"
    yield "|---|---|---|"
    for line in chosen:
        where = f", {line['group']}" if line.get("group") else ""
        asked = number(line["allocations"]) if "allocations" in line else ""
        yield f"| {line['contender']}{where} | {number(line['value'])} | {asked} |"


def failures(lines, run):
    found = [f"- {benchmark}: {contender}: {why}" for (benchmark, contender), why in lines.failures().items()]
    found += [f"- the benchmark `{one['name']}`: code {one['code']} after {one['seconds']} s"
              for one in run.get("parts", []) if one["code"] != 0]
    return found


def printed(folder):
    for file in sorted(glob.glob(os.path.join(folder, "*.txt"))):
        with open(file, errors="replace") as text:
            words = text.read().strip()
        yield f"<details><summary>{os.path.basename(file).removesuffix('.txt')}</summary>\n\n```\n{words}\n```\n</details>\n"


def write(folder, out):
    lines = Lines.read(os.path.join(folder, "runs.jsonl"))
    with open(os.path.join(folder, "run.json")) as file:
        run = json.load(file)
    drawn = {}
    for name, title, text in charts.all_charts(lines):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
        drawn[name] = title

    def chart(*names):
        for name in names:
            if name in drawn:
                print(f"![{drawn[name]}]({name})\n", file=out)

    def part(title, *parts):
        said = [[*one] for one in parts]
        if any(said):
            print(f"## {title}\n", file=out)
            for one in said:
                if one:
                    print("\n".join(one) + "\n", file=out)

    verdicts = judge(lines)
    print(f"# Benchmarks of {run['when']}\n", file=out)
    print(f"{run['machine']}; {run['memory']} of memory. Servers and load generators share this machine; everything is on "
          f"loopback. Lockkeeper {run['commit']}, {'the quick form' if run.get('form') == 'quick' else 'the full form'}"
          f" (`{run['command']}`), {run['minutes']} min. Versions: {', '.join(lines.versions()) or 'unknown'}.\n", file=out)
    print(WORDS, file=out)
    part("What it must show", table_of_bars(verdicts))
    part("The honest reading", reading(verdicts))
    part("What we lose", losses.write(lines))
    part("One hot key", ["100 clients want one lock, release it at once and ask again at once. Each contender has started its "
                         "servers alone, in turns; a hand-off is a grant to another client than the one before.\n"])
    chart("hot-key.svg", "waits.svg")
    part("One hot key, in figures", hot_key_table(lines, "hot-key"))
    part("A crowd of 1,000", hot_key_table(lines, "hot-key-crowd"))
    part("Libraries as they are", unmodified_table(lines))
    chart("unmodified-starved.svg", "unmodified-commands.svg")
    if "uncontended.svg" in drawn:
        print("## Locks that nobody else wants\n", file=out)
        chart("uncontended.svg")
    part("Locks on masters", groups_table(lines, "fleet"), fleet_words(lines))
    part("Three proxies", groups_table(lines, "proxies"), proxies_words(lines))
    part("Other loads", [MODES] if lines.of(benchmark="modes") else [], modes_table(lines))
    part("Beside Redis, under loads that everybody has", beside_table(lines))
    if any(name.startswith("scaling") for name in drawn):
        print("## Curves\n", file=out)
        chart(*(name for name in drawn if name.startswith("scaling")))
    part("Memory", memory_table(lines))
    part("A core and its master", master_table(lines))
    part("Instructions", instructions_table(lines))
    part("What failed", failures(lines, run))
    part("How it was made", commands_of(run))
    print("## As printed\n", file=out)
    for text in printed(folder):
        print(text, file=out)


def commands_of(run):
    yield ("Rounds in which others used more than 0.15 cores are noisy; figures are of the calm rounds if there are two, else of all, "
           "and say so. Every line that the load generators reported is in [runs.jsonl](runs.jsonl).\n")
    yield "| Command | Seconds | Code |"
    yield "|---|---|---|"
    for one in run.get("parts", []):
        yield f"| `{one['command']}` | {one['seconds']} | {one['code']} |"


def main():
    parser = argparse.ArgumentParser(prog="bench/report", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.folder, "runs.jsonl")):
        sys.exit(f"{options.folder} has no runs.jsonl: nothing was measured")
    file = os.path.join(options.folder, "report.md")
    with open(file, "w") as out:
        write(options.folder, out)
    print(file)


main()
