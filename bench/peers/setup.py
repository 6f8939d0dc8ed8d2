"""Scripts of peers as processes of their own, and what they need: installed once, before anybody looks at the clock.

What could not be installed is known by script, as the JSON lines that the peer would have left instead of figures. It can be
kept in a file, so that a program that measures later neither tries again nor wonders.
"""

import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SETUP_PATIENCE = 1800


def run(script, words, patience):
    """The lines of one script; what it could not do in time is a line, too."""
    process = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, script), *map(str, words)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, process_group=0)
    try:
        said, _ = process.communicate(timeout=patience)
        return process.returncode, [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    except subprocess.TimeoutExpired:
        return None, [{"contender": script.removesuffix(".py"), "failed": f"not done after {patience:.0f} s"}]
    finally:
        # Its servers and workers are in its group.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()


def set_up(script, lockkeeper):
    """Brings what a script needs; lines that tell why it cannot be measured, none if it can."""
    print(f"set-up of {script}", file=sys.stderr, flush=True)
    began = time.monotonic()
    code, lines = run(script, [lockkeeper, "--setup"], SETUP_PATIENCE)
    if code == 0:
        print(f"  done in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return []
    return lines or [{"contender": script.removesuffix(".py"), "failed": f"its set-up ended with code {code}"}]


def read_results(file):
    """What an earlier --setup has found: lines by script."""
    if not file or not os.path.exists(file):
        return {}
    with open(file) as found:
        return json.load(found)


def set_up_once(scripts, options):
    """Lines by script, as set_up() has them; from --setup-results if an earlier --setup has been there."""
    known = read_results(options.setup_results)
    for script in scripts:
        if script not in known:
            known[script] = set_up(script, options.lockkeeper)
    if options.setup and options.setup_results:
        with open(options.setup_results, "w") as file:
            json.dump(known, file, indent=2)
    return {script: known[script] for script in scripts}


def add_setup_options(parser):
    parser.add_argument("--setup", action="store_true", help="install what is missing, and end")
    parser.add_argument("--setup-results", metavar="FILE",
                        help="with --setup: what could not be installed goes there; without: believe that file and install nothing")
