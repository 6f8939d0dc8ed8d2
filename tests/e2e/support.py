"""What the end-to-end tests share: servers as processes, and a plain RESP client.

Only Python's standard library. Every server listens on a free port of the loopback address and ends with its
`with` block; a Lockkeeper that ends badly, or complains in its log, fails the test that started it.
"""

import contextlib
import faulthandler
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_port

# Long enough for a loaded machine; nothing waits that long unless it is broken.
PATIENCE = 60

# What ctest gives to all tests of a file, in seconds.
TIME_OF_A_FILE = 600

# Whether the servers under test have masters behind them; see Lockkeeper.
ON_FLEET = int(os.environ.get("LOCKKEEPER_MASTERS", 0)) > 0


def lockkeeper_binary():
    return os.environ["LOCKKEEPER"]


class Process:
    """A server process whose output goes to a file, ready when its port accepts."""

    def __init__(self, command, port, environment=None):
        self.port = port
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})}
        )

    def wait_until_ready(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended at once:\n{self.output()}")
            try:
                with Client(self.port) as client:
                    # A password is no reason not to be ready.
                    if client.call("PING") in ("PONG", Error("NOAUTH Authentication required.")):
                        return
            except (ConnectionError, socket.timeout):
                time.sleep(0.02)
        raise AssertionError(f"the server does not answer:\n{self.output()}")

    def output(self):
        # The place in the file is the server's too: a seek would move where it writes next.
        log = self.log.fileno()
        return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        """The exit code. Who does not end is asked what it does instead."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server does not end:\n{self.threads()}\n{self.output()}") from None

    def threads(self):
        """Where in the kernel each thread is, and for how long it has run."""
        folder = f"/proc/{self.process.pid}/task"
        lines = []
        for thread in sorted(os.listdir(folder), key=int):
            facts = []
            for name in ("comm", "wchan", "syscall", "schedstat"):
                with contextlib.suppress(OSError), open(f"{folder}/{thread}/{name}") as file:
                    facts.append(f"{name} {file.read().strip()}")
            lines.append(f"thread {thread}: " + ", ".join(facts))
        return "\n".join(lines)

    def kill_process(self):
        """As a crash would."""
        self.process.kill()
        self.process.wait()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()


def stripe_of(masters, timeout="250ms"):
    """The YAML of one stripe on these masters, which are asked for votes at once."""
    addresses = ", ".join(f"redis://127.0.0.1:{one.port}" for one in masters)
    return f"stripes: [{{name: main, masters: [{addresses}]}}]\nmasters: {{admission: quick, timeout: {timeout}}}\n"


class Lockkeeper(Process):
    """The server under test, small, with further options as given. None leaves the memory to the server.

    With LOCKKEEPER_MASTERS in the environment it has so many real masters of its own: whatever a test expects of locks
    in memory holds for those on a fleet."""

    def __init__(self, *options, cores=2, memory="256M", config=None, overprovisioned=True, http=False):
        """`http`: on a port of its own, http_port; otherwise there is none."""
        port = free_port()
        self.http_port = free_port() if http else 0
        self.cores = cores
        self.file = None
        self.masters = []
        if "stripes:" not in (config or ""):
            self.masters = [Redis() for _ in range(int(os.environ.get("LOCKKEEPER_MASTERS", 0)))]
        if self.masters:
            self.wait_for_masters()
            # Masters on a loaded machine are slow, not gone.
            config = stripe_of(self.masters, timeout="2s") + (config or "")
        command = [lockkeeper_binary(), "--port", str(port), "--http-port", str(self.http_port), "-c", str(cores)]
        if memory is not None:
            command += ["-m", memory]
        if overprovisioned:
            command.append("--overprovisioned")  # many servers and tests share few cores
        if config is not None:
            self.file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
            self.file.write(config)
            self.file.flush()
            command += ["--config", self.file.name]
        super().__init__(command + list(options), port)

    def wait_for_masters(self):
        try:
            for one in self.masters:
                one.wait_until_ready()
        except BaseException:
            self.end_masters()
            raise

    def end_masters(self):
        for one in self.masters:
            one.__exit__()

    def __enter__(self):
        try:
            self.wait_until_ready()
            self.wait_for_votes(len(self.masters) * self.cores)
        except BaseException:
            self.kill()
            self.end_masters()
            raise
        return self

    def wait_for_votes(self, wanted):
        """Until so many masters vote; each core counts for itself."""
        end = time.monotonic() + PATIENCE
        while wanted > 0 and self.output().count(": votes") < wanted:
            assert time.monotonic() < end, f"the masters do not vote:\n{self.output()}"
            time.sleep(0.01)

    def __exit__(self, kind, *_):
        try:
            if kind is not None:
                print(self.output(), file=sys.stderr)
                return
            if self.process.poll() is None:
                self.signal(signal.SIGTERM)
            code, output = self.wait(), self.output()
            assert code == 0, f"exit code {code}:\n{output}"
            # A line of that level: the audit tells words of clients too, such as those of CLIENT UNBLOCK 7 ERROR.
            complaint = re.search(r"Exceptional future|Sanitizer|runtime error|Assert|Segmentation|^ERROR|"
                                  r'"level":"error"', output, re.M)
            assert not complaint, f"the log has '{complaint.group()}':\n{output}"
        finally:
            self.kill()
            self.end_masters()
            if self.file:
                self.file.close()


class Redis(Process):
    """A real redis-server in memory."""

    def __init__(self, *options, port=None, environment=None):
        port = port or free_port()
        self.folder = tempfile.TemporaryDirectory()
        super().__init__(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
             "--dir", self.folder.name, *options],
            port,
            environment,
        )

    def __enter__(self):
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_):
        self.kill()
        self.folder.cleanup()


class Error(Exception):
    """An error reply, as a value."""

    def __eq__(self, other):
        return isinstance(other, Error) and self.args == other.args

    def __hash__(self):
        return hash(self.args)


class Client:
    """One connection. Replies become Python values; errors become Error values, not exceptions."""

    def __init__(self, port, timeout=PATIENCE, source=None):
        """`source`: the address to come from; all of 127.0.0.0/8 are this machine's."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout, source and (source, 0))
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stream.close()
        self.socket.close()

    def send(self, *arguments):
        self.send_bytes(encode(*arguments))

    def send_bytes(self, data):
        self.socket.sendall(data)

    def flood(self, data, most, pause=1.0):
        """Sends `data` again and again without reading, up to `most` bytes, until the server has taken nothing
        for `pause` seconds. Returns how much it took."""
        self.socket.setblocking(False)
        sent, rest, quiet_since = 0, b"", time.monotonic()
        while sent < most and time.monotonic() - quiet_since < pause:
            rest = rest or data
            try:
                count = self.socket.send(rest)
                sent, rest, quiet_since = sent + count, rest[count:], time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        return sent

    def call(self, *arguments):
        self.send(*arguments)
        return self.read()

    def read_all(self):
        """Everything up to the end of the connection; a reset ends it too."""
        try:
            return self.stream.read()
        except ConnectionResetError:
            return b""

    def line(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection ended")
        return line[:-2]

    def read(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Error(rest.decode(errors="backslashreplace"))
        if kind == b":":
            return int(rest)
        if kind == b"_":
            return None
        if kind == b"#":
            return rest == b"t"
        if kind == b",":
            return float(rest)
        if kind in (b"$", b"="):
            size = int(rest)
            if size < 0:
                return None
            data = self.stream.read(size + 2)
            if len(data) != size + 2:
                raise ConnectionError("the connection ended")
            return data[:-2]
        if kind in (b"*", b"~", b">"):
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        raise AssertionError(f"not a reply: {line!r}")


def encode(*arguments):
    parts = [a if isinstance(a, bytes) else str(a).encode() for a in arguments]
    return b"".join([b"*%d\r\n" % len(parts)] + [b"$%d\r\n%s\r\n" % (len(p), p) for p in parts])


def main():
    """Runs the tests of the calling file; ctest gives the server's path as the first argument."""
    if len(sys.argv) < 2:
        sys.exit("usage: a_test.py path/to/lockkeeper [unittest options]")
    os.environ["LOCKKEEPER"] = os.path.abspath(sys.argv.pop(1))
    # A test that hangs says where, before ctest ends it.
    faulthandler.dump_traceback_later(TIME_OF_A_FILE - 10)
    unittest.main(testRunner=Runner)


class Runner(unittest.TextTestRunner):
    """Tells what fails when it fails; what passes makes no noise that would hide it."""

    class Result(unittest.TextTestResult):
        def addError(self, test, problem):
            super().addError(test, problem)
            self.tell_last(self.errors)

        def addFailure(self, test, problem):
            super().addFailure(test, problem)
            self.tell_last(self.failures)

        def addSubTest(self, test, subtest, problem):
            super().addSubTest(test, subtest, problem)
            if problem is not None:
                self.tell_last(self.failures if issubclass(problem[0], test.failureException) else self.errors)

        def tell_last(self, kind):
            test, text = kind[-1]
            self.stream.write(f"\nin {self.getDescription(test)}:\n{text}\n")
            self.stream.flush()

        def printErrors(self):
            pass  # told already

    resultclass = Result
