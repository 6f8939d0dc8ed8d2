#!/usr/bin/env python3
"""Lockkeeper itself, by the load generator: native verbs, with locks on five masters, on three, and in its own memory."""

import sys

from harness import lockbench, main, packages
from servers import lockkeeper_on, lockkeeper_version, masters, redis_version


def contender(count):
    def run(options):
        with masters(count) as voters, lockkeeper_on(voters) as proxy:
            report = lockbench(options, [proxy], "--protocol", "native", masters=voters, others=voters)
        where = f"{count} masters" if count else "its own memory"
        return f"Lockkeeper, {where}", f"{lockkeeper_version()}, {redis_version()}", report
    return run


CONTENDERS = {"lockkeeper-5": contender(5), "lockkeeper-3": contender(3), "lockkeeper-memory": contender(0)}

if __name__ == "__main__":
    sys.exit(main(__doc__, CONTENDERS, lambda: packages("test")))
