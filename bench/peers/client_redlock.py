#!/usr/bin/env python3
"""RedLock as clients do it, by the load generator: all masters are asked at once, a majority wins, pauses are random.

The kindest reading of it: the first majority decides, and a refused attempt is given back without waiting for it.
"""

import sys

from harness import lockbench, main, packages
from servers import masters, redis_version


def contender(count):
    def run(options):
        with masters(count) as voters:
            report = lockbench(options, voters, "--protocol", "redlock", "--retry", "random:0-100ms", masters=voters)
        return f"client-side RedLock, {count} masters", redis_version(), report
    return run


if __name__ == "__main__":
    sys.exit(main(__doc__, {"redlock-3": contender(3), "redlock-5": contender(5)}, lambda: packages("test")))
