#!/usr/bin/env python3
"""Tests of `bounded`, and of bench/program_costs with known answers."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
COSTS = os.path.join(HERE, "../../bench/program_costs")
SPIN = "while True: pass"


def bounded(*words):
    result = subprocess.run([os.path.join(HERE, "bounded"), *words], stderr=subprocess.PIPE, text=True)
    return result.returncode, result.stderr


def python(code):
    return ["--", sys.executable, "-c", code]


class Bounded(unittest.TestCase):
    def test_exit_status_is_the_commands(self):
        self.assertEqual(bounded("--", "sh", "-c", "exit 3")[0], 3)
        self.assertEqual(bounded("--", "sh", "-c", "kill -SEGV $$")[0], 139)

    def test_ends_what_works_for_too_long_with_all_that_it_started(self):
        with tempfile.NamedTemporaryFile("r") as file:
            status, said = bounded("--limit", "0.5", *python(
                "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'while True: pass'], start_new_session=True); "
                "print(child.pid, file=open('%s', 'w')); child.wait()" % file.name))
            self.assertEqual(status, 125)
            self.assertIn("processor time", said)
            self.assertFalse(self.runs(int(file.read())))

    def runs(self, process):
        for _ in range(100):  # what was killed may take a moment
            try:
                with open("/proc/%d/stat" % process) as file:
                    if file.read().rpartition(")")[2].split()[0] == "Z":
                        return False
            except OSError:
                return False
            time.sleep(0.1)
        return True

    def test_ends_what_does_nothing(self):
        status, said = bounded("--idle", "0.5", "--", "sleep", "1000")
        self.assertEqual(status, 125)
        self.assertIn("did nothing", said)

    def test_leaves_what_works_now_and_then(self):
        code = "import time\nfor i in range(10):\n  end = time.process_time() + 0.03\n  while time.process_time() < end: pass\n  time.sleep(0.2)"
        self.assertEqual(bounded("--idle", "1.5", *python(code))[0], 0)

    def test_stops_with_sigint(self):
        self.assertEqual(bounded("--stop-after", "0.3", *python(SPIN))[0], 124)
        self.assertEqual(bounded("--stop-after", "0.3", "--", "sleep", "1000")[0], 124)
        self.assertEqual(bounded("--stop-after", "0.3", *python(
            "import os, signal; signal.signal(signal.SIGINT, lambda *_: os.kill(os.getpid(), signal.SIGSEGV))\n" + SPIN))[0], 139)

    def test_records_all_processes(self):
        # Two processes at once, each of 100 MB and half a second of processor time; one of them outlives its parent.
        child = "import time; x = bytearray(b'1') * 100_000_000; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass\ntime.sleep(%s)"
        code = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', %r])\nsubprocess.run([sys.executable, '-c', %r])" % (
            child % 3, child % 1)
        with tempfile.NamedTemporaryFile("r") as file:
            self.assertEqual(bounded("--record", file.name, "place=bare,count=7", *python(code))[0], 0)
            run = json.loads(file.read())
        self.assertEqual((run["place"], run["count"]), ("bare", "7"))
        self.assertGreaterEqual(run["wall_s"], 1)
        self.assertGreaterEqual(run["cpu_s"], 0.9)
        self.assertGreaterEqual(run["peak_bytes"], 200_000_000)
        self.assertLess(run["peak_bytes"], 400_000_000)


class Costs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "costs.json")

    def tearDown(self):
        self.folder.cleanup()

    def add(self, runs, driver="Mesa 26.2.6-1 (LLVM 22.1.8)", **keys):
        path = os.path.join(self.folder.name, "runs")
        with open(path, "w") as file:
            file.writelines(json.dumps(run) + "\n" for run in runs)
        keys = {"part": "", "unit": "frame", "command": "cube COUNT", "script": "check", "driver": driver, **keys}
        result = subprocess.run([COSTS, self.file, path, *("%s=%s" % pair for pair in keys.items())], stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(self.file) as file:
            return json.load(file)

    def run_of(self, place, round_, count, wall, cpu, peak=1e8):
        return {"place": place, "round": str(round_), "count": str(count), "wall_s": wall, "cpu_s": cpu, "peak_bytes": peak}

    def test_ratios_are_of_the_same_round(self):
        # A frame takes 10 ms bare; 20, 12 and 11 ms under tally run. Processor time: 20 ms, and 1.5 of that.
        runs = []
        for round_, tally in enumerate((0.02, 0.012, 0.011), 1):
            for count in (10, 20):
                runs += [self.run_of("bare", round_, count, 1 + 0.01 * count, 1 + 0.02 * count),
                         self.run_of("tally", round_, count, 1 + tally * count, 1 + 0.03 * count, 1.5e8)]
        results = self.add(runs, program="cube")
        frame = results["programs on lavapipe 26, a frame"]
        self.assertEqual(frame["rows"], {"cube": ["frame", "10 ms", [1.2, 1.15, 1.6], "20 ms", [1.5, 1.5, 1.5]]})
        self.assertEqual(frame["programs"], {"cube": "cube COUNT"})
        self.assertTrue(next(iter(frame["commands"])).startswith("lavapipe 26.2.6, "))
        self.assertEqual(results["programs on lavapipe 26, start to end"]["rows"], {
            "cube": [10, "1.1 s", [1.018, 1.014, 1.055], "1.2 s", [1.083, 1.083, 1.083], "100 MB", [1.5, 1.5, 1.5]]})

    def test_a_difference_that_is_lost_in_noise_is_left_out(self):
        runs = [self.run_of(place, 1, count, wall, 1 + count) for place in ("bare", "tally") for count, wall in ((1, 1), (2, 0.9))]
        self.assertEqual(list(self.add(runs, program="cube")), ["programs on lavapipe 26, start to end"])

    def test_frames_that_the_program_counts(self):
        runs = []
        for place, frames in (("bare", 1000), ("tally", 500)):
            runs += [self.run_of(place, 1, 1, 1.1, 2), {"frames": frames, "frames_s": 1}]
        results = self.add(runs, program="mark", part="build")
        self.assertEqual({name: table["rows"] for name, table in results.items()}, {
            "programs on lavapipe 26, a frame": {"mark, build": ["frame", "1 ms", [2, 2, 2], "2 ms", [2, 2, 2]]}})

    def test_a_later_measurement_replaces_the_earlier(self):
        for wall, driver in ((1, "Mesa 26.2.6"), (2, "Mesa 26.2.7"), (3, "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)")):
            results = self.add([self.run_of("bare", 1, 1, wall, 1), self.run_of("tally", 1, 1, wall, 1)], driver, program="once")
        self.assertEqual({name: table["rows"]["once"][1] for name, table in results.items()}, {
            "programs on lavapipe 25, start to end": "3 s", "programs on lavapipe 26, start to end": "2 s"})


if __name__ == "__main__":
    unittest.main()
