"""lockbench, the load generator of bench/load: what it counts, what it verifies, what it leaves behind. Against real
redis-servers, against Lockkeeper, and against a small server that speaks the native verbs and can break their promises.
No speed is judged here.
"""

import json
import os
import resource
import select
import signal
import socket
import subprocess
import threading
import time
import unittest

from support import PATIENCE, Client, Lockkeeper, Redis, free_port, lockkeeper_binary, main

SHORT = ["--warmup", "100ms", "--duration", "400ms", "--verify"]


def lockbench_binary():
    beside = os.path.join(os.path.dirname(lockkeeper_binary()), "bench", "load", "lockbench")
    return os.environ.get("LOCKBENCH", beside)


def start(*arguments):
    return subprocess.Popen([lockbench_binary(), *map(str, arguments)], text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    """Exit code, the report or None, and what it said to people."""
    out, said = process.communicate(timeout=PATIENCE)
    assert out.count("\n") <= 1, f"more than one line:\n{out}"
    return process.returncode, json.loads(out) if out else None, said


def run(*arguments):
    return finish(start(*arguments))


def may_raise_limits():
    """Has this process CAP_SYS_RESOURCE?"""
    with open("/proc/self/status") as status:
        effective = next(line for line in status if line.startswith("CapEff:"))
    return int(effective.split()[1], 16) >> 24 & 1 == 1


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


class Verbs:
    """A server with just enough of the native verbs: one thread, one queue per key, first come, first served.

    `broken` names the promise that it breaks: "exclusion" grants at once whoever asks, "fences" gives every grant the
    same one, "ownership" tells each third owner that the lock is not its.
    """

    def __init__(self, broken=None):
        self.broken = broken
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.unread = {}
        self.holders, self.queues = {}, {}
        self.fence = self.releases = 0
        self.most_waiters = 0
        self.stopping, self.stop = socket.socketpair()
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.send(b"x")
        self.thread.join()
        for one in [*self.unread, self.listener, self.stopping, self.stop]:
            one.close()

    def serve(self):
        while True:
            ready, _, _ = select.select([self.stopping, self.listener, *self.unread], [], [])
            if self.stopping in ready:
                return
            for one in ready:
                if one is self.listener:
                    client, _ = one.accept()
                    self.unread[client] = b""
                else:
                    self.read(one)

    def read(self, client):
        try:
            data = client.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            del self.unread[client]
            for queue in self.queues.values():
                queue[:] = [waiter for waiter in queue if waiter[0] is not client]
            client.close()
            return
        lines = (self.unread[client] + data).split(b"\r\n")
        while len(lines) > 1 and len(lines) > 2 * int(lines[0][1:]) + 1:
            count = int(lines[0][1:])
            words = [word.decode() for word in lines[2:2 * count + 1:2]]
            lines = lines[2 * count + 1:]
            self.execute(client, *words)
        self.unread[client] = b"\r\n".join(lines)

    def execute(self, client, name, *words):
        if name == "LK.ACQUIRE":
            key, owner, *rest = words
            assert rest[0] == "TTL" and rest[2:] == ["WAIT", "0"], rest
            if key in self.holders and self.broken != "exclusion":
                self.queues.setdefault(key, []).append((client, owner))
                self.most_waiters = max(self.most_waiters, len(self.queues[key]))
            else:
                self.grant(client, key, owner)
        elif name == "LK.RELEASE":
            self.release(client, *words)
        elif name == "LK.EXTEND":
            key, owner, ttl = words
            client.sendall(b":%d\r\n" % int(ttl) if self.holders.get(key) == owner else b"$-1\r\n")
        elif name == "INFO":
            text = "blocked_clients:%d\r\n" % sum(len(queue) for queue in self.queues.values())
            client.sendall(b"$%d\r\n%s\r\n" % (len(text), text.encode()))
        else:
            client.sendall(b"+PONG\r\n")

    def grant(self, client, key, owner):
        self.holders[key] = owner
        if self.broken != "fences" or self.fence == 0:
            self.fence += 1
        client.sendall(b"*3\r\n:%d\r\n:30000\r\n:1\r\n" % self.fence)

    def release(self, client, key, owner):
        self.releases += 1
        if self.holders.get(key) == owner:
            del self.holders[key]
            if self.queues.get(key):
                waiter, its_owner = self.queues[key].pop(0)
                self.grant(waiter, key, its_owner)
            mine = self.broken != "ownership" or self.releases % 3 != 0
        else:
            mine = self.broken == "exclusion"
        client.sendall(b":0\r\n" if mine else b"$-1\r\n")


class LockbenchTest(unittest.TestCase):
    def good(self, *arguments):
        """A run that must go well; its report."""
        code, report, said = run(*arguments)
        self.assertEqual(code, 0, said)
        self.assertEqual(report["errors"], {}, said)
        self.assertEqual((report["left_holding"], report["left_waiting"], report["clients_lost"]), (0, 0, 0), said)
        verify = report["verify"]
        self.assertTrue(verify["on"])
        self.assertEqual((verify["intrusions"], verify["fences_fallen"], verify["locks_lost"]), (0, 0, 0))
        wait = report["wait_us"]
        curve = [wait[share] for share in ("p10", "p25", "p50", "p75", "p90", "p99", "p999", "max")]
        self.assertEqual(curve, sorted(curve))
        return report

    def assert_nothing_left(self, *servers):
        for server in servers:
            with Client(server.port) as client:
                self.assertEqual(client.call("DBSIZE"), 0)


class OnRedis(LockbenchTest):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.__exit__)
        cls.redis.__enter__()
        cls.server = f"127.0.0.1:{cls.redis.port}"

    def load(self, *arguments):
        return ["--server", self.server, *SHORT, *arguments]

    def test_what_is_uncontended_is_never_refused_and_never_handed_over(self):
        report = self.good(*self.load("--clients", 10))
        self.assertGreater(report["sections"], 0)
        self.assertEqual((report["refusals"], report["hand_offs"]), (0, 0))
        self.assertAlmostEqual(report["commands"], 2 * report["sections"], delta=20)
        self.assert_nothing_left(self.redis)

    def test_redis_itself_has_seen_as_many_commands(self):
        report = self.good(*self.load("--clients", 10))
        by_name = report["masters"][0]["by_name"]
        for name in ("set", "evalsha"):
            self.assertTrue(0.5 < by_name[name] / report["sections"] < 2, report)
        self.assertNotIn("info", by_name)

    def test_cpu_time_of_the_server_is_told(self):
        pid = self.redis.process.pid
        report = self.good(*self.load("--clients", 10, "--server-pid", pid))
        server = report["servers"][0]
        self.assertEqual((server["pid"], server["name"]), (pid, "redis-server"))
        self.assertGreater(server["cpu_us_per_section"], 0)
        self.assertIn("foreign_cpu_cores", report)

    def test_a_pipeline_of_sections_shares_a_connection(self):
        report = self.good(*self.load("--clients", 3, "--depth", 20))
        self.assertEqual(report["keys"], 60)
        self.assertGreater(report["sections"], 0)
        self.assert_nothing_left(self.redis)

    def test_a_hot_key_is_handed_from_client_to_client(self):
        for retry in ("fixed:1ms", "random:0-2ms", "exponential:500us-4ms"):
            report = self.good(*self.load("--mode", "hot", "--clients", 10, "--retry", retry, "--hold", "200us"))
            self.assertEqual((report["retry"], report["keys"]), (retry, 1))
            self.assertGreater(report["hand_offs"], 0)
            self.assertGreater(report["refusals"], 0)
            self.assertGreater(report["commands_per_section"], 2)
        self.assert_nothing_left(self.redis)

    def test_a_token_goes_round_in_order(self):
        report = self.good(*self.load("--protocol", "blpop", "--mode", "hot", "--clients", 20))
        self.assertEqual(report["refusals"], 0)
        # Every grant is a hand-off: who releases stands at the end of the queue.
        self.assertAlmostEqual(report["hand_offs"], report["grants"], delta=5)
        self.assertGreater(report["jain"], 0.8)
        self.assert_nothing_left(self.redis)

    def test_threads_share_the_clients_and_the_verification(self):
        report = self.good(*self.load("--protocol", "blpop", "--mode", "hot", "--clients", 20, "--threads", 2))
        self.assertEqual(report["threads"], 2)
        self.assertGreater(report["hand_offs"], 0)

    def test_keys_are_drawn_by_popularity_or_evenly(self):
        for mode in ("zipf", "spread"):
            report = self.good(*self.load("--mode", mode, "--keys", 50, "--clients", 20, "--think", "100us"))
            self.assertEqual(report["keys"], 50)
            self.assertGreater(report["hand_offs"], 0)
        self.assert_nothing_left(self.redis)

    def test_each_waiter_once_is_served_in_order_from_a_queue(self):
        report = self.good("--server", self.server, "--verify", "--duration", "50s", "--protocol", "blpop",
                           "--mode", "once", "--clients", 30)
        self.assertEqual((report["sections"], report["grants"], report["hand_offs"]), (30, 30, 29))
        order = report["order"]
        self.assertTrue(order["all_were_queued"])
        self.assertEqual((order["served"], order["inversions"], order["out_of_place"]), (30, 0, 0))
        self.assertEqual(report["jain"], 1)

    def test_waiters_may_also_arrive_by_the_clock(self):
        report = self.good("--server", self.server, "--verify", "--duration", "50s", "--protocol", "blpop",
                           "--mode", "once", "--clients", 30, "--gap", "1ms")
        self.assertEqual((report["order"]["served"], report["order"]["all_were_queued"]), (30, True))

    def test_each_waiter_once_comes_to_an_end_without_a_queue(self):
        report = self.good("--server", self.server, "--verify", "--duration", "50s", "--mode", "once",
                           "--clients", 20, "--retry", "random:0-5ms")
        self.assertEqual((report["sections"], report["order"]["served"]), (20, 20))
        self.assertTrue(report["order"]["all_were_queued"])
        self.assertGreaterEqual(report["refusals"], 19)

    def test_leases_are_renewed(self):
        report = self.good(*self.load("--mode", "renew", "--clients", 10, "--renew-every", "5ms"))
        self.assertGreater(report["renewals"], 10)
        self.assertAlmostEqual(report["commands"], report["renewals"], delta=20)
        self.assert_nothing_left(self.redis)

    def test_idle_connections_are_really_there(self):
        process = start(*self.load("--clients", 2, "--idle", 100, "--duration", "50s"))
        with Client(self.redis.port) as client:
            def connected():
                info = client.call("INFO", "clients").decode()
                return int(info.split("connected_clients:")[1].split("\r\n")[0])
            wait_until(lambda: connected() >= 103)
            process.send_signal(signal.SIGTERM)
            code, report, _ = finish(process)
        self.assertEqual((code, report["idle_connections"]), (0, 100))

    def test_a_signal_ends_the_load_early_and_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = start(*self.load("--mode", "hot", "--protocol", "blpop", "--clients", 10,
                                       "--warmup", "0", "--duration", "1000s", "--label", "long"))
            with Client(self.redis.port) as client:
                wait_until(lambda: client.call("DBSIZE") == 1 or b"blpop" in client.call("CLIENT", "LIST"))
            process.send_signal(number)
            code, report, said = finish(process)
            self.assertTrue(report["interrupted"])
            self.assertEqual((report["left_holding"], report["left_waiting"]), (0, 0), said)
        self.assert_nothing_left(self.redis)

    def test_who_waits_in_vain_counts_as_starved(self):
        with Client(self.redis.port) as client:
            # Seed 0 gives the key its name; somebody else has it.
            client.call("SET", "lock:0000:00000000", "stranger")
            code, report, said = run("--server", self.server, "--mode", "hot", "--clients", 5, "--seed", 0,
                                     "--warmup", "0", "--duration", "500ms", "--starved-after", "100ms")
            client.call("DEL", "lock:0000:00000000")
        self.assertEqual((code, report["sections"], report["starved"]), (1, 0, 5))
        self.assertEqual(report["waiting_at_end"], 5)
        self.assertGreater(report["longest_wait_at_end_us"], 100_000)
        self.assertIn("nothing was completed", said)

    def test_a_lease_that_ends_too_early_is_not_called_a_broken_promise(self):
        code, report, said = run("--server", self.server, *SHORT, "--mode", "hot", "--clients", 5,
                                 "--ttl", "5ms", "--hold", "50ms", "--retry", "fixed:1ms", "--duration", "1s")
        self.assertGreater(report["verify"]["expired_holds"], 0, said)
        self.assertEqual((report["verify"]["intrusions"], report["verify"]["locks_lost"]), (0, 0), said)

    def test_a_lock_that_is_taken_away_is_noticed(self):
        process = start(*self.load("--clients", 2, "--hold", "1ms", "--duration", "3s"))
        with Client(self.redis.port) as client:
            wait_until(lambda: client.call("DBSIZE") > 0)
            while process.poll() is None:
                client.call("FLUSHALL")
        code, report, said = finish(process)
        self.assertEqual(code, 3, said)
        self.assertGreater(report["verify"]["locks_lost"], 0)

    def test_a_server_that_vanishes_is_told(self):
        with Redis() as redis:
            process = start("--server", f"127.0.0.1:{redis.port}", "--clients", 5, "--warmup", "0",
                            "--duration", "2s", "--verify")
            with Client(redis.port) as client:
                wait_until(lambda: b"evalsha" in client.call("INFO", "commandstats"))
            redis.kill_process()
            code, report, said = finish(process)
        self.assertEqual(report["clients_lost"], 5)
        self.assertEqual(sum(report["errors"].values()), 5, said)
        self.assertEqual(report["verify"]["locks_lost"], 0)


