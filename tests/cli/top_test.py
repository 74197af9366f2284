#!/usr/bin/python3
"""`tally top` on a terminal of its own, as a user sees it: a pseudo-terminal, and pyte that shows what arrives. APP endless
is a program that submits frames until it is ended; SHADERS names a capture with hostile names.

    top_test.py TALLY APP
"""
import fcntl
import os
import pty
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

TALLY, APP = sys.argv[1], sys.argv[2]
DEADLINE = time.monotonic() + 300


class Terminal:
    def __init__(self, *words, columns=130, rows=24, term="xterm-256color"):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.received = b""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM=term, LC_ALL="C.UTF-8")
            os.execv(words[0], list(words))
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        if not select.select([self.file], [], [], 0.05)[0]:
            return True
        try:
            data = os.read(self.file, 65536)
        except OSError:  # closed
            return False
        self.received += data
        self.stream.feed(data)
        return bool(data)

    def text(self):
        return "\n".join(self.screen.display)

    def wait_for(self, condition, what):
        if isinstance(condition, str):
            text = condition
            condition = lambda: text in self.text()
        while not condition():
            if time.monotonic() > DEADLINE or not self.read():
                sys.exit(f"no {what or text}:\n{self.text()}")

    def press(self, keys):
        os.write(self.file, keys.encode())

    def end(self):
        while self.read():
            if time.monotonic() > DEADLINE:
                sys.exit("does not end:\n" + self.text())
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, what):
    while not (value := condition()):
        if time.monotonic() > DEADLINE:
            sys.exit(f"gave up waiting: {what}")
        time.sleep(0.01)
    return value


def frame_of(terminal):
    line = terminal.screen.display[-1]
    return int(line.split(":")[0].split()[1]) if line.startswith("frame ") else -1


def shows_live_frames_and_leaves_the_application_alone(folder):
    log = f"{folder}/app.log"
    terminal = Terminal(TALLY, "top", "--by", "shader", "--interval", "0.1", "--log", log, "--", APP, "endless")
    terminal.wait_for("1 of 1 rows", "shader")
    first = frame_of(terminal)
    terminal.wait_for(lambda: frame_of(terminal) > first, "newer frame")
    terminal.press(" ")
    terminal.wait_for("paused", "pause")
    before = frame_of(terminal)
    time.sleep(0.5)
    terminal.press("r")
    terminal.wait_for(" ^", "reversed order")
    assert frame_of(terminal) == before, "paused"
    terminal.press(" ")
    terminal.wait_for(lambda: frame_of(terminal) > before, "newer frame after the pause")
    terminal.press("/nothing\n")
    terminal.wait_for("0 of 1 rows", "filter")
    terminal.press("/\x1b")
    terminal.wait_for("1 of 1 rows", "no filter")
    for key, by in (("5", "by draw"), ("1", "by pass"), ("3", "by line"), ("4", "by pipeline"), ("2", "by shader")):
        terminal.press(key)
        terminal.wait_for(by, by)
    for columns, rows in ((40, 8), (20, 3), (200, 50)):
        terminal.resize(columns, rows)
        terminal.wait_for(lambda: terminal.screen.display[-1].strip() != "" and
                          (columns < 40 or "by shader" in terminal.text()), f"{columns}x{rows}")
    run = children(terminal.pid)[0]
    application = children(run)[0]
    terminal.press("q")
    assert terminal.end() == 0
    assert b"keeps running, uncounted" in terminal.received and log.encode() in terminal.received
    assert terminal.received.rstrip().rfind(b"\x1b[?1049l") > 0, "the former screen is there again"
    time.sleep(0.3)
    assert alive(application) and alive(run)
    os.kill(application, signal.SIGKILL)
    wait_until(lambda: not alive(run), "the run's end")
    assert os.path.getsize(log) == 0, open(log).read()


