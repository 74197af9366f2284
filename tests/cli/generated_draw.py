#!/usr/bin/env python3
"""A draw in a render pass that the device generates is one draw and no dispatch, wherever both are counted: by `tally run`, in the
summary, by pass and by draw, in a data set, and in the live totals of the process.

    generated_draw.py TALLY CAPTURE_CLIENT     exits with 77 where the driver generates no commands
"""
import json
import os
import subprocess
import sys
import tempfile

tally, client = map(os.path.abspath, sys.argv[1:])


def run(*words):
    return subprocess.run([tally, *words], cwd=folder, env={**os.environ, "TEST_LIVE_COUNTERS": "wanted"}, capture_output=True,
                          text=True, timeout=300)


def report(*options):
    done = run("report", *options, "a.tally")
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(by):
    return json.loads(report("--by", by, "--format", "json"))["tables"][0]["rows"]


def check(scenario):
    done = run("run", "--force", "-o", "a.tally", "--", client, scenario)
    if done.returncode == 77:
        sys.exit(77)
    assert done.returncode == 0, done.stderr
    assert "1 draw, 0 dispatches" in done.stderr, done.stderr
    assert "1 draw, 0 dispatches" in report(), report()
    summary = json.loads(report("--format", "json"))["capture"]
    assert (summary["draws"], summary["dispatches"]) == (1, 0), summary
    passes = rows("pass")
    assert [(row["draws"], row["dispatches"]) for row in passes] == [(1, 0)], passes
    frames = rows("frame")
    assert [(row["draws"], row["dispatches"]) for row in frames] == [(1, 0)], frames
    live = dict(line.split("=") for line in done.stderr.splitlines() if "=" in line and not line.startswith("tally"))
    assert (live["Draw commands"], live["Draws, each of a multi-draw"], live["Dispatches"]) == ("1", "1", "0"), live


with tempfile.TemporaryDirectory() as folder:
    for scenario in ("generated_draw", "generated_draw_set"):
        check(scenario)
