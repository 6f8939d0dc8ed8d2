"""Ports of the loopback address that no other test has, however many run at once.

A probe that binds a port and lets go of it tells that it is free now, not that it will be when a server binds it. So each
process has blocks of ports to itself, for as long as it lives, and gives out each of them once.
"""

import contextlib
import fcntl
import os
import random
import socket
import tempfile

# None of those that the system gives to outgoing connections: one of these could have it before the server has.
FIRST, END = 10_000, 30_000
BLOCK = 100

_ours = []  # locked files, one for each block
_left = []


def free_port():
    while True:
        if not _left:
            _left.extend(_take_block())
        port = _left.pop()
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _take_block():
    folder = os.path.join(tempfile.gettempdir(), f"lockkeeper-ports-{os.getuid()}")
    os.makedirs(folder, exist_ok=True)
    starts = list(range(FIRST, END, BLOCK))
    random.SystemRandom().shuffle(starts)
    for start in starts:
        file = open(os.path.join(folder, str(start)), "w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        _ours.append(file)
        return range(start, start + BLOCK)
    raise AssertionError(f"other tests have all ports from {FIRST} to {END}")
