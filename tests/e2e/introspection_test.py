"""What clients ask about the server and themselves, and how each driver begins a connection."""

import re
import time
import unittest

from support import Client, Error, Lockkeeper, Redis, encode, main, stripe_of

CLUSTER_OFF = Error("ERR This instance has cluster support disabled")


def fields(text):
    return dict(line.split(":", 1) for line in text.decode().split("\r\n") if ":" in line)


class WithServer(unittest.TestCase):
    config = None

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Lockkeeper(cores=2, config=cls.config))

    def client(self, version=None):
        client = self.enterContext(Client(self.server.port))
        if version:
            client.call("HELLO", version)
        return client


# What a driver sends on a new connection -> what must come back, or it gives up. Each step is (command, check):
# a value must be equal; a function must be true; None: anything, for the driver looks away.
OK = "OK"
NO_ERROR = lambda reply: not isinstance(reply, Error)


def is_hello(reply):
    """A map with what Lettuce casts and redis-py checks."""
    return isinstance(reply, dict) and reply[b"proto"] == 3 and isinstance(reply[b"id"], int) and \
        all(isinstance(reply[field], bytes) for field in (b"version", b"mode", b"role", b"server")) and \
        reply[b"mode"] == b"standalone" and reply[b"role"] == b"master"


def is_error(reply):
    return isinstance(reply, Error)


def is_ready(reply):
    return isinstance(reply, bytes) and b"loading:0" in reply and b"loading:1" not in reply


