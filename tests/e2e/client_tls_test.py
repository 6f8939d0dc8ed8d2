"""Clients that speak TLS: served, or refused with a line in the log, and nobody else is disturbed."""

import os
import shutil
import signal
import socket
import ssl
import tempfile
import time
import unittest

from certificates import Authority
from support import PATIENCE, Client, Error, Lockkeeper, encode, free_port, main


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)


class TlsClient(Client):
    def __init__(self, port, context, name="localhost"):
        plain = socket.create_connection(("127.0.0.1", port), PATIENCE)
        try:
            self.socket = context.wrap_socket(plain, server_hostname=name)
        except BaseException:
            plain.close()
            raise
        self.stream = self.socket.makefile("rb")


def trusting(authority, own=None):
    context = ssl.create_default_context(cafile=authority.certificate)
    if own:
        context.load_cert_chain(own[1], own[0])
    return context


class ClientTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.ours, cls.others = Authority(cls.folder, "ours"), Authority(cls.folder, "others")
        cls.server_pair = cls.ours.sign("server", "DNS:localhost")
        cls.client_pair = cls.ours.sign("client", "DNS:client")
        cls.expired = cls.ours.sign("expired", "DNS:client", expired=True)
        cls.foreign = cls.others.sign("foreign", "DNS:client")

    def server(self, pair=None, certificates="none", more=""):
        key, certificate = pair or self.server_pair
        self.tls_port = free_port()
        config = (f"tls: {{port: {self.tls_port}, certificate: {certificate}, key: {key},"
                  f" ca: {self.ours.certificate}, client_certificates: {certificates}{more}}}\n")
        return self.enterContext(Lockkeeper(config=config))

    def client(self, context=None, **how):
        return self.enterContext(TlsClient(self.tls_port, context or trusting(self.ours), **how))

    def expect_refusal(self, server, attempt):
        """It fails, the log says so, and those who were served are served on."""
        lines = server.output().count("no TLS connection")

        def is_refused_and_logged():
            with self.assertRaises((ssl.SSLError, ConnectionError, OSError)):
                attempt()
            return server.output().count("no TLS connection") > lines

        # Such lines are written once a second at most.
        wait_for(is_refused_and_logged, "a line in the log")
        self.assertRegex(server.output(), r"listener - client at 127\.0\.0\.1:\d+: no TLS connection: [^\n]+, "
                                          r"connection closed")

    def test_locks_work_and_both_ports_have_the_same(self):
        server = self.server()
        with Client(server.port) as plain:
            client = self.client()
            self.assertIn(client.socket.version(), ("TLSv1.2", "TLSv1.3"))
            self.assertEqual(client.call("SET", "k", "me", "NX", "PX", 60_000), "OK")
            self.assertIsNone(plain.call("SET", "k", "you", "NX", "PX", 60_000))
            big = b"x" * 60_000
            client.send_bytes(encode("ECHO", big) * 50)
            for _ in range(50):
                self.assertEqual(client.read(), big)
            # A wait that another connection ends.
            self.assertEqual(len(plain.call("LK.ACQUIRE", "w", "a", "TTL", 60_000)), 3)
            client.send("LK.ACQUIRE", "w", "b", "TTL", 60_000, "WAIT", 0)
            wait_for(lambda: len(plain.call("LK.WAITERS", "w")) == 1, "it waits")
            self.assertEqual(plain.call("LK.RELEASE", "w", "a"), 0)
            self.assertEqual(len(client.read()), 3)

    def test_old_versions_are_refused(self):
        server = self.server()
        context = trusting(self.ours)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        self.expect_refusal(server, lambda: self.client(context))

    def test_plain_words_on_the_tls_port_are_refused(self):
        server = self.server()
        served = self.client()

        def attempt():
            with Client(self.tls_port) as plain:
                plain.send("PING")
                plain.read()

        self.expect_refusal(server, attempt)
        self.assertEqual(served.call("PING"), "PONG")

    def test_tls_on_the_plain_port_is_no_command(self):
        server = self.server()
        served = self.client()
        with self.assertRaises((ssl.SSLError, ConnectionError, OSError)):
            TlsClient(server.port, trusting(self.ours))
        self.assertEqual(served.call("PING"), "PONG")

    def test_a_client_knows_a_wrong_server(self):
        self.server()
        with self.assertRaisesRegex(ssl.SSLCertVerificationError, "self.signed|unable to get"):
            self.client(trusting(self.others))
        with self.assertRaisesRegex(ssl.SSLCertVerificationError, "ostname mismatch"):
            self.client(name="elsewhere.example")
        self.assertEqual(self.client().call("PING"), "PONG")

    def test_clients_need_certificates_where_they_are_required(self):
        server = self.server(certificates="required")
        served = self.client(trusting(self.ours, self.client_pair))
        self.assertEqual(served.call("PING"), "PONG")
        for pair in (None, self.expired, self.foreign):
            # TLS 1.3 tells a client of it with its first read.
            self.expect_refusal(server, lambda one=pair: self.client(trusting(self.ours, one)).call("PING"))
        self.assertEqual(served.call("PING"), "PONG")

    def test_certificates_that_are_optional_must_be_right(self):
        server = self.server(certificates="optional")
        self.assertEqual(self.client().call("PING"), "PONG")
        self.assertEqual(self.client(trusting(self.ours, self.client_pair)).call("PING"), "PONG")
        for pair in (self.expired, self.foreign):
            self.expect_refusal(server, lambda one=pair: self.client(trusting(self.ours, one)).call("PING"))

    def test_new_certificates_are_used_without_a_restart(self):
        key, certificate = (os.path.join(self.folder, f"changing.{kind}") for kind in ("key", "crt"))
        shutil.copy(self.server_pair[0], key)
        shutil.copy(self.server_pair[1], certificate)
        server = self.server(pair=(key, certificate))
        served = self.client()
        first = served.socket.getpeercert()["serialNumber"]
        new_key, new_certificate = self.ours.sign("renewed", "DNS:localhost")
        shutil.copy(new_key, key)
        shutil.copy(new_certificate, certificate)

        def serial():
            with TlsClient(self.tls_port, trusting(self.ours)) as one:
                return one.socket.getpeercert()["serialNumber"]

        wait_for(lambda: serial() != first, "the new certificate is shown")
        self.assertEqual(served.call("PING"), "PONG")
        # Nonsense changes nothing.
        with open(certificate, "w") as file:
            file.write("nonsense\n")
        wait_for(lambda: "cannot be used, the old one stays" in server.output(), "a line in the log")
        self.assertNotEqual(serial(), first)

    def test_without_the_clear_port_only_tls_is_served(self):
        key, certificate = self.server_pair
        port = free_port()
        config = f"tls: {{port: {port}, certificate: {certificate}, key: {key}, only: true}}\n"
        server = Lockkeeper(config=config)
        try:
            self.tls_port = port
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    client = self.client()
                    break
                except ConnectionError:
                    assert time.monotonic() < end, server.output()
                    time.sleep(0.05)
            self.assertEqual(client.call("PING"), "PONG")
            with self.assertRaises(ConnectionError):
                Client(server.port)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
        finally:
            server.kill()

    def test_a_client_that_never_agrees_is_cut(self):
        self.tls_port = free_port()
        key, certificate = self.server_pair
        config = (f"tls: {{port: {self.tls_port}, certificate: {certificate}, key: {key}}}\n"
                  "limits: {handshake: 300ms}\n")
        with Lockkeeper(config=config) as server, Client(self.tls_port) as silent:
            self.assertEqual(silent.read_all(), b"")
            wait_for(lambda: "no TLS connection" in server.output(), "a line in the log")
            self.assertEqual(self.client().call("PING"), "PONG")

    def test_a_stop_does_not_wait_for_clients_of_tls(self):
        server = self.server()
        clients = [self.client() for _ in range(20)]
        half = [self.enterContext(Client(self.tls_port)) for _ in range(5)]
        for one in clients:
            self.assertEqual(one.call("PING"), "PONG")
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        for one in half:
            self.assertEqual(one.read_all(), b"")

    def test_a_password_travels_by_tls(self):
        os.environ["LOCKKEEPER_TEST_SECRET"] = "canary-4711"
        self.tls_port = free_port()
        key, certificate = self.server_pair
        config = (f"tls: {{port: {self.tls_port}, certificate: {certificate}, key: {key}}}\n"
                  "users: [{name: me, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~* +@all'}]\n")
        with Lockkeeper(config=config):
            client = self.client()
            self.assertEqual(client.call("PING"), Error("NOAUTH Authentication required."))
            self.assertEqual(client.call("AUTH", "me", "canary-4711"), "OK")
            self.assertEqual(client.call("PING"), "PONG")

    def test_files_that_cannot_be_used_are_named(self):
        import subprocess
        from support import lockkeeper_binary
        key, certificate = self.server_pair
        for pair, word in (((key, "/nowhere.crt"), "/nowhere.crt"), ((self.client_pair[0], certificate), certificate)):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(f"tls: {{port: {free_port()}, certificate: {pair[1]}, key: {pair[0]}}}\n")
                file.flush()
                said = subprocess.run([lockkeeper_binary(), "--config", file.name, "--port", str(free_port()),
                                       "-c", "1", "-m", "64M"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(said.returncode, 1)
            self.assertRegex(said.stdout + said.stderr, f"cannot start: tls.certificate .*{word}.* cannot be used")


if __name__ == "__main__":
    main()