class OnSeveralMasters(LockbenchTest):
    @classmethod
    def setUpClass(cls):
        cls.masters = []
        for _ in range(3):
            master = Redis()
            cls.addClassCleanup(master.__exit__)
            master.__enter__()
            cls.masters.append(master)
        cls.servers = [word for m in cls.masters for word in ("--server", f"127.0.0.1:{m.port}")]

    def wait_until_empty(self, *masters):
        """A round is decided by a majority: the slowest master may still have a release to do."""
        for master in masters:
            with Client(master.port) as client:
                wait_until(lambda: client.call("DBSIZE") == 0)

    def test_redlock_asks_all_masters(self):
        report = self.good(*self.servers, *SHORT, "--protocol", "redlock", "--clients", 5)
        self.assertEqual(report["masters_asked"], 3)
        self.assertGreater(report["sections"], 0)
        self.assertEqual(len(report["masters"]), 3)
        for master in report["masters"]:
            self.assertGreater(master["commands"], 0)
        self.wait_until_empty(*self.masters)

    def test_redlock_excludes_on_a_hot_key(self):
        report = self.good(*self.servers, *SHORT, "--protocol", "redlock", "--clients", 10, "--mode", "hot",
                           "--retry", "random:0-5ms", "--duration", "1s")
        self.assertGreater(report["hand_offs"], 0)
        self.assertGreater(report["refusals"], 0)
        self.wait_until_empty(*self.masters)

    def test_redlock_goes_on_without_a_minority(self):
        with Redis() as third:
            servers = self.servers[:4] + ["--server", f"127.0.0.1:{third.port}"]
            process = start(*servers, "--protocol", "redlock", "--clients", 5, "--warmup", "0", "--duration", "2s",
                            "--verify", "--master", f"127.0.0.1:{self.masters[0].port}")
            with Client(third.port) as client:
                wait_until(lambda: b"evalsha" in client.call("INFO", "commandstats"))
            third.kill_process()
            code, report, said = finish(process)
        self.assertEqual((code, report["clients_lost"]), (0, 0), said)
        self.assertEqual(sum(report["errors"].values()), 5, said)
        self.wait_until_empty(*self.masters[:2])


