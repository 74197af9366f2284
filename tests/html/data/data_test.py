#!/usr/bin/env python3
"""Tests of `tally report --html`: data_test.py TALLY WRITE_CAPTURES. Where this build has no HTML reports, it exits with 77, or
with 1 if TALLY_REQUIRE_DRIVERS=1."""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import report_data

TALLY, WRITE_CAPTURES = sys.argv.pop(1), sys.argv.pop(1)
HOSTILE = ["</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>", "\x01\x1b[31m\x7f\r\n",
           "\u202e\u2028", "\" onload=\"x"]
SKIPPED = 77


def run(*arguments, status=0):
    done = subprocess.run([TALLY, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise AssertionError(f"{arguments}: {done.returncode}, {done.stderr}")
    return done.stderr


class HtmlData(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        subprocess.run([WRITE_CAPTURES, self.folder.name], check=True)
        self.sample = self.path("sample.tally")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def page(self, capture, *options):
        path = self.path("page.html")
        run("report", "--html", path, "--force", *options, capture)
        return path

    def changed(self, sql, *values):
        path = self.path("changed.tally")
        shutil.copyfile(self.sample, path)
        with sqlite3.connect(path) as database:
            database.execute(sql, values)
        database.close()
        return path

    def test_hostile_names_do_not_change_the_markup(self):
        def markup(path):
            text = pathlib.Path(path).read_bytes()
            begin = text.index(b'id="data">')
            return text[:begin], text[text.index(b"<", begin):]
        plain = markup(self.page(self.sample))
        for table, column in (("label", "name"), ("module", "name"), ("pipeline", "name"), ("device", "name"),
                              ("capture", "frame_range"), ("message", "text"), ("shader", "entry_point")):
            for text in HOSTILE:
                capture = self.changed(f"UPDATE {table} SET {column} = ? || id", text)
                self.assertEqual(markup(self.page(capture)), plain)

    def test_the_texts_of_names_are_in_the_data(self):
        for text in HOSTILE:
            capture = self.changed("UPDATE label SET name = ? WHERE parent IS NULL AND id = 1", text)
            head, captures = report_data.read(self.page(capture))
            self.assertIn(text, captures[0].texts("labels", "name"))
            self.assertEqual(head["version"], 1)

    def test_a_capture_against_itself_matches_everything(self):
        _, (now, old) = report_data.read(self.page(self.sample, "--against", self.sample))
        for table in ("shaders", "pipelines", "merged_passes", "lines", "functions", "commands"):
            self.assertEqual(now[table].index("match"), old[table].index("match"), table)
        for match, reason in zip(now["shaders"].index("match"), now.texts("shaders", "not_counted")):
            self.assertEqual(match is None, reason != "")

    def test_lines_of_changed_shaders_are_matched_by_their_text(self):
        _, (now, old) = report_data.read(self.page(self.sample, "--against", self.changed("UPDATE module SET hash = 'ff' || hash")))

        def lines(capture):
            texts = capture.texts("files", "text")
            return {match: texts[file].split("\n")[line - 1] for match, file, line in
                    zip(capture["lines"].index("match"), capture["lines"].index("file"), capture["lines"].column("line"))
                    if match is not None and texts[file]}
        both = lines(now).keys() & lines(old).keys()
        self.assertGreater(len(both), 0)
        for match in both:
            self.assertEqual(lines(now)[match].strip(), lines(old)[match].strip())

    def test_other_labels_leave_the_shaders_matched(self):
        old = self.changed("UPDATE label SET name = 'other' || id")
        _, (now, before) = report_data.read(self.page(self.sample, "--against", old))
        shaders = set(now["shaders"].index("match"))
        self.assertEqual(shaders, set(before["shaders"].index("match")))

    def test_a_selection_of_frames_has_only_these(self):
        _, captures = report_data.read(self.page(self.sample, "--frames", "1"))
        self.assertEqual(captures[0]["frames"].column("number"), [1])

    def test_an_existing_file_is_replaced_only_with_force(self):
        path = self.page(self.sample)
        before = pathlib.Path(path).read_bytes()
        self.assertIn("exists", run("report", "--html", path, self.sample, status=2))
        self.assertEqual(pathlib.Path(path).read_bytes(), before)
        run("report", "--html", path, "--force", self.sample)

    def test_the_capture_itself_is_never_replaced(self):
        before = pathlib.Path(self.sample).read_bytes()
        self.assertIn("the capture itself", run("report", "--html", self.sample, "--force", self.sample, status=2))
        self.assertEqual(pathlib.Path(self.sample).read_bytes(), before)

    def test_a_file_that_is_no_capture_leaves_no_page(self):
        path = self.path("none.html")
        run("report", "--html", path, os.path.abspath(__file__), status=2)
        run("report", "--html", path, "--against", os.path.abspath(__file__), self.sample, status=2)
        self.assertFalse(os.path.exists(path))

    def test_options_without_effect_are_refused(self):
        path = self.path("none.html")
        for options in (["--top", "3"], ["--sort", "fma"], ["--by", "draw"], ["--format", "json"], ["--merge"]):
            run("report", "--html", path, *options, self.sample, status=2)
        self.assertFalse(os.path.exists(path))

    def test_against_needs_html(self):
        self.assertIn("--against", run("report", "--against", self.sample, self.sample, status=2))


if __name__ == "__main__":
    version = subprocess.run([TALLY, "--version"], capture_output=True, text=True, check=True).stdout
    if "without HTML reports" in version:
        print(version)
        sys.exit(1 if os.environ.get("TALLY_REQUIRE_DRIVERS") == "1" else SKIPPED)
    unittest.main()
