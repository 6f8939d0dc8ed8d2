#!/usr/bin/env python3
"""generate.py accepts the project's own table and names the line of every mistake.

usage: generate_test.py FOLDER_OF_GENERATE_PY
"""

import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = sys.argv.pop()
SHA = "b70c2384248f88e6b75b9f89241a180f856ad852"
FORM = "dfc8525d3c2daffdf4e0eea7318cc0a2b3fc97d2"
GOOD = (SHA, FORM, "lib", "release", "1..2", "release_if_owner", "-", "one_zero", "lock", "token")


def line(**changes):
    names = ("sha1", "form", "library", "script", "versions", "operation", "traits", "replies", "keys", "args")
    return "\t".join(changes.get(name, good) for name, good in zip(names, GOOD)) + "\n"


class Generate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_on(self, path):
        self.output = os.path.join(self.folder.name, f"script_table_{len(os.listdir(self.folder.name))}.hh")
        headers = [os.path.join(FOLDER, name) for name in ("known_script.hh", "operation.hh", "reply_map.hh")]
        return subprocess.run([sys.executable, "-B", os.path.join(FOLDER, "generate.py"), path, self.output,
                               *headers], capture_output=True, text=True, check=False)

    def run_text(self, text):
        path = os.path.join(self.folder.name, "scripts.tsv")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return self.run_on(path)

    def refused(self, text, where, why):
        done = self.run_text(text)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"scripts.tsv:{where}: ", done.stderr)
        self.assertIn(why, done.stderr)
        self.assertFalse(os.path.exists(self.output))

    def test_the_project_s_table_is_accepted(self):
        self.assertEqual(self.run_on(os.path.join(FOLDER, "scripts.tsv")).stderr, "")
        self.assertTrue(os.path.exists(self.output))

    def test_comments_and_empty_lines_are_skipped(self):
        self.assertEqual(self.run_text("# words\n\n" + line()).returncode, 0)

    def test_a_missing_column_is_named(self):
        self.refused("# words\n" + line().replace("\ttoken", ""), 2, "9 columns instead of 10")

    def test_an_ill_formed_sha_is_named(self):
        self.refused(line(sha1=SHA[:-1]), 1, "sha1")
        self.refused(line(sha1=SHA.upper()), 1, "sha1")
        self.refused(line(form="xyz"), 1, "normal form")
        self.refused(line(sha1="-", form="-"), 1, "neither sha1 nor normal form")

    def test_unknown_words_are_named(self):
        self.refused(line(operation="eat"), 1, "unknown operation 'eat'")
        self.refused(line(replies="yes_no"), 1, "unknown reply map 'yes_no'")
        self.refused(line(traits="odd"), 1, "unknown trait 'odd'")
        self.refused(line(keys="lock dock"), 1, "keys: unknown role 'dock'")
        self.refused(line(args="token ttl..."), 1, "arguments: unknown role 'ttl'")

    def test_a_role_comes_once(self):
        self.refused(line(args="token token"), 1, "role 'token' twice")

    def test_blanks_around_a_field_are_a_mistake(self):
        self.refused(line(library=" lib"), 1, "library")
        self.refused(line(script=""), 1, "script")

    def test_a_sha_comes_once(self):
        self.refused(line() + line(), 2, "is on line 1 already")

    def test_a_normal_form_has_one_meaning(self):
        other = "0" * 40
        self.assertEqual(self.run_text(line() + line(sha1=other)).returncode, 0)
        self.refused(line() + line(sha1=other, replies="one_nil"), 2, "the normal form is that of line 1")

    def test_every_mistake_is_told(self):
        done = self.run_text(line(operation="eat") + line(keys="dock"))
        self.assertIn("scripts.tsv:1: ", done.stderr)
        self.assertIn("scripts.tsv:2: ", done.stderr)

    def test_a_table_without_scripts_is_a_mistake(self):
        self.refused("# nothing\n", 1, "no scripts")

    def test_groups_may_repeat(self):
        self.assertEqual(self.run_text(line(keys="(lock holds_prefix)...", args="token owner...")).stderr, "")
        with open(self.output, encoding="ascii") as file:
            text = file.read()
        self.assertIn(".roles = {role::lock, role::holds_prefix}, .count = 2, .group = 2", text)
        self.assertIn(".roles = {role::token, role::owner}, .count = 2, .group = 1", text)


if __name__ == "__main__":
    unittest.main()
