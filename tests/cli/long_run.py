#!/usr/bin/env python3
"""Long runs of `tally run`, as a user starts them: captures on request, the limit of the file, and the memory of both
processes over many frames. APP ENDLESS is a program that submits frames until it is ended, each with one dispatch of
(frame % 1000 + 1) groups.

    long_run.py TALLY APP FRAMES
"""
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

TALLY, APP, FRAMES = sys.argv[1], sys.argv[2], int(sys.argv[3])
DEADLINE = time.monotonic() + 3000


def wait_until(condition, what):
    while not (value := condition()):
        if time.monotonic() > DEADLINE:
            sys.exit(f"gave up waiting: {what}")
        time.sleep(0.01)
    return value


def query(file, sql):
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5) as capture:
            return capture.execute(sql).fetchall()
    except sqlite3.OperationalError:
        return []  # not created yet


def last_frame(file):
    rows = query(file, "SELECT max(number) FROM frame WHERE ended_by <> 'open'")
    return (rows[0][0] if rows else None) or 0


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))  # KiB


class Run:
    def __init__(self, file, *options):
        self.file = file
        self.process = subprocess.Popen([TALLY, "run", "-o", file, *options, "--", APP, "endless"],
                                        stderr=subprocess.PIPE, text=True)
        self.application = wait_until(lambda: children(self.process.pid), "the application")[0]

    def end(self):
        os.kill(self.application, signal.SIGKILL)
        self.said = self.process.communicate(timeout=300)[1]
        return self.process.returncode


def trigger(*arguments, status=0, says=""):
    done = subprocess.run([TALLY, "trigger", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done)
    assert says in done.stderr and done.stderr.count("\n") == 1, (arguments, done)
    return done


def frames(file):
    return [row[0] for row in query(file, "SELECT number FROM frame ORDER BY number")]


def check_counts(file):
    """Every captured command has the count of its frame."""
    rows = query(file, "WITH list AS MATERIALIZED (SELECT command, frame FROM command_list), counts AS MATERIALIZED "
                       "(SELECT command, executions FROM block_count WHERE block = 0) "
                       "SELECT frame, executions FROM list JOIN counts USING (command)")
    assert rows
    for frame, executions in rows:
        assert executions % (frame % 1000 + 1) == 0 and executions > 0, (frame, executions)


def captures_on_request(folder):
    file = f"{folder}/requested.tally"
    run = Run(file, "--trigger=2")
    wait_until(lambda: query(file, "SELECT 1 FROM device"), "the device")
    trigger(run.process.pid, says="captures 2 frames")
    wait_until(lambda: len(frames(file)) == 2, "2 frames")
    trigger(run.application, "--frames", 3, says="captures 3 frames")
    wait_until(lambda: len(frames(file)) == 5, "5 frames")
    trigger(file, "--frames", 1, says="captures the next frame")
    wait_until(lambda: len(frames(file)) == 6, "6 frames")
    os.kill(run.process.pid, signal.SIGUSR1)
    wait_until(lambda: len(frames(file)) == 8, "8 frames")
    run.end()
    assert "8 frames" in run.said, run.said
    check_counts(file)


def refuses_in_one_line(folder):
    file = f"{folder}/refused.tally"
    run = Run(file)
    wait_until(lambda: query(file, "SELECT 1 FROM frame"), "a frame")
    trigger(run.process.pid, status=2, says="without --trigger")
    run.end()
    trigger(file, status=2, says="no `tally run` of yours is writing it")
    trigger(run.process.pid, status=2, says="there is no process")
    trigger(os.getpid(), status=2, says="is no `tally run`")
    trigger(1, status=2)
    trigger("99999999999", status=2, says="not a process id")
    trigger(f"{folder}/nothing", status=2, says="No such file")
    trigger(folder, status=2, says="no `tally run` of yours")
    trigger(file, "--frames", 0, status=2)
    for options in (["--every", "0"], ["--every", "x"], ["--frames", "3-9,"], ["--trigger=0"], ["--trigger=x"],
                    ["--trigger", "--every", "2"], ["--trigger", "--frames", "2"], ["--max-size", "1K"],
                    ["--max-size", "-1"], ["--max-size", "lots"]):
        done = subprocess.run([TALLY, "run", "-o", f"{folder}/bad.tally", *options, "--", "true"],
                              capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (options, done)
        assert not os.path.exists(f"{folder}/bad.tally"), options


def ends_at_its_size(folder):
    file = f"{folder}/limited.tally"
    run = Run(file, "--max-size", "1M", "--strict")
    wait_until(lambda: query(file, "SELECT 1 FROM frame WHERE number > 100"), "frames")
    before = -1
    while before != (before := last_frame(file)):  # until it stands still
        time.sleep(1)
    assert run.process.poll() is None, "the application goes on"
    assert run.end() == 4, run.said
    assert "limit of 1.0 MiB" in run.said and "later frames" in run.said, run.said
    assert os.path.getsize(file) <= 1 << 20
    check_counts(file)


def keeps_its_memory(folder):
    """What a quarter of the frames took is what all of them take."""
    file = f"{folder}/long.tally"
    run = Run(file, "--every", "10", "--max-size", "64M")
    wait_until(lambda: last_frame(file) >= FRAMES // 4, "a quarter of the frames")
    early = [resident(run.process.pid), resident(run.application)]
    wait_until(lambda: last_frame(file) >= FRAMES, "the frames")
    late = [resident(run.process.pid), resident(run.application)]
    run.end()
    captured = len(frames(file))
    size = os.path.getsize(file)
    print(f"{last_frame(file)} frames, {captured} captured, {size} bytes; resident KiB after a quarter and at the end: "
          f"tally {early[0]} {late[0]}, application {early[1]} {late[1]}")
    for a, b in zip(early, late):
        assert b <= a + max(2048, a // 20), (early, late)
    assert captured == last_frame(file) // 10 + 1
    assert size < 400_000 + 1200 * captured, (size, captured)
    check_counts(file)


with tempfile.TemporaryDirectory() as root:
    for part in (captures_on_request, refuses_in_one_line, ends_at_its_size, keeps_its_memory):
        begin = time.monotonic()
        part(root)
        print(f"{part.__name__}: {time.monotonic() - begin:.1f} s")
