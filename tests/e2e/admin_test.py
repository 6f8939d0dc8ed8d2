"""The port for operators: health, metrics, and what the live page asks for."""

import base64
import http.client
import os
import re
import signal
import socket
import time
import unittest

from admin_support import Metrics, ask, ask_json, quoted
from support import PATIENCE, Client, Lockkeeper, Process, Redis, encode, free_port, lockkeeper_binary, main, stripe_of

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


class Health(unittest.TestCase):
    def test_a_server_that_serves_is_healthy_and_ready(self):
        with Lockkeeper(http=True) as server:
            self.assertEqual(ask(server.http_port, "/healthz")[::2], (200, "ok\n"))
            self.assertEqual(ask(server.http_port, "/readyz")[::2], (200, "ready\n"))

    def test_it_is_not_ready_while_no_lock_is_given(self):
        with Lockkeeper(http=True, config="embedded: {start_delay: 1h}\n") as server:
            if server.masters:
                self.skipTest("about locks in memory")
            status, _, body = ask(server.http_port, "/readyz")
            self.assertEqual(status, 503)
            self.assertIn("embedded.start_delay", body)
            self.assertEqual(ask(server.http_port, "/healthz")[0], 200)

    def test_it_is_ready_when_a_majority_of_each_stripe_votes(self):
        with Redis() as one, Redis() as two:
            gone = free_port()
            config = (f"stripes: [{{name: main, masters: [redis://127.0.0.1:{one.port}, redis://127.0.0.1:{two.port}, "
                      f"redis://127.0.0.1:{gone}]}}]\nmasters: {{admission: quick}}\n")
            with Lockkeeper(http=True, config=config) as server:
                wait_for(lambda: ask(server.http_port, "/readyz")[0] == 200)
                two.kill_process()
                wait_for(lambda: ask(server.http_port, "/readyz")[0] == 503)
                self.assertEqual(ask(server.http_port, "/readyz")[2], "stripe main: 1 of 3 masters vote, 2 are needed\n")
                # What metrics tell of masters is up to 100 ms old.
                wait_for(lambda: Metrics(server.http_port).get("lockkeeper_stripe_masters_voting", stripe="main") == 1)
                metrics = Metrics(server.http_port)
                self.assertEqual(metrics.get("lockkeeper_master_state", state="admitted"), 1)
                self.assertEqual(metrics.get("lockkeeper_master_state"), 3)

    def test_it_is_not_ready_while_it_stops_and_answers_until_the_end(self):
        with Lockkeeper(http=True, config="shutdown: {deadline: 30s}\n") as server:
            stuck = Client(server.port)
            stuck.flood(encode("ECHO", b"x" * 1000), 64 << 20)
            server.signal(signal.SIGTERM)
            wait_for(lambda: ask(server.http_port, "/readyz")[0] == 503)
            self.assertIn("stopping", ask(server.http_port, "/readyz")[2])
            self.assertEqual(ask(server.http_port, "/healthz")[0], 200)
            stuck.close()


