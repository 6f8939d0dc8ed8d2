#!/usr/bin/env python3
"""Instructions per operation of the lock table, counted by callgrind: the one figure that no other load can disturb.

Each case of lock_table_bench takes a lock and gives it back, once with a thousand other locks in the table and once
with a million; the ratio says how well the table bears its size. Allocations are calls of `new`. Memory that is far away costs time and no
instructions: the nanoseconds beside them are measured without callgrind, and are as noisy as the machine.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import keep

OPERATIONS = 20_000
TIMED_OPERATIONS = 500_000


def cases(binary):
    out = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout
    return [line.split(maxsplit=1) for line in out.splitlines()]


def instructions(binary, case, locks):
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out.name}",
             binary, case, str(locks), str(OPERATIONS)], capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            sys.exit(f"valgrind failed:\n{done.stderr}")
        total = re.search(r"^totals: (\d+)", out.read().decode(), re.MULTILINE)
    return int(total.group(1)) / OPERATIONS


def timed(binary, case, locks):
    """Nanoseconds and allocations of an operation."""
    out = subprocess.run([binary, case, str(locks), str(TIMED_OPERATIONS)], capture_output=True, text=True,
                         check=True, timeout=300).stdout
    return [float(one) for one in re.search(r"([\d.]+) ns +([\d.]+) allocations", out).groups()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="e.g. build/release/bench/micro/lock_table_bench")
    parser.add_argument("--few", type=int, default=1_000, metavar="N", help="locks in the small table (1000)")
    parser.add_argument("--many", type=int, default=1_000_000, metavar="N", help="locks in the large table (1000000)")
    parser.add_argument("--json", metavar="FILE", help="append the figures as JSON lines to this file")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not there (Debian package valgrind)")
    binary = os.path.abspath(options.binary)
    print(f"{'':11} {f'{options.few} locks':>16} {f'{options.many} locks':>16} {'ratio':>6} {'allocations':>11}   ns")
    for case, what in cases(binary):
        few, many = (instructions(binary, case, locks) for locks in (options.few, options.many))
        (few_ns, few_asked), (many_ns, many_asked) = (timed(binary, case, locks) for locks in (options.few, options.many))
        times = f"{few_ns:.0f} -> {many_ns:.0f}"
        for locks, count, asked in ((options.few, few, few_asked), (options.many, many, many_asked)):
            keep(options, {"benchmark": "instructions", "contender": f"lock table: {what}", "group": f"{locks:,} locks",
                           "value": count, "allocations": asked})
        print(f"{case:11} {few:16.0f} {many:16.0f} {many / few:6.2f} {many_asked:11.2f}   {times:12} {what}", flush=True)


if __name__ == "__main__":
    main()
