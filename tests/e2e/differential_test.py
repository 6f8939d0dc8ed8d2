"""Random streams of bytes to a real redis-server and to Lockkeeper: the same answers, or an intended difference.

Each stream is made from the seed and its number alone: commands over few keys, most of them well formed, some
bent in their arguments, some in their framing. It ends with an ECHO, which shows whether the connection still
works, and a half-close. A failure prints the stream, both answers and how to see it again:

    differential_test.py BINARY --seed N --only K

docs/compatibility.md has the table of intended differences for people; INTENDED below is the same for this test.
"""

import argparse
import collections
import os
import random
import socket
import sys
import time
import unittest

from support import PATIENCE, Lockkeeper, Redis, encode

SEED = 20260901
STREAMS = 24_000
TRIES = 20  # of a stream whose answer was cut by a reset
SHOWN = 10  # failures in full; then a number

END = b"the end of the stream"


# ---- arguments ------------------------------------------------------------------------------------------------

KEYS = ["a", "b", "c", "d", "{a}e", ""]
VALUES = ["1", "x", "-5", "", "10", "9223372036854775807", "-9223372036854775808", "1.5", "v\r\nw", "\x00\xff"]
CHANNELS = ["n", "news", "n*", "?"]
NUMBERS = ["0", "1", "-1", "3", "1.5", "abc", "", "007", "+1", " 1", "9223372036854775807", "9223372036854775808",
           "-9223372036854775808", "2147483648", "18446744073709551615"]
# Times are over at once or far away: a stream may take a while on a busy machine.
SECONDS = ["100", "1000", "0", "-1", "-100", "1.5", "abc", "", "+100", "9223372036854775", "9223372036854775807",
           "-9223372036854775808", "-9223372036854775", "9000000000"]
MILLISECONDS = ["100000", "500000", "0", "-1", "-100", "1.5", "abc", "", "9223372036854775807",
                "-9223372036854775808", "9000000000000"]
STAMPS = ["4102444800", "5000000000", "1", "1000", "0", "-1", "abc", "9223372036854775807", "9223372036854775"]
STAMPS_MS = ["4102444800000", "5000000000000", "1", "100000", "0", "-1", "abc", "9223372036854775807"]
TIMEOUTS = ["0", "100", "100.5", "-1", "-0.5", "abc", "", "+100", "1e2", "++1", "1 "]
NONSENSE = ["", "FOO", "nx", "-1", "GET", "a\r\nb", "x" * 200]
# Redis counts keys whose time has passed until it comes by; how many is not for us to compare.
FUTURE = ["4102444800", "5000000000", "0", "-1", "abc", "9223372036854775807"]
FUTURE_MS = ["4102444800000", "5000000000000", "0", "-1", "abc", "9223372036854775807"]


