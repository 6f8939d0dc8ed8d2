#!/usr/bin/env python3
"""Redisson's RLock and RFairLock on redis-server: waiters subscribe, and are woken by a message.

100 clients are ten instances of Redisson with ten threads each, all in one JVM: the kindest case, for threads of an instance
share its subscriptions. Without a lease of their own, locks are renewed by Redisson's watchdog.
"""

import sys

from harness import CACHE, HERE, Redis, call, main, measure, os, packages
from servers import redis_version

HOME = os.path.join(CACHE, "bench", "redisson")


def contender(variant, title):
    def run(options):
        command = ["java", "-XX:+UseSerialGC", "-Xmx1g", "-cp", f"{HOME}/classes:{HOME}/lib/*", "PeerWorker"]
        with Redis() as server:
            report = measure(options, [command], {"PEER_PORT": str(server.port), "PEER_VARIANT": variant},
                             [server], [server.port])
        return title, f"Redisson {report['notes'].get('version')}, {redis_version()}", report
    return run


def setup():
    packages("test")
    call(["./setup"], 1200, cwd=os.path.join(HERE, "redisson"), env={**os.environ, "SUITE_HOME": HOME})


if __name__ == "__main__":
    sys.exit(main(__doc__, {"redisson-rlock": contender("plain", "Redisson RLock"),
                            "redisson-rfairlock": contender("fair", "Redisson RFairLock")}, setup))
