#!/usr/bin/env python3
"""Size, time and memory of HTML reports of many draws: limits.py BIN DRAWS..., in the environment of a driver.

Makes each capture of one of the sample by many_draws.py. Exits with 1 where a page of up to 1,000 draws has 1 MB or more, or one of up to
100,000 draws 10 MB or more.
"""
import os
import subprocess
import sys
import tempfile
import time

import report_data


def measured(command):
    """Processor seconds, wall-clock seconds and peak megabytes of a command."""
    start = time.monotonic()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command}: {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - start, used.ru_maxrss / 1000


def main():
    tally, failed = os.path.join(sys.argv[1], "tally"), False
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "many_draws.py")
    for draws in map(int, sys.argv[2:]):
        with tempfile.TemporaryDirectory() as folder:
            capture, large, page = (os.path.join(folder, name) for name in ("sample.tally", "large.tally", "large.html"))
            subprocess.run([tally, "run", "-q", "-o", capture, "--", os.path.join(sys.argv[1], "lanterns"), "--frames", "2"],
                           check=True)
            subprocess.run([sys.executable, script, capture, large, str(draws)], check=True)
            seconds, clock, memory = measured([tally, "report", "--html", page, large])
            size = os.path.getsize(page)
            _, captures = report_data.read(page)
            shown = captures[0].head["commands"]
        print(f"{draws} draws, shown as {shown}: {size} bytes, {seconds:.1f} s of processor time, {clock:.1f} s, {memory:.0f} MB")
        failed |= size >= 1_000_000 if draws <= 1000 else draws <= 100_000 and size >= 10_000_000
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
