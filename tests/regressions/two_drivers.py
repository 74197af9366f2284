#!/usr/bin/env python3
"""`tally check` with a snapshot of one driver and captures of another: it names what only the driver changed, and a snapshot holds both.

Usage: two_drivers.py TALLY LANTERNS WITH_DRIVER. The drivers are lavapipe 22.3 and 25.0, which round arc tangents differently. Where one
of them is not there, the exit status is 77.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

TALLY, LANTERNS, WITH_DRIVER = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
OLD, NEW = "lavapipe", "lavapipe-new"
ANGLE = """
  float turn = atan(gl_FragCoord.x * 3.7 + gl_FragCoord.y);
  if ((floatBitsToUint(turn) & 1u) == 0u) turn = -turn;  // rounding decides
"""


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != status:
        raise AssertionError(f"{command}: status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done.stdout


def contains(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text):
            raise AssertionError(f"{pattern!r} is not in:\n{text}")


def main():
    for driver in (OLD, NEW):
        if (there := subprocess.run([WITH_DRIVER, driver, "true"], check=False).returncode) != 0:
            return there
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def capture(driver, capture_name, shader=None):
            made = folder / f"{capture_name}.tally"
            options = ["--strict", "--replace", f"composite.frag={shader}"] if shader else []
            run(WITH_DRIVER, driver, TALLY, "run", "-q", "-o", made, *options, "--", LANTERNS, "--frames", "1", "--size", "100x70")
            return made

        # The sample itself: no count depends on the driver.
        plain = capture(OLD, "plain")
        run(TALLY, "snapshot", plain, "-o", folder / "plain.snapshot")
        contains(run(TALLY, "check", folder / "plain.snapshot", capture(NEW, "plain_new")), "as expected")

        shader = folder / "angle.frag"
        run(TALLY, "extract", "composite.frag", plain, "-o", shader)
        source = shader.read_text()
        shader.write_text(source.replace("void main() {", "void main() {" + ANGLE))
        old, new = capture(OLD, "old", shader), capture(NEW, "new", shader)
        snapshot = folder / "angle.snapshot"
        run(TALLY, "snapshot", old, "-o", snapshot)
        failed = run(TALLY, "check", snapshot, new, status=3)
        contains(failed, r"The driver changed these counts: the shaders, draws and dispatches are the same\.",
                 r"\nSnapshot: llvmpipe .* Mesa 22\.3", r"\nNow: llvmpipe .* Mesa 25\.0")
        metrics = re.search(r"Changed metrics: (.*)", failed).group(1).split(", ")
        if not {"executions", "instructions"} <= set(metrics) or [m for m in metrics if m.startswith("invocations") or m == "draws"]:
            raise AssertionError(f"the metrics are {metrics}")
        changed = set(re.findall(r"\b(\w+\.(?:frag|vert|comp))\b", failed))
        if changed != {"composite.frag"}:
            raise AssertionError(f"shaders {changed} are named:\n{failed}")

        # A snapshot of both drivers.
        run(TALLY, "check", "--update", snapshot, new)
        contains(snapshot.read_text(), r'\ndriver "llvmpipe .* Mesa 22\.3', r'\non "llvmpipe .* Mesa 25\.0')
        for made in (old, new):
            contains(run(TALLY, "check", snapshot, made), "as expected")

        # An edit of the program is no change of the driver, on either.
        shader.write_text(source.replace("void main() {", "void main() {" + ANGLE.replace("& 1u", "& 3u")))
        for driver in (OLD, NEW):
            failed = run(TALLY, "check", snapshot, capture(driver, f"edited_{driver}", shader), status=3)
            if "The driver changed" in failed or "composite.frag:" not in failed:
                raise AssertionError(f"{driver}:\n{failed}")
    print("what the drivers change is named, and what the program changes is not taken for it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
