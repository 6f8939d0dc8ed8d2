"""The live page in a real browser, with real traffic.

With LOCKKEEPER_SHOTS=folder it leaves screenshots there: that is how those in docs/images are made.
"""

import os
import random
import threading
import time
import unittest

from browser import Browser, chromium
from support import PATIENCE, Client, Lockkeeper, Redis, main, stripe_of

SHOTS = os.environ.get("LOCKKEEPER_SHOTS")


class Traffic:
    """Clients that take a lock, hold it for a moment, and come again."""

    def __init__(self, port, locks):
        """`locks`: (key, clients, seconds of a hold)."""
        self.port = port
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(key, f"{name}-{i}", hold), daemon=True)
                        for key, name, clients, hold in locks for i in range(clients)]

    def work(self, key, name, hold):
        chance = random.Random(name)
        with Client(self.port) as client:
            client.call("CLIENT", "SETNAME", name)
            owner = f"{name}:{chance.getrandbits(32):08x}"
            while not self.stopping.is_set():
                if client.call("LK.ACQUIRE", key, owner, "TTL", 60000, "WAIT", 500):
                    self.stopping.wait(hold * chance.uniform(0.5, 1.5))
                    client.call("LK.RELEASE", key, owner)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join(PATIENCE)


@unittest.skipUnless(chromium(), "there is no Chromium: scripts/setup test installs it")
class Page(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Lockkeeper(http=True, config="slow: {wait: 300ms, hold: 300ms}\n"))
        self.browser = self.enterContext(Browser())
        self.address = f"http://127.0.0.1:{self.server.http_port}/"

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])

    def shoot(self, name):
        if SHOTS:
            self.browser.screenshot(os.path.join(SHOTS, name + ".png"))

    def client(self, name=None):
        client = self.enterContext(Client(self.server.port))
        if name:
            client.call("CLIENT", "SETNAME", name)
        return client

    def names(self):
        return self.browser.run("[...document.querySelectorAll('#hot-table tbody a.name')].map(one => one.textContent)")

    def test_a_hot_lock_is_shown_soon_after_the_traffic_begins(self):
        self.browser.open(self.address)
        self.browser.wait_for_script("document.getElementById('state-text').textContent === 'ready'")
        self.assertEqual(self.names(), [])
        began = time.monotonic()
        with Traffic(self.server.port, [("report:daily", "worker", 5, 0.05)]):
            self.browser.wait_for(lambda: self.names() == ["report:daily"])
            took = time.monotonic() - began
            row = "document.querySelector('#hot-table tbody tr')"
            self.browser.wait_for_script(f"{row}.cells[1].textContent.includes('worker-')")
            self.browser.wait_for_script(f"/^[1-5]$/.test({row}.cells[2].textContent)")
            self.browser.wait_for_script(f"/[1-9].*\\/s$/.test({row}.cells[6].textContent)")
            # Waits and throughput reach tiles and charts.
            self.browser.wait_for_script("/ms|s|µs/.test(document.querySelectorAll('.tile dd')[4].textContent)")
            self.browser.wait_for_script("document.querySelector('#chart-wait path.line.one').getAttribute('d').length > 20")
        print(f"shown {took:.1f} s after the traffic began")

    def test_one_lock_in_depth_by_keyboard_alone(self):
        holder = self.client("first")
        holder.call("LK.ACQUIRE", "deep:lock", "owner-a", "TTL", 60000)
        second, third = self.client("second"), self.client("third")
        second.send("LK.ACQUIRE", "deep:lock", "owner-b", "TTL", 60000, "WAIT", 0)
        self.browser.open(self.address)
        self.browser.wait_for(lambda: self.names() == ["deep:lock"])
        third.send("LK.ACQUIRE", "deep:lock", "owner-c", "TTL", 60000, "WAIT", 0)
        self.browser.press("j")
        self.browser.press("Enter")
        self.browser.wait_for_script("!document.getElementById('drawer').hidden")
        owners = lambda id: self.browser.run(
            f"[...document.querySelectorAll('#{id} .owner')].map(one => one.textContent)")
        self.browser.wait_for(lambda: owners("lock-queue") == ["owner-b", "owner-c"])
        self.assertEqual(owners("lock-holders"), ["owner-a"])
        holder.call("LK.RELEASE", "deep:lock", "owner-a")
        self.browser.wait_for(lambda: owners("lock-holders") == ["owner-b"])
        self.browser.wait_for(lambda: owners("lock-history")[:1] == ["owner-a"])
        self.browser.press("Escape")
        self.browser.wait_for_script("document.getElementById('drawer').hidden")

    def test_search_by_keyboard(self):
        client = self.client()
        for key in ("cart:1", "cart:2", "other"):
            client.call("SET", key, "x", "PX", 60000)
        self.browser.open(self.address)
        self.browser.press("/")
        self.browser.wait_for_script("document.activeElement.id === 'search-text'")
        self.browser.type("cart")
        found = lambda: self.browser.run(
            "[...document.querySelectorAll('#results-table tbody a.name')].map(one => one.textContent)")
        self.browser.wait_for(lambda: found() == ["cart:1", "cart:2"])
        self.browser.press("Escape")
        self.browser.wait_for_script("document.getElementById('results').hidden")

    def test_text_of_strangers_stays_text(self):
        evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
        holder = self.client()
        holder.call("CLIENT", "SETNAME", "<b>bold</b>")
        holder.call("LK.ACQUIRE", evil, evil, "TTL", 60000)
        self.client().send("LK.ACQUIRE", evil, "<i>w</i>", "TTL", 60000, "WAIT", 0)
        self.browser.open(self.address)
        self.browser.wait_for(lambda: self.names() == [evil])
        self.browser.run("document.querySelector('#hot-table a.name').click()")
        self.browser.wait_for_script("document.querySelector('#lock-queue .owner')?.textContent === '<i>w</i>'")
        self.assertEqual(self.browser.run("document.getElementById('lock-key').textContent"), evil)
        self.assertEqual(self.browser.run("document.title"), "Lockkeeper")
        self.assertEqual(self.browser.run("document.querySelectorAll('main img, main script, main b, aside i').length"), 0)

    def test_nothing_is_asked_of_anybody_else(self):
        self.browser.open(self.address)
        self.browser.wait_for_script("document.getElementById('state-text').textContent === 'ready'")
        asked = [url for url in self.browser.requests if not url.startswith((self.address, "data:"))]
        self.assertEqual(asked, [])
        self.assertGreaterEqual(len(self.browser.requests), 4)

    def test_slow_waits_and_habits_are_shown(self):
        holder, waiter = self.client("importer"), self.client("exporter")
        holder.call("SET", "import:17", "t", "NX")
        holder.call("DEL", "import:17")
        holder.call("LK.ACQUIRE", "file", "a", "TTL", 60000)
        self.assertIsNone(waiter.call("LK.ACQUIRE", "file", "b", "TTL", 60000, "WAIT", 400))
        self.browser.open(self.address)
        self.browser.wait_for_script("document.getElementById('slow-list').textContent.includes('exporter')")
        self.browser.wait_for_script("document.getElementById('lint-list').textContent.includes('import:*')")

    def test_the_page_says_when_the_server_is_gone(self):
        self.browser.open(self.address)
        self.browser.wait_for_script("document.getElementById('state-text').textContent === 'ready'")
        self.server.signal(15)
        self.server.wait()
        self.browser.wait_for_script("document.getElementById('state-text').textContent === 'no answer'")
        self.browser.problems = [one for one in self.browser.problems if "ERR_CONNECTION" not in one]