class Port(unittest.TestCase):
    def run_to_end(self, *options):
        process = Process([lockkeeper_binary(), "--port", str(free_port()), "-c", "1", "-m", "128M", "--overprovisioned",
                           *options], 0)
        try:
            return process.wait(), process.output()
        finally:
            process.kill()

    def test_a_chosen_port_that_is_taken_is_said_and_ends_it(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            code, output = self.run_to_end("--http-port", str(port))
            self.assertEqual(code, 1)
            self.assertIn(f"cannot start: http on 127.0.0.1 port {port}: Address already in use; choose another "
                          "--http-port, or 0 for none", output)

    def test_the_usual_port_may_be_another_servers(self):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                other.bind(("127.0.0.1", 9380))
                other.listen()
            except OSError:
                pass  # somebody has it already, which is as good
            port = free_port()
            server = Process([lockkeeper_binary(), "--port", str(port), "-c", "1", "-m", "128M", "--overprovisioned"], port)
            try:
                server.wait_until_ready()
                self.assertIn("http on 127.0.0.1 port 9380: Address already in use: there are no metrics", server.output())
                server.signal(signal.SIGTERM)
                self.assertEqual(server.wait(), 0)
            finally:
                server.kill()

    def test_off_means_off(self):
        config = "http: off\n"
        with Lockkeeper(config=config) as server:
            self.assertNotIn("http://", server.output())

    def test_a_name_of_another_site_sees_no_page(self):
        """DNS rebinding: a site lets its name point here and has a browser ask."""
        with Lockkeeper(cores=1, http=True) as server:
            for path in ("/", "/page.js", "/api/live", "/api/search?match=a", "/api/lock?key=a"):
                self.assertEqual(ask(server.http_port, path, host="evil.example")[0], 403, path)
                self.assertEqual(ask(server.http_port, path, host="evil.example:9380")[0], 403, path)
                for host in ("localhost", f"localhost:{server.http_port}", "127.0.0.1", "[::1]:9380"):
                    self.assertEqual(ask(server.http_port, path, host=host)[0], 200, (path, host))
            for path in ("/healthz", "/readyz", "/metrics"):
                self.assertEqual(ask(server.http_port, path, host="lockkeeper.internal")[0], 200, path)

    def test_a_browser_may_do_nothing_but_show_the_page(self):
        with Lockkeeper(cores=1, http=True) as server:
            status, headers, body = ask(server.http_port, "/")
            self.assertEqual(status, 200)
            self.assertIn("<title>Lockkeeper</title>", body)
            self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';"))
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
            self.assertNotIn("Access-Control-Allow-Origin", headers)
            self.assertEqual(ask(server.http_port, "/nosuch")[0], 404)
            self.assertEqual(ask(server.http_port, "/api/lock")[0], 400)
            self.assertEqual(ask(server.http_port, "/api/lock?key=a&database=16")[0], 400)


class Numbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(http=True))

    def client(self):
        return self.enterContext(Client(self.server.port))

    def test_what_clients_do_is_counted(self):
        before = Metrics(self.server.http_port)
        client = self.client()
        for i in range(10):
            client.call("SET", f"counted:{i}", "me", "NX", "PX", 60000)
            client.call("SET", f"counted:{i}", "you", "NX", "PX", 60000)
            client.call("DEL", f"counted:{i}")
        client.call("SET", "counted:a", "me", "NX", "PX", 1)
        wait_for(lambda: client.call("EXISTS", "counted:a") == 0)
        after = Metrics(self.server.http_port)
        grew = lambda name, **labels: after.get(name, **labels) - before.get(name, **labels)
        self.assertEqual(grew("lockkeeper_lock_grants_total"), 11)
        self.assertEqual(grew("lockkeeper_lock_refusals_total"), 10)
        self.assertEqual(grew("lockkeeper_lock_hold_seconds_count", end="removed"), 10)
        self.assertEqual(grew("lockkeeper_lock_hold_seconds_count", end="expired"), 1)
        self.assertGreaterEqual(grew("lockkeeper_client_commands_total"), 32)
        self.assertGreaterEqual(grew("lockkeeper_client_connections_total"), 1)
        self.assertGreaterEqual(after.get("lockkeeper_client_connections"), 1)

    def test_waits_and_holds_are_histograms(self):
        first, second = self.client(), self.client()
        first.call("LK.ACQUIRE", "timed", "one", "TTL", 60000)
        second.send("LK.ACQUIRE", "timed", "two", "TTL", 60000, "WAIT", 0)
        wait_for(lambda: Metrics(self.server.http_port).get("lockkeeper_lock_waiters") == 1)
        before = Metrics(self.server.http_port)
        asked = time.monotonic()
        while time.monotonic() - asked < 0.05:
            pass
        first.call("LK.RELEASE", "timed", "one")
        second.read()
        second.call("LK.RELEASE", "timed", "two")
        after = Metrics(self.server.http_port)
        grew = lambda name, **labels: after.get(name, **labels) - before.get(name, **labels)
        self.assertEqual(grew("lockkeeper_lock_hand_offs_total"), 1)
        self.assertEqual(grew("lockkeeper_lock_wait_seconds_count", end="granted"), 1)
        self.assertGreaterEqual(grew("lockkeeper_lock_wait_seconds_sum", end="granted"), 0.05)
        self.assertEqual(grew("lockkeeper_lock_hold_seconds_count", end="released"), 2)
        self.assertGreaterEqual(grew("lockkeeper_lock_hold_seconds_sum", end="released"), 0.05)
        self.assertEqual(after.get("lockkeeper_lock_waiters"), 0)
        for name, labels in (("lockkeeper_lock_wait_seconds", {"end": "granted"}), ("lockkeeper_lock_queue_length", {})):
            buckets = after.buckets(name, **labels)
            self.assertEqual([bound for bound, _ in buckets], sorted(bound for bound, _ in buckets))
            self.assertEqual([count for _, count in buckets], sorted(count for _, count in buckets))
            self.assertEqual(buckets[-1], (float("inf"), after.get(name + "_count", **labels)))
        # 50 ms and more have passed: in no bucket that ends before.
        short = [count for bound, count in after.buckets("lockkeeper_lock_wait_seconds", end="granted") if bound < 0.05]
        self.assertEqual(short[-1], [count for bound, count in
                                     before.buckets("lockkeeper_lock_wait_seconds", end="granted") if bound < 0.05][-1])


