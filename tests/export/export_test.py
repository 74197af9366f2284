#!/usr/bin/env python3
"""Exports of two captures, read by the programs and libraries that the formats belong to.

Usage: export_test.py TALLY WRITE_CAPTURES
"""
import csv
import gzip
import io
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TALLY, WRITE_CAPTURES = sys.argv[1:3]
BY = ("draw", "pass", "shader", "line", "block", "pipeline", "frame", "label", "region")
SAMPLE_INSTRUCTIONS = 24_053_078  # the golden test derives it from the sample's counts


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, timeout=60, **options)


def successful(*arguments, **options):
    done = run(*arguments, **options)
    if done.returncode != 0:
        raise AssertionError(f"{arguments} ended with {done.returncode}: {done.stderr.decode()}")
    return done.stdout


class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tally-export-"))
        successful(WRITE_CAPTURES, str(cls.folder))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def path(self, name):
        return str(self.folder / name)

    def export(self, capture, format, *options):
        return successful(TALLY, "export", "--format", format, *options, self.path(capture))

    def report_rows(self, capture, by):
        text = successful(TALLY, "report", "--format", "json", "--by", by, self.path(capture))
        return json.loads(text)["tables"][0]["rows"]


def escaped(text):
    return "'" + text if text[:1] in tuple("=+-@\t\r\n") else text


class Tables(ExportTest):
    def test_json_lines_equal_the_report(self):
        for capture in ("sample.tally", "calls.tally"):
            for by in BY if capture == "sample.tally" else ("draw", "line", "pipeline"):
                lines = self.export(capture, "jsonl", "--by", by).decode().splitlines()
                rows = [json.loads(line) for line in lines]
                self.assertTrue(rows)
                self.assertEqual(rows, self.report_rows(capture, by), by)

    def test_csv_as_python_reads_it_equals_the_report(self):
        for capture in ("sample.tally", "calls.tally"):
            for by in BY if capture == "sample.tally" else ("draw", "line", "pipeline"):
                text = self.export(capture, "csv", "--by", by).decode()
                rows = list(csv.DictReader(io.StringIO(text, newline="")))
                report = self.report_rows(capture, by)
                self.assertEqual(len(rows), len(report))
                for row, expected in zip(rows, report):
                    self.assertEqual(list(row), list(expected))
                    for name, value in expected.items():
                        if isinstance(value, (int, float)):
                            self.assertEqual(float(row[name]), value)
                            self.assertIsInstance(value, (int, float))
                            if isinstance(value, int):
                                self.assertEqual(int(row[name]), value)
                        else:
                            self.assertEqual(row[name], escaped(value or ""))

    def test_csv_has_no_text_that_a_spreadsheet_takes_for_a_formula(self):
        texts = ["=1+2", "+1", "-1", "@x", "\tx", "\rx", "1-1", "'=1", ""]
        for text in texts:
            capture = self.path("formula.tally")
            shutil.copy(self.path("sample.tally"), capture)
            database = sqlite3.connect(capture)
            database.execute("UPDATE pipeline SET name = ?", (text,))
            database.commit()
            database.close()
            for options, expected in (((), escaped(text)), (("--verbatim",), text)):
                found = self.export("formula.tally", "csv", *options).decode()
                rows = list(csv.DictReader(io.StringIO(found, newline="")))
                names = {row["pipeline"].split(" (")[0] for row in rows if row["pipeline"] != "(none)"}
                if text:
                    self.assertEqual(names, {expected})
                self.assertTrue(all(float(row["instructions"] or 0) >= 0 for row in rows))

    def test_csv_as_sqlite3_imports_it_has_the_report_s_sums(self):
        file = self.path("draws.csv")
        self.export("sample.tally", "csv", "-o", file)
        text = successful("sqlite3", ":memory:", "-cmd", ".mode csv", f".import {file} draws",
                          "SELECT count(*), sum(instructions) FROM draws")
        self.assertEqual(text.decode().strip(), f"{len(self.report_rows('sample.tally', 'draw'))},{SAMPLE_INSTRUCTIONS}")

    def test_frames_of_gl_equal_the_report(self):
        report = self.report_rows("gl.tally", "frame")
        self.assertEqual(len(report), 2)
        self.assertIn(8, report[1].values())
        lines = self.export("gl.tally", "jsonl", "--by", "frame").decode().splitlines()
        self.assertEqual([json.loads(line) for line in lines], report)

    def test_json_lines_in_sqlite_have_the_report_s_sums(self):
        database = sqlite3.connect(":memory:")
        database.execute("CREATE TABLE row (json TEXT)")
        lines = self.export("sample.tally", "jsonl", "--by", "line").decode().splitlines()
        database.executemany("INSERT INTO row VALUES (?)", [(line,) for line in lines])
        found = database.execute("SELECT sum(json_extract(json, '$.instructions')) FROM row").fetchone()
        self.assertEqual(found[0], SAMPLE_INSTRUCTIONS)


