#!/usr/bin/env python3
"""Two lock libraries of Node on redis-server: redlock 5 (pauses of 100 to 300 ms) and redis-semaphore's Mutex (10 ms).

Both poll, with the pauses that they have by default. Each client has a connection of its own; they share event loops.
"""

import sys

from harness import CACHE, HERE, Redis, main, measure, os, packages, suite
from servers import redis_version

CLIENTS_A_PROCESS = 500


def commands(clients):
    return [["node", os.path.join(HERE, "node", "worker.js")]] * max(1, clients // CLIENTS_A_PROCESS)


def environment(library):
    return {"PEER_VARIANT": library, "NODE_PATH": os.path.join(CACHE, "clients", "node", "node_modules")}


def contender(library):
    def run(options):
        with Redis() as server:
            report = measure(options, commands(options.clients), {**environment(library), "PEER_PORT": str(server.port)},
                             [server], [server.port])
        return f"npm {library}", f"{library} {report['notes'].get('version')}, {redis_version()}", report
    return run


def setup():
    packages("test")
    suite("node")


if __name__ == "__main__":
    sys.exit(main(__doc__, {"npm-redlock": contender("redlock"), "redis-semaphore": contender("redis-semaphore")}, setup))
