#!/usr/bin/env python3
"""redis-py's Lock on redis-server: SET NX PX, asked again every 100 ms, which is its default.

Each client is a thread with a connection of its own; they share a few Python processes.
"""

import sys

from harness import CACHE, Redis, main, measure, os, packages, suite
from servers import redis_version

CLIENTS_A_PROCESS = 125


def worker():
    import redis

    import threads

    def make_client(_):
        client = redis.Redis("127.0.0.1", int(os.environ["PEER_PORT"]), socket_timeout=60)
        client.ping()
        lock = client.lock(os.environ["PEER_KEY"], timeout=30)
        return lock.acquire, lock.release

    print("# version", redis.__version__)
    threads.run(make_client)


def commands(clients):
    python = os.path.join(CACHE, "clients", "redis-py", "8", "bin", "python")
    return [[python, "-B", __file__, "worker"]] * max(min(clients, 4), clients // CLIENTS_A_PROCESS)


def lock(options):
    with Redis() as server:
        report = measure(options, commands(options.clients), {"PEER_PORT": str(server.port)}, [server], [server.port])
    return "redis-py Lock", f"redis-py {report['notes'].get('version')}, {redis_version()}", report


def setup():
    packages("test")
    suite("redis-py")


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        worker()
    sys.exit(main(__doc__, {"redis-py": lock}, setup))
