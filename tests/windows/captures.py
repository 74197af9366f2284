#!/usr/bin/env python3
"""tally.exe run captures programs for Windows, under wine on lavapipe: its captures have the counts of the Linux build of the same
program, it passes on exit codes, follows the programs that its program starts, and names are of any letters.

Usage: with-wine --session captures.py LINUX_BIN WINDOWS_BIN
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

FOLDER = "Szene ä 日本"
APPLICATION = "mit Leerzeichen é.exe"
# explained_app draws and dispatches these, most with nothing to find, so that they are short.
CASES = ["overdraw", "discard", "loop-limit", "one-way-branch", "same-code", "no-tiny-commands", "no-small-workgroup"]

linux, windows = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
wrong = []


def run(command, folder, **more):
    done = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=180,
                          env=os.environ | more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def tally(folder, *arguments, status=0, **more):
    """Of Linux."""
    got, out, errors = run([linux / "tally", *arguments], folder, **more)
    expect(got == status, f"tally {' '.join(map(str, arguments))}: {got} {errors}")
    return out


def tally_exe(folder, *arguments, status=0, **more):
    got, out, errors = run(["wine", windows / "tally.exe", *arguments], folder, **more)
    expect(got == status, f"tally.exe {' '.join(map(str, arguments))}: {got} {errors}")
    return out, errors


def expect(holds, text):
    if not holds:
        wrong.append(text)


def summary(folder, capture):
    return json.loads(tally(folder, "report", capture, "--format", "json") or '{"capture": {}}')["capture"]


def snapshot(folder, capture):
    tally(folder, "snapshot", capture, "-o", capture + ".counts")
    counts = folder / (capture + ".counts")
    return counts.read_text() if counts.exists() else ""


def same_counts(folder):
    """All counts of each case, and what the options add to them."""
    for case, options in [(case, []) for case in CASES] + [
            ("loop-limit", ["--loops", "--branches", "--divergence"]), ("overdraw", ["--regions"]), ("discard", ["--memory=32"]),
            ("overdraw", ["--shader", "*PLAIN*"]), ("one-way-branch", ["--frame-per", "submit", "--times", "draws"])]:
        name = case + "".join(options).replace("*", "").replace("=", "")
        native, ours = name + "-linux.tally", name + "-windows é.tally"
        tally(folder, "run", "-q", *options, "-o", native, "--", linux / "explained_app", case)
        out, errors = tally_exe(folder, "run", *options, "-o", ours, "--", APPLICATION, case)
        expect(out == "" and ours in errors and "missing" not in errors, f"{name}: {out} {errors}")
        expected, found = snapshot(folder, native), snapshot(folder, ours)
        expect("executions" in expected and expected == found, f"{name}: the counts differ\n{expected[:600]}\n{found[:600]}")
        expect("No difference" in tally(folder, "diff", native, ours), f"{name}: tally diff finds a difference")
        about = summary(folder, ours)
        expect(about.get("complete") and about["processes_cut_off"] == 0, f"{name}: {about}")
        expect(about.get("command_line") == [APPLICATION, case], f"{name}: {about}")


def statuses(folder):
    for status in (0, 1, 37, 259, 1000):
        _, errors = tally_exe(folder, "run", "-o", f"{status}.tally", "--", "cmd.exe", "/c", "exit", str(status), status=status & 255)
        expect("created no Vulkan device" in errors, errors)
        expect(not (folder / f"{status}.tally").exists(), "a capture without content is left")
    tally_exe(folder, "run", "--", "fehlt ü.exe", status=127)
    (folder / "script ü.bat").write_text("exit 0\n")
    _, errors = tally_exe(folder, "run", "--", ".\\script ü.bat", status=126)
    expect("cmd /c" in errors, errors)
    # The values of work that a program has waited for are in the capture, whatever becomes of it.
    tally_exe(folder, "run", "-q", "-o", "ends.tally", "--", APPLICATION, "ends-at-once", status=37)
    about = summary(folder, "ends.tally")
    expect((about.get("dispatches"), about.get("commands_missing"), about.get("exit_status")) == (1, 0, 37), about)


def programs_that_it_starts(folder):
    """Two, one after the other, each in its process."""
    line = f'"{APPLICATION}" no-tiny-commands && "{APPLICATION}" discard && exit 5'
    (folder / "both.cmd").write_text(f"@{line}\n", encoding="utf-8")
    shutil.copy(folder / APPLICATION, folder / "plain.exe")
    tally_exe(folder, "run", "-q", "-o", "both.tally", "--", "cmd.exe", "/c",
              "plain.exe no-tiny-commands&& plain.exe discard&& exit 5", status=5)
    about = summary(folder, "both.tally")
    expect((about.get("processes"), about.get("dispatches"), about.get("draws")) == (2, 200, 1), about)
    # One that its program does not wait for.
    tally_exe(folder, "run", "-q", "-o", "left.tally", "--", "cmd.exe", "/c", "start /b plain.exe no-tiny-commands")
    about = summary(folder, "left.tally")
    expect((about.get("processes"), about.get("dispatches"), about.get("complete")) == (1, 200, True), about)


def other_outputs(folder):
    shutil.copy(folder / APPLICATION, folder / "plain.exe")
    tally_exe(folder, "run", "-q", "-o", "page.tally", "--html", "Seite ü.html", "--", APPLICATION, "discard")
    expect((folder / "Seite ü.html").stat().st_size > 100_000, "there is no page")
    # The shader of another case in place of this one's.
    tally(folder, "run", "-q", "-o", "donor.tally", "--", linux / "explained_app", "same-code")
    tally(folder, "extract", "again", "donor.tally", "--spirv", "-o", "again ü.spv")
    for name, command in (("native", [linux / "tally", "run", "-o", "native.tally", "--replace", "plain.frag=again ü.spv", "--",
                                      linux / "explained_app", "overdraw"]),
                          ("replaced", ["wine", windows / "tally.exe", "run", "-o", "replaced.tally", "--replace",
                                        "plain.frag=again ü.spv", "--", APPLICATION, "overdraw"])):
        status, _, errors = run(command, folder)
        expect(status == 0, f"{name}: {status} {errors}")
        replaced = summary(folder, name + ".tally").get("replaced", [])
        expect(len(replaced) == 1 and not replaced[0].get("refusal"), f"{name}: {replaced}")
    expect(snapshot(folder, "native.tally") == snapshot(folder, "replaced.tally"), "replaced: the counts differ")
    _, errors = tally_exe(folder, "run", "--trigger", "--", APPLICATION, "discard", status=2)
    expect(errors == "tally: tally run --trigger does not exist on Windows yet\n", errors)


def pass_pictures(folder, capture):
    with contextlib.closing(sqlite3.connect(folder / capture)) as rows:
        return rows.execute("SELECT * FROM pass_picture ORDER BY pass, layer").fetchall()


def windows_that_present(folder):
    """The frames of a swapchain, bare and counted, on both systems; the counts and the pictures of the passes."""
    shutil.copy(windows / "window_app.exe", folder / "Fenster ü.exe")
    programs = {"linux": [linux / "window_app"], "windows": ["wine", "Fenster ü.exe"]}
    counted = {"linux-counted": [linux / "tally", "run", "-q", "--regions", "-o", "linux.tally", "--", linux / "window_app"],
               "windows-counted": ["wine", windows / "tally.exe", "run", "-q", "--regions", "-o", "windows.tally", "--", "Fenster ü.exe"]}
    frames = {}
    for name, command in (programs | counted).items():
        status, out, errors = run(command + ["9", name + ".texels"], folder)
        expect((status, out, errors) == (0, "", ""), f"{name}: {status} {out} {errors}")
        frames[name] = (folder / (name + ".texels")).read_bytes()
    expect(len(frames["linux"]) == 9 * 64 * 64 * 4 and frames["linux"].count(frames["linux"][:4]) < 9 * 64 * 64, "the frames have no picture")
    for name, texels in frames.items():
        expect(texels == frames["linux"], f"{name}: the frames are not those of {next(iter(frames))}")
    expect("No difference" in tally(folder, "diff", "linux.tally", "windows.tally"), "windows that present: the counts differ")
    about = summary(folder, "windows.tally")
    expect((about.get("frames"), about.get("frames_end_at"), about.get("draws"), about.get("complete")) == (9, "presents", 9, True), about)
    pictures = pass_pictures(folder, "windows.tally")
    expect(len(pictures) == 9 and pictures == pass_pictures(folder, "linux.tally"), "windows that present: the passes' pictures differ")


def the_sample_and_the_cube(folder):
    """Captures of programs that draw several passes and dispatch, and of one by other people. Either system reads both: no difference,
    the same snapshot, and each passes the check against the other's."""
    for name, options in (("lanterns_texels", ["picture", "3"]), ("cube", ["--c", "20", "--present_mode", "0", "--width", "200", "--height", "200"])):
        native, ours = name + "-linux.tally", name + "-windows.tally"
        shutil.copy(windows / (name + ".exe"), folder / (name + " é.exe"))
        bare = {"linux": [linux / name], "windows": ["wine", name + " é.exe"]}
        counted = {"linux-counted": [linux / "tally", "run", "-q", "-o", native, "--", linux / name],
                   "windows-counted": ["wine", windows / "tally.exe", "run", "-q", "-o", ours, "--", name + " é.exe"]}
        pictures = {}
        for where, command in (bare | counted).items():
            status, _, errors = run(command + options, folder)
            expect(status == 0, f"{name}, {where}: {status} {errors}")
            if options[0] == "picture":
                pictures[where] = (folder / "picture").read_bytes()
                (folder / "picture").unlink()
        if pictures:
            expect(len(set(pictures.values())) == 1 and len(pictures["linux"]) == 480 * 270 * 4, f"{name}: the pictures differ")
        about = summary(folder, ours)
        expect(about.get("complete") and about["draws"] >= 9, f"{name}: {about}")
        difference = tally(folder, "diff", native, ours)
        expect("No difference" in difference and tally_exe(folder, "diff", native, ours)[0] == difference, f"{name}: {difference}")
        snapshots = {}
        for system, command in (("linux", tally), ("windows", tally_exe)):
            for capture in (native, ours):
                counts = f"{capture}-{system}.counts"
                command(folder, "snapshot", capture, "-o", counts)
                snapshots[counts] = (folder / counts).read_bytes()
        expect(len(set(snapshots.values())) == 1 and b"executions" in snapshots[f"{native}-linux.counts"], f"{name}: the snapshots differ")
        tally(folder, "check", ours, f"{native}-linux.counts")
        tally_exe(folder, "check", native, f"{ours}-windows.counts")
        # The check finds a change.
        (folder / "changed.counts").write_text(re.sub(r" executions \d+\n", " executions 1\n", snapshots[f"{native}-linux.counts"].decode(), count=1))
        tally(folder, "check", ours, "changed.counts", status=3)
        tally_exe(folder, "check", native, "changed.counts", status=3)


