#!/usr/bin/env python3
"""Merged captures: what the command's reports say of them, and what a wrong input, a full disk or the end of the process leaves.

Usage: merge_test.py TALLY WRITE_CAPTURES FAULT_LIBRARY
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TALLY, WRITE_CAPTURES, FAULT = sys.argv[1:4]


class Merge(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tally-merge-"))
        self.addCleanup(shutil.rmtree, self.folder)
        subprocess.run([WRITE_CAPTURES, self.folder], check=True)
        shutil.copy(self.folder / "sample.tally", self.folder / "again.tally")
        self.change("again.tally", "UPDATE capture SET start_unix_ns = start_unix_ns + 1000000000")
        shutil.copy(self.folder / "again.tally", self.folder / "other.tally")
        self.change("other.tally", "UPDATE device SET name = 'Other GPU'; UPDATE batch_count SET executions = 7;"
                    "UPDATE capture SET start_unix_ns = start_unix_ns + 1000000000")

    def change(self, file, sql):
        subprocess.run(["sqlite3", self.folder / file, sql], check=True)

    def tally(self, *arguments, status=0, **environment):
        done = subprocess.run([TALLY, *arguments], cwd=self.folder, env=dict(os.environ, **environment), capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        self.said = done.stderr
        return done.stdout

    def files(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def counts(self, file):
        rows = re.findall(r"^((?:pass|shader) .*) (\d+)$", self.tally("snapshot", file), re.MULTILINE)
        return {what: int(count) for what, count in rows}

    def test_totals_are_the_sums(self):
        self.tally("merge", "-o", "all.tally", "sample.tally", "other.tally", "again.tally")
        sums = {}
        for file in ("sample.tally", "other.tally", "again.tally"):
            for what, count in self.counts(file).items():
                sums[what] = sums.get(what, 0) + count
        self.assertEqual(self.counts("all.tally"), sums)
        self.assertIn("6 frames", self.tally("report", "all.tally"))

    def test_coverage_is_that_of_all_captures(self):
        self.tally("merge", "-o", "all.tally", "sample.tally", "other.tally", "again.tally")
        self.tally("coverage", "-o", "files.info", "sample.tally", "other.tally", "again.tally")
        self.tally("coverage", "-o", "merged.info", "all.tally")
        self.assertEqual((self.folder / "merged.info").read_text(), (self.folder / "files.info").read_text())
        self.assertIn("DA:", (self.folder / "merged.info").read_text())

    def test_the_order_of_the_files_does_not_matter(self):
        self.tally("merge", "-o", "a.tally", "sample.tally", "again.tally")
        self.tally("merge", "-o", "b.tally", "again.tally", "sample.tally")
        self.assertEqual((self.folder / "a.tally").read_bytes(), (self.folder / "b.tally").read_bytes())

    def test_a_merged_capture_merges_and_exports(self):
        self.tally("merge", "-o", "two.tally", "sample.tally", "again.tally")
        self.tally("merge", "-o", "three.tally", "two.tally", "other.tally")
        self.tally("export", "--to", "fleet", "--commit", "a", "three.tally")
        once, other = self.counts("sample.tally"), self.counts("other.tally")
        self.assertEqual(self.counts("three.tally"), {what: 2 * count + other.get(what, 0) for what, count in once.items()})
        rows = [json.loads(row) for path in self.folder.glob("fleet/*/*/*/*/shader.jsonl") for row in path.read_text().splitlines()]
        lit = [row["value"] for row in rows if row["name"] == "lit.frag" and row["metric"] == "executions"]
        self.assertEqual(lit, [self.counts("three.tally")['shader "lit.frag fragment" executions']])

    def check_refused(self, what, *arguments):
        before = self.files()
        self.tally("merge", *arguments, status=2)
        self.assertEqual(self.said.count("\n"), 1, self.said)
        self.assertIn(what, self.said)
        self.assertEqual(self.files(), before)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.is_dir()], [])

    def test_wrong_input_is_refused_in_one_line(self):
        (self.folder / "text").write_text("no capture")
        shutil.copy(self.folder / "sample.tally", self.folder / "open.tally")
        self.change("open.tally", "UPDATE capture SET end_monotonic_ns = NULL")
        shutil.copy(self.folder / "sample.tally", self.folder / "new.tally")
        self.change("new.tally", "UPDATE capture SET tool_version = '9.9', start_unix_ns = start_unix_ns + 1")
        shutil.copy(self.folder / "sample.tally", self.folder / "torn.tally")
        self.change("torn.tally", "PRAGMA foreign_keys = OFF; UPDATE command_batch SET execution = 77")
        self.check_refused("text: ", "-o", "all.tally", "sample.tally", "text")
        self.check_refused("nowhere", "-o", "all.tally", "sample.tally", "nowhere")
        self.check_refused("sample.tally: given twice", "-o", "all.tally", "sample.tally", "./sample.tally")
        self.check_refused("open.tally: capture is incomplete", "-o", "all.tally", "sample.tally", "open.tally")
        self.check_refused("new.tally: written by tally 9.9", "-o", "all.tally", "sample.tally", "new.tally")
        self.check_refused("have other metrics", "-o", "all.tally", "sample.tally", "calls.tally")
        self.check_refused("torn.tally: ", "-o", "all.tally", "sample.tally", "torn.tally")
        self.check_refused("calls.tally: exists", "-o", "calls.tally", "sample.tally", "again.tally")
        self.check_refused("one of the captures", "--force", "-o", "again.tally", "sample.tally", "again.tally")
        self.check_refused("text: exists and is not a capture", "--force", "-o", "text", "sample.tally", "again.tally")
        self.check_refused("FILE", "-o", "all.tally", "sample.tally")

    def test_a_capture_is_replaced_only_with_force(self):
        self.tally("merge", "--force", "-o", "calls.tally", "sample.tally", "again.tally")
        self.assertEqual(self.counts("calls.tally"), {what: 2 * count for what, count in self.counts("sample.tally").items()})

    def test_an_end_or_a_full_disk_at_any_change_leaves_the_old_file(self):
        old = (self.folder / "calls.tally").read_bytes()
        for kind in ("kill", "full"):
            faults = 0
            for at in list(range(1, 40)) + list(range(40, 400, 9)):
                done = subprocess.run([TALLY, "merge", "--force", "-o", "calls.tally", "sample.tally", "again.tally"], cwd=self.folder,
                                      env=dict(os.environ, LD_PRELOAD=FAULT, TALLY_FAULT=kind, TALLY_FAULT_AT=str(at)),
                                      capture_output=True, text=True, timeout=60)
                if done.returncode == 0:
                    break
                faults += 1
                self.assertEqual(done.returncode, 2 if kind == "full" else -signal.SIGKILL)
                self.assertEqual((self.folder / "calls.tally").read_bytes(), old)
                self.assertEqual(done.stderr.count("\n"), 1 if kind == "full" else 0, done.stderr)
            self.assertGreater(faults, 5, kind)
            self.assertEqual([path.name for path in self.folder.iterdir() if path.is_dir()], [])
            self.counts("calls.tally")
            (self.folder / "calls.tally").write_bytes(old)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