class Callgrind(ExportTest):
    def annotate(self, capture, *options):
        file = self.path(capture + ".callgrind")
        self.export(capture, "callgrind", "-o", file, "--force")
        done = run("callgrind_annotate", *options, file, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")  # warnings: malformed lines
        return done.stdout.decode()

    def costs(self, text):
        """The costs of the first event, by name."""
        found = {}
        for line in text.splitlines():
            if match := re.match(r" *([\d,]+) \( ?[\d.]+%\)(?: +[\d,]+ \( ?[\d.]+%\)| +0(?= )| +\.)* +(.*)$", line):
                found[match[2]] = int(match[1].replace(",", ""))
        return found

    def test_self_costs_sum_to_the_report_s_total(self):
        costs = self.costs(self.annotate("sample.tally", "--threshold=100", "--auto=no"))
        total = costs.pop("PROGRAM TOTALS")
        self.assertEqual(total, sum(row["cost"] or 0 for row in self.report_rows("sample.tally", "shader")))
        self.assertEqual(sum(costs.values()), total)

    def test_inclusive_costs_of_passes_are_those_of_the_report(self):
        costs = self.costs(self.annotate("sample.tally", "--threshold=100", "--inclusive=yes", "--auto=no"))
        passes = self.report_rows("sample.tally", "pass")
        expected = sum(row["cost"] for row in passes if row["pass"].startswith("main"))
        self.assertEqual(costs["(commands):main 640x480"], expected)
        draws = [row["cost"] for row in self.report_rows("sample.tally", "draw") if row["call"] == "Draw 6"]
        self.assertEqual([costs["(commands):Draw 6 (opaque) in main 640x480"]], draws)

    def test_lines_have_the_costs_of_the_report(self):
        source = self.folder / "shaders" / "lit.frag"
        source.parent.mkdir(exist_ok=True)
        source.write_text("".join(f"source line {number}\n" for number in range(1, 7)))
        costs = self.costs(self.annotate("sample.tally", "--auto=yes", "--context=0", "--threshold=100"))
        for row in self.report_rows("sample.tally", "line"):
            if row["location"].startswith("lit.frag:"):
                self.assertEqual(costs.get(f"source line {row['location'].split(':')[1]}", 0), row["cost"])

    def calls(self, text):
        """(caller, callee, calls, costs) of every call, with the names resolved."""
        names, found, caller, callee = {}, [], None, None
        lines = iter(text.splitlines())
        for line in lines:
            if match := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line):
                names.setdefault(match[2], match[3])
                if match[1] == "fn":
                    caller = names[match[2]]
                else:
                    callee = names[match[2]]
            elif line.startswith("calls="):
                costs = [int(cost) for cost in next(lines).split()[1:]]
                found.append((caller, callee, int(line[6:].split()[0]), costs))
        return found

    def test_apportioned_costs_are_integers_that_sum_exactly(self):
        text = self.export("calls.tally", "callgrind").decode()
        self.assertIn("apportioned by the number of calls, in integers that sum", text)
        events = re.search(r"^events: (.*)$", text, re.M)[1].split()
        cycles = events.index("cycles")
        edges = {(a.split(": ")[-1], b.split(": ")[-1]): (n, costs[cycles]) for a, b, n, costs in self.calls(text)}
        # noise has 10 cycles for 4 calls, 3 of which are from warp.
        self.assertEqual(edges[("warp", "noise")], (3, 7))
        self.assertEqual(edges[("main", "noise")], (1, 3))
        self.assertEqual(edges[("main", "warp")], (3, 107))
        self.assertEqual([cost for (_, callee), (_, cost) in edges.items() if callee == "main"], [1110])

    def test_code_of_an_included_file_is_between_fi_and_fe(self):
        text = self.export("calls.tally", "callgrind").decode()
        warp = re.search(r"fn=\(\d+\) [^\n]*: warp\n(.*?)\n\n", text + "\n", re.S)[1]
        header = re.search(r"=\((\d+)\) shaders/noise.glsl", text)[1]
        main = re.search(r"=\((\d+)\) shaders/main.comp", text)[1]
        self.assertRegex(warp, rf"fi=\({header}\)[^\n]*\n9 [\d ]+\nfe=\({main}\)")

    def test_hostile_names_stay_in_their_line(self):
        text = self.annotate("calls.tally", "--threshold=100")
        self.assertIn("PROGRAM TOTALS", text)
        self.assertNotIn("\x1b", text)