TRACER = bytes(range(16))
HANDSHAKES = {
    "redis-py 5": [
        ("CLIENT SETNAME worker", OK), ("CLIENT SETINFO LIB-NAME redis-py", OK), ("CLIENT SETINFO LIB-VER 5.2.0", OK),
        ("SELECT 1", OK),
    ],
    "redis-py 8": [
        ("HELLO 3", is_hello), ("CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-fqdn", is_error),
        ("CLIENT SETNAME worker", OK), ("CLIENT SETINFO LIB-NAME redis-py", OK), ("CLIENT SETINFO LIB-VER 8.1.0", OK),
        ("SELECT 1", OK),
    ],
    "redis-py 8 with a password that nobody asked for": [("HELLO 3 AUTH default secret", is_hello)],
    "ioredis 5": [
        ("SELECT 1", OK), ("CLIENT SETNAME worker", OK), ("READONLY", None), ("CLIENT SETINFO LIB-VER 5.8.0", OK),
        ("CLIENT SETINFO LIB-NAME ioredis", OK), ("INFO", is_ready),
    ],
    "ioredis 6": [
        ("HELLO 3", is_hello), ("SELECT 1", OK), ("CLIENT SETNAME worker", OK), ("CLIENT SETINFO LIB-NAME ioredis", OK),
        ("CLIENT SETINFO LIB-VER 6.0.0", OK), ("INFO", is_ready),
    ],
    "node-redis 5": [
        ("CLIENT SETNAME worker", OK), ("SELECT 1", OK), ("CLIENT SETINFO LIB-VER 5.0.0", OK),
        ("CLIENT SETINFO LIB-NAME node-redis", OK),
    ],
    "node-redis 6": [
        ("HELLO 3 SETNAME worker", is_hello), ("SELECT 1", OK), ("CLIENT SETINFO LIB-VER 6.2.1", OK),
        ("CLIENT SETINFO LIB-NAME node-redis(hiredis)", OK), ("CLIENT MAINT_NOTIFICATIONS ON", is_error),
    ],
    "go-redis 9": [
        ("hello 3 setname worker", is_hello), ("select 1", OK), ("readonly", None), ("client setname worker", OK),
        ("client maint_notifications on moving-endpoint-type internal-ip", is_error),
        ("client setinfo LIB-NAME go-redis(,go1.23)", OK), ("client setinfo LIB-VER 9.22.0", OK),
    ],
    "Jedis 7": [
        ("HELLO 3", is_hello), ("CLIENT SETNAME worker", OK), ("CLIENT SETINFO LIB-NAME jedis", OK),
        ("CLIENT SETINFO LIB-VER 7.5.0", OK), ("SELECT 1", OK),
    ],
    "Lettuce 7": [
        ("HELLO 3 SETNAME worker", is_hello), ("SELECT 1", OK), ("CLIENT SETINFO lib-name Lettuce", OK),
        ("CLIENT SETINFO lib-ver 7.7.0", OK), ("CLIENT MAINT_NOTIFICATIONS on moving-endpoint-type external-ip", is_error),
    ],
    "Lettuce in RESP2": [("HELLO 2", NO_ERROR), ("PING", "PONG")],
    "Redisson": [("SELECT 1", OK), ("CLIENT SETNAME worker", OK), ("CLIENT CAPA redirect", OK), ("PING", "PONG")],
    "Redisson in RESP3": [("HELLO 3", is_hello), ("SELECT 1", OK), ("CLIENT SETNAME worker", OK), ("PING", "PONG")],
    "Redisson in sentinel mode": [
        ("WAIT 0 0", 0), ("WAITAOF 0 0 0", [0, 0]), ("INFO ALL", is_ready), ("INFO REPLICATION", lambda r: b"role:master" in r),
        ("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", is_error), ("PUBSUB SHARDNUMSUB", []), ("PUBSUB NUMPAT", 0),
        ("CLUSTER NODES", CLUSTER_OFF),
    ],
    "StackExchange.Redis 3": [
        ("HELLO 3", is_hello), ("CLIENT SETNAME worker", OK), ("CLIENT SETINFO lib-name SE.Redis", OK),
        ("CLIENT SETINFO lib-ver 3.1.31", OK), ("CLIENT ID", lambda r: isinstance(r, int)),
        ("CONFIG GET timeout", lambda r: r == {b"timeout": b"0"}),
        ("CONFIG GET replica-read-only", lambda r: r == {b"replica-read-only": b"yes"}),
        ("CONFIG GET databases", lambda r: r == {b"databases": b"16"}), ("SENTINEL MASTERS", is_error),
        ("INFO replication", lambda r: b"role:master" in r), ("INFO server", lambda r: b"redis_version:" in r),
        # A success would make it believe in a cluster.
        ("CLUSTER NODES", is_error), ("GET __Booksleeve_TieBreak", None), ([b"ECHO", TRACER], TRACER),
    ],
    "StackExchange.Redis 3, the connection for messages": [
        ("HELLO 3", is_hello), ([b"ECHO", TRACER], TRACER),
        ("SUBSCRIBE __Booksleeve_MasterChanged", [b"subscribe", b"__Booksleeve_MasterChanged", 1]),
    ],
    "phpredis": [("SELECT 1", OK), ("CLIENT SETNAME worker", OK)],
    "Predis 3": [
        ("HELLO 3 SETNAME predis", is_hello), ("CLIENT SETINFO LIB-NAME predis", OK), ("CLIENT SETINFO LIB-VER 3.6.0", OK),
        ("SELECT 1", OK),
    ],
    "redis-client": [
        ("HELLO 3", is_hello), ("SELECT 1", OK), ("CLIENT SETINFO LIB-NAME redis-client(redlock)", OK),
        ("CLIENT SETINFO LIB-VER 0.30.0", OK), ("CLIENT SETNAME worker", OK),
    ],
    "redigo": [("CLIENT SETNAME worker", OK), ("SELECT 1", OK)],
    "rueidis": [
        ("HELLO 3", is_hello), ("CLIENT TRACKING ON OPTIN", OK), ("SELECT 1", OK), ("CLIENT SETINFO LIB-NAME rueidis", OK),
        ("CLIENT SETINFO LIB-VER 1.0.76", OK),
    ],
    "rueidislock": [("HELLO 3", is_hello), ("CLIENT TRACKING ON OPTOUT NOLOOP", OK), ("CLIENT SETINFO LIB-NAME rueidis", OK)],
}


