#!/usr/bin/env python3
"""Runs the Python of docs/user/python.md and the cells of its notebook, each in order, on a capture of the sample.

Usage: python_page.py TALLY LANTERNS DOCS; without pandas the status is 77, or 1 with TALLY_REQUIRE_DRIVERS=1.
"""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import pandas
except ModuleNotFoundError:
    print("there is no pandas (python3-pandas)")
    sys.exit(1 if os.environ.get("TALLY_REQUIRE_DRIVERS") == "1" else 77)


def run(name, cells):
    """Returns the names that the cells share, and the output of each."""
    space, outputs = {}, []
    for number, cell in enumerate(cells):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(cell, f"{name}, cell {number}", "exec"), space)  # pylint: disable=exec-used
        outputs.append(output.getvalue())
    return space, outputs


def main():
    tally, lanterns, docs = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    page = re.findall(r"```python\n(.*?)```", (docs / "python.md").read_text(), re.S)
    notebook = ["".join(cell["source"]) for cell in json.loads((docs / "python.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    assert page and [cell.strip() for cell in page] == [cell.strip() for cell in notebook], "the notebook holds the code of the page"
    os.environ["PATH"] = f"{tally.parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([tally, "run", "-q", "-o", "lanterns.tally", "--", lanterns, "--frames", "2", "--size", "64x64"], check=True)
        for name, cells in (("python.md", page), ("python.ipynb", notebook)):
            space, outputs = run(name, cells)
            assert all(output.strip() for output in outputs), outputs
            # The views have the sums of the reports.
            shaders = pandas.read_sql("SELECT * FROM shader_total WHERE metric = 'Instructions'", space["capture"])
            wanted = space["report"]("shader")
            assert sorted(shaders.value) == sorted(wanted[wanted.instructions > 0].instructions), (shaders, wanted.instructions)
            for view in ("pass_total", "draw_total", "frame_total"):
                total = space["capture"].execute(f"SELECT sum(value) FROM {view} WHERE metric = 'Instructions'").fetchone()[0]
                assert total == wanted.instructions.sum(), (view, total)
            blocks = space["capture"].execute("SELECT sum(executions) FROM block_total").fetchone()[0]
            assert blocks == space["report"]("block").executions.sum(), blocks
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
