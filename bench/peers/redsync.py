#!/usr/bin/env python3
"""redsync's Mutex (Go) on redis-server: SET NX PX with pauses of 50 to 250 ms, which are its defaults."""

import re
import sys

from harness import CACHE, HERE, Redis, call, main, measure, os, packages
from servers import redis_version

HOME = os.path.join(CACHE, "bench", "redsync")
SOURCE = os.path.join(HERE, "redsync")


def lock(options):
    with open(os.path.join(SOURCE, "go.mod")) as file:
        version = re.search(r"redsync/v4 v(\S+)", file.read()).group(1)
    with Redis() as server:
        report = measure(options, [[os.path.join(HOME, "worker")]], {"PEER_PORT": str(server.port)}, [server], [server.port])
    return "redsync Mutex", f"redsync {version}, {redis_version()}", report


def setup():
    packages("test")
    call(["./setup"], 1200, cwd=SOURCE, env={**os.environ, "SUITE_HOME": HOME})


if __name__ == "__main__":
    sys.exit(main(__doc__, {"redsync": lock}, setup))