class Handshakes(WithServer):
    def split(self, command):
        return command.split() if isinstance(command, str) else command

    def check(self, driver, client, steps):
        for command, expected in steps:
            reply = client.read()
            with self.subTest(driver, command=command):
                if callable(expected):
                    self.assertTrue(expected(reply), reply)
                elif expected is not None:
                    self.assertEqual(reply, expected)

    def test_each_driver_gets_what_it_needs_in_one_pipeline(self):
        for driver, steps in HANDSHAKES.items():
            with Client(self.server.port) as client:
                client.send_bytes(b"".join(encode(*self.split(command)) for command, _ in steps))
                self.check(driver, client, steps)
                if not driver.endswith("messages"):
                    self.assertEqual(client.call("SET", "lock", driver, "PX", 1000), OK)

    def test_each_driver_gets_what_it_needs_step_by_step(self):
        for driver, steps in HANDSHAKES.items():
            with Client(self.server.port) as client:
                for command, expected in steps:
                    client.send(*self.split(command))
                    self.check(driver, client, [(command, expected)])

    def test_maintenance_notifications_are_refused_as_unknown(self):
        reply = self.client(3).call("CLIENT", "MAINT_NOTIFICATIONS", "ON")
        self.assertRegex(reply.args[0], "^ERR unknown subcommand")


class Info(WithServer):
    def test_what_clients_look_for_is_there(self):
        for arguments in ((), ("ALL",), ("everything",), ("default",)):
            found = fields(self.client().call("INFO", *arguments))
            self.assertEqual(found["redis_version"], "7.2.4")
            self.assertEqual(found["redis_mode"], "standalone")
            self.assertEqual(found["loading"], "0")
            self.assertEqual(found["role"], "master")
            self.assertEqual(found["connected_slaves"], "0")
            self.assertEqual(found["cluster_enabled"], "0")
            self.assertEqual(found["aof_enabled"], "0")
            self.assertEqual(int(found["tcp_port"]), self.server.port)
            self.assertEqual(int(found["process_id"]), self.server.process.pid)
            self.assertRegex(found["run_id"], "^[0-9a-f]{40}$")
            for number in ("connected_clients", "blocked_clients", "used_memory", "maxmemory", "uptime_in_seconds",
                           "total_commands_processed", "total_connections_received", "expired_keys", "maxclients"):
                self.assertGreaterEqual(int(found[number]), 0, number)

    def test_sections(self):
        client = self.client()
        self.assertEqual(re.findall(rb"# (\w+)", client.call("INFO", "replication")), [b"Replication"])
        self.assertEqual(re.findall(rb"# (\w+)", client.call("INFO", "SERVER", "clients")), [b"Server", b"Clients"])
        self.assertEqual(client.call("INFO", "nosuch"), b"")
        client.call("SELECT", 3)
        client.call("SET", "k", "v")
        self.assertRegex(client.call("INFO", "keyspace"), rb"db3:keys=1,expires=\d+,avg_ttl=\d+\r\n")

    def test_the_sections_and_their_form_are_those_of_redis_and_two_more(self):
        with Redis() as redis, Client(redis.port) as theirs:
            a, b = theirs.call("INFO"), self.client().call("INFO")
            self.assertEqual(re.findall(rb"# (\w+)\r\n", b), re.findall(rb"# (\w+)\r\n", a) + [b"Locks", b"Fleet"])
            for line in b.split(b"\r\n"):
                self.assertRegex(line, rb"^(# \w+|[a-z_0-9]+:.*|)$")

    def test_keys_that_end_are_counted_with_the_time_that_is_left_to_them(self):
        client = self.client()
        client.call("SELECT", 5)
        # Keys of both cores, and more than are looked at.
        for i in range(1000):
            self.assertEqual(client.call("SET", f"ends-{i}", "v", "EX", 1000 if i % 2 else 3000), "OK")
        for i in range(10):
            self.assertEqual(client.call("SET", f"stays-{i}", "v"), "OK")
        told = re.search(rb"db5:keys=1010,expires=1000,avg_ttl=(\d+)\r\n", client.call("INFO", "keyspace"))
        self.assertTrue(told)
        self.assertGreater(int(told.group(1)), 1_200_000)
        self.assertLess(int(told.group(1)), 2_800_000)
        client.call("FLUSHDB")
        self.assertNotIn(b"db5", client.call("INFO", "keyspace"))

    def test_where_locks_are_is_told(self):
        self.assertEqual(fields(self.client().call("INFO"))["lockkeeper_store"], "embedded")
        with Redis() as master, Lockkeeper(cores=1, config=stripe_of([master])) as server:
            with Client(server.port) as client:
                self.assertEqual(fields(client.call("INFO"))["lockkeeper_store"], "masters")

    def test_what_is_not_counted_is_not_told(self):
        self.assertNotIn(b"keyspace_hits", self.client().call("INFO", "everything"))

    def test_blocked_clients_count_once(self):
        waiter, client = self.client(), self.client()
        waiter.send("BLPOP", *[f"list:{i}" for i in range(20)], 0)
        while (blocked := int(fields(client.call("INFO", "clients"))["blocked_clients"])) == 0:
            pass
        self.assertEqual(blocked, 1)

    def test_the_advertised_version_can_be_another(self):
        with Lockkeeper(cores=1, config="server: {redis_version: 8.4.0}") as server, Client(server.port) as client:
            self.assertEqual(fields(client.call("INFO"))["redis_version"], "8.4.0")
            self.assertEqual(client.call("HELLO", 3)[b"version"], b"8.4.0")