class OnLockkeeper(LockbenchTest):
    def test_set_nx_and_its_script(self):
        with Lockkeeper() as server:
            load = ["--server", f"127.0.0.1:{server.port}", *SHORT]
            self.assertGreater(self.good(*load, "--clients", 10)["sections"], 0)
            self.assertGreater(self.good(*load, "--clients", 3, "--depth", 20)["sections"], 0)
            hot = self.good(*load, "--clients", 10, "--mode", "hot", "--retry", "fixed:1ms", "--hold", "200us")
            self.assertGreater(hot["hand_offs"], 0)
            renew = self.good(*load, "--clients", 10, "--mode", "renew", "--renew-every", "5ms")
            self.assertGreater(renew["renewals"], 10)
            self.assertGreater(hot["masters"][0]["commands"], 0, "counted, if not by name")
            self.assert_nothing_left(server)

    def test_a_token_in_a_list(self):
        with Lockkeeper() as server:
            load = ["--server", f"127.0.0.1:{server.port}", "--verify", "--protocol", "blpop"]
            report = self.good(*load, *SHORT, "--mode", "hot", "--clients", 20)
            self.assertGreater(report["hand_offs"], 0)
            once = self.good(*load, "--mode", "once", "--clients", 30, "--duration", "50s")
            self.assertEqual((once["order"]["served"], once["order"]["all_were_queued"]), (30, True))
            self.assert_nothing_left(server)


