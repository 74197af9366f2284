#!/usr/bin/env python3
"""The first steps of a user with the zip for Windows, under wine: unpacked into an empty folder, it needs nothing but Vulkan's loader.
The program is in a folder of its own, away from the build. Nothing is left in the registry, also after tally.exe is ended by force.

Usage: with-wine --session from_zip.py ZIP LINUX_BIN WINDOWS_BIN     ZIP: the file, or the build that CPack makes it of
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types

SYSTEM = {"advapi32.dll", "bcrypt.dll", "kernel32.dll", "msvcrt.dll", "ole32.dll", "shell32.dll", "user32.dll"}
LAYERS = r"HKLM\Software\Khronos\Vulkan\ExplicitLayers"
CASE = ("discard",)  # of explained_app

origin, linux, windows = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])


def run(command, folder, status=0):
    done = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=180)
    out, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")  # reg.exe writes code page 437
    assert done.returncode == status, (command, done.returncode, out, errors)
    return out, errors


def zip_of(work):
    if origin.suffix == ".zip":
        return origin
    run(["cpack", "--config", origin / "CPackConfig.cmake", "-B", work / "made"], work)
    made, = (work / "made").glob("*.zip")
    return made


def needed(file):
    lines = run(["x86_64-w64-mingw32-objdump", "-p", file], "/")[0].splitlines()
    return {line.split(":")[1].strip().lower() for line in lines if "DLL Name:" in line}


def layers_in_registry():
    return run(["wine", "reg", "query", LAYERS], "/")[0]


def check_files(place):
    files = [place / "bin/tally.exe", *(place / "lib").glob("*.dll")]
    assert len(files) == 3, files
    for file in files:
        assert needed(file) <= SYSTEM, (file, needed(file) - SYSTEM)
    readme = (place / "README.txt").read_text()
    assert "bin\\tally.exe" in readme and "tested under wine only" in readme, readme


def first_steps(tally, folder):
    assert run([*tally, "--version"], folder)[0].startswith("tally ")
    out, _ = run([*tally, "doctor"], folder)
    assert "Ready: tally run" in out and "this process is elevated" in out and "PROBLEM" not in out, out
    device = json.loads(run([*tally, "list", "--format", "json"], folder)[0])["devices"][0]
    assert device["can_capture"] and device["metrics"], device
    _, errors = run([*tally, "run", "--strict", "-o", "zip.tally", "--html", "run.html", "--", "app é.exe", *CASE], folder)
    assert "capture: zip.tally" in errors, errors
    assert "1 draw" in run([*tally, "report", "zip.tally"], folder)[0]
    run([*tally, "report", "zip.tally", "--html", "report.html"], folder)
    for page in ("run.html", "report.html"):
        assert b"<script>" in (folder / page).read_bytes(), page
    assert "void main()" in run([*tally, "report", "--annotate", "*", "--source", "glsl", "zip.tally"], folder)[0]
    assert "OpFunction" in run([*tally, "report", "--disassemble", "*", "zip.tally"], folder)[0]
    # The counts of the Linux build.
    run([linux / "tally", "run", "-q", "-o", "linux.tally", "--", linux / "explained_app", *CASE], folder)
    assert "No difference" in run([*tally, "diff", "linux.tally", "zip.tally"], folder)[0]


def process_of(program):
    """The number that Linux gives the process of a program for Windows."""
    return process_with(lambda words: words[0].replace(b"\\", b"/").endswith(program.encode()))


def process_with(condition):
    for command in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = command.read_bytes().split(b"\0")
        except OSError:
            continue
        if condition(words):
            yield int(command.parent.name)


@contextlib.contextmanager
def draws_until_ended(tally, folder, name):
    """While tally.exe captures a program that draws, in NAME.tally. Then tally.exe is ended by force, and after it the program."""
    log = folder / f"{name}.log"
    command = [*tally, "run", "-o", f"{name}.tally", "--", "waits é.exe", "until-ended", log.name]
    running = types.SimpleNamespace(tally=subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL,
                                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    try:
        wait_for(lambda: log.exists() and "draws" in log.read_text(), "the program draws")
        yield running
    finally:
        running.tally.kill()
        running.tally.wait()
        running.program_outlived_it = end_program("waits é.exe")


def ended_by_force(tally, folder, before):
    """The folders of the layers are in the registry while the program runs, and are removed when tally.exe is no more."""
    with draws_until_ended(tally, folder, "killed") as running:
        during = layers_in_registry()
        # The short name: the loader reads names in the program's code page.
        named = [line.split("    ")[1] for line in during.splitlines() if line not in before.splitlines() and "REG_DWORD" in line]
        assert len(named) == 2 and all(name.isascii() and "~" in name for name in named), during
        wait_for(lambda: has_frames(folder / "killed.tally"), "frames are in the file")
    wait_for(lambda: layers_in_registry() == before, "the registry is as it was")
    assert running.program_outlived_it, "the program has ended"
    about = json.loads(run([*tally, "report", "killed.tally", "--format", "json"], folder)[0])["capture"]
    assert about["frames"] > 0 and not about["complete"], about
    report = " ".join(run([*tally, "report", "killed.tally"], folder)[0].split())
    assert "tally run still writes the capture or was killed" in report, report


def helper_ended_by_force_too(tally, folder, before):
    """The folders stay in the registry until tally.exe runs again, here its doctor."""
    with draws_until_ended(tally, folder, "stays"):
        during = layers_in_registry()
        helpers = list(process_with(lambda words: any(word.startswith(b"--tally-watch=") for word in words)))
        assert len(helpers) == 1, helpers
        os.kill(helpers[0], signal.SIGKILL)
    assert layers_in_registry() == during != before, during
    assert "Ready: tally run" in run([*tally, "doctor"], folder)[0]
    assert layers_in_registry() == before


def program_ended_by_force(tally, folder):
    """All that it submitted is in the capture, or counted as missing."""
    with draws_until_ended(tally, folder, "ended") as running:
        wait_for(lambda: has_frames(folder / "ended.tally"), "frames are in the file")
        end_program("waits é.exe")
        running.tally.wait(timeout=60)
    about = json.loads(run([*tally, "report", "ended.tally", "--format", "json"], folder)[0])["capture"]
    assert about["frames"] > 0 and about["processes_cut_off"] == 0, about
    assert about["complete"] == (about["commands_missing"] == 0) == (about["missing"] == []), about


def has_frames(capture):
    """Linux does not see wine's locks, so it must not open the file while tally.exe writes. Without frames, 30 KB are written."""
    newest = capture.with_name(capture.name + "-wal")
    return newest.exists() and newest.stat().st_size > 500_000