class Clients(WithServer):
    def lines(self, *arguments):
        with Client(self.server.port) as client:
            text = client.call("CLIENT", "LIST", *arguments).decode()
        return [dict(pair.split("=", 1) for pair in line.split(" ")) for line in text.splitlines()]

    def test_name_id_and_info(self):
        client = self.client()
        self.assertIsNone(client.call("CLIENT", "GETNAME"))
        self.assertEqual(client.call("CLIENT", "SETNAME", "worker-1"), "OK")
        self.assertEqual(client.call("CLIENT", "GETNAME"), b"worker-1")
        self.assertIsInstance(client.call("CLIENT", "SETNAME", "a b"), Error)
        self.assertEqual(client.call("CLIENT", "GETNAME"), b"worker-1")
        self.assertEqual(client.call("CLIENT", "SETNAME", ""), "OK")
        self.assertIsNone(client.call("CLIENT", "GETNAME"))
        own = client.call("CLIENT", "INFO").decode()
        self.assertIn(f"id={client.call('CLIENT', 'ID')} ", own)
        host, port = client.socket.getsockname()
        self.assertIn(f"addr={host}:{port} ", own)
        self.assertTrue(own.endswith("\n"))

    def test_setinfo(self):
        client = self.client()
        self.assertEqual(client.call("CLIENT", "SETINFO", "LIB-NAME", "mine"), "OK")
        self.assertEqual(client.call("CLIENT", "SETINFO", "lib-ver", "1.2"), "OK")
        self.assertIsInstance(client.call("CLIENT", "SETINFO", "LIB-NAME", "a b"), Error)
        self.assertIsInstance(client.call("CLIENT", "SETINFO", "NOSUCH", "a"), Error)
        self.assertIn("lib-name=mine lib-ver=1.2", client.call("CLIENT", "INFO").decode())

    def test_the_list_has_the_clients_of_all_cores(self):
        clients = [self.client(3 if i % 2 else None) for i in range(16)]
        ids = [client.call("CLIENT", "ID") for client in clients]
        for number, client in enumerate(clients):
            client.call("CLIENT", "SETNAME", f"c{number}")
        listed = {int(line["id"]): line for line in self.lines()}
        for number, one in enumerate(ids):
            self.assertEqual(listed[one]["name"], f"c{number}")
            self.assertEqual(listed[one]["resp"], "3" if number % 2 else "2")
            self.assertEqual((listed[one]["db"], listed[one]["multi"], listed[one]["user"]), ("0", "-1", "default"))
        self.assertEqual([int(line["id"]) for line in self.lines("ID", *ids[:3])], sorted(ids[:3]))

    def test_the_list_shows_what_each_does(self):
        listener, transactor, waiter = self.client(), self.client(), self.client()
        ids = [client.call("CLIENT", "ID") for client in (listener, transactor, waiter)]
        listener.call("SUBSCRIBE", "a")
        transactor.call("MULTI")
        transactor.call("PING")
        waiter.send("BLPOP", "none", 0)
        while "b" not in (by_id := {int(line["id"]): line for line in self.lines("ID", *ids)})[ids[2]]["flags"]:
            pass
        self.assertEqual((by_id[ids[0]]["flags"], by_id[ids[0]]["sub"]), ("P", "1"))
        self.assertEqual((by_id[ids[1]]["flags"], by_id[ids[1]]["multi"]), ("x", "1"))
        self.assertEqual((by_id[ids[2]]["flags"], by_id[ids[2]]["cmd"]), ("b", "blpop"))
        self.assertEqual([int(line["id"]) for line in self.lines("TYPE", "pubsub")], [ids[0]])

    def test_the_fields_of_redis_are_all_there(self):
        with Redis() as redis, Client(redis.port) as theirs:
            expected = [pair.split("=")[0] for pair in theirs.call("CLIENT", "INFO").decode().split()]
        own = [pair.split("=")[0] for pair in self.client().call("CLIENT", "INFO").decode().split()]
        self.assertEqual([field for field in own if field in expected], expected)

    def test_killing_others(self):
        for filters in (lambda number, address: ("ID", number), lambda number, address: ("ADDR", address),
                        lambda number, address: ("ID", number, "TYPE", "normal", "SKIPME", "yes")):
            victim, killer = self.client(), self.client()
            host, port = victim.socket.getsockname()
            number = victim.call("CLIENT", "ID")
            self.assertEqual(killer.call("CLIENT", "KILL", *filters(number, f"{host}:{port}")), 1)
            self.assertEqual(victim.read_all(), b"")
            self.assertEqual(killer.call("CLIENT", "KILL", *filters(number, f"{host}:{port}")), 0)
        victim, killer = self.client(), self.client()
        host, port = victim.socket.getsockname()
        victim.call("PING")
        self.assertEqual(killer.call("CLIENT", "KILL", f"{host}:{port}"), "OK")
        self.assertEqual(victim.read_all(), b"")
        self.assertEqual(killer.call("CLIENT", "KILL", f"{host}:{port}"), Error("ERR No such client"))

    def test_killing_oneself(self):
        client = self.client()
        number = client.call("CLIENT", "ID")
        self.assertEqual(client.call("CLIENT", "KILL", "ID", number), 0, "SKIPME is the default")
        client.send_bytes(encode("CLIENT", "KILL", "ID", number, "SKIPME", "no") + encode("PING"))
        self.assertEqual(client.read_all(), b":1\r\n")
        client = self.client()
        host, port = client.socket.getsockname()
        client.send_bytes(encode("CLIENT", "KILL", f"{host}:{port}") + encode("PING"))
        self.assertEqual(client.read_all(), b"+OK\r\n")

    def test_killing_all_of_a_kind(self):
        listeners = [self.client() for _ in range(8)]
        for listener in listeners:
            listener.call("SUBSCRIBE", "a")
        self.assertEqual(self.client().call("CLIENT", "KILL", "TYPE", "pubsub"), len(listeners))
        for listener in listeners:
            self.assertEqual(listener.read_all(), b"")

    def test_reply_skip(self):
        client = self.client()
        client.send_bytes(encode("CLIENT", "REPLY", "SKIP") + encode("SET", "k", "v") + encode("GET", "k"))
        self.assertEqual(client.read(), b"v")
        client.send_bytes(encode("CLIENT", "REPLY", "SKIP") + encode("EXISTS", *[f"k{i}" for i in range(20)]) + encode("PING"))
        self.assertEqual(client.read(), "PONG")

    def test_reply_off_and_on(self):
        client = self.client()
        silent = [("PING",), ("GET", "k"), ("EXISTS", "a", "b", "c", "d"), ("NOSUCH",), ("INFO",), ("SET", "k", "w")]
        client.send("CLIENT", "REPLY", "OFF")
        for command in silent:
            client.send(*command)
        client.send("CLIENT", "REPLY", "ON")
        self.assertEqual(client.read(), "OK")
        self.assertEqual(client.call("GET", "k"), b"w")

    def test_subcommands_that_change_nothing_here(self):
        client = self.client(3)
        for line in ("NO-EVICT ON", "NO-EVICT OFF", "NO-TOUCH ON", "TRACKING ON", "TRACKING OFF", "CAPA redirect"):
            self.assertEqual(client.call("CLIENT", *line.split()), "OK", line)
        self.assertEqual(client.call("CLIENT", "GETREDIR"), -1)
        for line in ("NO-EVICT MAYBE", "TRACKING MAYBE", "REPLY MAYBE", "NOSUCH", "SETNAME", "ID x"):
            self.assertIsInstance(client.call("CLIENT", *line.split()), Error, line)


