"""Servers that speak RESP, as the peers want them: one Redis, masters, and Lockkeeper on top of them."""

import contextlib
import re
import subprocess

from harness import Lockkeeper, Redis, lockkeeper_binary, stripe_of


def redis_version():
    said = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    return "Redis " + re.search(r"v=(\S+)", said).group(1)


def lockkeeper_version():
    said = subprocess.run([lockkeeper_binary(), "--version"], capture_output=True, text=True, timeout=30).stdout
    return said.strip().splitlines()[0] if said.strip() else "Lockkeeper"


@contextlib.contextmanager
def masters(count):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Redis()) for _ in range(count)]


@contextlib.contextmanager
def lockkeeper_on(voters, more="", cores=1, memory="512M"):
    """A proxy on these masters. Its end is not judged: the clients of a benchmark leave as they like."""
    proxy = Lockkeeper(cores=cores, memory=memory, config=(stripe_of(voters, timeout="2s") if voters else "") + more,
                       overprovisioned=False)
    try:
        proxy.wait_until_ready()
        proxy.wait_for_votes(len(voters) * cores)
        yield proxy
    finally:
        proxy.kill()