class Stacks(ExportTest):
    def collapsed(self, capture, metric):
        """The value of each stack, as flame graph tools read a line."""
        stacks = {}
        for line in self.export(capture, "collapsed", "--metric", metric).decode().splitlines():
            stack, value = re.fullmatch(r"(.+) (\d+)", line).groups()
            stacks[tuple(stack.split(";"))] = stacks.get(tuple(stack.split(";")), 0) + int(value)
        return stacks

    def test_collapsed_stacks_sum_to_the_report_s_total(self):
        stacks = self.collapsed("sample.tally", "instructions")
        self.assertEqual(sum(stacks.values()), SAMPLE_INSTRUCTIONS)
        lit = "lit.frag fragment"
        self.assertEqual(stacks[("main 640x480", "Draw 3 (opaque)", lit, f"{lit}: main", "lit.frag:4")], 2 * 400 * 2)

    def test_paths_of_calls_have_integer_shares_that_sum(self):
        stacks = self.collapsed("calls.tally", "cycles")
        by_path = {}
        for stack, value in stacks.items():
            self.assertEqual(stack[0].count(";"), 0)
            path = tuple(frame.split(": ")[-1] for frame in stack if ": " in frame)
            by_path[path] = by_path.get(path, 0) + value
        # A quarter of 10 cycles, rounded down, on the first path; the last path has the rest.
        self.assertEqual(by_path, {("main",): 1000, ("main", "warp"): 100, ("main", "noise"): 2,
                                   ("main", "warp", "noise"): 8})

    def test_speedscope_file_follows_its_schema_and_has_the_collapsed_stacks(self):
        file = json.loads(self.export("sample.tally", "speedscope"))
        self.assertEqual(file["$schema"], "https://www.speedscope.app/file-format-schema.json")
        frames = file["shared"]["frames"]
        for frame in frames:
            self.assertIsInstance(frame["name"], str)
            self.assertLessEqual(set(frame), {"name", "file", "line", "col"})
        self.assertEqual(len(file["profiles"]), 1)
        profile = file["profiles"][0]
        self.assertEqual(set(profile), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
        self.assertEqual((profile["type"], profile["unit"], profile["startValue"]), ("sampled", "none", 0))
        self.assertEqual(profile["endValue"], sum(self.collapsed("sample.tally", "cost").values()))
        self.assertEqual(len(profile["samples"]), len(profile["weights"]))
        stacks = {}
        for sample, weight in zip(profile["samples"], profile["weights"]):
            stack = tuple(frames[index]["name"] for index in sample)
            stacks[stack] = stacks.get(stack, 0) + weight
        self.assertEqual(stacks, self.collapsed("sample.tally", "cost"))

    def test_counts_without_a_shader_are_named(self):
        for format in ("callgrind", "collapsed", "pprof", "speedscope"):
            done = run(TALLY, "export", "--format", format, "-o", "-", self.path("calls.tally"))
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stderr, rb"^tally: [^\n]*left out: counts of 1 stage whose shader[^\n]*\n$")
            self.assertEqual(run(TALLY, "export", "--format", format, self.path("sample.tally")).stderr, b"")

    def test_unknown_metric_is_one_line_with_the_known_ones(self):
        done = run(TALLY, "export", "--format", "collapsed", "--metric", "nonsense", self.path("sample.tally"))
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertRegex(done.stderr, rb"^tally: [^\n]*there is no metric 'nonsense'; the metrics are [^\n]*instructions[^\n]*\n$")