class Commands(WithServer):
    def test_count_list_info_and_docs_agree(self):
        client = self.client(3)
        count = client.call("COMMAND", "COUNT")
        names = client.call("COMMAND", "LIST")
        self.assertEqual((len(names), len(set(names))), (count, count))
        self.assertEqual({entry[0] for entry in client.call("COMMAND")}, set(names))
        self.assertEqual(len(client.call("COMMAND", "INFO")), count)
        self.assertEqual(set(client.call("COMMAND", "DOCS")), set(names))
        self.assertEqual(list(client.call("COMMAND", "DOCS", "get", "nosuch")), [b"get"])

    def test_arity_and_keys_are_those_of_redis(self):
        """Cluster clients route by this."""
        with Redis() as redis, Client(redis.port) as theirs:
            client = self.client()
            newer = {b"delex", b"delifeq", b"waitaof", b"digest"}
            # Channels of shards are no keys; Redis counts them in because a cluster routes by them.
            channels = {b"spublish", b"ssubscribe", b"sunsubscribe"}
            # Their subcommands have the flags in Redis, one by one.
            containers = {b"acl", b"client", b"config", b"pubsub", b"script", b"command", b"cluster", b"slowlog"}
            compared = ("write", "readonly", "blocking", "pubsub", "movablekeys", "noscript")
            for name in client.call("COMMAND", "LIST"):
                if name in newer | channels or name.startswith(b"lk."):
                    continue
                (expected,), (own,) = theirs.call("COMMAND", "INFO", name), client.call("COMMAND", "INFO", name)
                with self.subTest(name):
                    self.assertIsNotNone(expected, "no such command in Redis")
                    self.assertEqual(own[0], expected[0])
                    self.assertEqual(own[1], expected[1], "arity")
                    self.assertEqual(own[3:6], expected[3:6], "key positions")
                    for flag in () if name in containers else compared:
                        self.assertEqual(flag in own[2], flag in expected[2], flag)

    def test_getkeys(self):
        client = self.client()
        for line, keys in (("GET a", [b"a"]), ("SET a v PX 100", [b"a"]), ("DEL a b c", [b"a", b"b", b"c"]),
                           ("BLPOP a b 0", [b"a", b"b"])):
            self.assertEqual(client.call("COMMAND", "GETKEYS", *line.split()), keys)
        self.assertIsInstance(client.call("COMMAND", "GETKEYS", "NOSUCH", "a"), Error)
        self.assertIsInstance(client.call("COMMAND", "GETKEYS", "PING"), Error)

    def test_an_unknown_command_has_no_info(self):
        for version in (2, 3):
            self.assertEqual(self.client(version).call("COMMAND", "INFO", "nosuch", "get")[0], None)


