#!/usr/bin/env python3
"""The second start of a program compiles nothing: what Tally makes of a shader is the same in each process, so the driver finds it in
its cache. second_start.py TALLY MEMORY_APP LANTERNS, on the environment's driver, which has a cache of Mesa.
"""
import os
import subprocess
import sys
import tempfile
import unittest

TALLY, MEMORY_APP, LANTERNS = (os.path.abspath(path) for path in sys.argv[1:4])
# Whatever changes the code: each kind of site, and addresses of memory of the layer.
OPTIONS = [[], ["--branches"], ["--loops"], ["--values"], ["--clocks"], ["--memory"], ["--memory=32"], ["--regions"]]


def start(cache, command, options=None):
    """Runs the program, bare without options, and returns the entries of the cache. Threads of Mesa write them until it exits."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MESA_")}
    environment |= {"MESA_SHADER_CACHE_DIR": cache, "MESA_DISK_CACHE_MULTI_FILE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        under = [] if options is None else [TALLY, "run", "--egl", "off", *options, "-o", os.path.join(folder, "a.tally"), "--"]
        subprocess.run([*under, *command], check=True, capture_output=True, env=environment)
    return {file.name for path in os.walk(cache) for file in os.scandir(path[0]) if file.is_file() and file.name != "index"}


class SecondStart(unittest.TestCase):
    def check(self, command):
        with tempfile.TemporaryDirectory() as cache:
            bare = start(cache, command)
            self.assertTrue(bare, "the driver has a cache")
            for options in OPTIONS:
                with self.subTest(options=options):
                    with tempfile.TemporaryDirectory() as own:
                        first = start(own, command, options)
                        self.assertTrue(first - bare, "shaders that count are in it too")
                        self.assertEqual(start(own, command, options), first)

    def test_compiles_no_dispatch_that_counts(self):
        self.check([MEMORY_APP, "coalesced"])

    def test_compiles_no_draw_that_counts(self):
        self.check([LANTERNS, "--frames", "1", "--size", "64x36"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
