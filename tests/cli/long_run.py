#!/usr/bin/env python3
"""Long runs of `tally run`, as a user starts them: captures on request, the limit of the file, and the memory of both
processes over many frames. `APP endless` is a program that submits frames until it is ended, each with one dispatch of
(frame % 1000 + 1) groups. `APP endless_names` has new objects, names and labels in each frame, with the frame's number.

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
    def __init__(self, file, *options, scenario="endless"):
        self.file = file
        self.process = subprocess.Popen([TALLY, "run", "-o", file, *options, "--", APP, scenario],
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
    trigger(file, status=2, says="no running `tally run` of yours writes this file")
    trigger(run.process.pid, status=2, says="there is no process")
    trigger(os.getpid(), status=2, says="is not a `tally run` of yours")
    trigger(1, status=2)
    trigger("99999999999", status=2, says="not a process id")
    trigger(f"{folder}/nothing", status=2, says="No such file")
    trigger(folder, status=2, says="no running `tally run` of yours")
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


def stops_growing(run, targets, *, and_the_file=False):
    """A leak grows in every round; what waits for a receiver that was late for a moment, in one or two."""
    def sizes():
        memory = [resident(run.process.pid), resident(run.application)]
        return memory + [os.path.getsize(run.file) >> 10] if and_the_file else memory  # KiB

    def grew(before, now):
        slack = [max(2048, before[0] // 20), max(2048, before[1] // 20), 512]
        return any(b > a + more for a, b, more in zip(before, now, slack))

    rounds = []
    for target in targets:
        wait_until(lambda: last_frame(run.file) >= target, f"frame {target}")
        rounds.append(sizes())
        if len(rounds) > 1 and not grew(*rounds[-2:]):
            print(f"{last_frame(run.file)} frames; KiB of tally, of the application{', of the file' * and_the_file}: {rounds}")
            return
    sys.exit(f"grows in every round: {rounds}")


def keeps_its_memory(folder):
    """All frames take as much memory as a quarter of them."""
    file = f"{folder}/long.tally"
    run = Run(file, "--every", "10", "--max-size", "64M")
    stops_growing(run, [FRAMES // 4, *range(FRAMES, 6 * FRAMES, FRAMES)])
    run.end()
    captured = len(frames(file))
    size = os.path.getsize(file)
    print(f"{captured} captured, {size} bytes")
    assert captured == last_frame(file) // 10 + 1
    assert size < 400_000 + 1200 * captured, (size, captured)
    check_counts(file)


def keeps_what_kept_frames_name(folder):
    """Objects and labels of dropped frames go; those of kept frames stay."""
    kept, count = 20, 4 * FRAMES
    file = f"{folder}/names.tally"
    run = Run(file, "--keep", str(kept), scenario="endless_names")
    # At night, more than the 100,000 frames whose numbers `tally run` keeps.
    stops_growing(run, range(count // 2, 4 * count, count // 2), and_the_file=True)
    run.end()
    last = query(file, "SELECT max(number) FROM frame")[0][0]
    numbers = list(range(last - kept + 1, last + 1))
    assert frames(file) == numbers
    ran = query(file, "SELECT frame.number, object.name, queue.name, path FROM command_list AS c "
                      "JOIN frame ON frame.id = c.frame_id JOIN execution ON execution.id = c.execution "
                      "JOIN object ON object.id = execution.command_buffer "
                      "JOIN submission ON submission.id = c.submission JOIN label AS queue ON queue.id = submission.label "
                      "JOIN label_path ON label_path.id = c.label ORDER BY 1")
    numbers = [n for n, *_ in ran]
    assert numbers and set(range(last - kept + 1, last)) <= set(numbers), ran  # the last one may be cut off
    for n, commands, submission, path in ran:
        assert (commands, submission, path) == (f"commands {n}", f"submission {n}", f"all / frame {n} / dispatch {n}"), ran
    assert query(file, "SELECT count(*) FROM object")[0][0] == len(ran)
    assert query(file, "SELECT count(*) FROM label")[0][0] <= 3 * kept + 1


def forgets_names_between_captured_frames(folder):
    """So does the layer, if no frame is captured for long."""
    file = f"{folder}/unnamed.tally"
    run = Run(file, "--trigger", scenario="endless_names")
    wait_until(lambda: query(file, "SELECT 1 FROM device"), "the device")

    def capture_after(targets):
        for target in targets:
            while last_frame(file) < target:
                trigger(run.process.pid)
                before = last_frame(file)
                wait_until(lambda: last_frame(file) > before, "a frame")
                time.sleep(0.5)
            yield target

    stops_growing(run, capture_after([FRAMES, *range(4 * FRAMES, 16 * FRAMES, 3 * FRAMES)]))
    run.end()


def keeps_what_it_wrote_when_it_is_killed(folder):
    """The application goes on. Reports say that the end is missing."""
    for number in range(5):
        file = f"{folder}/killed-{number}.tally"
        run = Run(file)
        wait_until(lambda: last_frame(file), "a frame")
        time.sleep(number / 5)  # five moments: the claim holds at each
        written = last_frame(file)
        run.process.kill()
        run.process.wait()
        os.kill(run.application, 0)
        assert last_frame(file) >= written > 0, (last_frame(file), written)
        kept = frames(file)
        assert kept == list(range(kept[0], kept[0] + len(kept))), kept
        check_counts(file)
        report = subprocess.run([TALLY, "report", file], capture_output=True, text=True, check=True).stdout
        assert "tally run still writes the capture or was killed" in " ".join(report.split()), report
        os.kill(run.application, signal.SIGKILL)


with tempfile.TemporaryDirectory() as root:
    for part in (captures_on_request, refuses_in_one_line, ends_at_its_size, keeps_its_memory, keeps_what_kept_frames_name,
                 keeps_what_it_wrote_when_it_is_killed, forgets_names_between_captured_frames):
        begin = time.monotonic()
        part(root)
        print(f"{part.__name__}: {time.monotonic() - begin:.1f} s")