class SameAsRedis(unittest.TestCase):
    """The same bytes as from a real redis-server, in both protocol versions."""

    # Each line is a connection of its own.
    LINES = [
        "CLIENT TRACKING ON|CLIENT TRACKINGINFO|CLIENT GETREDIR|CLIENT TRACKING OFF|CLIENT TRACKINGINFO",
        "CLIENT TRACKING ON OPTIN|CLIENT CACHING YES|CLIENT CACHING NO|CLIENT CACHING FOO|CLIENT TRACKINGINFO",
        "CLIENT TRACKING ON OPTOUT NOLOOP|CLIENT CACHING NO|CLIENT CACHING YES|CLIENT TRACKINGINFO",
        "CLIENT TRACKING ON OPTIN|CLIENT TRACKING ON OPTOUT|CLIENT TRACKING ON BCAST",
        "CLIENT TRACKING ON OPTIN OPTOUT|CLIENT TRACKING ON BCAST OPTIN|CLIENT TRACKING ON PREFIX a",
        "CLIENT TRACKING ON BCAST|CLIENT TRACKING ON|CLIENT TRACKINGINFO",
        "CLIENT TRACKING ON BCAST PREFIX a PREFIX b|CLIENT TRACKING ON BCAST PREFIX ab",
        "CLIENT TRACKING ON BCAST PREFIX a PREFIX ab|CLIENT TRACKINGINFO",
        "CLIENT TRACKING FOO|CLIENT TRACKING ON FOO|CLIENT TRACKING ON REDIRECT|CLIENT TRACKING ON REDIRECT 99999999",
        "CLIENT TRACKING ON REDIRECT abc|CLIENT TRACKING|CLIENT CACHING YES|CLIENT CACHING|CLIENT TRACKINGINFO x",
        "CLIENT TRACKING ON|RESET|CLIENT TRACKINGINFO",
        "COMMAND COUNT x|COMMAND NOSUCH|COMMAND GETKEYS|COMMAND LIST FOO|COMMAND LIST FILTERBY FOO x",
        "COMMAND GETKEYS EVAL text 2 a b c|COMMAND GETKEYS EVALSHA sha 1 a|COMMAND GETKEYS EVAL text 0",
        "COMMAND GETKEYS EVAL text abc|COMMAND GETKEYS EVAL text 2 a|COMMAND GETKEYS EVAL text -1",
        "COMMAND LIST FILTERBY PATTERN pexpire*|COMMAND LIST FILTERBY MODULE nosuch|COMMAND HELP x",
        "CLIENT NO-EVICT on|CLIENT NO-EVICT foo|CLIENT GETNAME|CLIENT SETNAME a|CLIENT GETNAME|CLIENT REPLY FOO",
    ]

    def test_every_line_has_the_same_answer(self):
        with Redis() as redis, Lockkeeper(cores=2) as ours:
            for version in (2, 3):
                for line in self.LINES:
                    commands = [encode(*command.split(" ")) for command in line.split("|")]
                    if version == 3:
                        commands.insert(0, encode("HELLO", 3))
                    answers = []
                    for server in (redis, ours):
                        with Client(server.port) as client:
                            client.send_bytes(b"".join(commands) + encode("QUIT"))
                            if version == 3:
                                client.read()
                            answers.append(sorted_list(client.read_all()))
                    with self.subTest(line, version=version):
                        self.assertEqual(answers[1], answers[0])

    def test_every_command_with_subcommands_explains_them(self):
        with Lockkeeper(cores=1) as ours, Client(ours.port) as client:
            for command in ("CLIENT", "COMMAND", "CONFIG", "PUBSUB", "SCRIPT", "SLOWLOG", "LK.SLOWLOG"):
                lines = client.call(command, "HELP")
                self.assertEqual(lines[0], f"{command} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
                self.assertEqual(lines[-2:], ["HELP", "    Print this help."])


def sorted_list(data):
    """COMMAND LIST is in the order of Redis' hash table."""
    return sorted(data.split(b"\r\n")) if b"$9\r\npexpireat\r\n" in data else data


class TheRest(WithServer):
    def test_config_get(self):
        client = self.client(3)
        for name, value in (("databases", b"16"), ("timeout", b"0"), ("maxmemory-policy", b"noeviction"), ("save", b""),
                            ("appendonly", b"no"), ("replica-read-only", b"yes"), ("port", b"%d" % self.server.port)):
            self.assertEqual(client.call("CONFIG", "GET", name), {name.encode(): value})
        self.assertEqual(client.call("CONFIG", "GET", "nosuch"), {})
        self.assertEqual(list(client.call("CONFIG", "GET", "max*", "port")),
                         [b"maxclients", b"maxmemory", b"maxmemory-policy", b"port"])
        self.assertEqual(self.client().call("CONFIG", "GET", "DATABASES"), [b"databases", b"16"])
        self.assertEqual(client.call("CONFIG", "SET", "save", "x"),
                         Error("ERR CONFIG SET is not supported: change the configuration file, then reload it with "
                               "LK.RELOAD or SIGHUP"))

    def test_role_and_time(self):
        client = self.client()
        self.assertEqual(client.call("ROLE"), [b"master", 0, []])
        seconds, micros = map(int, client.call("TIME"))
        self.assertLess(abs(seconds - time.time()), 60)
        self.assertTrue(0 <= micros < 1_000_000)

    def test_no_cluster_and_no_sentinel(self):
        client = self.client()
        for line in ("CLUSTER NODES", "CLUSTER SLOTS", "CLUSTER INFO", "CLUSTER SHARDS", "READONLY", "READWRITE"):
            self.assertEqual(client.call(*line.split()), CLUSTER_OFF, line)
        self.assertRegex(client.call("SENTINEL", "MASTERS").args[0], "^ERR unknown command 'SENTINEL'")

    def test_wait_and_waitaof(self):
        client = self.client()
        for line, expected in (("WAIT 0 0", 0), ("WAIT 0 100", 0), ("WAIT 2 1000", 0), ("WAITAOF 0 0 0", [0, 0]),
                               ("WAITAOF 0 1 100", [0, 0])):
            self.assertEqual(client.call(*line.split()), expected, line)
        for line in ("WAIT abc 0", "WAIT 0 abc", "WAIT 0 -1", "WAITAOF 1 0 0", "WAITAOF 0 0"):
            self.assertIsInstance(client.call(*line.split()), Error, line)

    def test_reset_makes_a_connection_as_new(self):
        client = self.client(3)
        client.call("SELECT", 3)
        client.call("CLIENT", "SETNAME", "worker")
        client.call("SUBSCRIBE", "a")
        client.call("WATCH", "k")
        client.call("MULTI")
        self.assertEqual(client.call("RESET"), "RESET")
        self.assertIsNone(client.call("CLIENT", "GETNAME"))
        self.assertEqual(client.call("EXEC"), Error("ERR EXEC without MULTI"))
        own = client.call("CLIENT", "INFO").decode()
        for field in ("db=0", "sub=0", "resp=2", "multi=-1"):
            self.assertIn(field, own)

    def test_reset_while_replies_are_off(self):
        client = self.client()
        client.send_bytes(encode("CLIENT", "REPLY", "OFF") + encode("PING") + encode("RESET"))
        self.assertEqual(client.read(), "RESET")
        self.assertEqual(client.call("PING"), "PONG")

    def test_auth_without_passwords(self):
        with Redis() as redis, Client(redis.port) as theirs:
            client = self.client()
            for line in ("AUTH secret", "AUTH default secret", "AUTH nobody secret", "AUTH", "AUTH a b c",
                         "HELLO 3 AUTH nobody x", "HELLO 2 AUTH default", "HELLO 3 SETNAME"):
                with self.subTest(line):
                    self.assertEqual(client.call(*line.split()), theirs.call(*line.split()))

    def test_echo_carries_any_bytes(self):
        data = bytes(range(256))
        self.assertEqual(self.client().call("ECHO", data), data)


if __name__ == "__main__":
    main()
