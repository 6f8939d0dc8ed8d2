"""The wires to a master, which can be cut for some of those who come over them, in one direction or in both."""

import os
import selectors
import socket
import threading
import time


def process_behind(port, candidates):
    """Which of these processes has the local port."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    inodes = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(f":{port:04X}")}
    for pid in candidates:
        try:
            for number in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{number}") in inodes:
                    return pid
        except OSError:
            continue  # it has gone, or closed that one just now
    return None


class Relay:
    """Passes bytes on, unless told not to. What is cut stays open: nobody is told, as in a partition.

    `processes` tells who may come: all have to use the same address of a master, for that is what makes them one fleet.
    """

    def __init__(self, target, processes):
        self.target = target
        self.processes = processes
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cuts = set()  # (process, direction)
        self.selector = selectors.DefaultSelector()
        self.wake, self.woken = socket.socketpair()
        self.ended = False
        self.resets = False
        self.heals = False
        self.accepted = 0
        self.pairs = []
        self.owners = {}  # of pairs: looked up when it matters
        self.late = None  # process whose requests are kept back
        self.kept = {}  # pair -> those
        self.stranding = False
        self.stranded = []  # (the far side of a connection whose near side has gone, what was kept back)
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.selector.register(self.woken, selectors.EVENT_READ, None)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True
        self.wake.send(b"x")
        self.thread.join()
        for one in (self.listener, self.wake, self.woken, *(far for far, _ in self.stranded)):
            one.close()

    def cut(self, process, *directions):
        self.cuts |= {(process, direction) for direction in directions}

    def keep_back(self, process):
        """What it sends from now on is late."""
        self.late = process

    def strand(self):
        """Who was kept back finds its connections broken; the other side hears nothing of that. New ones are whole."""
        self.stranding = True
        self.wake.send(b"x")

    def deliver(self, expected):
        """What was kept back arrives after all. Whether this was in the answers before the other side gave up."""
        found = False
        for far, kept in self.stranded:
            got = b""
            try:
                far.sendall(kept)
                while expected not in got and (answer := far.recv(65536)):
                    got += answer
            except OSError:
                pass
            far.close()
            found = found or expected in got
        self.stranded = []
        return found

    def heal(self):
        """Whole again. Connections that lost bytes are of no use: all are reset."""
        self.heals = True
        self.reset()

    def reset(self):
        """Breaks all connections."""
        self.resets = True
        self.wake.send(b"x")

    def reset_and_wait(self):
        """The same, until the next one has been made."""
        accepted = self.accepted
        self.reset()
        end = time.monotonic() + 60
        while self.accepted == accepted and time.monotonic() < end:
            time.sleep(0.01)

    def run(self):
        while not self.ended:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj is self.woken:
                    self.woken.recv(100)
                else:
                    self.carry(key.fileobj, *key.data)
            if self.stranding:
                self.late, self.stranding = None, False
                for pair, kept in list(self.kept.items()):
                    far = pair[1].dup()
                    far.settimeout(30)
                    self.drop(pair)
                    self.stranded.append((far, kept))
                self.kept = {}
            if self.resets or self.ended:
                self.resets = False
                for pair in list(self.pairs):
                    self.drop(pair)
                if self.heals:
                    self.cuts, self.heals = set(), False

    def accept(self):
        near = self.listener.accept()[0]
        try:
            far = socket.create_connection(("127.0.0.1", self.target), 1)
        except OSError:
            near.close()
            return
        far.settimeout(5)
        near.settimeout(5)
        pair = (near, far)
        self.accepted += 1
        self.pairs.append(pair)
        self.selector.register(near, selectors.EVENT_READ, ("requests", far, pair))
        self.selector.register(far, selectors.EVENT_READ, ("replies", near, pair))

    def process_of(self, pair):
        if pair not in self.owners:
            self.owners[pair] = process_behind(pair[0].getpeername()[1], self.processes())
        return self.owners[pair]

    def carry(self, source, direction, sink, pair):
        if pair not in self.pairs:
            return
        try:
            data = source.recv(65536)
            if data and self.late and direction == "requests" and self.process_of(pair) == self.late:
                self.kept[pair] = self.kept.get(pair, b"") + data
            elif data and not (self.cuts and (self.process_of(pair), direction) in self.cuts):
                sink.sendall(data)
        except OSError:
            data = b""
        if not data:
            self.drop(pair)

    def drop(self, pair):
        self.pairs.remove(pair)
        self.owners.pop(pair, None)
        self.kept.pop(pair, None)
        for one in pair:
            self.selector.unregister(one)
            one.close()
