#!/usr/bin/env python3
"""Each rule of `tally explain` finds the program that has what it looks for, and not the one that has not.

Usage: explain.py TALLY APP MEMORY_APP
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TALLY, APP, MEMORY_APP = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])

# rule -> the cases of the application that have it, those that have not, and numbers that its sentence holds.
RULES = {
    "vertex-bound": (["vertex-bound"], ["fragment-bound"], ["30,000 vertex and 0 fragment"]),
    "fragment-bound": (["fragment-bound"], ["vertex-bound"], ["3 vertex and 4,096 fragment"]),
    "overdraw": (["overdraw"], ["no-overdraw"], ["3.00 times", "12,288 fragment invocations for 4,096 pixels"]),
    "bytes-requested": (["bytes-requested"], ["no-bytes-requested", "overdraw"],
                        ["128.0 times", "2,097,152 bytes for 16,384", "512.0 a pixel"]),
    "overwritten-pass": (["overwritten-pass"], ["no-overwritten-pass", "dispatch-between"], ["what 1 of 2 passes"]),
    "copy-pass": (["copy-pass"], ["no-copy-pass"], ["1 of 1 pass of"]),
    "discard": (["discard"], ["no-discard"], ["2,048 of its 4,096", "50.0 %"]),
    "loop-limit": (["loop-limit"], ["no-loop-limit"], ["24.0 times an entry, of at most 24"]),
    "one-way-branch": (["one-way-branch"], ["no-one-way-branch"], ["1 of 1 branch"]),
    "never-ran": (["one-way-branch"], ["no-one-way-branch"], ["1 of 2 functions"]),
    "uniform-work": (["uniform-work"], ["no-uniform-work"], ["all its 4,096 invocations"]),
    "same-code": (["same-code"], ["no-same-code"], ["2 modules have the same fragment code"]),
    "empty-pass": (["empty-pass"], ["overdraw"], ["2 of 3 passes"]),
    "tiny-commands": (["tiny-commands"], ["no-tiny-commands"], ["200 of 200 dispatches", "12,800 together"]),
    "small-workgroup": (["small-workgroup"], ["no-small-workgroup"], ["8 x 1 x 1", "25.0 % full"]),
    "uncoalesced": (["memory:uncoalesced"], ["memory:coalesced", "memory:bank-conflicts"],
                    ["8.0 times the sectors", "4,096 instead of 512"]),
    "bank-conflicts": (["memory:bank-conflicts"], ["memory:coalesced"], ["3,968 extra passes", "31.0 each time"]),
    "read-after-write": (["memory:read-after-write"], ["memory:coalesced"], ["4,096 loads of reread.comp"]),
    "low-simd-efficiency": (["low-simd-efficiency"], ["no-small-workgroup"], ["of the lanes of groups.comp work"]),
}

failures = []


def findings(folder, case):
    capture = folder / f"{case}.tally"
    if not capture.exists():
        of_memory = case.startswith("memory:")
        app = [MEMORY_APP, case.removeprefix("memory:")] if of_memory else [APP, case]
        option = "--memory=32" if of_memory else "--divergence"
        subprocess.run([TALLY, "run", option, "-o", capture, "--", *app], check=True, capture_output=True)
    made = subprocess.run([TALLY, "explain", "--format", "json", capture], capture_output=True, text=True)
    if made.returncode not in (0, 1):
        failures.append(f"{case}: exit status {made.returncode}: {made.stderr}")
        return {}
    return {finding["rule"]: finding for finding in json.loads(made.stdout)["findings"]}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for rule, (faulty, clean, numbers) in RULES.items():
            for case in faulty:
                finding = findings(folder, case).get(rule)
                if finding is None:
                    failures.append(f"{case}: {rule} is not found")
                else:
                    failures.extend(f"{case}: {finding['text']!r} lacks {number!r}" for number in numbers
                                    if number not in finding["text"])
            failures.extend(f"{case}: {rule} is found: {findings(folder, case)[rule]['text']}" for case in clean
                            if rule in findings(folder, case))
        text = subprocess.run([TALLY, "explain", folder / "discard.tally"], capture_output=True, text=True).stdout
        if "discard.frag:6  2,048 discards" not in text or "Try: " not in text:
            failures.append(f"the text names no line: {text}")
    print("\n".join(failures) if failures else f"{len(RULES)} rules")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