class Maker:
    """Makes one stream. Every command is a list of arguments."""

    def __init__(self, seed, number):
        self.random = random.Random(seed * 1_000_003 + number)
        self.tags = set()

    def pick(self, some):
        return self.random.choice(some)

    def chance(self, share):
        return self.random.random() < share

    def key(self):
        # Mostly few keys, so that commands meet.
        return self.pick(KEYS[:3] if self.chance(0.8) else KEYS)

    def several(self, one, most=3):
        return [one() for _ in range(self.random.randint(1, most))]

    def some_of(self, options, most=3):
        chosen = []
        for _ in range(self.random.randint(0, most)):
            option = self.pick(options)
            chosen += option() if callable(option) else [option]
        return chosen

    # -- commands

    def set(self):
        return ["SET", self.key(), self.pick(VALUES)] + self.some_of(
            ["NX", "XX", "GET", "KEEPTTL", lambda: ["EX", self.pick(SECONDS)], lambda: ["PX", self.pick(MILLISECONDS)],
             lambda: ["PX", "100000"], lambda: ["EXAT", self.pick(FUTURE)], lambda: ["PXAT", self.pick(FUTURE_MS)],
             "nx", "px", "FOO"])

    def strings(self):
        key = self.key()
        return self.pick([
            ["GET", key], ["GET", key], ["GETDEL", key], ["STRLEN", key], ["SETNX", key, self.pick(VALUES)],
            ["SETEX", key, self.pick(SECONDS), self.pick(VALUES)],
            ["PSETEX", key, self.pick(MILLISECONDS), self.pick(VALUES)],
            ["INCR", key], ["DECR", key], ["INCRBY", key, self.pick(NUMBERS)], ["DECRBY", key, self.pick(NUMBERS)],
        ])

    def lifetime(self):
        key = self.key()
        options = self.some_of(["NX", "XX", "GT", "LT", "FOO"], 2) if self.chance(0.4) else []
        return self.pick([
            ["TTL", key], ["PTTL", key], ["EXPIRETIME", key], ["PEXPIRETIME", key], ["PERSIST", key], ["TYPE", key],
            ["EXPIRE", key, self.pick(SECONDS)] + options, ["PEXPIRE", key, self.pick(MILLISECONDS)] + options,
            ["EXPIREAT", key, self.pick(STAMPS)] + options, ["PEXPIREAT", key, self.pick(STAMPS_MS)] + options,
        ])

    def keys(self):
        keys = self.several(self.key)
        return self.pick([["DEL"] + keys, ["UNLINK"] + keys, ["EXISTS"] + keys, ["TOUCH"] + keys, ["DBSIZE"],
                          ["FLUSHDB"] + self.some_of(["ASYNC", "SYNC", "FOO"], 1), ["FLUSHALL"],
                          ["KEYS", self.pick(["*", "?", "[ab]", "{*", "", "[", "a\\"])], self.scan()])

    def scan(self):
        # One page holds everything, or the pages could not be compared.
        return ["SCAN", self.pick(["0", "0", "0", "abc", ""])] + self.some_of(
            [lambda: ["MATCH", self.pick(["*", "a", "[a-c]"])], lambda: ["COUNT", self.pick(["1000", "0", "-1", "x"])],
             lambda: ["TYPE", self.pick(["string", "list", "hash", "STRING", "foo"])], "FOO", "MATCH"]) + \
            ["COUNT", "1000"]

    def hashes(self):
        key = self.key()
        return self.pick([["HGET", key, "f"], ["HEXISTS", key, "f"], ["HGETALL", key], ["HLEN", key], ["HKEYS", key]])

    def lists(self):
        key = self.key()
        values = self.several(lambda: self.pick(VALUES))
        return self.pick([
            ["LPUSH", key] + values, ["RPUSH", key] + values, ["LPOP", key], ["RPOP", key], ["LLEN", key],
            ["LPOP", key, self.pick(NUMBERS)], ["RPOP", key, self.pick(NUMBERS)],
            [self.pick(["BLPOP", "BRPOP"])] + self.several(self.key) + [self.pick(TIMEOUTS)],
        ])

    def connection(self):
        return self.pick([
            ["PING"], ["PING", "hi"], ["PING", "a", "b"], ["ECHO", self.pick(VALUES)], ["RESET"], ["QUIT"],
            ["SELECT", self.pick(NUMBERS + ["0", "1", "15", "16"])], ["AUTH", "secret"], ["AUTH", "default", "x"],
            ["AUTH", "nobody", "x"], ["AUTH", "a", "b", "c"], self.hello(), self.hello(),
        ])

    def hello(self):
        return ["HELLO"] + self.pick([[], [self.pick(["2", "3", "3", "1", "4", "abc", ""])] + self.some_of(
            [lambda: ["AUTH", "default", "x"], lambda: ["AUTH", "nobody", "x"], lambda: ["SETNAME", "me"],
             lambda: ["SETNAME", "a b"], "FOO", "AUTH"], 2)])

    def transaction(self):
        return self.pick([["MULTI"], ["EXEC"], ["DISCARD"], ["WATCH"] + self.several(self.key), ["UNWATCH"]])

    def pubsub(self):
        channels = self.several(lambda: self.pick(CHANNELS))
        verb = self.pick(["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"])
        return self.pick([
            [verb] + channels, ["UN" + verb] + channels if verb == "SUBSCRIBE" else [verb[0] + "UNSUBSCRIBE"] + channels,
            # Without names: one at most, for Redis answers in the order of its hash table.
            ["PUBSUB", "CHANNELS"], ["PUBSUB", "CHANNELS", "n*"], ["PUBSUB", "SHARDCHANNELS"], ["PUBSUB", "NUMPAT"],
            ["PUBSUB", "NUMSUB"] + channels, ["PUBSUB", "SHARDNUMSUB"] + channels, ["PUBSUB", "NOSUCH"],
            ["PUBSUB", "NUMPAT", "x"],
            ["PUBLISH", self.pick(CHANNELS), "m"], ["SPUBLISH", self.pick(CHANNELS), "m"],
        ])

    def clients(self):
        return ["CLIENT"] + self.pick([
            ["SETNAME", "me"], ["SETNAME", "a b"], ["SETNAME", ""], ["SETNAME"], ["GETNAME"], ["GETNAME", "x"],
            ["REPLY", self.pick(["ON", "OFF", "SKIP", "SKIP", "FOO"])], ["NO-EVICT", self.pick(["on", "off", "foo"])],
            ["GETREDIR"], ["UNBLOCK", self.pick(["0", "-1", "abc", "999999999"])] + self.some_of(["ERROR", "FOO"], 1),
            ["KILL", "1.2.3.4:5"], ["KILL", "ID", self.pick(["0", "abc", "-1", "999999999"])],
            ["KILL", "TYPE", "foo"], ["KILL", "ADDR"], ["KILL", "FOO", "bar"], ["KILL", "USER", "nobody"], ["KILL"],
            ["LIST", "TYPE", "foo"], ["LIST", "ID", "abc"], ["LIST", "FOO"], ["NOSUCH"], ["nosuch", "x"],
            ["TRACKING", self.pick(["foo", "off"])],
        ])

    def introspection(self):
        return self.pick([
            ["READONLY"], ["READWRITE"], ["ROLE", "x"], ["CLUSTER", "NODES"], ["CLUSTER", "SLOTS"],
            ["WAIT", "0", self.pick(["0", "100", "-1", "abc"])], ["WAIT", "abc", "0"], ["CONFIG", "GET", "nosuch"],
            ["CONFIG", "GET", "save"], ["CONFIG", "NOSUCH"], ["COMMAND", "GETKEYS", "GET", "a"],
            ["COMMAND", "GETKEYS", "DEL", "a", "b"], ["COMMAND", "GETKEYS", "PING", "a"], ["COMMAND", "NOSUCH"],
            ["COMMAND", "GETKEYS", "NOSUCH", "a"], ["COMMAND", "GETKEYS", "GET", "a", "b"], ["COMMAND", "INFO", "nosuch"],
            ["COMMAND", "GETKEYS", "BLPOP", "a", "b", "0"], ["INFO", "nosuch"], ["SENTINEL", "MASTERS"],
        ])

    def unknown(self):
        return [self.pick(["NOSUCH", "G\r\nET", "", "N" * 140, "SETT", "\x00"])] + self.some_of(
            ["a", "b c", "y" * 100, "\r\n", ""], 4)

    KINDS = [(set, 12), (strings, 14), (lifetime, 14), (keys, 8), (hashes, 3), (lists, 10), (connection, 6),
             (transaction, 8), (pubsub, 4), (clients, 4), (introspection, 3), (unknown, 3)]

    def command(self):
        make = self.random.choices([kind for kind, _ in self.KINDS], [weight for _, weight in self.KINDS])[0]
        command = make(self)
        # A bent INFO or CLIENT LIST would tell all about the two servers, and they are not the same.
        if command[0] not in ("CLIENT", "COMMAND", "CONFIG", "CLUSTER", "INFO", "ROLE", "SCAN") and self.chance(0.06):
            command = self.bend(command)
        if self.chance(0.2):
            command[0] = command[0].lower()
        return command

    def bend(self, command):
        """Another number of arguments, or another argument."""
        command = list(command)
        place = self.random.randrange(1, len(command) + 1)
        how = self.random.randrange(3)
        if how == 0 and len(command) > 1:
            del command[min(place, len(command) - 1)]
        elif how == 1:
            command.insert(place, self.pick(NONSENSE))
        elif place < len(command):
            command[place] = self.pick(NONSENSE)
        return command

    # -- bytes

    def frame(self, command):
        """A command as bytes; now and then not quite as it should be."""
        data = [argument.encode("latin-1") for argument in command]
        chance = self.random.random()
        if chance < 0.90:
            return encode(*data)
        if chance < 0.95:
            return self.inline(data)
        return self.broken(data)

    def inline(self, data):
        def quoted(argument):
            if argument and all(33 <= byte < 127 and byte not in b"\"'\\" for byte in argument) and self.chance(0.7):
                return argument
            return b'"' + b"".join(b"\\x%02x" % byte if byte < 32 or byte > 126 or byte in b'"\\' else bytes([byte])
                                   for byte in argument) + b'"'

        if data[0][:1] == b"*":
            return b""
        line = self.pick([b" ", b"  ", b"\t"]).join(quoted(argument) for argument in data)
        return line + self.pick([b"\r\n", b"\n", b" \r\n"])

    def broken(self, data):
        self.tags.add("broken framing")
        whole = encode(*data)
        count = len(data)
        how = self.random.randrange(14)
        if how == 0:
            return whole.replace(b"*%d" % count, b"*%d" % (count + self.pick([-1, 1])), 1)
        if how == 1:
            return whole.replace(b"*%d" % count, self.pick([b"*abc", b"*01", b"*+1", b"* 1", b"*1.0", b"*2147483648"]), 1)
        if how == 2:
            return self.pick([b"*0\r\n", b"*-1\r\n", b"*-10\r\n", b"\r\n", b"\n", b"   \r\n"]) + whole
        if how == 3:
            at = whole.index(b"$")
            return whole[:at] + self.pick([b"x", b"*", b":", b"\r", b"$$"]) + whole[at + 1:]
        if how == 4:
            return whole.replace(b"$", self.pick([b"$-", b"$x", b"$0", b"$ ", b"$+"]), 1)
        if how == 5:
            return whole[:self.random.randrange(len(whole))]
        if how == 6:
            return self.pick([b"ECHO \"abc\r\n", b"ECHO 'a'b\r\n", b"ECHO \"a\"b\r\n", b"ECHO \"\r\n", b"ECHO a\"b\r\n",
                              b"ECHO 'a\\'b'\r\n", b"ECHO \"\\xzz\\n\\r\\t\\b\\a\\\\\"\r\n"])
        if how == 7:
            self.tags.add("HTTP")
            return self.pick([b"POST / HTTP/1.1\r\n\r\n", b"Host: x\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
        if how == 8:
            return whole[:-2] + self.pick([b"xx", b"\n\n", b"\r\r", b"*1"])
        if how == 9:
            # One too many or too few: what follows is read from the wrong place.
            last = len(data[-1])
            head = b"$%d\r\n" % last
            at = whole.rindex(head)
            return whole[:at] + b"$%d\r\n" % max(0, last + self.pick([-1, 1])) + whole[at + len(head):]
        if how == 10:
            self.tags.add("arguments beyond the cap")
            return encode("DEL", *["none%d" % i for i in range(self.pick([1023, 1024, 1025, 1100]))])
        if how == 11:
            self.tags |= {"argument beyond the cap", "long replies"}
            return encode("ECHO", "x" * self.pick([65535, 65536, 65537, 70000]))
        if how == 12:
            self.tags |= {"long inline", "long replies"}
            return b"ECHO " + b"x" * self.pick([60_000, 65_000, 66_000, 70_000]) + b"\r\n"
        self.tags.add("NUL in an inline command")
        return b"PING a\x00b\r\n"

    def make(self):
        commands = [["FLUSHALL"]]
        if self.chance(0.3):
            commands.append(["HELLO", "3"])
        for _ in range(self.random.randint(1, 12)):
            if self.chance(0.06):
                inside = [self.command() for _ in range(self.random.randint(0, 4))]
                commands += [["MULTI"]] + inside + [[self.pick(["EXEC", "EXEC", "EXEC", "DISCARD"])]]
            else:
                commands.append(self.command())
        data = encode("FLUSHALL") + b"".join(self.frame(command) for command in commands[1:]) + encode("ECHO", END)
        self.note(commands)
        if "broken framing" in self.tags and b"\x00" in data:
            self.tags.add("NUL in an inline command")  # an argument may be read as one
        return Stream(data, self.cut(data), self.tags, commands)

    def cut(self, data):
        """The same bytes in one piece or in several."""
        if self.chance(0.8) or len(data) > 10_000:
            return [data]
        places = sorted(self.random.randrange(len(data)) for _ in range(self.random.randint(1, 4)))
        return [data[begin:end] for begin, end in zip([0] + places, places + [len(data)]) if begin < end]

    def note(self, commands):
        """What the comparison must know about the stream."""
        for command in commands:
            name = command[0].upper()
            if name in ("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"):
                self.tags.add("times")
            if name in ("KEYS", "SCAN", "PUBSUB", "HGETALL", "HKEYS"):
                self.tags.add("sets")
            if name in ("UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"):
                self.tags.add("unordered confirmations")
            if name.endswith(("EXPIRE", "EXPIREAT")) and "GT" in command[3:]:
                self.tags.add("GT")
            if name == "EXEC":
                self.tags.add("exec")
            if name == "CLIENT" and len(command) == 3 and command[2].upper() in ("OFF", "SKIP"):
                self.tags.add("no replies")
            if name in ("PUBLISH", "SPUBLISH"):
                self.tags.add("messages")
            if name in ("CLIENT", "CONFIG", "COMMAND", "PUBSUB", "CLUSTER"):
                self.tags.add("subcommands")


Stream = collections.namedtuple("Stream", "data pieces tags commands")


# ---- answers --------------------------------------------------------------------------------------------------


def answer(port, pieces):
    """Everything the server says to these bytes, up to the end of the connection, and whether a reset ended it: who
    closes before it has read everything resets the connection, and then TCP may lose what was said before."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE / 4) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        parts, reset = [], False
        try:
            for piece in pieces:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            reset = True  # it has closed while we were still talking
        try:
            while part := connection.recv(1 << 20):
                parts.append(part)
        except ConnectionResetError:
            reset = True
        except TimeoutError:
            parts.append(b"-the connection stays open\r\n")
        return b"".join(parts), reset


class Cut(Exception):
    pass


def parse(data, at=0):
    """One value as (type, content), and where it ends."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Cut
    kind, rest, at = data[at:at + 1], data[at + 1:end], end + 2
    if kind in b"+-:_#,(":
        return (kind, rest), at
    if kind in b"$=":
        size = int(rest)
        if size < 0:
            return (kind, None), at
        if len(data) < at + size + 2:
            raise Cut
        return (kind, data[at:at + size]), at + size + 2
    if kind in b"*~>%":
        count = int(rest)
        if count < 0:
            return (kind, None), at
        members = []
        for _ in range(count * 2 if kind == b"%" else count):
            member, at = parse(data, at)
            members.append(member)
        return (kind, tuple(members)), at
    raise AssertionError(f"not a reply: {data[at:at + 100]!r}")


def replies(data):
    found, at = [], 0
    while at < len(data):
        try:
            value, at = parse(data, at)
        except (Cut, ValueError):
            found.append(("cut", data[at:]))
            break
        found.append(value)
    return found


def without_hello(value):
    """HELLO's own id and version are nobody's business."""
    kind, content = value
    if kind in (b"%", b"*") and content and content[0] == (b"$", b"server"):
        members = list(content)
        for i in range(0, len(members) - 1, 2):
            if members[i][1] in (b"id", b"version"):
                members[i + 1] = ("any", b"")
        return kind, tuple(members)
    if kind in (b"*",) and content:
        return kind, tuple(without_hello(member) for member in content)
    return value


def as_sets(value):
    kind, content = value
    if kind in (b"*", b"~", b"%") and content:
        return kind, tuple(sorted((as_sets(member) for member in content), key=repr))
    return value


MANY_YEARS = 9_000_000_000  # seconds; 292 years are the most that a lease is counted in


def alike(theirs, ours):
    """Equal but for the time that passed between the two."""
    if theirs == ours:
        return True
    if theirs[0] != ours[0] or theirs[1] is None or ours[1] is None:
        return False
    if theirs[0] == b":":
        a, b = int(theirs[1]), int(ours[1])
        return (min(a, b) > 10 and abs(a - b) <= 1) or (min(a, b) > 50_000 and abs(a - b) < 50_000) or \
            min(a, b) >= MANY_YEARS
    if theirs[0] in (b"*", b"~", b"%"):
        return len(theirs[1]) == len(ours[1]) and all(map(alike, theirs[1], ours[1]))
    return False


def is_message(value):
    return value[0] in (b"*", b">") and value[1] and value[1][0][1] in (b"message", b"pmessage", b"smessage")


def normal(data, tags):
    values = [without_hello(value) for value in replies(data)]
    if "sets" in tags:
        values = [as_sets(value) for value in values]
    if "messages" in tags:
        # Messages to oneself: which comes first, the message or the reply to PUBLISH, is nobody's business.
        values = [v for v in values if not is_message(v)] + sorted((v for v in values if is_message(v)), key=repr)
    if "unordered confirmations" in tags:
        values = [(v[0], v[1][:1] + v[1][2:]) if is_confirmation(v) else v for v in values]
    return values


def is_confirmation(value):
    first = value[1][0][1] if value[0] in (b"*", b">") and value[1] else None
    return isinstance(first, bytes) and first.endswith(b"subscribe")


def same(stream, theirs, ours):
    if theirs == ours:
        return True
    a, b = normal(theirs, stream.tags), normal(ours, stream.tags)
    if a == b:
        return True
    return "times" in stream.tags and len(a) == len(b) and all(map(alike, a, b))


# ---- intended differences -------------------------------------------------------------------------------------


def prefix(stream, theirs, ours):
    """How many replies are the same."""
    pairs = zip(normal(theirs, stream.tags), normal(ours, stream.tags))
    return next((i for i, (a, b) in enumerate(pairs) if not alike(a, b)),
                min(len(normal(theirs, stream.tags)), len(normal(ours, stream.tags))))


def refused_with(text):
    """Lockkeeper says the same up to a point, then this error, and closes."""

    def check(stream, theirs, ours):
        said = normal(ours, stream.tags)
        return bool(said) and said[-1] == (b"-", b"ERR Protocol error: " + text) and \
            prefix(stream, theirs, ours) >= len(said) - 1

    return check


def says_more(stream, theirs, ours):
    """Lockkeeper says all that Redis says, and goes on."""
    return prefix(stream, theirs, ours) == len(normal(theirs, stream.tags))


def cut_short(stream, theirs, ours):
    """Redis drops what a half-closed client does not take at once; Lockkeeper goes on from there."""
    said = normal(theirs, stream.tags)
    return bool(said) and said[-1][0] == "cut" and ours.startswith(theirs)


def later_by_less_than_a_millisecond(stream, theirs, ours):
    """The same time to live twice in one millisecond: the second ends later, and only Lockkeeper can tell."""
    a, b = normal(theirs, stream.tags), normal(ours, stream.tags)
    return len(a) == len(b) and \
        all(alike(x, y) or (x, y) == ((b":", b"0"), (b":", b"1")) for x, y in zip(a, b))


def goes_on_instead_of(text):
    """Redis refuses and closes; Lockkeeper goes on."""

    def check(stream, theirs, ours):
        said = normal(theirs, stream.tags)
        return bool(said) and said[-1] == (b"-", text) and prefix(stream, theirs, ours) == len(said) - 1

    return check


def an_exec_that_is_refused(stream, theirs, ours):
    """Redis: EXECABORT, and the transaction is over. Lockkeeper: the refusal itself."""
    a, b = normal(theirs, stream.tags), normal(ours, stream.tags)
    at = prefix(stream, theirs, ours)
    begin = b"EXECABORT Transaction discarded because of: "
    return at < min(len(a), len(b)) and a[at][0] == b"-" and a[at][1].startswith(begin) and \
        b[at] == (b"-", b"ERR " + a[at][1].removeprefix(begin))


def after_client_reply_off(stream, theirs, ours):
    """Protocol errors are said nevertheless; confirmations of subscriptions, and the head of an EXEC's reply that
    has no members, are not."""

    def visible(data):
        return [v for v in normal(data, stream.tags) if not (v[0] == b"-" and v[1].startswith(b"ERR Protocol error"))
                and not is_confirmation(v) and v[0] != "cut"]

    return visible(theirs) == visible(ours)


def a_subcommand_is_checked_when_it_runs(stream, theirs, ours):
    """What Redis refuses at the door Lockkeeper queues, or forbids to a listener, and refuses when it runs."""
    a, b = normal(theirs, stream.tags), normal(ours, stream.tags)
    at = prefix(stream, theirs, ours)
    if at >= min(len(a), len(b)) or a[at][0] != b"-":
        return False
    if b"command|getkeys" in a[at][1]:
        return True  # Redis 7.2 wants one argument less than 7.0
    refused = b"unknown subcommand" in a[at][1] or b"|" in a[at][1].split(b"' command")[0]
    return refused and (b[at] == (b"+", b"QUEUED") or b[at][1].startswith(b"ERR Can't execute"))


# What a stream is tagged with -> what may then be different. docs/compatibility.md says why.
INTENDED = {
    "more than 1,024 arguments": ("arguments beyond the cap", refused_with(b"invalid multibulk length")),
    "an argument of more than 64 KiB": ("argument beyond the cap", refused_with(b"invalid bulk length")),
    "an inline command of more than 64 KiB": ("long inline", refused_with(b"too big inline request")),
    "bulk without CRLF": ("broken framing", refused_with(b"expected CRLF after bulk")),
    "CR without LF after a count": ("broken framing", refused_with(b"invalid multibulk length")),
    "CR without LF after a length": ("broken framing", refused_with(b"invalid bulk length")),
    "NUL in an inline command": ("NUL in an inline command", says_more),
    "NUL in an inline command, with much behind it": (
        "NUL in an inline command", goes_on_instead_of(b"ERR Protocol error: too big inline request")),
    "HTTP after commands": ("HTTP", says_more),
    "much to say to a half-closed client": ("long replies", cut_short),
    "GT within a millisecond": ("GT", later_by_less_than_a_millisecond),
    "EXEC that is refused": ("exec", an_exec_that_is_refused),
    "after CLIENT REPLY OFF": ("no replies", after_client_reply_off),
    "subcommands are checked when they run": ("subcommands", a_subcommand_is_checked_when_it_runs),
}


def intended(stream, theirs, ours):
    """The name of the difference, or None."""
    for name, (tag, check) in INTENDED.items():
        if tag in stream.tags and check(stream, theirs, ours):
            return name
    return None


# ---- the test -------------------------------------------------------------------------------------------------


def show(data, most=3000):
    return repr(data if len(data) <= most else data[:most] + b"...")


def is_cut(data):
    return any(value[0] == "cut" for value in replies(data)[-1:])


def is_beginning(stream, less, more):
    """The whole replies of the one are the first of the other, whose last may be an intended difference."""
    whole = [value for value in normal(less, stream.tags) if value[0] != "cut"]
    return len(whole) <= len(normal(more, stream.tags)) and all(map(alike, whole, normal(more, stream.tags)))


def compare(seed, number, redis, servers):
    """The name of an intended difference or None, and a report or None."""
    stream = Maker(seed, number).make()
    server = servers[number % len(servers)]
    for _ in range(TRIES):
        (theirs, theirs_reset), (ours, ours_reset) = answer(redis.port, stream.pieces), answer(server.port, stream.pieces)
        if same(stream, theirs, ours):
            return None, None
        name = intended(stream, theirs, ours)
        if name:
            return name, None
        if not theirs_reset and not ours_reset:
            break
    # Redis writes 64 KiB at a time, and drops what is left as soon as it sees the end of our bytes.
    if theirs_reset or is_cut(theirs):
        if is_beginning(stream, theirs, ours):
            return "Redis' last replies are lost, every time", None
    if ours_reset and is_beginning(stream, ours, theirs):
        return "our last replies are lost in a reset, every time", None
    a, b = normal(theirs, stream.tags), normal(ours, stream.tags)
    first = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y and not alike(x, y)), min(len(a), len(b)))
    report = [f"stream {number} of seed {seed}, {server.cores} core(s), tags {sorted(stream.tags)}",
              f"  sent:       {show(stream.data)}",
              f"  redis:      {show(theirs)}", f"  lockkeeper: {show(ours)}",
              f"  first difference, reply {first}: {a[first:first + 1]} / {b[first:first + 1]}",
              f"  again: {sys.argv[0]} {os.environ['LOCKKEEPER']} --seed {seed} --only {number}"]
    return None, "\n".join(report)