class Pprof(ExportTest):
    def top(self, profile, *options):
        text = successful("go", "tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", *options, profile,
                          env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "PPROF_TMPDIR": str(self.folder)})
        rows = {}
        for line in text.decode().splitlines():
            if match := re.match(r" *(-?\d+)\S* +\S+ +\S+ +(-?\d+)\S* +\S+ +(.*)$", line):
                rows[match[3]] = (int(match[1]), int(match[2]))
        return rows, text.decode()

    def profile(self, capture):
        file = self.path(capture + ".pb.gz")
        self.export(capture, "pprof", "-o", file, "--force")
        return file

    def test_go_tool_pprof_shows_the_report_s_values(self):
        rows, text = self.top(self.profile("sample.tally"), "-unit=count")
        self.assertIn("Type: cost", text)
        shaders = {row["shader"]: row["cost"] or 0 for row in self.report_rows("sample.tally", "shader")}
        self.assertEqual(rows["lit.frag fragment: main"], (shaders["lit.frag"],) * 2)
        self.assertEqual(rows["main 640x480"], (0, shaders["lit.frag"] + shaders["triangle"]))
        self.assertEqual(sum(flat for flat, _ in rows.values()), sum(shaders.values()))

    def test_every_metric_is_a_sample_type(self):
        rows, _ = self.top(self.profile("calls.tally"), "-sample_index=cycles", "-unit=count")
        by_function = {name.split(": ")[-1]: values for name, values in rows.items() if ": " in name}
        self.assertEqual(by_function, {"main": (1000, 1110), "warp": (100, 108), "noise": (10, 10)})

    def test_a_profile_differs_from_itself_in_nothing(self):
        file = self.profile("sample.tally")
        rows, text = self.top(file, "-diff_base", file, "-unit=count")
        self.assertIn("Type: cost", text)
        self.assertFalse(any(flat or cumulated for flat, cumulated in rows.values()), text)


class Perfetto(ExportTest):
    """The packets as protoc decodes them, with the numbers of Perfetto's protos."""

    def packets(self):
        data = self.export("sample.tally", "perfetto")
        text = successful("protoc", "--decode_raw", input=data).decode()
        stack, root = [], []
        current = root
        for line in text.splitlines():
            line = line.strip()
            if line.endswith("{"):
                inner = []
                current.append((int(line[:-1]), inner))
                stack.append(current)
                current = inner
            elif line == "}":
                current = stack.pop()
            else:
                number, value = line.split(": ", 1)
                current.append((int(number), value.strip('"') if value.startswith('"') else int(value, 0)))
        self.assertTrue(all(number == 1 for number, _ in root))
        return [packet for _, packet in root]

    @staticmethod
    def field(message, *path):
        for number in path:
            message = next((value for key, value in message if key == number), None)
            if message is None:
                return None
        return message

    def test_render_stages_have_the_gpu_times_and_labels_of_the_capture(self):
        stages = []
        for packet in self.packets():
            if stage := self.field(packet, 53):
                extra = {self.field(value, 1): self.field(value, 2) for key, value in stage if key == 6}
                stages.append((self.field(stage, 17), self.field(packet, 8), self.field(stage, 2), extra))
        self.assertEqual([stage[:3] for stage in stages],
                         [("main 640x480", 2_000_000, 1_500_000), ("Dispatch 4 x 1 x 1", 3_600_000, 20_000),
                          ("main 640x480", 4_000_000, 1_500_001), ("Dispatch 4 x 1 x 1", 5_600_000, 20_000)])
        self.assertEqual(stages[0][3]["label"], "Frame / Opaque")
        self.assertEqual(stages[2][3]["frame"], "1")
        for (_, _, _, extra), row in zip(stages[::2], (r for r in self.report_rows("sample.tally", "pass") if r["pass"].startswith("main"))):
            self.assertEqual(int(extra["instructions"]), row["instructions"])

    def test_stages_refer_to_interned_queues_stages_and_contexts(self):
        packets = self.packets()
        interned = next(self.field(packet, 12) for packet in packets if self.field(packet, 12))
        specifications = {self.field(value, 1): self.field(value, 2) for key, value in interned if key == 24}
        contexts = [self.field(value, 1) for key, value in interned if key == 23]
        names = set()
        for packet in packets:
            if stage := self.field(packet, 53):
                names.add((specifications[self.field(stage, 13)], specifications[self.field(stage, 14)]))
                self.assertIn(self.field(stage, 5), contexts)
        self.assertEqual(names, {("GPU", "render pass"), ("GPU", "outside of passes")})

    def test_frames_contain_their_stages_and_do_not_overlap(self):
        frames, open_at = [], None
        for packet in self.packets():
            event = self.field(packet, 11)
            if event is None or self.field(event, 11) != 1:
                continue
            if self.field(event, 9) == 1:
                self.assertIsNone(open_at)
                open_at = (self.field(event, 23), self.field(packet, 8))
            else:
                frames.append((*open_at, self.field(packet, 8)))
                open_at = None
        self.assertEqual(frames, [("Frame 0", 2_000_000, 3_620_000), ("Frame 1", 4_000_000, 5_620_000)])

    def test_labels_nest_and_last_as_long_as_what_runs_in_them(self):
        labels, open_labels = [], []
        for packet in self.packets():
            event = self.field(packet, 11)
            if event is None or self.field(event, 11) != 3:
                continue
            time = self.field(packet, 8)
            if self.field(event, 9) == 1:
                open_labels.append((self.field(event, 23), time))
            else:
                name, begin = open_labels.pop()
                labels.append((name, begin, time, len(open_labels)))
        self.assertEqual(open_labels, [])
        self.assertEqual(labels, [
            ("Opaque", 2_000_000, 3_500_000, 1), ("Reduce", 3_600_000, 3_620_000, 1), ("Frame", 2_000_000, 3_620_000, 0),
            ("Opaque", 4_000_000, 5_500_001, 1), ("Reduce", 5_600_000, 5_620_000, 1), ("Frame", 4_000_000, 5_620_000, 0)])

    def test_counters_by_pass_are_monotone_and_end_at_the_report_s_sums(self):
        tracks, values = {}, {}
        for packet in self.packets():
            if track := self.field(packet, 60):
                tracks[self.field(track, 1)] = self.field(track, 2)
            elif self.field(packet, 11, 9) == 4:
                name = tracks[self.field(packet, 11, 11)]
                values.setdefault(name, []).append((self.field(packet, 8), self.field(packet, 11, 30)))
        for of_track in values.values():
            self.assertEqual(of_track, sorted(of_track))
            self.assertEqual([value for _, value in of_track], sorted(value for _, value in of_track))
        rows = [row["instructions"] for row in self.report_rows("sample.tally", "pass") if row["pass"].startswith("main")]
        self.assertEqual([value for _, value in values["main 640x480: instructions"]], [0, rows[0], rows[0] + rows[1]])

    def test_dispatches_and_passes_that_were_not_timed_are_left_out_with_a_message(self):
        done = run(TALLY, "export", "--format", "perfetto", self.path("sampled.tally"))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"left out: 10 repeated dispatches that were not timed", done.stderr)
        self.assertIn(b"left out: 4 passes that were not timed", done.stderr)

    def test_a_capture_without_gpu_times_is_refused(self):
        done = run(TALLY, "export", "--format", "perfetto", self.path("calls.tally"))
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"no GPU times", done.stderr)