class Users(unittest.TestCase):
    ODD = 'we"ird\\user{}'

    def start(self, users):
        os.environ["LOCKKEEPER_TEST_SECRET"] = "canary-4711"
        return self.enterContext(Lockkeeper(http=True, config=self.config(users)))

    def config(self, users):
        return "users:\n" + "".join(f"  - {{name: '{name}', {more}}}\n" for name, more in users)

    def test_what_each_does_is_counted(self):
        everything = "rules: 'nopass ~* &* +@all'"
        server = self.start([("default", everything), (self.ODD, "rules: 'nopass ~a:* +@all'"),
                             ("slow", "rate: 3, " + everything),
                             ("locked", "passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~* +@all'")])
        odd, slow = (self.enterContext(Client(server.port)) for _ in range(2))
        self.assertEqual(odd.call("AUTH", self.ODD, ""), "OK")
        for command in (["GET", "a:1"], ["GET", "b:1"], ["NONSENSE"]):
            odd.call(*command)
        slow.call("AUTH", "slow", "")
        refused = [slow.call("GET", "k") for _ in range(50)]
        with Client(server.port) as stranger:
            for name in ("locked", "locked", "nobody"):
                stranger.call("AUTH", name, "wrong")
        seen = Metrics(server.http_port)
        # The label has its quotes and backslashes escaped.
        shown = self.ODD.replace("\\", "\\\\").replace('"', '\\"')
        self.assertEqual(seen.get("lockkeeper_user_commands_total", user=shown), 3)
        self.assertEqual(seen.get("lockkeeper_user_error_replies_total", user=shown), 2)
        self.assertEqual(seen.get("lockkeeper_user_denied_total", user=shown), 1)
        self.assertEqual(seen.get("lockkeeper_user_connections", user=shown), 1)
        limited = sum("RATELIMITED" in str(one) for one in refused)
        self.assertGreater(limited, 0)
        self.assertEqual(seen.get("lockkeeper_user_rate_limited_total", user="slow"), limited)
        self.assertEqual(seen.get("lockkeeper_user_failed_logins_total", user="locked"), 2)
        self.assertEqual(seen.get("lockkeeper_user_failed_logins_total"), 2)  # no series for names of strangers
        self.assertNotIn("nobody", seen.text)

    def test_they_are_bounded_and_follow_a_reload(self):
        def users(count):
            return [("default", "rules: 'nopass ~* &* +@all'")] + [
                (f"u{i:03}", "rules: 'nopass ~* &* +@all'") for i in range(count)]

        def shown(server):
            return {dict(has).get("user", "") for (of, has) in Metrics(server.http_port).samples
                    if of == "lockkeeper_user_commands_total"}

        server = self.start(users(2))
        self.assertEqual(shown(server), {"default", "u000", "u001"})
        with open(server.file.name, "w") as file:
            file.write(self.config(users(150)))
        with Client(server.port) as client, Client(server.port) as last:
            self.assertEqual(client.call("LK.RELOAD"), "changed: users")
            self.assertEqual(len(shown(server)), 101)  # a hundred, and the rest together
            last.call("AUTH", "u149", "")
            last.call("PING")
            seen = Metrics(server.http_port)
            self.assertEqual(seen.get("lockkeeper_user_commands_total", user=""), 1)
            self.assertEqual(seen.get("lockkeeper_user_connections", user=""), 1)
            with open(server.file.name, "w") as file:
                file.write(self.config(users(0)))
            self.assertEqual(client.call("LK.RELOAD"), "changed: users")
            self.assertEqual(shown(server), {"default"})
            self.assertGreaterEqual(Metrics(server.http_port).get("lockkeeper_user_commands_total", user="default"), 4)