@unittest.skipUnless(chromium(), "there is no Chromium: scripts/setup test installs it")
class Breaking(unittest.TestCase):
    """An admin breaks a lock from the page."""

    CONFIG = """
http: {break_locks: true}
users:
  - {name: default, rules: 'nopass ~* &* +@all'}
  - {name: root, passwords: env:LOCKKEEPER_TEST_SECRET, rules: '~* &* +@all'}
"""

    def setUp(self):
        os.environ["LOCKKEEPER_TEST_SECRET"] = "canary-of-an-admin-4711"
        self.browser = self.enterContext(Browser())

    def open(self, config):
        server = self.enterContext(Lockkeeper(http=True, config=config))
        clients = [self.enterContext(Client(server.port)) for _ in range(2)]
        for client, name in zip(clients, ("nightly-import", "nightly-export")):
            client.call("CLIENT", "SETNAME", name)
        clients[0].call("LK.ACQUIRE", "table:orders", "import:17", "TTL", 600_000)
        clients[1].send("LK.ACQUIRE", "table:orders", "export:4", "TTL", 600_000, "WAIT", 0)
        self.browser.open(f"http://127.0.0.1:{server.http_port}/#lock/0/table:orders")
        self.browser.wait_for_script("document.querySelector('#lock-queue .owner')?.textContent === 'export:4'")
        return server, clients

    def fill(self, name, text):
        self.browser.run(f"document.getElementById('{name}').focus()")
        self.browser.type(text)

    def test_it_takes_a_user_a_password_and_a_second_click(self):
        _, (holder, waiter) = self.open(self.CONFIG)
        fence = holder.call("LK.FENCE", "table:orders")
        self.browser.wait_for_script("document.getElementById('break').offsetParent && !document.getElementById('break').disabled")
        self.browser.run("document.getElementById('break').click()")
        self.browser.wait_for_script("document.getElementById('break-dialog').open")
        self.assertEqual(self.browser.run("document.activeElement.id"), "break-user")
        said = self.browser.run("document.getElementById('break-dialog').textContent")
        for words in ("table:orders", "import:17", "nightly-import", "1 in line"):
            self.assertIn(words, said)
        # Nothing without a password, and nothing with a wrong one.
        self.browser.run("document.getElementById('break-yes').click()")
        self.fill("break-user", "root")
        self.fill("break-password", "wrong")
        self.shoot()
        self.browser.run("document.getElementById('break-yes').click()")
        self.browser.wait_for_script("document.getElementById('break-problem').textContent.startsWith('Not broken')")
        self.assertEqual(holder.call("LK.FENCE", "table:orders"), fence)
        self.assertEqual(self.browser.run("document.getElementById('break-password').value"), "")
        self.fill("break-password", "canary-of-an-admin-4711")
        self.browser.press("Enter")
        self.browser.wait_for_script("!document.getElementById('break-dialog').open")
        self.assertGreater(waiter.read()[0], fence)
        self.browser.wait_for_script("document.querySelector('#lock-holders .owner').textContent === 'export:4'")
        self.assertIn("Broken; import:17 had it", self.browser.run("document.getElementById('lock-told').textContent"))
        kept = self.browser.run("JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie + "
                                "location.href + [...document.querySelectorAll('input')].map(one => one.value)")
        self.assertNotIn("canary", kept)
        # The browser itself logs that one request was refused.
        self.assertEqual([one for one in self.browser.problems if "401" not in one], [])

    def shoot(self):
        for scheme, name, width, height, mobile in (("light", "break", 1280, 800, False),
                                                    ("dark", "break-dark", 1280, 800, False),
                                                    ("dark", "break-phone", 390, 844, True)):
            self.browser.prefer(scheme)
            self.browser.size(width, height, mobile=mobile)
            self.browser.wait_for_script(f"innerWidth === {width}")
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
            if SHOTS:
                self.browser.screenshot(os.path.join(SHOTS, name + ".png"))
        self.browser.prefer("light")
        self.browser.size(1280, 800)
        self.browser.wait_for_script("innerWidth === 1280")

    def test_escape_keeps_the_lock_and_the_drawer(self):
        _, (holder, _) = self.open(self.CONFIG)
        fence = holder.call("LK.FENCE", "table:orders")
        self.browser.wait_for_script("!!document.getElementById('break').offsetParent")
        self.browser.run("document.getElementById('break').click()")
        self.browser.wait_for_script("document.getElementById('break-dialog').open")
        self.browser.press("Escape")
        self.browser.wait_for_script("!document.getElementById('break-dialog').open")
        self.assertFalse(self.browser.run("document.getElementById('drawer').hidden"))
        self.assertEqual(holder.call("LK.FENCE", "table:orders"), fence)
        self.assertEqual(self.browser.problems, [])

    def test_there_is_no_button_unless_it_was_asked_for(self):
        self.open(self.CONFIG.replace("http: {break_locks: true}", ""))
        self.browser.wait_for_script("document.getElementById('state-text').textContent === 'ready'")
        self.assertTrue(self.browser.run("document.getElementById('lock-acts').hidden"))
        self.assertIn("Only looks, changes nothing", self.browser.run("document.querySelector('footer').textContent"))
        self.assertEqual(self.browser.problems, [])


