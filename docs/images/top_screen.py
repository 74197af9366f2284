#!/usr/bin/python3
"""Runs a program on a terminal and writes its screen as HTML: top_screen.py OUT.html PROGRAM [ARGUMENT...]

The screen is taken once it has stood still for a second after its first rows; then `q` ends the program.
"""
import fcntl
import html
import os
import pty
import select
import struct
import sys
import termios
import time

import pyte

COLUMNS, ROWS = 110, 20


def run(words):
    """The screen of the program."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    pid, file = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        os.execv(words[0], words)
    fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and "scene" not in "\n".join(screen.display[4:]):
        if select.select([file], [], [], 0.1)[0]:
            stream.feed(os.read(file, 65536))
    settled = time.monotonic() + 1
    while time.monotonic() < settled:
        if select.select([file], [], [], 0.1)[0]:
            stream.feed(os.read(file, 65536))
    rows = [[screen.buffer[y][x] for x in range(COLUMNS)] for y in range(ROWS)]
    os.write(file, b"q")
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if select.select([file], [], [], 0.1)[0]:
            try:
                os.read(file, 65536)
            except OSError:
                pass
    return rows


def page(rows):
    def cell(char):
        style = ("font-weight:bold;" if char.bold else "") + \
            ("background:#d8d8d8;color:#1e1e1e;" if char.reverse else "")
        text = html.escape(char.data)
        return f'<span style="{style}">{text}</span>' if style else text

    lines = "\n".join("".join(map(cell, row)) for row in rows)
    return ('<!doctype html><meta charset="utf-8"><body style="margin:0;background:#1e1e1e">'
            f'<pre style="margin:0;padding:12px;display:inline-block;color:#d8d8d8;font:14px/1.25 monospace">{lines}</pre>')


def main():
    rows = run(sys.argv[2:])
    with open(sys.argv[1], "w") as file:
        file.write(page(rows))


main()
