#!/usr/bin/env python3
"""GPU times of draws: timed_draws.py TALLY LANTERNS, on the driver that the environment names.

The sample draws the same picture as without Tally. Each draw of a frame has a time, and those of a pass take no longer
than the pass.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TALLY, LANTERNS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SCENE = ["--frames", "3", "--size", "160x90", "--png"]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stderr}")
    return done.stdout


class TimedDraws(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def capture(self, times):
        run([TALLY, "run", "--egl", "off", "--strict", "--times", times, "-o", f"{times}.tally", "--", LANTERNS, *SCENE,
             f"{times}.png"], self.folder)
        return os.path.join(self.folder, f"{times}.tally")

    def query(self, capture, sql):
        with sqlite3.connect(f"file:{capture}?mode=ro", uri=True) as database:
            return database.execute(sql).fetchall()

    def test_each_draw_has_a_time_and_the_picture_is_the_same(self):
        run([LANTERNS, *SCENE, "bare.png"], self.folder)
        capture = self.capture("draws")
        pictures = [open(os.path.join(self.folder, name), "rb").read() for name in ("bare.png", "draws.png")]
        self.assertEqual(*pictures)
        [(draws, timed)] = self.query(capture, "SELECT count(*), count(gpu_time_ns) FROM command WHERE pass IS NOT NULL")
        self.assertGreater(draws, 0)
        self.assertEqual(draws, timed)
        passes = self.query(capture, "SELECT pass.gpu_time_ns, sum(command.gpu_time_ns) FROM pass"
                                     " JOIN command ON command.pass = pass.id GROUP BY pass.id")
        for whole, parts in passes:
            self.assertLessEqual(parts, whole)
        report = json.loads(run([TALLY, "report", "--by", "draw", "--each", "--format", "json", capture], self.folder))
        for row in report["tables"][0]["rows"]:
            self.assertFalse(row["gpu_time"] is None and row["first_use_time"] is None, row)

    def test_only_passes_have_times_unless_draws_are_asked_for(self):
        capture = self.capture("passes")
        self.assertEqual(self.query(capture, "SELECT count(gpu_time_ns) FROM command WHERE pass IS NOT NULL"), [(0,)])
        self.assertEqual(self.query(capture, "SELECT count(*) FROM pass WHERE gpu_time_ns IS NULL"), [(0,)])

    def test_nothing_has_a_time_if_times_are_off(self):
        capture = self.capture("off")
        self.assertEqual(self.query(capture, "SELECT count(gpu_time_ns) FROM pass"), [(0,)])
        self.assertEqual(self.query(capture, "SELECT count(gpu_time_ns) FROM command"), [(0,)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