class Files(ExportTest):
    FORMATS = ("csv", "jsonl", "callgrind", "speedscope", "collapsed", "pprof", "perfetto")

    def assert_refused(self, *arguments):
        done = run(TALLY, "export", *arguments)
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        self.assertRegex(done.stderr, rb"^tally: [^\n]+\n$")
        return done.stderr.decode()

    def test_foreign_and_cut_files_are_one_clear_line(self):
        foreign, cut = self.folder / "foreign.tally", self.folder / "cut.tally"
        foreign.write_bytes(b"not a capture")
        cut.write_bytes((self.folder / "sample.tally").read_bytes()[:5000])
        for format in self.FORMATS:
            output = self.folder / "bad.out"
            for file in (foreign, cut, self.folder / "missing.tally"):
                self.assertIn(str(file), self.assert_refused("--format", format, "-o", str(output), str(file)))
                self.assertFalse(output.exists())

    def test_an_existing_file_is_replaced_only_with_force(self):
        output = self.folder / "taken"
        output.write_text("precious")
        self.assertIn("--force", self.assert_refused("--format", "csv", "-o", str(output), self.path("sample.tally")))
        self.assertEqual(output.read_text(), "precious")
        self.export("sample.tally", "csv", "-o", str(output), "--force")
        self.assertEqual(output.read_bytes(), self.export("sample.tally", "csv", "-o", "-"))

    def test_a_failed_export_leaves_no_file(self):
        before = sorted(self.folder.iterdir())
        self.assert_refused("--format", "perfetto", "-o", self.path("none.perfetto"), self.path("calls.tally"))
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_the_capture_itself_is_never_replaced(self):
        sample = self.path("sample.tally")
        before = pathlib.Path(sample).read_bytes()
        self.assert_refused("--format", "csv", "--force", "-o", sample, sample)
        self.assertEqual(pathlib.Path(sample).read_bytes(), before)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([TALLY, "export", "--format", "csv", self.path("sample.tally")], stdout=full,
                                  stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"No space left", done.stderr)

    def test_options_without_effect_are_rejected(self):
        self.assert_refused("--format", "callgrind", "--by", "line", self.path("sample.tally"))
        self.assert_refused("--format", "csv", "--metric", "instructions", self.path("sample.tally"))

    def test_frames_and_shaders_are_selected_as_in_the_report(self):
        text = self.export("sample.tally", "collapsed", "--metric", "instructions", "--frames", "1", "--shader",
                           "triangle").decode()
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines()), 27)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