class Breaking(unittest.TestCase):
    """POST /api/break: for admins only, and only where it was asked for."""

    SECRET = "canary-of-an-admin-4711"
    USERS = """
users:
  - {name: default, rules: 'nopass ~* &* +@all'}
  - {name: root, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~* &* +@all'}
  - {name: half, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~mine:* +@all'}
  - {name: none, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~* +@all -lk.break'}
"""

    def start(self, http="http: {break_locks: true}\n"):
        os.environ["LOCKKEEPER_TEST_SECRET"] = self.SECRET
        return self.enterContext(Lockkeeper(http=True, config=http + self.USERS))

    def take(self, server, key):
        client = self.enterContext(Client(server.port))
        client.call("HELLO", 3)
        return client, client.call("LK.ACQUIRE", key, "holder", "TTL", 600_000)[0]

    def ask_to_break(self, server, key, fence, user="root", password=SECRET, method="POST", **headers):
        said = base64.b64encode(f"{user}:{password}".encode()).decode()
        all_headers = {"X-Lockkeeper": "break", "Authorization": "Basic " + said}
        for name, value in headers.items():
            all_headers[name.replace("_", "-")] = value
        connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=PATIENCE)
        try:
            connection.request(method, f"/api/break?key={quoted(key)}&fence={fence}",
                               headers={name: value for name, value in all_headers.items() if value is not None})
            answer = connection.getresponse()
            return answer.status, answer.read().decode().strip(), answer.getheader("WWW-Authenticate")
        finally:
            connection.close()

    def test_an_admin_breaks_a_lock_and_everybody_is_told(self):
        server = self.start()
        holder, fence = self.take(server, "mine:1")
        waiter = self.enterContext(Client(server.port))
        waiter.send("LK.ACQUIRE", "mine:1", "waiter", "TTL", 600_000, "WAIT", 0)
        wait_for(lambda: ask_json(server.http_port, "/api/lock?key=mine:1")["queue"])
        self.assertEqual(self.ask_to_break(server, "mine:1", fence), (200, "broken", None))
        self.assertEqual(holder.read(), [b"lk.lost", b"mine:1", b"holder", fence])
        self.assertGreater(waiter.read()[0], fence)
        audit = [line for line in server.output().splitlines() if " audit - " in line]
        self.assertRegex(audit[-1], rf"user 'root', client 0 at 127\.0\.0\.1:\d+: lk\.break 'mine:1' 'fence={fence}' 'database=0'")
        self.assertNotIn(self.SECRET, server.output())

    def test_a_lock_that_has_changed_hands_is_left_alone(self):
        server = self.start()
        holder, fence = self.take(server, "k")
        self.assertEqual(self.ask_to_break(server, "k", fence - 1)[:2], (409, "somebody else has it by now"))
        self.assertEqual(holder.call("LK.FENCE", "k"), fence)
        holder.call("LK.RELEASE", "k", "holder")
        self.assertEqual(self.ask_to_break(server, "k", fence)[0], 404)

    def test_what_is_no_lock_is_not_broken(self):
        server = self.start()
        with Client(server.port) as client:
            client.call("LPUSH", "signals", "one")
            self.assertEqual(self.ask_to_break(server, "signals", 0)[0], 404)
            self.assertEqual(client.call("LLEN", "signals"), 1)

    def test_others_may_not(self):
        server = self.start()
        holder, fence = self.take(server, "k")
        for status, changes in ((401, {"password": "wrong"}), (401, {"user": "nobody"}), (401, {"user": "default"}),
                                (401, {"Authorization": None}), (401, {"Authorization": "Bearer x"}),
                                (403, {"user": "none"}), (403, {"user": "half"}),
                                (403, {"X_Lockkeeper": None}), (403, {"Origin": "http://evil.example"}),
                                (403, {"Sec_Fetch_Site": "cross-site"}), (403, {"Host": "evil.example"})):
            answer = self.ask_to_break(server, "k", fence, **changes)
            self.assertEqual(answer[0], status, (changes, answer))
            self.assertIsNone(answer[2])  # a browser is not to remember a password for us
        self.assertEqual(self.ask_to_break(server, "k", fence, method="GET")[0], 404)
        self.assertEqual(ask(server.http_port, f"/api/break?key=k&fence={fence}")[0], 404)
        self.assertEqual(holder.call("LK.FENCE", "k"), fence)
        self.assertEqual(Metrics(server.http_port).get("lockkeeper_user_failed_logins_total", user="root"), 1)
        log = holder.call("ACL", "LOG")
        self.assertIn(b"half", [one[b"username"] for one in log])
        self.assertNotIn(self.SECRET, server.output())

    def test_guesses_are_few(self):
        server = self.start()
        _, fence = self.take(server, "k")
        for _ in range(10):
            self.assertEqual(self.ask_to_break(server, "k", fence, password="wrong")[0], 401)
        self.assertEqual(self.ask_to_break(server, "k", fence)[0], 429)

    def test_it_is_off_unless_asked_for(self):
        server = self.start(http="")
        holder, fence = self.take(server, "k")
        self.assertEqual(self.ask_to_break(server, "k", fence)[0], 404)
        self.assertFalse(ask_json(server.http_port, "/api/live")["mayBreak"])
        self.assertEqual(holder.call("LK.FENCE", "k"), fence)