class OnNativeVerbs(LockbenchTest):
    def test_they_are_spoken_as_the_server_answers(self):
        with Verbs() as server:
            load = ["--server", f"127.0.0.1:{server.port}", *SHORT, "--protocol", "native"]
            self.assertGreater(self.good(*load, "--clients", 5)["sections"], 0)
            self.assertGreater(self.good(*load, "--clients", 2, "--depth", 5)["sections"], 0)
            hot = self.good(*load, "--mode", "hot", "--clients", 10)
            self.assertGreater(hot["hand_offs"], 0)
            self.assertEqual(hot["refusals"], 0)
            self.assertGreater(self.good(*load, "--mode", "renew", "--renew-every", "5ms")["renewals"], 0)
            self.assertEqual(server.holders, {})

    def test_each_waiter_once_has_everybody_in_the_queue(self):
        with Verbs() as server:
            report = self.good("--server", f"127.0.0.1:{server.port}", "--verify", "--protocol", "native",
                               "--mode", "once", "--clients", 30, "--duration", "50s")
            self.assertEqual(server.most_waiters, 29)
        self.assertEqual((report["order"]["served"], report["order"]["inversions"]), (30, 0))

    def test_every_broken_promise_is_caught(self):
        for broken, count in (("exclusion", "intrusions"), ("fences", "fences_fallen"), ("ownership", "locks_lost")):
            with self.subTest(broken=broken), Verbs(broken) as server:
                load = ["--server", f"127.0.0.1:{server.port}", *SHORT, "--protocol", "native", "--mode", "hot",
                        "--clients", 5, "--hold", "1ms"]
                code, report, said = run(*load)
                self.assertEqual(code, 3, said)
                self.assertGreater(report["verify"][count], 0)
                self.assertIn("promise was broken", said)

    def test_without_verify_a_broken_promise_is_not_looked_for(self):
        with Verbs("exclusion") as server:
            code, report, _ = run("--server", f"127.0.0.1:{server.port}", "--protocol", "native", "--mode", "hot",
                                  "--warmup", "0", "--duration", "200ms", "--clients", 5, "--hold", "1ms")
        self.assertEqual((code, report["verify"]["on"], report["verify"]["intrusions"]), (0, False, 0))

    def test_a_server_without_the_verbs_is_told_by_its_own_words(self):
        with Redis() as redis:
            code, report, said = run("--server", f"127.0.0.1:{redis.port}", *SHORT, "--protocol", "native")
        self.assertEqual(code, 1)
        self.assertIn("ERR unknown command 'LK.ACQUIRE'", " ".join(report["errors"]))
        self.assertIn("nothing was completed", said)


