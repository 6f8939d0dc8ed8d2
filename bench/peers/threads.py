"""A worker's loop for libraries that block: a thread for each client."""

import os
import sys
import threading
import time


def run(make_client):
    """`make_client(number)` connects and returns (acquire, release), both blocking."""
    first, count = int(os.environ["PEER_FIRST"]), int(os.environ["PEER_CLIENTS"])
    hold = int(os.environ["PEER_HOLD_US"]) / 1e6
    clients = [make_client(number) for number in range(first, first + count)]
    rows = [[] for _ in clients]
    asked = [None] * count
    gate, end = threading.Event(), [0]
    troubles = []

    def work(index):
        acquire, release = clients[index]
        mine = rows[index]
        gate.wait()
        try:
            while (now := time.monotonic_ns()) < end[0]:
                asked[index] = now
                acquire()
                granted = time.monotonic_ns()
                asked[index] = None
                if hold:
                    time.sleep(hold)
                gave_back = time.monotonic_ns()
                release()
                mine.append((now, granted, gave_back))
        except Exception as error:
            # At the end connections are cut under everybody.
            if time.monotonic_ns() < end[0]:
                troubles.append(f"{type(error).__name__}: {error}")

    for index in range(count):
        threading.Thread(target=work, args=(index,), daemon=True).start()
    print("ready", flush=True)
    end[0] = int(sys.stdin.readline())
    gate.set()
    time.sleep(max(0, (end[0] - time.monotonic_ns()) / 1e9))
    # Who waits now goes on waiting; nobody looks at it any more.
    still = list(asked)
    if troubles:
        print(f"{len(troubles)} clients failed, the first with {troubles[0]}", file=sys.stderr, flush=True)
        os._exit(1)
    lines = [f"{first + index} {' '.join(map(str, row))}" for index in range(count) for row in list(rows[index])]
    lines += [f"{first + index} {since} - -" for index, since in enumerate(still) if since is not None]
    print("\n".join(lines), flush=True)
    os._exit(0)
