"""A server with nothing to do is a small neighbour."""

import os
import unittest

from support import Client, Lockkeeper, lockkeeper_binary, main


def is_sanitized():
    with open(lockkeeper_binary(), "rb") as file:
        return b"__asan_init" in file.read()


def resident_bytes(process):
    with open(f"/proc/{process.pid}/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


class Idle(unittest.TestCase):
    def test_with_its_defaults_it_takes_little_memory_before_it_is_needed(self):
        if is_sanitized():
            self.skipTest("sanitizers need memory of their own")
        # Each core takes its share at the start; the bound is meant for machines of usual size.
        cores = min(8, len(os.sched_getaffinity(0)))
        with Lockkeeper(cores=cores, memory=None, overprovisioned=False) as server, Client(server.port) as client:
            self.assertEqual(client.call("PING"), "PONG")
            self.assertLess(resident_bytes(server.process), 150_000_000)


if __name__ == "__main__":
    main()