class Documented(unittest.TestCase):
    """docs/metrics.md lists what there is."""

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(DOCS, "metrics.md"), encoding="utf-8") as page:
            cls.page = page.read()
        with Redis() as master:
            peers = f"proxies: {{secret: a secret of all proxies, peers: ['127.0.0.1:{free_port()}']}}\n"
            with Lockkeeper(http=True, config=stripe_of([master]) + peers) as server:
                server.wait_for_votes(2)
                wait_for(lambda: "lockkeeper_proxy_link_up" in Metrics(server.http_port).types)
                cls.metrics = Metrics(server.http_port)
        own, _, cls.of_seastar = cls.page.partition("## Seastar's own")
        cls.listed = {name: kind for name, kind in re.findall(r"^\| `(lockkeeper_\w+)` \| (\w+) \|", own, re.M)}
        cls.prefixes = tuple(re.findall(r"`(lockkeeper_\w+_)`", cls.of_seastar))

    def test_the_list_and_the_endpoint_agree(self):
        self.assertGreater(len(self.listed), 40)
        there = {name: kind for name, kind in self.metrics.types.items() if not name.startswith(self.prefixes)}
        self.assertEqual(self.listed, there)

    def test_each_has_a_help_text(self):
        self.assertEqual([name for name in self.listed if not self.metrics.help.get(name, "").strip()], [])

    def test_counters_are_called_total_and_nothing_else_is(self):
        wrong = [name for name, kind in self.listed.items() if (kind == "counter") != name.endswith("_total")]
        self.assertEqual(wrong, [])


