"""A headless Chromium that a test can drive: the protocol of its developer tools over a pipe, with Python's standard
library alone."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

from support import PATIENCE


def chromium():
    """Where it is, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


# The browser expects the pipe at these numbers, which may be in use for the other end of it.
AT_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 100) for number in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One browser with one page. Messages are JSON, each with a zero byte at its end."""

    def __init__(self, width=1280, height=900):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()
        command = [
            chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-default-apps", "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb",
            f"--user-data-dir={self.folder.name}", f"--window-size={width},{height}",
            "--remote-debugging-pipe", "about:blank",
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-c", AT_3_AND_4, str(to_browser), str(from_browser), *command],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": self.folder.name},
        )
        os.close(to_browser)
        os.close(from_browser)
        self.pending = b""
        self.number = 0
        self.session = None
        self.problems = []  # what the page complained of

    def __enter__(self):
        try:
            pages = self.wait_for(lambda: [
                one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"])
            self.session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        self.folder.cleanup()

    def read(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.into], [], [], max(0, end - time.monotonic()))
            data = os.read(self.into, 1 << 16) if ready else b""
            if not data:
                raise AssertionError("the browser does not answer")
            self.pending += data
        message, _, self.pending = self.pending.partition(b"\0")
        return json.loads(message)

    def note(self, event):
        kind, what = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.problems.append(what["exceptionDetails"].get("exception", {}).get("description", str(what)))
        elif kind == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.problems.append(f'{what["entry"]["text"]} {what["entry"].get("url", "")}')
        elif kind == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    requests = ()

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def open(self, address):
        self.requests = []
        self.call("Page.navigate", url=address)
        self.wait_for(lambda: self.run("document.readyState") == "complete")

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{script}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def wait_for(self, condition):
        """What the condition returns, as soon as that is true."""
        end = time.monotonic() + PATIENCE
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < end, "the page did not come to that"
            time.sleep(0.05)

    def wait_for_script(self, script):
        return self.wait_for(lambda: self.run(script))

    def press(self, key, code=None):
        text = {"text": key} if len(key) == 1 else {}
        if key == "Enter":
            text = {"text": "\r"}
        numbers = {"Escape": 27, "Enter": 13}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      windowsVirtualKeyCode=numbers.get(key, ord(key[0].upper())), **(text if kind == "keyDown" else {}))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def size(self, width, height, mobile=False, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=mobile)

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        shot = self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
