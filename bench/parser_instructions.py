#!/usr/bin/env python3
"""Instructions to parse a command, to write a reply or to take a decision, counted by callgrind, and allocations.

Each case of parser_bench or decision_bench runs twice with a different number of commands; the difference is what the
commands took, and the start of the program cancels out. The same on a busy machine and on an idle one. Allocations are
calls of `new`, counted by the program itself; what grows once and is used again counts for next to nothing.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import keep



def cases(binary):
    out = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout
    return [line.split(maxsplit=1) for line in out.splitlines()]


def instructions(binary, case, commands):
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", binary, case,
                               str(commands)], capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            sys.exit(f"valgrind failed:\n{done.stderr}")
        return int(re.search(r"^(?:totals|summary): (\d+)", out.read().decode(), re.MULTILINE).group(1))


def allocations(binary, case, commands):
    out = subprocess.run([binary, case, str(commands)], capture_output=True, text=True, check=True, timeout=300).stdout
    return float(re.search(r"([\d.]+) allocations", out).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="e.g. build/release/bench/micro/parser_bench")
    parser.add_argument("case", nargs="*", help="cases of --list; all of them if none is named")
    parser.add_argument("--json", metavar="FILE", help="append the figures as JSON lines to this file")
    parser.add_argument("--commands", type=int, default=100_000, metavar="N",
                        help="so many more in the second run; what one of them takes is found in far fewer, too (100000)")
    options = parser.parse_args()
    few = options.commands // 10
    many = few + options.commands
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not there (Debian package valgrind)")
    binary = os.path.abspath(options.binary)
    known = cases(binary)
    if unknown := set(options.case) - {name for name, _ in known}:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(name for name, _ in known)}")
    for name, what in known:
        if not options.case or name in options.case:
            each = (instructions(binary, name, many) - instructions(binary, name, few)) / (many - few)
            asked = allocations(binary, name, many)
            keep(options, {"benchmark": "instructions", "contender": f"{name}: {what}", "value": each, "allocations": asked})
            print(f"{name:14} {each:8.1f} instructions {asked:6.2f} allocations  {what}", flush=True)


if __name__ == "__main__":
    main()