class Differential(unittest.TestCase):
    options = None

    def test_random_streams_are_answered_as_redis_does(self):
        seed = self.options.seed
        numbers = [self.options.only] if self.options.only is not None else range(self.options.streams)
        seen, failures, began = collections.Counter(), 0, time.monotonic()
        print(f"seed {seed}, {len(numbers)} streams", flush=True)
        # Streams follow each other like the tries of a client that polls, and one that guesses passwords; nobody is to
        # be preferred for it, or kept waiting.
        config = ("policies: [{keys: '*', pollers: barge, starvation_after: 1h}]\n"
                  "limits: {failed_logins_per_address: 0}\n")
        with Redis() as redis, Lockkeeper(cores=1, config=config) as one, Lockkeeper(cores=2, config=config) as two:
            for server, cores in ((one, 1), (two, 2)):
                server.cores = cores
            for number in numbers:
                name, report = compare(seed, number, redis, (one, two))
                if name:
                    seen[name] += 1
                if report:
                    failures += 1
                    if failures <= SHOWN:
                        print(report, flush=True)
        print(f"{len(numbers)} streams in {time.monotonic() - began:.0f} s; intended differences: {dict(seen)}")
        self.assertEqual(failures, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--only", type=int)
    Differential.options = parser.parse_args()
    os.environ["LOCKKEEPER"] = os.path.abspath(Differential.options.binary)
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