def tells_how_the_application_ended(folder):
    terminal = Terminal(TALLY, "top", "--log", f"{folder}/end.log", "--", "sh", "-c", "echo hello; exit 7")
    terminal.wait_for("has ended with status 7", "the end")
    assert "hello" not in terminal.text()
    terminal.press("\x03")
    assert terminal.end() == 0
    with open(f"{folder}/end.log") as log:
        assert "hello" in log.read()


def watches_a_run_that_it_does_not_own(folder):
    file = f"{folder}/other.tally"
    run = subprocess.Popen([TALLY, "run", "-q", "--every", "10", "-o", file, "--", APP, "endless"])
    application = wait_until(lambda: children(run.pid), "the application")[0]
    wait_until(lambda: os.path.exists(file), "the capture")
    for target in (str(run.pid), str(application), file):
        terminal = Terminal(TALLY, "top", "--by", "pipeline", target)
        terminal.wait_for("frame ", "frame")
        terminal.press("q")
        assert terminal.end() == 0
    assert run.poll() is None
    plain = subprocess.run([TALLY, "top", "--count", "2", "--by", "shader", file], capture_output=True, text=True)
    assert plain.returncode == 0 and plain.stdout.count("frame ") == 2 and "\x1b" not in plain.stdout, plain
    os.kill(application, signal.SIGKILL)
    run.wait()
    shows_a_finished_capture(file)


def shows_a_finished_capture(file):
    """Its newest frame, at once; there will be no second one."""
    for count in "1", "2":
        plain = subprocess.run([TALLY, "top", "--count", count, file], capture_output=True, text=True, timeout=60)
        shown = [line for line in plain.stdout.splitlines() if line.startswith("frame ")]
        assert plain.returncode == 0 and len(shown) == 1, (count, plain)


def shows_no_escape_sequence_of_a_name(folder):
    """Names of a capture are replaced by hostile ones. Only curses writes to the terminal."""
    file = f"{folder}/hostile.tally"
    run = subprocess.Popen([TALLY, "run", "-q", "--frames", "0-3", "-o", file, "--", APP, "endless"])
    application = wait_until(lambda: children(run.pid), "the application")[0]
    wait_until(lambda: os.path.exists(file) and os.path.getsize(file) > 0, "the capture")
    time.sleep(1)
    os.kill(application, signal.SIGKILL)
    run.wait()
    hostile = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202e\r\nnext"
    with sqlite3.connect(file) as capture:
        capture.execute("UPDATE pipeline SET name = ?", (hostile,))
        capture.execute("UPDATE module SET name = ?", (hostile,))
        capture.execute("UPDATE device SET name = ?", (hostile,))
    for by in ("pipeline", "shader", "draw", "pass"):
        terminal = Terminal(TALLY, "top", "--by", by, file)
        terminal.wait_for("frame ", "frame")
        terminal.press("q")
        terminal.end()
        for part in (b"\x1b]0", b"\x1b[31m", b"\x9b2J", b"owned\x07"):
            if part == b"\x9b2J":
                assert b"\xc2\x9b" not in terminal.received
            assert part not in terminal.received, (by, part)


def refuses_in_one_line(folder):
    for words, says in (([], "either a process id"), (["1", "--", "true"], "either a process id"),
                        ([f"{folder}/none"], "No such file"), ([str(os.getpid())], "is not a `tally run` of yours"),
                        ([folder], "not a"), (["--interval", "0", "1"], ""), (["--by", "x", "1"], ""),
                        (["--log", folder, "--", "true"], "File exists")):
        done = subprocess.run([TALLY, "top", *words], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and says in done.stderr, (words, done)
    terminal = Terminal(TALLY, "top", "--log", f"{folder}/term.log", "--", "sleep", "0.1", term="no-such-terminal")
    assert terminal.end() == 2
    assert b"terminal" in terminal.received


with tempfile.TemporaryDirectory() as root:
    for part in (shows_live_frames_and_leaves_the_application_alone, tells_how_the_application_ended,
                 watches_a_run_that_it_does_not_own, shows_no_escape_sequence_of_a_name, refuses_in_one_line):
        begin = time.monotonic()
        part(root)
        print(f"{part.__name__}: {time.monotonic() - begin:.1f} s")
