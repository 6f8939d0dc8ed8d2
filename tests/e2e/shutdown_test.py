"""SIGTERM and SIGINT: exit code 0 and a clean log, whatever clients are doing (Lockkeeper's __exit__ checks both)."""

import resource
import signal
import time
import unittest

from support import Client, Lockkeeper, encode, main


class Shutdown(unittest.TestCase):
    def setUp(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))

    def test_it_stops_on_either_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Lockkeeper() as server:
                server.signal(number)
                self.assertEqual(server.wait(), 0)

    def test_a_second_signal_does_no_harm(self):
        with Lockkeeper() as server, Client(server.port) as client:
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGTERM)
            self.assertEqual(client.read_all(), b"")

    def stop_with_a_thousand_connections(self):
        """How many seconds it takes from the signal to the end of the process."""
        with Lockkeeper() as server:
            clients = [Client(server.port) for _ in range(1000)]
            for client in clients:
                client.send("PING")
            for client in clients:
                self.assertEqual(client.read(), "PONG")
            began = time.monotonic()
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            seconds = time.monotonic() - began
            for client in clients:
                self.assertEqual(client.read_all(), b"")
                client.close()
            # So many wake up at once that Seastar would dump its queue of tasks into the log.
            self.assertNotIn("Too long queue", server.output())
            return seconds

    def test_a_thousand_idle_connections_are_closed_in_less_than_two_seconds(self):
        """A promise to supervisors, and one of few times that are asserted: it takes a tenth of that. The machine may take
        the processor away for a while, so the best of three stops counts: only a server that always waits for something, be
        it a client or its own deadline, misses it."""
        taken = []
        while len(taken) < 3:
            taken.append(self.stop_with_a_thousand_connections())
            if taken[-1] < 2:
                return
        self.fail(f"from the signal to the end: {taken} seconds")

    def test_busy_connections_do_not_hold_it_up(self):
        with Lockkeeper() as server:
            clients = [Client(server.port) for _ in range(20)]
            for client in clients:
                client.send_bytes(encode("ECHO", b"x" * 1000) * 200)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            for client in clients:
                client.close()

    def test_a_client_that_never_reads_is_cut_at_the_deadline(self):
        with Lockkeeper(config="shutdown: {deadline: 300ms}") as server, Client(server.port) as stuck:
            stuck.flood(encode("ECHO", b"x" * 60_000), 256 * 1024 * 1024, pause=0.5)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            self.assertIn("connections cut", server.output())


if __name__ == "__main__":
    main()
