#!/usr/bin/env python3
"""redis-server directly, by the load generator: a BLPOP token, and SET NX PX with a script for the release that polls.

The BLPOP token is the fastest queue that plain Redis has. It is no lock with a lease: a client that dies takes it along.
"""

import sys

from harness import Redis, lockbench, main, packages
from servers import redis_version


def contender(title, *words):
    def run(options):
        with Redis() as server:
            return title, redis_version(), lockbench(options, [server], *words)
    return run


CONTENDERS = {
    "redis-blpop": contender("Redis, BLPOP token (no lease)", "--protocol", "blpop"),
    "redis-poll-10ms": contender("Redis, SET NX every 10 ms", "--protocol", "set-nx", "--retry", "fixed:10ms"),
    "redis-poll-50ms": contender("Redis, SET NX every 50 ms", "--protocol", "set-nx", "--retry", "fixed:50ms"),
    "redis-poll-random": contender("Redis, SET NX after 0-100 ms", "--protocol", "set-nx", "--retry", "random:0-100ms"),
}

if __name__ == "__main__":
    sys.exit(main(__doc__, CONTENDERS, lambda: packages("test")))
