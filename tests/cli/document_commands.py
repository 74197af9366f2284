#!/usr/bin/env python3
"""Runs the commands of docs/user/*.md: each page's blocks in their order, in one shell and one temporary folder per page.

Usage: document_commands.py TALLY LANTERNS DOCS

A block of commands is indented by four spaces, or fenced as sh; what is fenced otherwise is output, or the text of a file. A comment in
the page's source, on the line before the blank line above a block, changes what happens:
  <!-- not run: REASON -->   the block cannot run here: it needs other software, root, a terminal or a person
  <!-- first: COMMANDS -->   the block needs files that the page does not make: COMMANDS run before it
The programs of the examples (./game, ./renderer ...) are the sample, which draws one small frame.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LEAST_BLOCKS = 15  # that run, over all pages
PROGRAMS = ("game", "renderer", "batches", "chat")
COMMENT = re.compile(r"<!-- (not run|first): (.+?) -->")


class Block:
    def __init__(self, line, text, comments):
        self.line, self.text = line, text
        self.first = [what for kind, what in comments if kind == "first"]
        self.reason = next((what for kind, what in comments if kind == "not run"), None)


def blocks_of(page):
    """The blocks of commands of a page's text, each with the comments above it."""
    blocks, comments, fenced, commands = [], [], False, False
    lines = page.splitlines()
    for number, line in enumerate(lines, 1):
        before = lines[number - 2] if number > 1 else ""
        if line.startswith("```"):
            fenced = not fenced
            commands = fenced and line.removeprefix("```").strip() in ("sh", "bash", "console")
            if commands:
                blocks.append(Block(number, "", comments))
                comments = []
        elif fenced:
            if commands:
                blocks[-1].text += line + "\n"
        elif found := COMMENT.fullmatch(line):
            comments.append(found.groups())
        elif line.startswith("    ") and (before.strip() == "" or blocks and blocks[-1].line + blocks[-1].text.count("\n") == number):
            if before.strip() == "" and not (blocks and blocks[-1].line + blocks[-1].text.count("\n") == number):
                blocks.append(Block(number, "", comments))
                comments = []
            blocks[-1].text += line[4:] + "\n"
        elif line.strip() and comments:
            raise ValueError(f"line {number}: a comment stands above no block")
    if comments:
        raise ValueError("the last comment stands above no block")
    return blocks


def script_of(blocks):
    """A script of all blocks that run, which says on file 9 which line it has reached."""
    parts = ["set -e"]
    for block in blocks:
        if block.reason is None:
            parts += [*block.first, f"echo {block.line} >&9", block.text.rstrip("\n")]
    return "\n".join(parts) + "\n"


def self_test():
    page = "text\n\n    a\n    b\n\n<!-- first: mkdir x -->\n\n    c\n\n```\n    no\n```\n<!-- not run: root -->\n\n    d\n\n```sh\ne\n```\n"
    blocks = blocks_of(page)
    assert [(b.line, b.text, b.first, b.reason) for b in blocks] == [
        (3, "a\nb\n", [], None), (8, "c\n", ["mkdir x"], None), (15, "d\n", [], "root"), (17, "e\n", [], None)], blocks
    assert script_of(blocks) == "set -e\necho 3 >&9\na\nb\nmkdir x\necho 8 >&9\nc\necho 17 >&9\ne\n"
    for wrong in ("<!-- not run: root -->\n\ntext\n", "<!-- first: x -->\n"):
        try:
            blocks_of(wrong)
            raise AssertionError(wrong)
        except ValueError:
            pass


def run(page, blocks, tally, lanterns):
    """The first block that fails, with its output; empty if every block succeeds."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        work = folder / "work"
        work.mkdir()
        (folder / "bin" / "lanterns").symlink_to(lanterns)
        for program in PROGRAMS:
            file = work / program
            file.write_text(f'#!/bin/sh\nexec "{lanterns}" --frames 1 --size 64x64\n')
            file.chmod(0o755)
        environment = os.environ | {"HOME": name, "PATH": f"{folder / 'bin'}:{tally.parent}:{os.environ['PATH']}"}
        script = folder / "script"
        script.write_text(script_of(blocks))
        reached = folder / "reached"
        done = subprocess.run(["bash", "-c", 'exec 9>"$0"; . "$1"', reached, script], cwd=work, env=environment, timeout=300,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode == 0:
            return ""
        line = reached.read_text().split()[-1:] or ["?"]
        return f"{page.name}:{line[0]}: the block ends with status {done.returncode}\n{done.stdout[-2000:]}"


def main():
    self_test()
    tally, lanterns, docs = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    has_pages = "without HTML reports" not in subprocess.run([tally, "--version"], capture_output=True, text=True, check=True).stdout
    wrong, ran, marked = [], 0, 0
    pages = sorted(docs.glob("*.md"))
    for page in pages:
        blocks = blocks_of(page.read_text())
        for block in blocks:
            if "--html" in block.text and not has_pages:
                block.reason = "this build makes no pages"
        marked += sum(block.reason is not None for block in blocks)
        runnable = sum(block.reason is None for block in blocks)
        if not runnable:
            continue
        if problem := run(page, blocks, tally, lanterns):
            wrong.append(problem)
        else:
            ran += runnable
    print(f"{len(pages)} pages: {ran} blocks ran, {marked} are marked as not to be run")
    if not wrong and ran < LEAST_BLOCKS:
        wrong.append(f"at least {LEAST_BLOCKS} blocks should run")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