def end_program(program):
    """False: there was none."""
    numbers = list(process_of(program))
    for number in numbers:
        os.kill(number, signal.SIGKILL)
    return bool(numbers)


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"not within 60 s: {what}"
        time.sleep(0.1)


def main():
    before = layers_in_registry()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        unpacked, folder = work / "aus gepackt é", work / "Szene 描画"
        for made in (unpacked, folder):
            made.mkdir()
        run(["cmake", "-E", "tar", "xf", zip_of(work)], unpacked)
        place, = unpacked.iterdir()
        check_files(place)
        # The loader that belongs to a driver of Windows; wine's own knows no layers.
        for program, to in (("explained_app.exe", "app é.exe"), ("window_app.exe", "waits é.exe"), ("vulkan-1.dll", "vulkan-1.dll")):
            shutil.copy(windows / program, folder / to)
        shutil.copy(windows / "vulkan-1.dll", place / "bin")
        tally = ["wine", place / "bin/tally.exe"]
        first_steps(tally, folder)
        assert layers_in_registry() == before
        ended_by_force(tally, folder, before)
        helper_ended_by_force_too(tally, folder, before)
        program_ended_by_force(tally, folder)
        assert layers_in_registry() == before
    print("the zip does what it should here")


if __name__ == "__main__":
    main()