def without_a_loader(folder):
    absent = {"WINEDLLOVERRIDES": os.environ["WINEDLLOVERRIDES"].replace("vulkan-1=n", "vulkan-1=")}
    _, errors = tally_exe(folder, "list", status=1, **absent)
    expect(errors == "tally: there is no Vulkan loader: vulkan-1.dll: Module not found; tally doctor says more\n", errors)
    out, _ = tally_exe(folder, "doctor", status=1, **absent)
    expect("PROBLEM  loader: vulkan-1.dll: Module not found" in out and "install the driver of the GPU's vendor" in out, out)
    # A program that is linked to it does not start.
    _, errors = tally_exe(folder, "run", "--", APPLICATION, "discard", status=0x35, **absent)
    expect("terminated by exception c0000135, a DLL that is missing" in errors, errors)


def locked_files(folder):
    """The shell has the file open while tally.exe would replace it."""
    shutil.copy(folder / "discard-linux.tally", folder / "c.tally")
    program = str(windows / "tally.exe").replace("/", "\\")
    (folder / "once.cmd").write_text(f"@Z:{program} report c.tally --html page.html --force >page.html\n")
    status, _, errors = run(["wine", "cmd.exe", "/c", "once.cmd"], folder)
    expect(status == 2 and errors == "tally: page.html: Permission denied\n", f"a locked file: {status} {errors}")
    expect((folder / "page.html").read_bytes() == b"", "a locked file was replaced")
    capture = (folder / "c.tally").read_bytes()
    (folder / "again.cmd").write_text(f"@Z:{program} run -q --force -o c.tally -- plain.exe discard <c.tally\n")
    status, _, errors = run(["wine", "cmd.exe", "/c", "again.cmd"], folder)
    expect(status == 2 and errors == "tally: c.tally: Permission denied\n", f"a locked capture: {status} {errors}")
    expect((folder / "c.tally").read_bytes() == capture, "a locked capture was replaced")
    # cmd.exe lets others delete a file that it appends to, so tally renames the old capture and writes the new one under its name.
    (folder / "again.cmd").write_text(f"@Z:{program} run -q --force -o c.tally -- plain.exe discard >>c.tally\n")
    status, _, errors = run(["wine", "cmd.exe", "/c", "again.cmd"], folder)
    expect((status, errors) == (0, "") and summary(folder, "c.tally").get("complete"), f"a capture that may be removed: {status} {errors}")
    expect(not list(folder.glob("*.removed-*")), "a removed capture is left")


def devices(folder):
    out, errors = tally_exe(folder, "list", "--format", "json")
    device = json.loads(out)["devices"][0]
    expect("llvmpipe" in device["name"] and device["can_capture"] and device["metrics"], out + errors)
    out, _ = tally_exe(folder, "doctor")
    expect("Ready: tally run" in out and "apt-get" not in out, out)


def main():
    layers = r"HKLM\Software\Khronos\Vulkan\ExplicitLayers"
    _, before, _ = run(["wine", "reg", "query", layers], "/")
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work, FOLDER)
        folder.mkdir()
        shutil.copy(windows / "explained_app.exe", folder / APPLICATION)
        shutil.copy(windows / "vulkan-1.dll", folder)
        for part in (same_counts, statuses, programs_that_it_starts, other_outputs, windows_that_present, the_sample_and_the_cube,
                     without_a_loader, locked_files, devices):
            part(folder)
    _, after, _ = run(["wine", "reg", "query", layers], "/")
    expect(before == after, f"the registry is not as it was: {before} {after}")
    print("\n".join(map(str, wrong)) if wrong else f"captures of {len(CASES)} programs for Windows are those of Linux")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