@unittest.skipUnless(chromium(), "there is no Chromium: scripts/setup test installs it")
class OnFleet(unittest.TestCase):
    """Everything at once: a fleet with a master that is down, several hot locks, at each size and in both themes."""

    LOCKS = [("invoice:2026-11:close", "billing", 7, 0.12), ("stock:eu:reserve", "shop", 5, 0.02),
             ("report:daily", "cron", 3, 0.4), ("mail:outbox", "mailer", 2, 0.01)]

    def test_it_fits_every_screen_and_shows_stripes_and_masters(self):
        with Redis() as one, Redis() as two, Redis() as three, Redis() as gone:
            gone.kill_process()
            stripes = stripe_of([one, two, gone]).replace("name: main", "name: a")
            stripes = stripes.replace("]}]", f"]}}, {{name: b, masters: ['redis://127.0.0.1:{three.port}']}}]", 1)
            config = stripes + "slow: {wait: 400ms, hold: 500ms}\n"
            with Lockkeeper(http=True, config=config) as server, Browser() as browser:
                server.wait_for_votes(6)
                with Traffic(server.port, self.LOCKS):
                    self.look(server, browser)
                self.assertEqual(browser.problems, [])

    def look(self, server, browser):
        with Client(server.port) as client:
            client.call("CLIENT", "SETNAME", "importer")
            client.call("SET", "import:4711", "t", "NX")
            client.call("DEL", "import:4711")
            browser.open(f"http://127.0.0.1:{server.http_port}/")
            browser.wait_for_script("document.querySelectorAll('#hot-table tbody tr').length >= 3")
            standings = "[...document.querySelectorAll('.standing')].map(one => one.textContent)"
            browser.wait_for(lambda: sorted(browser.run(standings)) == ["disconnected", "votes", "votes", "votes"])
            self.assertIn("2 of 3 vote", browser.run("document.getElementById('stripes').textContent"))
            if SHOTS:
                browser.wait_for_script("document.querySelector('#chart-rate path.line.one').getAttribute('d').split('L').length > 40")
            for scheme in ("light", "dark"):
                browser.prefer(scheme)
                for name, width, height, mobile in (("", 1280, 1000, False), ("-phone", 390, 844, True)):
                    browser.size(width, height, mobile=mobile)
                    browser.wait_for_script(f"innerWidth === {width}")
                    wide = browser.run("document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"the page is wider than the screen: {scheme}{name}")
                    self.shoot(browser, f"page-{scheme}{name}")
            paper = "getComputedStyle(document.body).backgroundColor"
            self.assertRegex(browser.run(paper), r"rgb\((\d|1\d|2\d), ")  # dark it is
            browser.run("document.querySelector('#hot-table tbody a.name').click()")
            browser.wait_for_script("document.querySelectorAll('#lock-queue .owner').length > 0")
            browser.wait_for_script("document.querySelectorAll('#lock-history tbody tr').length > 3")
            for scheme in ("dark", "light"):
                browser.prefer(scheme)
                for name, width, height, mobile in (("-phone", 390, 844, True), ("", 1280, 1000, False)):
                    browser.size(width, height, mobile=mobile)
                    browser.wait_for_script(f"innerWidth === {width}")
                    self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), width)
                    self.shoot(browser, f"lock-{scheme}{name}")

    def shoot(self, browser, name):
        if SHOTS:
            browser.screenshot(os.path.join(SHOTS, name + ".png"))


if __name__ == "__main__":
    main()
