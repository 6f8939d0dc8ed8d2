"""Users x commands x keys: what is allowed here is what a real redis-server allows, word for word.

Both servers get the same users. Every command is one that both know, with arguments that make sense; a verdict is
"allowed" or the text of the refusal.
"""

import re
import unittest

from support import Client, Error, Lockkeeper, Redis, main

# Rules that mean the same in both; each user has no password.
USERS = {
    "all": "~* &* +@all",
    "nothing": "",
    "commands_only": "+@all",
    "keys_only": "~* &*",
    "reader": "%R~* +@read",
    "writer": "%W~* +@write",
    "team": "~team:* &team:* +@all -@dangerous",
    "split": "~both:* %R~team:* %W~out:* &* +@all",
    "strings": "~* +@string",
    "no_strings": "~* &* +@all -@string",
    "lists": "~team:* +@list +@keyspace -@dangerous",
    "locker": "~team:* +set +get +del +eval +evalsha +pexpire +pttl",
    "fast": "~* &* +@fast",
    "slow": "~* &* +@slow",
    "blocking": "~team:? +@blocking",
    "pubsub": "&team:* +@pubsub",
    "transactions": "~team:* +@transaction +get +set",
    "connection": "+@connection",
    "admin": "+@admin",
    "client_id": "+client|id +client|getname -@admin",
    "client_but_kill": "+client -client|kill -client|list",
    "ordered": "+@all -@write +del -del +set ~*",
    "classes": "~team:[a-m] ~[^t]* +@all &*",
    "scripting": "~team:* +@scripting",
    "hashes": "%RW~team:* +@hash +@sortedset",
    "dangerous": "~* +@dangerous",
    "one_selector": "~team:* +get (~both:* +set)",
    "selectors": "%R~* +@read (~team:* &team:* +@all -@dangerous) (%W~out:* +set +del) (+@connection)",
    "selector_only": "(~team:* &* +@all)",
    "several_keys": "~team:a +del +eval (~both:* ~other +del +eval +blpop) (&team:* +subscribe)",
}

# No empty key: Redis 7.0 holds that none but ~* and allkeys match it.
KEYS = ["team:a", "team:zz", "both:1", "out:1", "other"]

# {k} is a key, {c} a channel.
KEY_COMMANDS = [
    "GET {k}", "SET {k} v", "SET {k} v GET", "SET {k} v NX PX 100", "SETNX {k} v", "SETEX {k} 1 v", "PSETEX {k} 1 v",
    "GETDEL {k}", "STRLEN {k}", "INCR {k}", "DECRBY {k} 1", "DEL {k}", "DEL team:a {k}", "UNLINK {k}", "EXISTS {k}",
    "TOUCH {k}", "TYPE {k}", "TTL {k}", "PTTL {k}", "EXPIRETIME {k}", "EXPIRE {k} 1", "PEXPIREAT {k} 1", "PERSIST {k}",
    "HGET {k} f", "HEXISTS {k} f", "HGETALL {k}", "HLEN {k}", "LPUSH {k} v", "RPOP {k}", "LLEN {k}", "BLPOP {k} 0.001",
    "BLPOP {k} team:a 0.001", "ZREM {k} m", "WATCH {k}", "EVAL {script} 1 {k}", "EVAL {script} 2 team:a {k}",
    "EVALSHA 0123456789012345678901234567890123456789 1 {k}", "EVAL_RO {script} 1 {k}",
]
PLAIN_COMMANDS = [
    "PING", "ECHO x", "SELECT 0", "DBSIZE", "KEYS nothing", "SCAN 0", "FLUSHALL", "FLUSHDB", "INFO", "TIME", "ROLE",
    "CONFIG GET port", "CONFIG RESETSTAT", "CLIENT ID", "CLIENT LIST", "CLIENT GETNAME", "CLIENT SETNAME me",
    "CLIENT KILL ID 999999", "CLIENT UNBLOCK 999999", "CLIENT NO-EVICT off", "COMMAND", "COMMAND COUNT",
    "COMMAND GETKEYS GET k", "ACL WHOAMI", "ACL CAT", "ACL LIST", "ACL USERS", "ACL GENPASS", "ACL GETUSER all",
    "ACL LOG", "SCRIPT EXISTS x", "SCRIPT LOAD {script}", "MULTI", "UNWATCH", "PUBSUB NUMPAT", "PUBSUB CHANNELS",
    "WAIT 0 1", "LOLWUT", "RESET", "AUTH all x", "HELLO", "CLUSTER INFO",
]
CHANNELS = ["team:a", "team:*", "other", "*"]
CHANNEL_COMMANDS = [
    "SUBSCRIBE {c}", "PSUBSCRIBE {c}", "SSUBSCRIBE {c}", "PUBLISH {c} x", "SPUBLISH {c} x", "SUBSCRIBE team:a {c}",
    "UNSUBSCRIBE {c}", "PUNSUBSCRIBE {c}",
]
SCRIPT = "return redis.call('pttl',KEYS[1])"


def commands():
    def words(text, **holes):
        return [word.format(script=SCRIPT, **holes) for word in text.split(" ")]

    for text in KEY_COMMANDS:
        yield from (words(text, k=key) for key in KEYS)
    for text in CHANNEL_COMMANDS:
        yield from (words(text, c=channel) for channel in CHANNELS)
    yield from map(words, PLAIN_COMMANDS)


def verdict(port, user, command):
    """On a connection of its own: commands change its state."""
    with Client(port) as client:
        assert client.call("AUTH", user, "x") == "OK"
        answer = client.call(*command)
        if isinstance(answer, Error) and answer.args[0].startswith(("NOPERM", "NOAUTH", "WRONGPASS")):
            return answer.args[0]
        return "allowed"


def quoted(text):
    return "'" + text + "'"


class SameVerdicts(unittest.TestCase):
    def test_every_user_may_do_what_it_may_do_in_redis(self):
        config = "users:\n" + "".join(
            f"  - {{name: {name}, rules: {quoted('nopass ' + rules)}}}\n" for name, rules in USERS.items())
        config += "  - {name: default, rules: 'nopass ~* &* +@all'}\n"
        cases = 0
        with Redis() as redis, Lockkeeper(config=config) as server:
            with Client(redis.port) as admin:
                for name, rules in USERS.items():
                    made = admin.call("ACL", "SETUSER", name, "reset", "on", "nopass", *re.findall(r"\(.*?\)|[^ ]+", rules))
                    self.assertEqual(made, "OK", name)
            for user in USERS:
                for command in commands():
                    cases += 1
                    self.assertEqual(verdict(server.port, user, command), verdict(redis.port, user, command),
                                     f"user {user}, command {command}")
        print(f"{cases} cases")
        self.assertGreater(cases, 500)

    def test_categories_are_those_of_redis(self):
        with Redis() as redis, Lockkeeper() as server, Client(redis.port) as theirs, Client(server.port) as ours:
            known = {name.decode() for name in ours.call("ACL", "CAT", "fast") + ours.call("ACL", "CAT", "slow")}
            compared = 0
            for category in theirs.call("ACL", "CAT"):
                redis_has = {name.decode() for name in theirs.call("ACL", "CAT", category)}
                redis_knows = {name.decode() for one in ("fast", "slow") for name in theirs.call("ACL", "CAT", one)}
                we_have = {name.decode() for name in ours.call("ACL", "CAT", category)}
                self.assertEqual(we_have & redis_knows, redis_has & known, category)
                compared += len(redis_has & known)
            self.assertGreater(compared, 200)


if __name__ == "__main__":
    main()
