#!/usr/bin/env python3
"""The views of a data set, on DuckDB and on two shards of ClickHouse, against answers that follow from what write_fleet.cpp
writes: formulas here, and a regression that is planted in one commit.

Usage: views_test.py WRITE_FLEET COMMITS     each commit has 20 captures
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import engines

WRITE_FLEET, COMMITS = sys.argv[1], int(sys.argv[2])
DEVICES, SCENES, LINES = range(2), range(10), range(1, 9)
TERRAIN, WATER, SKY, FOG = range(4)
SHADERS = ("terrain.comp", "water.comp", "sky.comp", "fog.comp")
SLOWER, MOVED, NEW_FOG = COMMITS * 2 // 3, COMMITS // 2, COMMITS // 3


def is_there(commit, scene, shader):
    return shader != FOG or (commit >= NEW_FOG and scene == 1)


def executions(commit, device, scene, shader, line):
    if not is_there(commit, scene, shader) or shader == TERRAIN and (line == 8 or line == 7 and scene != 9):
        return 0
    slower = shader == WATER and line == 5 and scene == 3 and device == 0 and commit >= SLOWER
    return (1000 * (scene + 1) + 10 * line + shader) * (device + 1) * (3 if slower else 1)


def total(commit, device, scene, shader):
    return sum(executions(commit, device, scene, shader, line) for line in LINES)


def name(commit):
    return f"commit-{commit:05}"


def texts(rows):
    return sorted(tuple(str(value) for value in row) for row in rows)


class Views:
    """The answers that both engines must give."""

    def ask(self, sql):
        return sorted(self.engine.query(sql))

    def test_every_capture_is_there(self):
        self.assertEqual(self.ask("SELECT count(*), count(DISTINCT commit), count(DISTINCT capture) FROM capture"),
                         [(str(COMMITS * 20), str(COMMITS), str(COMMITS * 20))])

    def test_commits_are_in_the_order_of_their_times(self):
        rows = self.ask("SELECT after_commit, before_commit, count(*) FROM commit_step GROUP BY after_commit, before_commit")
        self.assertEqual(rows, texts((name(c), name(c - 1), 20) for c in range(1, COMMITS)))

    def test_trend_of_a_shader(self):
        rows = self.ask("SELECT commit, low, high, captures FROM shader_trend WHERE shader = 'water.comp' AND metric = 'executions'"
                        " AND scene = 'scene 3' AND device = 'GPU 0'")
        self.assertEqual(rows, texts((name(c), total(c, 0, 3, WATER), total(c, 0, 3, WATER), 1) for c in range(COMMITS)))

    def test_trend_of_every_shader(self):
        rows = self.ask("SELECT shader, device, scene, sum(high) FROM shader_trend WHERE metric = 'executions'"
                        " GROUP BY shader, device, scene")
        self.assertEqual(rows, texts(
            (SHADERS[s], f"GPU {d}", f"scene {c}", sum(total(n, d, c, s) for n in range(COMMITS)))
            for s in range(4) for d in DEVICES for c in SCENES if is_there(COMMITS - 1, c, s)))

    def test_the_planted_regression_is_found_to_the_commit(self):
        rows = self.ask("SELECT device, scene, changed_file, changed_text, changes, first_commit, first_before, first_after"
                        " FROM line_first_change")
        before = executions(SLOWER - 1, 0, 3, WATER, 5)
        self.assertEqual(rows, texts([("GPU 0", "scene 3", "shaders/water.comp", "water.comp = step(5);", 1, name(SLOWER), before,
                                       3 * before)]))

    def test_changes_of_lines_between_neighbours(self):
        rows = self.ask("SELECT after_commit, previous_commit, line_number, difference FROM line_change")
        self.assertEqual(rows, texts([(name(SLOWER), name(SLOWER - 1), 5, 2 * executions(0, 0, 3, WATER, 5))]))

    def test_lines_that_only_move_keep_their_key(self):
        rows = self.ask("SELECT count(DISTINCT line_key), count(DISTINCT number) FROM line WHERE file = 'shaders/sky.comp'")
        self.assertEqual(rows, [("8", "9")])

    def test_top_movers(self):
        rows = self.ask("SELECT after_commit, device, scene, shader_name, before, after, difference FROM shader_change"
                        " WHERE metric = 'executions'")
        water = total(SLOWER - 1, 0, 3, WATER), total(SLOWER, 0, 3, WATER)
        self.assertEqual(rows, texts(
            [(name(SLOWER), "GPU 0", "scene 3", "water.comp", *water, water[1] - water[0])] +
            [(name(NEW_FOG), f"GPU {d}", "scene 1", "fog.comp", 0, total(NEW_FOG, d, 1, FOG), total(NEW_FOG, d, 1, FOG))
             for d in DEVICES]))

    def test_changes_of_passes(self):
        rows = self.ask("SELECT after_commit, device, scene, difference FROM pass_change WHERE metric = 'dispatches'")
        self.assertEqual(rows, texts((name(NEW_FOG), f"GPU {d}", "scene 1", 1) for d in DEVICES))
        rows = self.ask("SELECT sum(high), sum(captures) FROM pass_trend WHERE metric = 'dispatches'")
        self.assertEqual(rows, texts([(COMMITS * 60 + (COMMITS - NEW_FOG) * 2, COMMITS * 20)]))

    def test_coverage_over_all_scenes(self):
        rows = self.ask(f"SELECT line_file, lines_found, lines_hit FROM file_coverage WHERE commit = '{name(COMMITS - 1)}'")
        self.assertEqual(rows, texts((f"shaders/{shader}", 8, 7 if shader == "terrain.comp" else 8) for shader in SHADERS))
        rows = self.ask("SELECT line_file, line_text, count(*) FROM line_coverage WHERE total = 0 GROUP BY line_file, line_text")
        self.assertEqual(rows, texts([("shaders/terrain.comp", "terrain.comp = step(8);", COMMITS)]))

    def test_totals_of_lines(self):
        rows = self.ask("SELECT line_text, sum(total) FROM line_coverage GROUP BY line_text")
        self.assertEqual(rows, texts(
            (f"{SHADERS[s]} = step({line});",
             sum(executions(n, d, c, s, line) for n in range(COMMITS) for d in DEVICES for c in SCENES))
            for s in range(4) for line in LINES))


class OnDuckDb(Views, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = engines.DuckDb(data_set)
        cls.addClassCleanup(cls.engine.close)


class OnDuckDbWithParquet(Views, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = engines.DuckDb(data_set, "duckdb_parquet.sql")
        cls.addClassCleanup(cls.engine.close)

    def test_every_capture_has_parquet(self):
        self.assertEqual(self.ask("SELECT captures FROM without_parquet"), [("0",)])


class OnClickHouse(Views, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = engines.ClickHouse()
        cls.addClassCleanup(cls.engine.close)
        cls.engine.insert(data_set)

    def test_both_shards_hold_rows(self):
        rows = [int(self.engine.query("SELECT count(*) FROM capture_shard", shard)[0][0]) for shard in (0, 1)]
        self.assertEqual(sum(rows), COMMITS * 20)
        self.assertTrue(all(rows), rows)

    def test_rows_that_are_inserted_twice_change_no_trend(self):
        self.engine.insert(data_set, f"commit={name(SLOWER)}")
        self.test_the_planted_regression_is_found_to_the_commit()
        self.test_top_movers()
        for table in engines.TABLES:
            for port in self.engine.ports:
                self.engine.client(port, "--query", f"OPTIMIZE TABLE {table}_shard FINAL")
        self.test_every_capture_is_there()
        self.test_totals_of_lines()


def write(folder):
    """Two processes add at once, as CI does."""
    environment = dict(os.environ, LD_LIBRARY_PATH=str(engines.LIBRARY.parent))
    half = COMMITS // 2
    processes = [subprocess.Popen([WRITE_FLEET, str(folder), str(COMMITS), str(first), str(end)], env=environment,
                                  stdout=subprocess.DEVNULL) for first, end in ((0, half), (half, COMMITS))]
    if any([process.wait() for process in processes]):
        sys.exit("write_fleet failed")


if __name__ == "__main__":
    engines.require()
    with tempfile.TemporaryDirectory(prefix="tally-fleet-") as folder:
        data_set = pathlib.Path(folder) / "fleet"
        write(data_set)
        unittest.main(argv=sys.argv[:1], verbosity=2)