class Looking(unittest.TestCase):
    """The answers that the page is made of."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(http=True))

    def client(self, name=None):
        client = self.enterContext(Client(self.server.port))
        if name:
            client.call("CLIENT", "SETNAME", name)
        return client

    def lock(self, key, database=0):
        return ask_json(self.server.http_port, f"/api/lock?database={database}&key={quoted(key)}")

    def test_a_hot_lock_is_first(self):
        holder = self.client("report-7")
        holder.call("LK.ACQUIRE", "hot", "a", "TTL", 60000)
        for i in range(3):
            self.client().send("LK.ACQUIRE", "hot", f"b{i}", "TTL", 60000, "WAIT", 0)
        wait_for(lambda: self.lock("hot")["lock"]["waiters"] == 3)
        live = ask_json(self.server.http_port, "/api/live")
        hot = live["hot"][0]
        self.assertEqual((hot["key"], hot["owner"], hot["waiters"], hot["client"]["name"]), ("hot", "a", 3, "report-7"))
        self.assertEqual(live["objections"], [])
        self.assertGreaterEqual(live["totals"]["waiters"], 3)
        holder.call("LK.RELEASE", "hot", "a")

    def test_one_lock_shows_holder_queue_in_order_and_history(self):
        holder = self.client("first")
        holder.call("LK.ACQUIRE", "deep", "holder", "TTL", 60000)
        self.lock("deep")  # from now on it is remembered
        waiting = [self.client(f"w{i}") for i in range(3)]
        for i, client in enumerate(waiting):
            client.send("LK.ACQUIRE", "deep", f"owner{i}", "TTL", 60000, "WAIT", 0)
            wait_for(lambda: self.lock("deep")["lock"]["waiters"] == i + 1)
        found = self.lock("deep")
        self.assertEqual([one["owner"] for one in found["holding"]], ["holder"])
        self.assertEqual(found["holding"][0]["client"]["name"], "first")
        self.assertEqual([(one["owner"], one["client"]["name"]) for one in found["queue"]],
                         [("owner0", "w0"), ("owner1", "w1"), ("owner2", "w2")])
        holder.call("LK.RELEASE", "deep", "holder")
        waiting[0].read()
        waiting[0].call("LK.RELEASE", "deep", "owner0")
        waiting[1].read()
        found = self.lock("deep")
        self.assertEqual([one["owner"] for one in found["history"]], ["owner0", "holder"])
        self.assertEqual([one["end"] for one in found["history"]], ["released", "released"])
        self.assertGreater(found["history"][0]["waited"], 0)
        self.assertGreater(found["holding"][0]["fence"], found["history"][0]["fence"])
        self.assertGreater(found["history"][0]["fence"], found["history"][1]["fence"])

    def test_a_lock_that_nobody_has_can_be_looked_at(self):
        found = self.lock("nothing here")
        self.assertEqual((found["holding"], found["queue"], found["history"]), ([], [], []))

    def test_what_becomes_of_a_lock_is_written_down_while_somebody_looks(self):
        client = self.client()
        self.lock("watched")
        client.call("SET", "watched", "me", "NX", "PX", 60000)
        client.call("DEL", "watched")
        self.assertEqual([(one["owner"], one["end"]) for one in self.lock("watched")["history"]], [("me", "removed")])

    def test_search_finds_by_part_and_by_pattern(self):
        client = self.client()
        for key in ("order:1:pay", "order:2:pay", "other"):
            client.call("SET", key, "x", "PX", 60000)
        client.call("SELECT", 3)
        client.call("SET", "order:3:pay", "x", "PX", 60000)
        found = lambda text: [one["key"] for one in
                              ask_json(self.server.http_port, f"/api/search?match={quoted(text)}")["locks"]]
        self.assertEqual(found("der:"), ["order:1:pay", "order:2:pay", "order:3:pay"])
        self.assertEqual(found("order:?:pay"), ["order:1:pay", "order:2:pay", "order:3:pay"])
        self.assertEqual(found("o*er"), ["other"])
        self.assertEqual(found("nosuch"), [])

    def test_any_bytes_are_shown_and_found_again(self):
        client = self.client()
        strange = {
            b'"quotes" and \\': '"quotes" and \\',
            b"<script>alert(1)</script>": "<script>alert(1)</script>",
            b"\x00\x01\n\r": "\x00\x01\n\r",
            b"\xff\xfe": "\\xff\\xfe",
            b"\xc0\x80": "\\xc0\\x80",
            b"\xed\xa0\x80": "\\xed\\xa0\\x80",
            "schlüssel 鍵 🔒".encode(): "schlüssel 鍵 🔒",
            b"a b+c%41&d#e/f?g": "a b+c%41&d#e/f?g",
        }
        for key, shown in strange.items():
            with self.subTest(key):
                client.call("SET", key, b"\xffowner", "PX", 60000)
                found = self.lock(key)
                self.assertEqual(found["lock"]["key"], shown)
                self.assertEqual(found["lock"]["owner"], "\\xffowner")
                again = ask_json(self.server.http_port, f"/api/lock?key={found['lock']['id']}")
                self.assertEqual(again["lock"]["holders"], 1)


if __name__ == "__main__":
    main()
