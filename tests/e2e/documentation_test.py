"""docs/compatibility.md names every command that there is, and every difference that the tests accept; links lead somewhere."""

import glob
import os
import re
import unittest

from differential_test import INTENDED
from support import Client, Lockkeeper, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "compatibility.md")


class Compatibility(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(PAGE, encoding="utf-8") as page:
            cls.text = page.read()

    def test_every_command_is_named(self):
        with Lockkeeper(cores=1) as server, Client(server.port) as client:
            names = {name.decode().upper() for name in client.call("COMMAND", "LIST")}
        # Native verbs are no matter of compatibility.
        missing = [name for name in sorted(names) if f"`{name}`" not in self.text and not name.startswith("LK.")]
        self.assertEqual(missing, [])

    def test_no_command_of_the_tables_is_unknown(self):
        section = self.text.split("## Commands", 1)[1].split("## Handshakes", 1)[0]
        with Lockkeeper(cores=1) as server, Client(server.port) as client:
            names = {name.decode().upper() for name in client.call("COMMAND", "LIST")}
        table = "\n".join(line for line in section.splitlines() if line.startswith("|"))
        named = set(re.findall(r"`([A-Z_]+)`", re.sub(r"\([^)]*\)", "", table)))
        self.assertGreater(len(named), 80)
        self.assertEqual(named - names, set())

    def test_every_intended_difference_is_in_the_tables(self):
        first_cells = {line.split("|")[1].strip() for line in self.text.splitlines() if line.startswith("| ")}
        self.assertEqual([name for name in INTENDED if name not in first_cells], [])


class Links(unittest.TestCase):
    """Those within the tree, of the pages that people begin with."""

    def anchors(self, page):
        with open(page, encoding="utf-8") as file:
            headings = re.findall(r"^#+ (.*)$", file.read(), re.M)
        return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}

    def test_they_lead_to_files_and_headings_that_are_there(self):
        pages = [*glob.glob(os.path.join(ROOT, "*.md")), *glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)]
        self.assertGreater(len(pages), 30)
        for page in pages:
            with open(page, encoding="utf-8") as file:
                text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"\w+:", link):
                    continue
                path, _, anchor = link.partition("#")
                target = os.path.join(os.path.dirname(page), path) if path else page
                self.assertTrue(os.path.exists(target), f"{page}: {link}")
                if anchor and target.endswith(".md"):
                    self.assertIn(anchor, self.anchors(target), f"{page}: {link}")


if __name__ == "__main__":
    main()