class CommandLine(unittest.TestCase):
    def test_help_is_on_stdout(self):
        done = subprocess.run([lockbench_binary(), "--help"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--protocol", done.stdout)

    def test_a_mistake_is_one_line(self):
        for arguments in (["--cleints", "5"], ["--server", "127.0.0.1:1", "--hold", "soon"], []):
            code, report, said = run(*arguments)
            self.assertEqual((code, report, said.count("\n")), (2, None, 1), said)

    def test_another_machine_is_refused(self):
        code, _, said = run("--server", "192.0.2.1:6379")
        self.assertEqual(code, 2)
        self.assertIn("--allow-remote", said)

    def test_a_server_that_is_not_there_is_one_line(self):
        code, report, said = run("--server", f"127.0.0.1:{free_port()}")
        self.assertEqual((code, report, said.count("\n")), (1, None, 1))
        self.assertIn("Connection refused", said)

    def test_a_server_that_speaks_something_else_is_one_line(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def answer():
                client, _ = listener.accept()
                with client:
                    client.recv(100)
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            thread = threading.Thread(target=answer)
            thread.start()
            code, report, said = run("--server", "127.0.0.1:%d" % listener.getsockname()[1])
            thread.join()
        self.assertEqual((code, report, said.count("\n")), (1, None, 1))
        self.assertIn("does not speak RESP", said)

    @unittest.skipIf(may_raise_limits(), "an administrator's limit of open files is no limit")
    def test_more_connections_than_files_are_refused_beforehand(self):
        with Redis() as redis:
            done = subprocess.run(
                [lockbench_binary(), "--server", f"127.0.0.1:{redis.port}", "--clients", "200"],
                capture_output=True, text=True, timeout=PATIENCE,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("and at most 100 are allowed", done.stderr)


if __name__ == "__main__":
    main()
