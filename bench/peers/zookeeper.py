#!/usr/bin/env python3
"""ZooKeeper with kazoo's Lock: sequential nodes, each waiter watches the one before it.

One server, so that nothing has to be replicated, with its files in memory: the kindest case. Each client is a session of its
own; they share a few Python processes.
"""

import glob
import re
import socket
import sys

from harness import Failed, Server, call, free_port, main, measure, os, packages, scratch_folder

PROCESSES = 4
# Debian's; a program of the user's own may have another kazoo, or none.
PYTHON = "/usr/bin/python3"
CONFIGURATION = """\
clientPort={port}
clientPortAddress=127.0.0.1
dataDir={folder}
tickTime=2000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=mntr,srvr
"""


def worker():
    import kazoo.client
    import kazoo.version

    import threads

    def make_client(number):
        client = kazoo.client.KazooClient(f"127.0.0.1:{os.environ['PEER_PORT']}", timeout=30)
        client.start(timeout=60)
        lock = client.Lock("/" + os.environ["PEER_KEY"].replace(":", "-"), str(number))
        return lock.acquire, lock.release

    print("# kazoo", kazoo.version.__version__)
    threads.run(make_client)


def ask(port, word):
    """One of ZooKeeper's words of four letters."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(word)
        answer = b""
        while data := connection.recv(65536):
            answer += data
    return answer.decode()


def class_path():
    jars = glob.glob("/usr/share/java/zookeeper.jar")
    if not jars:
        raise Failed("there is no /usr/share/java/zookeeper.jar")
    # Its manifest names the rest.
    return ":".join(["/etc/zookeeper/conf", *jars])


def lock(options):
    port = free_port()
    with scratch_folder() as folder:
        file = os.path.join(folder, "zoo.cfg")
        with open(file, "w") as out:
            out.write(CONFIGURATION.format(port=port, folder=folder))
        with Server(["java", "-Xmx512m", "-cp", class_path(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", file],
                    port, cwd=folder) as server:
            # It says that it is well before it serves.
            server.wait_for(lambda: "Mode:" in ask(port, b"srvr"))
            version = re.search(r"version: ([\d.]+)", ask(port, b"srvr")).group(1)
            before = packets(port)
            commands = [[PYTHON, "-B", __file__, "worker"]] * min(PROCESSES, options.clients)
            report = measure(options, commands, {"PEER_PORT": str(port)}, [server])
            # Of the whole run, the warm-up included.
            report["packets_received"] = packets(port) - before
    whole = report["sections"] * (options.seconds + options.warmup) / options.seconds
    report["commands_per_section"] = report["packets_received"] / max(whole, 1)
    return "ZooKeeper, kazoo's Lock, one server", f"ZooKeeper {version}, kazoo {report['notes'].get('kazoo')}", report


def packets(port):
    return int(next(line.split()[1] for line in ask(port, b"mntr").splitlines() if line.startswith("zk_packets_received")))


def setup():
    packages("bench-zookeeper")
    call([PYTHON, "-c", "import kazoo"], 60)
    class_path()


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        worker()
    sys.exit(main(__doc__, {"zookeeper": lock}, setup))
