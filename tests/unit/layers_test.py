#!/usr/bin/env python3
"""Includes point one way, and what is pure stays pure (docs/architecture.md, Layers).

usage: layers_test.py ROOT_OF_THE_TREE
"""

import os
import re
import sys
import unittest

TOP = os.path.abspath(sys.argv.pop())


class Layers(unittest.TestCase):
    ALLOWED = {
        "protocol": ("protocol",),
        "config": ("config",),
        "shards/core": ("shards/core",),
        "shards": ("shards", "protocol", "config"),
        "proxy/access": ("proxy/access", "shards/core", "protocol", "config"),
        "proxy/idioms": ("proxy/idioms",),
        "proxy": ("proxy", "shards", "protocol", "config"),
    }
    PURE = ("protocol", "config", "shards/core", "proxy/access", "proxy/idioms")

    def layer(self, path):
        return max((name for name in self.ALLOWED if path.startswith(name + "/")), key=len)

    def test_includes_point_down(self):
        seen = 0
        for folder in ("protocol", "config", "shards", "proxy"):
            for where, _, files in os.walk(os.path.join(TOP, folder)):
                for name in files:
                    if not name.endswith((".cc", ".hh")):
                        continue
                    seen += 1
                    path = os.path.relpath(os.path.join(where, name), TOP)
                    layer = self.layer(path)
                    with open(os.path.join(TOP, path)) as file:
                        text = file.read()
                    for included in re.findall(r'^#include "([^"]+)"', text, re.M):
                        self.assertTrue(
                            any(included.startswith(below + "/") for below in self.ALLOWED[layer]),
                            f"{path} includes {included}",
                        )
                    if layer in self.PURE:
                        self.assertNotRegex(text, r"#include <seastar/", path)
        self.assertGreater(seen, 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
