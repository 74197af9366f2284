#!/usr/bin/env python3
"""The frames of a capture are one number, and the same frames, wherever a number of frames is printed: by `tally run`, in the
head and the rows of reports, in the JSON, the page and its strip, data sets, snapshots, diffs, traces, and in the message about
frames that are not there. Captures of programs that present, that mark frames, and that do neither, whole and in part.

    frames.py TALLY CAPTURE_CLIENT
"""
import base64
import glob
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

TALLY, CLIENT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CUBE = ["vkcube", "--c", "6", "--present_mode", "0", "--width", "64", "--height", "64"]


def tally(folder, *words, status=0):
    done = subprocess.run([TALLY, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != status:
        raise AssertionError(f"tally {' '.join(words)}: {done.returncode}\n{done.stderr}")
    return done


def number(pattern, text):
    found = re.search(pattern, text)
    return int(found[1]) if found else 0


class Page:
    def __init__(self, file):
        with open(file, encoding="utf-8") as page:
            packed = re.search(r'<script type="application/x-tally" id="data">([^<]*)', page.read())[1]
        data = gzip.decompress(base64.b64decode(packed))
        end = 16 + struct.unpack_from("<I", data, 12)[0]
        self.head, self.blobs = json.loads(data[16:end]), data[end:]

    def column(self, table, name):  # numbers; a column that is not there is 0 in all rows
        table = self.head["captures"][0]["tables"][table]
        column = table["columns"].get(name)
        if not column:
            return [0] * table["rows"]
        letter = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q"}[column["type"]]
        return struct.unpack_from(f"<{table['rows']}{letter}", self.blobs, column["offset"])


class Frames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, frames, command, *options):
        """`frames`: the numbers of the frames that hold something."""
        said = tally(self.folder, "run", "--force", "-o", "a.tally", *options, "--", *command).stderr
        self.assertEqual(self.printed(said), self.wanted(frames), f"{command} {options}")

    @staticmethod
    def wanted(frames):
        numbers = ["run", "head", "JSON", "rows", "page", "strip", "data set", "snapshot", "diff"]
        first, last = min(frames), max(frames)
        return {**{place: len(frames) for place in numbers}, "frames of rows": frames,
                "frames of the strip": frames, "frames of the trace": frames, "traced twice": 0,
                "message": f"frame {first}" if first == last else f"frames {first}-{last}"}

    def printed(self, said):
        report = json.loads(tally(self.folder, "report", "--by", "frame", "--format", "json", "a.tally").stdout)
        tally(self.folder, "report", "--html", "a.html", "--force", "a.tally")
        page = Page(os.path.join(self.folder, "a.html"))
        counted = page.column("frames", "counted")
        strip = [frame for frame, is_counted in zip(page.column("frames", "number"), counted) if is_counted]
        shutil.rmtree(os.path.join(self.folder, "set"), ignore_errors=True)
        tally(self.folder, "export", "--to", "set", "--commit", "c", "--scene", "s", "a.tally")
        [stored] = glob.glob(os.path.join(self.folder, "set/**/capture.jsonl"), recursive=True)
        diff = json.loads(tally(self.folder, "diff", "--format", "json", "a.tally", "a.tally").stdout)
        tally(self.folder, "export", "--format", "perfetto", "--force", "-o", "a.trace", "a.tally")
        with open(os.path.join(self.folder, "a.trace"), "rb") as trace:
            slices = sorted(int(frame) for frame in re.findall(rb"Frame (\d+)", trace.read()))
        with open(stored, encoding="utf-8") as lines:
            row = json.loads(lines.readline())
        rows = sorted(row["frame"] for row in report["tables"][0]["rows"])
        timed = {row["frame"] for row in report["tables"][0]["rows"] if row["gpu_time"] or row["first_use_time"]}
        untimed = set(rows) - timed  # a trace can only have those that took a known time
        snapshot = tally(self.folder, "snapshot", "a.tally").stdout
        missing = tally(self.folder, "report", "--frames", "1000-", "a.tally", status=1).stderr
        return {"run": number(r"tally: (\d+) frames?,", said),
                "head": number(r"holds +(\d+) frames?,", tally(self.folder, "report", "a.tally").stdout),
                "JSON": report["capture"]["frames"],
                "rows": len(rows), "frames of rows": rows,
                "page": page.head["captures"][0]["info"]["frames"],
                "strip": len(strip), "frames of the strip": sorted(strip),
                "data set": row["frames"],
                "snapshot": number(r"(?m)^frames (\d+)$", snapshot),
                "diff": diff["diffs"][0]["after"]["frames"],
                "frames of the trace": sorted(untimed | set(slices)), "traced twice": len(slices) - len(timed),
                "message": re.search(r"it has (.*)", missing)[1]}

    def test_of_a_program_that_neither_presents_nor_marks_frames(self):
        self.check([0], [CLIENT, "render_pass"])
        self.check(list(range(8)), [CLIENT, "rounds"])
        self.check([1, 2], [CLIENT, "rounds"], "--frames", "1-2")
        self.check([5, 6, 7], [CLIENT, "rounds"], "--keep", "3")
        self.check([0, 3, 6], [CLIENT, "rounds"], "--every", "3")

    def test_of_a_program_whose_frames_the_user_chooses(self):
        self.check([0, 1, 2, 3], [CLIENT, "rounds"], "--frame-per", "fence")
        self.check([0, 1], [CLIENT, "rounds"], "--frame-per", "queue-idle")
        self.check([0, 1, 2], [CLIENT, "rounds"], "--frame-label", "^even")
        self.check([2], [CLIENT, "rounds"], "--frame-per", "fence", "--frames", "1-2", "--keep", "1")

    def test_of_a_program_that_marks_frames(self):
        self.check([0, 1, 2, 3], [CLIENT, "marked"])
        self.check([2, 3], [CLIENT, "marked"], "--keep", "2")
        self.check([1], [CLIENT, "marked"], "--frames", "1")

    def test_of_a_program_that_presents(self):
        if os.environ.get("TALLY_REQUIRE_PROGRAMS") != "1" and not (shutil.which("vkcube") and shutil.which("Xvfb")):
            self.skipTest("there is no vkcube or no Xvfb")
        ends, begins = os.pipe()
        server = subprocess.Popen(["Xvfb", "-displayfd", str(begins), "-screen", "0", "640x480x24", "-nolisten", "tcp"],
                                  pass_fds=[begins], stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        os.environ["DISPLAY"] = ":" + os.read(ends, 16).decode().strip()
        self.check(list(range(6)), CUBE)
        self.check([2, 3, 4], CUBE, "--frames", "2-4")
        self.check([4, 5], CUBE, "--keep", "2")
        self.check([0, 2, 4], CUBE, "--every", "2", "--regions")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
