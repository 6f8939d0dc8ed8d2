"""The end on SIGTERM: who waits is told, what can be given back is given back."""

import signal
import time
import unittest

from support import ON_FLEET, PATIENCE, Client, Error, Lockkeeper, Redis, main

STOPPING = Error("ERR STOPPING this server is stopping: ask another one, or again in a moment")


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)


class Drain(unittest.TestCase):
    def test_who_waits_is_told(self):
        with Lockkeeper(config="policies: [{keys: 'parked', pollers: park, park: 10s}]") as server:
            clients = [self.enterContext(Client(server.port)) for _ in range(4)]
            holder, native, popper, parked = clients
            for key in ("native", "parked"):
                holder.call("LK.ACQUIRE", key, "me", "TTL", 600_000)
            native.send("LK.ACQUIRE", "native", "you", "WAIT", 0)
            popper.send("BLPOP", "list", 0)
            parked.send("SET", "parked", "you", "NX", "PX", 1000)
            wait_for(lambda: b"blocked_clients:3" in holder.call("INFO", "clients"), "all three wait")
            server.signal(signal.SIGTERM)
            for one in (native, popper, parked):
                self.assertEqual(one.read(), STOPPING)
                self.assertEqual(one.read_all(), b"")
            self.assertEqual(holder.read_all(), b"")

    def test_it_serves_on_for_the_delay_and_a_second_signal_ends_it(self):
        with Lockkeeper(config="shutdown: {delay: 1h}") as server, Client(server.port) as client:
            server.signal(signal.SIGTERM)
            wait_for(lambda: "not ready any more; serving on for" in server.output(), "it says so")
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 1000), "OK")
            with Client(server.port) as another:
                self.assertEqual(another.call("PING"), "PONG")
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)

    @unittest.skipIf(ON_FLEET, "has masters of its own")
    def test_locks_of_connections_are_released_on_the_masters(self):
        with Redis() as master:
            config = (f"stripes: [{{name: main, masters: ['redis://127.0.0.1:{master.port}']}}]\n"
                      "masters: {admission: quick}\nleases: {untimed: 1h, max_ttl: 2h}\nshutdown: {deadline: 30s}\n")
            with Lockkeeper(config=config, cores=1) as server, Client(server.port) as client:
                server.wait_for_votes(1)
                self.assertEqual(len(client.call("LK.ACQUIRE", "bound", "me")), 3)
                self.assertEqual(len(client.call("LK.ACQUIRE", "timed", "me", "TTL", 3_600_000)), 3)
                with Client(master.port) as direct:
                    self.assertEqual(direct.call("EXISTS", "bound", "timed"), 2)
                server.signal(signal.SIGTERM)
                self.assertEqual(server.wait(), 0)
            with Client(master.port) as direct:
                # What was promised for an hour is kept.
                self.assertEqual(direct.call("EXISTS", "bound"), 0)
                self.assertEqual(direct.call("EXISTS", "timed"), 1)


if __name__ == "__main__":
    main()
