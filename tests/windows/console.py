#!/usr/bin/python3
"""tally.exe on a console, under wine: Ctrl-C, Ctrl-Break, the console's end, its code page, and what a reader sees. Wine's console has a
terminal at its other end; pyte shows what arrives there. window_app asks its console for Ctrl-C. A typed Ctrl-C would be a
signal of Linux: where a thread gets it that wine does not know, the program ends. Wine 8.0 knows Ctrl-C alone of the
events of a console: window_app sends the others to tally.exe and itself, to the function that Windows calls.

Usage: with-wine --session console.py LINUX_BIN WINDOWS_BIN
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import pyte

linux, windows = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
CODE_PAGE = 437  # of wine's consoles


class Console:
    def __init__(self, folder, *command):
        self.screen = pyte.Screen(120, 50)
        self.stream = pyte.ByteStream(self.screen)
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", COLUMNS="120", LINES="50")
            os.execvp("wine", ["wine", *map(str, command)])
        self.command = command
        self.open = True

    def read(self):
        if not self.open or not select.select([self.terminal], [], [], 0.05)[0]:
            return
        try:
            data = os.read(self.terminal, 65536)
        except OSError:  # closed
            data = b""
        self.open = bool(data)
        self.stream.feed(data)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def wait_for(self, condition):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, f"{self.command}: {self.text()}"
            self.read()

    def status(self):
        self.wait_for(lambda: not self.open)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def about(folder, capture):
    report = subprocess.run([linux / "tally", "report", capture, "--format", "json"], cwd=folder, capture_output=True, check=True)
    return json.loads(report.stdout)["capture"]


def run_until(event, folder, name, *command):
    """The status, what the program's file says, and the capture, when the event has come while the program draws."""
    log = folder / f"{name}.log"
    console = Console(folder, windows / "tally.exe", "run", "-o", f"{name} é.tally", "--", *command, f"{name}.log", event)
    status = console.status()
    if event != "close-late":
        assert f"capture: {name} é.tally" in console.text(), console.text()
    return status, log.read_text().splitlines(), about(folder, f"{name} é.tally")


def check_asked(log, capture, event, page=CODE_PAGE):
    assert log[:2] == [f"code page {page}", "draws"], log
    found = re.fullmatch(rf"{event} after (\d+) frames", log[2])
    assert found, log
    counted = (capture["frames"], capture["draws"], capture["commands_missing"], capture["processes_cut_off"], capture["complete"])
    assert counted == (int(found[1]), int(found[1]), 0, 0, True), (log, capture)


def ctrl_c_reaches_the_program_and_the_capture_is_complete(folder):
    status, log, capture = run_until("interrupt", folder, "asked", "window_app.exe", "until-asked")
    assert status == 7 and capture["exit_status"] == 7, (status, log, capture)
    check_asked(log, capture, "Ctrl-C")


def other_events_reach_the_program_and_the_capture_is_complete(folder):
    for event, name in (("break", "Ctrl-Break"), ("close", "the console's end")):
        status, log, capture = run_until(event, folder, event, "window_app.exe", "until-asked")
        assert status == 7 and capture["exit_status"] == 7, (status, log, capture)
        check_asked(log, capture, name)


def windowed(folder):
    """In a program's header, subsystem 2 is that with windows, 3 that with a console. Wine gives a program of either the console."""
    program = bytearray((folder / "window_app.exe").read_bytes())
    subsystem = struct.unpack_from("<I", program, 0x3C)[0] + 0x5C
    assert struct.unpack_from("<H", program, subsystem) == (3,)
    struct.pack_into("<H", program, subsystem, 2)
    (folder / "windowed.exe").write_bytes(program)
    return "windowed.exe"


def each_event_closes_the_window_of_a_program_without_a_console(folder):
    for event in ("interrupt", "break", "close"):
        status, log, capture = run_until(event, folder, "windowed" + event, windowed(folder), "until-closed")
        assert status == 7, status
        check_asked(log, capture, "close")


def a_program_that_an_event_ends_leaves_a_finished_capture(folder):
    """Windows ends it with 0xC000013A, wine with 0. Draws of its last milliseconds may be missing, and are named."""
    for event in ("interrupt", "break", "close"):
        status, log, capture = run_until(event, folder, "ended" + event, "window_app.exe", "until-ended")
        assert status in (0, 0x3A) and log == [f"code page {CODE_PAGE}", "draws"], (status, log)
        assert capture["exit_status"] is not None and capture["frames"] > 0, capture
        assert capture["complete"] == (capture["commands_missing"] == 0), capture


def what_had_arrived_is_in_the_file_if_windows_ends_both_with_the_console(folder):
    _, log, capture = run_until("close-late", folder, "late", "window_app.exe", "until-asked")
    drawn = re.fullmatch(r"ends after (\d+) frames", log[2])
    assert drawn, log
    assert not capture["complete"] and 5 < capture["frames"] <= int(drawn[1]), (log, capture)


def ctrl_c_ends_programs_that_a_launcher_left(folder):
    """The program waits until the launcher has ended and tally.exe has the console again, which the code page shows."""
    status, _, capture = run_until("interrupt-later", folder, "left", "cmd.exe", "/c", "start", "/b", "window_app.exe", "until-asked")
    assert status == 0, status
    # tally.exe waits for the end of the program's capture alone: the program writes its last line after that.
    end = time.monotonic() + 60
    while len(log := (folder / "left.log").read_text().splitlines()) < 3:
        assert time.monotonic() < end, log
        time.sleep(0.02)
    check_asked(log, capture, "Ctrl-C", page=65001)


def the_console_gets_its_code_page_back(folder):
    """tally.exe prints letters of any script; the next program on the same console finds the page that was there before."""
    console = Console(folder, "cmd.exe", "/c", windows / "tally.exe", "report", "fehlt-ж-é.tally", "&", "window_app.exe", "code-page",
                      "page.log")
    console.status()
    assert "tally: fehlt-ж-é.tally: No such file or directory" in console.text(), console.text()
    assert (folder / "page.log").read_text() == f"code page {CODE_PAGE}\n"


def main():
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work, "Szene ä 日本")
        folder.mkdir()
        for name in ("window_app.exe", "vulkan-1.dll"):
            shutil.copy(windows / name, folder)
        tests = (ctrl_c_reaches_the_program_and_the_capture_is_complete, other_events_reach_the_program_and_the_capture_is_complete,
                 each_event_closes_the_window_of_a_program_without_a_console, a_program_that_an_event_ends_leaves_a_finished_capture,
                 what_had_arrived_is_in_the_file_if_windows_ends_both_with_the_console, ctrl_c_ends_programs_that_a_launcher_left,
                 the_console_gets_its_code_page_back)
        for test in tests:
            begin = time.monotonic()
            test(folder)
            print(f"{test.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
