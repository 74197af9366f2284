#!/usr/bin/env python3
"""tally.exe, under wine, prints and writes what tally prints and writes on Linux: byte for byte, for captures that either system made,
in folders and files whose names have spaces and letters of several scripts.

Usage: same_output.py LINUX_BIN WINDOWS_BIN WITH_WINE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = "Szene ä 日本"
NAMES = ["vor her é.tally", "nach her ж.tally", "Züge 描画.tally"]
TABLES = ("draw", "pass", "shader", "line", "block", "pipeline", "frame", "label", "region", "function", "call-tree")
FORMATS = ("csv", "jsonl", "callgrind", "speedscope", "collapsed", "pprof", "perfetto")
# A command, and the file that it writes, if it writes one.
BEFORE, AFTER, DRAWS = NAMES
COMMANDS = [
    *((["report", BEFORE, "--by", table], None) for table in TABLES),
    *((["report", AFTER, "--by", table, "--format", "json"], None) for table in TABLES),
    (["report", BEFORE], None),
    (["report", DRAWS, "--by", "draw", "--each"], None),
    (["report", BEFORE, "--annotate", "lit"], None),
    (["report", BEFORE, "--annotate", "lit", "--source", "glsl"], None),
    (["report", BEFORE, "--disassemble", "lit"], None),
    (["report", BEFORE, "--html", "Seite ü.html"], "Seite ü.html"),
    (["report", AFTER, "--html", "beide ü.html", "--against", BEFORE], "beide ü.html"),
    (["explain", BEFORE], None),
    (["explain", BEFORE, "--format", "json"], None),
    (["diff", BEFORE, AFTER], None),
    (["diff", BEFORE, AFTER, "--format", "json"], None),
    (["diff", BEFORE, AFTER, "--by", "line", "--format", "markdown"], None),
    (["snapshot", BEFORE, "-o", "Zählung 数.counts"], "Zählung 数.counts"),
    (["check", AFTER, "Zählung 数.counts"], None),
    (["coverage", BEFORE, AFTER], None),
    (["coverage", BEFORE, "-o", "a ü.info"], "a ü.info"),
    (["coverage", BEFORE, "--format", "cobertura", "-o", "a ü.xml"], "a ü.xml"),
    (["merge", BEFORE, AFTER, "-o", "Summe é.tally"], None),
    (["report", "Summe é.tally", "--by", "draw"], None),
    (["extract", "lit", BEFORE, "-o", "licht ü.glsl"], "licht ü.glsl"),
    (["extract", "lit", BEFORE, "--spirv", "-o", "licht ü.spv"], "licht ü.spv"),
    (["report", BEFORE, "--heatmap", "Bild ü.png"], "Bild ü.png"),
    *((["export", BEFORE, "--format", name, "-o", f"ü.{name}"], f"ü.{name}") for name in FORMATS),
]
ABSENT = ["top", "trigger", "calibrate"]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                          env=os.environ | {"COLUMNS": "120"})
    return done.returncode, done.stdout, done.stderr


def without_address(errors):
    """The messages, without the absolute path of a file that was written."""
    return re.sub(rb"file://\S+", b"", errors)


def main():
    linux, windows, wine = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    tally, exe = [str(linux / "tally")], [str(wine), str(windows / "tally.exe")]
    wrong, compared = [], 0

    with tempfile.TemporaryDirectory() as work:
        # What Linux wrote is read on both, then what Windows wrote.
        for origin, writer in (("linux", [str(linux / "write_samples")]), ("windows", [str(wine), str(windows / "write_samples.exe")])):
            folders = [pathlib.Path(work, origin, system, FOLDER) for system in ("on-linux", "on-windows")]
            for folder in folders:
                folder.mkdir(parents=True)
            status, _, errors = run(writer + NAMES, folders[0])
            assert status == 0, errors.decode()
            for name in NAMES:
                (folders[1] / name).write_bytes((folders[0] / name).read_bytes())
            for arguments, written in COMMANDS:
                expected, found = run(tally + arguments, folders[0]), run(exe + arguments, folders[1])
                if written:
                    expected, found = ((*result, (folder / written).read_bytes() if (folder / written).exists() else None)
                                       for result, folder in zip((expected, found), folders))
                    assert expected[3], arguments
                compared += 1
                difference = [what for what, a, b in zip(("exit status", "output", "messages", "file"), expected, found)
                              if (without_address(a) != without_address(b) if what == "messages" else a != b)]
                if difference:
                    wrong.append(f"{origin}: tally {' '.join(arguments)}: {', '.join(difference)} differ\n"
                                 f"  linux:   {expected[0]} {expected[1][-300:]} {expected[2][-300:]}\n"
                                 f"  windows: {found[0]} {found[1][-300:]} {found[2][-300:]}")
                assert expected[0] in (0, 1, 3), (arguments, expected)

        # A command that is absent says so in one line.
        for command in ABSENT:
            status, _, errors = run(exe + [command, "--", "app.exe"], work)
            if status != 2 or errors.count(b"\n") != 1 or b"Windows" not in errors:
                wrong.append(f"tally {command}: {status} {errors}")
        status, _, errors = run(exe + ["report", "fehlt ü.tally"], work)
        if status != 2 or errors != "tally: fehlt ü.tally: No such file or directory\n".encode():
            wrong.append(f"a file that is not there: {status} {errors}")

    print("\n".join(wrong) if wrong else f"{compared} outputs are the same")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
