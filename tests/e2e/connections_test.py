"""Connections as clients see them: handshakes, pipelines, cut-up bytes, limits."""

import resource
import socket
import unittest

from support import Client, Error, Lockkeeper, encode, main


class Handshake(unittest.TestCase):
    def test_a_connection_starts_with_resp2_and_can_change_to_resp3_and_back(self):
        with Lockkeeper() as server, Client(server.port) as client:
            reply = client.call("HELLO")
            self.assertEqual(reply[:6], [b"server", b"redis", b"version", b"7.2.4", b"proto", 2])
            reply = client.call("HELLO", 3)
            self.assertEqual((reply[b"proto"], reply[b"mode"], reply[b"role"]), (3, b"standalone", b"master"))
            self.assertIsInstance(reply[b"id"], int)
            self.assertEqual(client.call("HELLO", "2")[5], 2)

    def test_the_advertised_version_comes_from_the_configuration(self):
        with Lockkeeper(config="server: {redis_version: 8.4.0}") as server, Client(server.port) as client:
            self.assertEqual(client.call("HELLO", 3)[b"version"], b"8.4.0")

    def test_a_refused_hello_changes_nothing(self):
        with Lockkeeper() as server, Client(server.port) as client:
            self.assertEqual(client.call("HELLO", 4), Error("NOPROTO unsupported protocol version"))
            self.assertIsInstance(client.call("HELLO", 3, "SETNAME", "a b"), Error)
            self.assertIsInstance(client.call("HELLO", 3, "WRONG"), Error)
            self.assertIsInstance(client.call("HELLO"), list)

    def test_client_ids_are_unique_over_all_cores(self):
        with Lockkeeper(cores=2) as server:
            clients = [Client(server.port) for _ in range(64)]
            ids = [client.call("HELLO", 3)[b"id"] for client in clients]
            self.assertEqual(len(set(ids)), len(ids))
            for client in clients:
                client.close()


class Pipelines(unittest.TestCase):
    def test_replies_come_in_the_order_of_the_commands(self):
        with Lockkeeper() as server, Client(server.port) as client:
            count = 20_000
            client.send_bytes(b"".join(encode("ECHO", i) for i in range(count)))
            self.assertEqual([int(client.read()) for _ in range(count)], list(range(count)))

    def test_bytes_that_trickle_in_one_by_one_are_understood(self):
        with Lockkeeper() as server, Client(server.port) as client:
            client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in encode("ECHO", "slow") + b"PING inline\r\n":
                client.send_bytes(bytes([byte]))
            self.assertEqual(client.read(), b"slow")
            self.assertEqual(client.read(), b"inline")

    def test_binary_arguments_come_back_unchanged(self):
        payload = bytes(range(256)) * 16
        with Lockkeeper() as server, Client(server.port) as client:
            self.assertEqual(client.call("ECHO", payload), payload)

    def test_quit_answers_what_came_before_it_and_closes(self):
        with Lockkeeper() as server, Client(server.port) as client:
            client.send_bytes(encode("PING") + encode("QUIT") + encode("PING"))
            self.assertEqual(client.read_all(), b"+PONG\r\n+OK\r\n")

    def test_a_half_closed_client_still_gets_its_replies(self):
        with Lockkeeper() as server, Client(server.port) as client:
            client.send_bytes(encode("PING") * 3)
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(client.read_all(), b"+PONG\r\n" * 3)

    def test_a_client_that_does_not_read_stops_being_read_from_and_hurts_nobody(self):
        with Lockkeeper(cores=1) as server, Client(server.port) as greedy, Client(server.port) as other:
            # The kernel's buffers on both sides fill up; a server that kept reading would take it all.
            bound = 256 * 1024 * 1024
            self.assertLess(greedy.flood(encode("ECHO", b"x" * 60_000), bound), bound)
            self.assertEqual(other.call("PING"), "PONG")


class Limits(unittest.TestCase):
    def test_clients_beyond_the_limit_are_told_so(self):
        with Lockkeeper(cores=1, config="limits: {clients: 3}") as server:
            # The probe that waited for the start may take a moment to leave.
            inside = []
            while len(inside) < 3:
                client = Client(server.port)
                if client.call("PING") == "PONG":
                    inside.append(client)
            with Client(server.port) as late:
                self.assertEqual(late.read_all(), b"-ERR max number of clients reached\r\n")
            inside.pop().close()
            while True:
                with Client(server.port) as next_one:
                    if next_one.call("PING") == "PONG":
                        break
            for client in inside:
                client.close()

    def test_as_many_clients_as_allowed_can_all_be_there_with_either_backend(self):
        many = 4_000
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < many + 100:
            self.skipTest("too few open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        for backend in ("epoll", "linux-aio"):
            with Lockkeeper("--reactor-backend", backend, cores=1, config=f"limits: {{clients: {many}}}") as server:
                # A few less, for the probe that waited for the start.
                clients = [Client(server.port) for _ in range(many - 10)]
                for client in clients:
                    client.send("PING")
                for client in clients:
                    self.assertEqual(client.read(), "PONG")
                    client.close()

    def test_an_argument_beyond_the_limit_is_a_protocol_error(self):
        with Lockkeeper(config="limits: {argument_bytes: 1KiB}") as server:
            with Client(server.port) as client:
                self.assertEqual(client.call("ECHO", b"x" * 1024), b"x" * 1024)
            with Client(server.port) as client:
                client.send("ECHO", b"x" * 1025)
                self.assertEqual(client.read_all(), b"-ERR Protocol error: invalid bulk length\r\n")

    def test_a_key_beyond_the_limit_is_refused_and_the_connection_stays(self):
        with Lockkeeper() as server, Client(server.port) as client:
            self.assertEqual(client.call("SET", b"k" * 8192, "v", "NX", "PX", 30000), "OK")
            self.assertEqual(client.call("SET", b"k" * 8193, "v", "NX", "PX", 30000),
                             Error("ERR KEYTOOLONG the name of a lock is longer than limits.key_bytes"))
            self.assertEqual(client.call("GET", b"k" * 8192), b"v")

    def test_silent_connections_are_closed_after_the_idle_time(self):
        with Lockkeeper(config="limits: {idle: 200ms}") as server, Client(server.port) as client:
            self.assertEqual(client.read_all(), b"")


if __name__ == "__main__":
    main()
