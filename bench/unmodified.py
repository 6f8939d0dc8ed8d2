#!/usr/bin/env python3
"""A thousand waiters of lock libraries as they are, on plain Redis and through Lockkeeper on five masters: who starves?

redis-py's Lock, npm redlock 5 and redis-semaphore's Mutex, with the pauses that they have by default; nothing of them is
changed but the port. All clients want one key, release it at once and ask again at once. A client starves if one of its
waits takes 3 s or more, those included that still wait at the end.

Lockkeeper runs twice: as it comes (`pollers: auto, park: 50ms`), where the first two tries are answered at once and the next
ones are held back in line for up to 50 ms; and with the policy `pollers: park, park: 3s`, made for crowds that poll: every
refusal is held back for up to 3 s. That is less than any of these libraries waits for an answer.

A thousand clients of Python or Node are more than two cores can run without waiting for each other, so their column `load`
belongs to the figures: where it is near the number of cores, clients starve of the machine. Therefore the same pauses are
also made by the load generator ("as redis-py" and so on), which needs a fraction of the CPU.

Exclusion is verified, too: an intrusion is a section that began before the one before it had ended. One through Lockkeeper is
no figure but a failure, of the run and of this program.

Commands are those that Redis itself counts: the one server, or all five masters together.
"""

import subprocess
import sys
from os import path

from common import arguments, keep, machine, median, parse, progress

sys.path.insert(0, path.join(path.dirname(path.abspath(__file__)), "peers"))
import node_libraries  # noqa: E402
import redis_py  # noqa: E402
from harness import NOISE, Failed, Redis, lockbench, measure  # noqa: E402
from setup import add_setup_options, set_up_once  # noqa: E402
from servers import lockkeeper_on, masters, redis_version  # noqa: E402

# What runs their clients, with which environment, and the peer whose set-up brings them.
LIBRARIES = {
    "redis-py": (redis_py.commands, {}, "redis_py.py"),
    "npm redlock": (node_libraries.commands, node_libraries.environment("redlock"), "node_libraries.py"),
    "redis-semaphore": (node_libraries.commands, node_libraries.environment("redis-semaphore"), "node_libraries.py"),
}
# The pauses of the same by the load generator.
PAUSES = {"as redis-py": "fixed:100ms", "as npm redlock": "random:100ms-300ms", "as redis-semaphore": "fixed:10ms"}
PARK = "policies: [{keys: ['*'], pollers: park, park: 3s}]\n"
PLACES = {"Redis": None, "Lockkeeper": "", "Lockkeeper, park": PARK}


def measure_at(options, library, place):
    if PLACES[place] is None:
        with Redis() as server:
            return measure_on(options, library, server, [server], [])
    with masters(5) as voters, lockkeeper_on(voters, PLACES[place]) as proxy:
        return measure_on(options, library, proxy, voters, voters)


def measure_on(options, library, server, counted, others):
    if library in PAUSES:
        return lockbench(options, [server], "--protocol", "set-nx", "--retry", PAUSES[library], masters=counted, others=others)
    commands, environment, _ = LIBRARIES[library]
    return measure(options, commands(options.clients), {**environment, "PEER_PORT": str(server.port)}, [server, *others],
                   [one.port for one in counted])


def run(options, library, place, number):
    line = {"benchmark": "unmodified", "contender": f"{library} on {place}", "library": library, "place": place,
            "round": number, "clients": options.clients, "hold_us": options.hold_us}
    try:
        report = measure_at(options, library, place)
        if (seen := report["verify"]["intrusions"]) and PLACES[place] is not None:
            raise Failed(f"exclusion was broken: {seen} intrusions in {report['sections']} sections")
        version = report.get("notes", {}).get("version")
        commands = sum(one["commands"] for one in report["masters"])
        line.update(report, version=f"{library} {version}, {redis_version()}", noisy=report["foreign_cpu_cores"] > NOISE,
                    redis_commands_per_s=commands / report["elapsed_s"],
                    redis_commands_per_section=commands / max(report["sections"], 1))
    except (Failed, OSError, AssertionError, subprocess.TimeoutExpired) as error:
        line["failed"] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    keep(options, line)
    return line


def show(library, place, runs):
    title = f"{library:18} {place:17}"
    good = [one for one in runs if "failed" not in one]
    for one in runs:
        if "failed" in one:
            print(f"{title} FAILED: {one['failed']}")
    if not good:
        return

    def middle(name):
        return median([one[name] for one in good])

    print(f"{title} {max(one['starved'] for one in good):7} {middle('sections_per_s'):10.0f} {middle('hand_offs_per_s'):11.0f}"
          f" {median([one['wait_us']['p99'] for one in good]) / 1e3:9.0f} {middle('jain'):6.3f}"
          f" {middle('redis_commands_per_s'):10.0f} {middle('redis_commands_per_section'):9.2f}"
          f" {middle('generator_cpu_cores'):6.2f} {sum(one['verify']['intrusions'] for one in good):10}"
          f"  {sum(one['noisy'] for one in good)}/{len(good)}", flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warmup", type=float, default=2)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--hold-us", type=int, default=0, help="how long a lock is held (0)")
    known = [*LIBRARIES, *PAUSES]
    parser.add_argument("--libraries", type=lambda text: text.split(","), default=known, metavar="NAME,NAME",
                        help=f"some of {', '.join(known)}")
    add_setup_options(parser)
    options = parse(parser)
    needed = dict.fromkeys(LIBRARIES[one][2] for one in options.libraries if one in LIBRARIES)
    lacking = set_up_once(needed, options)
    if options.setup:
        return 0
    broken = False
    print(machine())
    print(f"{options.clients} clients, one key, held for {options.hold_us} us")
    print(f"{'library':18} {'on':17} {'starved':>7} {'sections/s':>10} {'hand-offs/s':>11} {'p99 ms':>9} {'Jain':>6}"
          f" {'commands/s':>10} {'a section':>9} {'load':>6} {'intrusions':>10}  noisy")
    for library in options.libraries:
        if why := library in LIBRARIES and lacking[LIBRARIES[library][2]]:
            why = why[0]["failed"]
            keep(options, {"benchmark": "unmodified", "contender": library, "library": library, "failed": why})
            print(f"{library:18} FAILED: {why}", flush=True)
            continue
        runs = {place: [] for place in PLACES}
        for number in range(1, options.rounds + 1):
            for place in PLACES:
                progress(f"{library} on {place}, round {number} of {options.rounds}")
                runs[place].append(run(options, library, place, number))
        progress("")
        for place, several in runs.items():
            show(library, place, several)
            broken |= any("was broken" in one.get("failed", "") for one in several)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
