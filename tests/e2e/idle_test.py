"""A server with nothing to do is a small neighbour."""

import os
import time
import unittest

from support import Client, Lockkeeper, lockkeeper_binary, main


def is_sanitized():
    with open(lockkeeper_binary(), "rb") as file:
        return b"__asan_init" in file.read()


def resident_bytes(process):
    with open(f"/proc/{process.pid}/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Idle(unittest.TestCase):
    def test_with_its_defaults_it_takes_little_memory_before_it_is_needed(self):
        if is_sanitized():
            self.skipTest("sanitizers need memory of their own")
        # Each core takes its share at the start; the bound is meant for machines of usual size.
        cores = min(8, len(os.sched_getaffinity(0)))
        with Lockkeeper(cores=cores, memory=None, overprovisioned=False) as server, Client(server.port) as client:
            self.assertEqual(client.call("PING"), "PONG")
            self.assertLess(resident_bytes(server.process), 150_000_000)

    def is_asleep(self, **options):
        """Its own time, not that of the machine, so a loaded one does not matter; what a start or a timer takes may."""
        if is_sanitized():
            self.skipTest("sanitizers have threads of their own")
        with Lockkeeper(cores=2, http=True, **options) as server, Client(server.port) as client:
            self.assertEqual(client.call("PING"), "PONG")
            shares = []
            for _ in range(5):
                began, used = time.monotonic(), cpu_seconds(server.process)
                time.sleep(2)
                shares.append((cpu_seconds(server.process) - used) / (time.monotonic() - began))
                if shares[-1] < 0.05:
                    return
            self.fail(f"of a core, it used {shares}")

    def test_it_sleeps(self):
        """With its defaults: a core that has nothing to do looks around for a moment before it sleeps."""
        self.is_asleep(overprovisioned=False)

    def test_it_sleeps_among_many_others(self):
        self.is_asleep(overprovisioned=True)


if __name__ == "__main__":
    main()
