#!/usr/bin/env python3
"""Size, time and memory of HTML reports of many draws: limits.py TALLY CAPTURE DRAWS...

Makes each capture of CAPTURE by many_draws.py. Exits with 1 where a page of up to 1,000 draws has 1 MB or more, or one of up to
100,000 draws 10 MB or more, and where sums over grouped draws are not those of the JSON report.
"""
import os
import subprocess
import sys
import tempfile
import time

import numbers_of_page
import report_data


def measured(command):
    """Processor seconds, wall-clock seconds and peak megabytes of a command."""
    start = time.monotonic()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command}: {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - start, used.ru_maxrss / 1000


def grouped_problems(tally, capture, page):
    """Where draws are grouped: the passes and shaders whose sums are not exact."""
    check = numbers_of_page.Check(tally, capture, page)
    check.passes()
    check.shaders()
    print(f"{check.numbers} numbers of grouped draws compared, {len(check.problems)} differ")
    return check.problems


def main():
    tally, capture, failed = sys.argv[1], sys.argv[2], False
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "many_draws.py")
    for draws in map(int, sys.argv[3:]):
        with tempfile.TemporaryDirectory() as folder:
            large, page = os.path.join(folder, "large.tally"), os.path.join(folder, "large.html")
            subprocess.run([sys.executable, script, capture, large, str(draws)], check=True)
            seconds, clock, memory = measured([tally, "report", "--html", page, large])
            size = os.path.getsize(page)
            _, captures = report_data.read(page)
            shown = captures[0].head["commands"]
            problems = grouped_problems(tally, large, captures[0]) if shown == "grouped" else []
        print(f"{draws} draws, shown as {shown}: {size} bytes, {seconds:.1f} s of processor time, {clock:.1f} s, {memory:.0f} MB")
        print("".join(f"  {problem}\n" for problem in problems[:20]), end="")
        failed |= bool(problems)
        failed |= size >= 1_000_000 if draws <= 1000 else draws <= 100_000 and size >= 10_000_000
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
