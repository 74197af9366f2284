#!/usr/bin/env python3
"""Calibration and prediction: predict.py TALLY LANTERNS CORPUS_COMPILE, on the driver that the environment names.

Looks at structure alone: no test depends on values of time.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

TALLY, LANTERNS, CORPUS_COMPILE = (os.path.abspath(path) for path in sys.argv[1:4])
H200 = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../share/tally/devices/nvidia-h200.json"))
WITH_DRIVER = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../scripts/with-driver"))
FRAMES = ["--frames", "3", "--size", "160x90"]


def run(*arguments):
    return subprocess.run([TALLY, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=300)


def succeed(*arguments):
    done = run(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.returncode}\n{done.stderr}")
    return done.stdout


def setUpModule():
    global FOLDER
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    FOLDER = folder.name
    succeed("calibrate", "-o", "device.json")
    succeed("run", "--egl", "off", "-o", "counted.tally", "--", LANTERNS, *FRAMES)
    succeed("run", "--egl", "off", "--times", "plain", "-o", "plain.tally", "--", LANTERNS, *FRAMES)


def device():
    with open(os.path.join(FOLDER, "device.json")) as file:
        return json.load(file)


class Compiler(unittest.TestCase):
    """RADV without hardware compiles for a GPU that it makes up."""

    @classmethod
    def setUpClass(cls):
        done = subprocess.run([WITH_DRIVER, "radv-navi21", TALLY, "calibrate", "-o", "navi21.json"], cwd=FOLDER,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "compiled only" in done.stdout, done.stdout

    def test_a_driver_without_hardware_gives_cycles_and_no_times(self):
        with open(os.path.join(FOLDER, "navi21.json")) as file:
            cycles = json.load(file)
        self.assertEqual(cycles["unit"], "cycles")
        self.assertNotIn("ps", {number["unit"] for number in cycles["numbers"].values()})
        kernels = {kernel["name"]: kernel["measured_cycles"] for kernel in cycles["kernels"]}
        self.assertGreater(len(kernels), 20)
        # 64 products and sums of 64 lanes; double precision has a sixteenth of the rate.
        self.assertEqual(kernels["fma"], 32)
        self.assertEqual(kernels["float64"], 512)

    def test_a_prediction_of_a_compiler_has_an_order_and_never_milliseconds(self):
        tables = json.loads(succeed("predict", "--device", "navi21.json", "--format", "json", "counted.tally"))["tables"]
        rows = tables[0]["rows"]
        self.assertEqual({row["status"] for row in rows}, {"order only"})
        self.assertGreater(len({row["share"] for row in rows}), 1)
        self.assertNotIn("time", rows[0])
        self.assertTrue(all(row.get("cycles") is None for row in rows))

    def test_shaders_without_a_branch_tell_how_far_the_model_is_from_the_compiler(self):
        for folder in ("modules", "without"):
            os.mkdir(os.path.join(FOLDER, folder))
        code = ("#version 450\nlayout(local_size_x = 64) in; layout(binding = 0) buffer Words { float words[]; };\n"
                "void main() { float a = words[gl_GlobalInvocationID.x]; %s words[gl_GlobalInvocationID.x] = a; }\n")
        shaders = {"modules/8": "a = fma(a, a, 0.5); " * 8, "modules/64": "a = fma(a, a, 0.5); " * 64,
                   "modules/loop": "for (int i = 0; i < 8; ++i) if (a > i) a = fma(a, a, 0.5);", "without/1": "a += 1;"}
        for name, text in shaders.items():
            source = os.path.join(FOLDER, "shader.comp")
            with open(source, "w") as file:
                file.write(code % text)
            subprocess.run(["glslangValidator", "-V", source, "-o", os.path.join(FOLDER, f"{name}.spv")],
                           check=True, capture_output=True)

        def compiled(folder, *options):
            subprocess.run([WITH_DRIVER, "radv-navi21", TALLY, "run", "-q", *options, "-o", f"{folder}.tally", "--",
                            CORPUS_COMPILE, folder], cwd=FOLDER, check=True, capture_output=True, timeout=300)
            return f"{folder}.tally"
        captures = [compiled("modules", "--statistics"), compiled("without")]
        shown = succeed("calibrate", "-o", "navi21.json", "--programs", *captures)
        self.assertIn("dispatch: 2 kinds in 2 programs", shown)
        # Each module also runs with counters, and these have branches: of the four, only two tell an error.
        self.assertIn('left out 6 of 8 shaders: 4 with a branch or a call, 2 without the statistic "Inverse Throughput"\n', shown)
        with open(os.path.join(FOLDER, "navi21.json")) as file:
            small, large = sorted(json.load(file)["programs"]["works"], key=lambda work: work["instructions"])
        for cycles in ("measured_cycles", "modelled_cycles"):
            self.assertGreater(large[cycles], small[cycles])

    def test_a_capture_of_another_device_tells_no_errors(self):
        refused = run("calibrate", "-o", "navi21.json", "--programs", "counted.tally")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("Null hardware", refused.stderr)


class Memory(unittest.TestCase):
    def test_a_capture_of_accesses_to_memory_is_predicted(self):
        succeed("run", "--egl", "off", "--memory=32", "-o", "memory.tally", "--", LANTERNS, *FRAMES)

        def shares(file):
            rows = json.loads(succeed("predict", "--device", "device.json", "--format", "json", file))["tables"][0]["rows"]
            return {row["work"]: row["share"] for row in rows}
        with_sectors, without = shares("memory.tally"), shares("counted.tally")
        self.assertEqual(with_sectors.keys(), without.keys())
        self.assertAlmostEqual(sum(with_sectors.values()), 100, places=3)


class Calibration(unittest.TestCase):
    def test_all_numbers_are_finite_and_not_negative_and_say_where_they_are_from(self):
        numbers = device()["numbers"]
        self.assertGreater(len(numbers), 50)
        for name, number in numbers.items():
            self.assertTrue(math.isfinite(number["value"]) and number["value"] >= 0, name)
            self.assertIn(number["unit"], ("ps", "invocations", "exponent", "times"))
        for name in ("fma", "buffer_bytes_loaded", "special_function", "texture_samples", "dispatch", "pass", "fragment",
                     "graphics_arithmetic", "graphics_memory", "graphics_texture"):
            self.assertGreater(numbers[name]["value"], 0, name)
            self.assertNotEqual(numbers[name]["kernel"], "")

    def test_every_kernel_ran_beside_the_timing_kernel(self):
        kernels = device()["kernels"]
        self.assertGreater(len(kernels), 20)
        for kernel in kernels:
            self.assertGreater(kernel["measured_s"], 0, kernel)
            self.assertGreater(kernel["clock"], 0, kernel)

    def test_programs_of_a_measured_device_are_pairs_of_captures(self):
        refused = run("calibrate", "-o", "device.json", "--programs", "counted.tally")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("takes pairs", refused.stderr)

    def test_a_file_that_is_no_device_file_is_kept(self):
        path = os.path.join(FOLDER, "notes.txt")
        with open(path, "w") as file:
            file.write("mine")
        self.assertEqual(run("calibrate", "-o", "notes.txt").returncode, 2)
        with open(path) as file:
            self.assertEqual(file.read(), "mine")

    def test_a_device_that_does_not_exist_is_refused(self):
        done = run("calibrate", "-o", "other.json", "--device", "99")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no Vulkan device 99", done.stderr)


class Prediction(unittest.TestCase):
    def test_the_sample_has_an_order_shares_and_bounds_and_no_times_without_programs(self):
        report = json.loads(succeed("predict", "--device", "device.json", "counted.tally", "--format", "json"))
        works, lines = report["tables"]
        shares = [row["share"] for row in works["rows"]]
        self.assertEqual(len(shares), 4)
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertAlmostEqual(sum(shares), 100, places=3)
        for row in works["rows"]:
            self.assertNotEqual(row["bound"], "")
            self.assertEqual((row["time"], row["low"], row["high"], row["status"]), (None, None, None, "order only"))
        self.assertGreater(len(lines["rows"]), 10)
        self.assertLessEqual(sum(row["share"] for row in lines["rows"]), 100.001)

    def test_the_report_has_the_predicted_times_of_passes_frames_and_dispatches(self):
        def rows(*arguments):
            return json.loads(succeed(*arguments, "--device", H200, "--format", "json", "counted.tally"))["tables"][0]["rows"]
        works = rows("predict")
        stated = [row for row in works if row["status"] == "interval of 80 %"]
        self.assertTrue(stated)
        for row in works:
            self.assertEqual(row["time"] is not None, row in stated)
        times = ("time", "low", "high")
        of_pass = {row["pass"]: [row["predicted_" + name] for name in times] for row in rows("report", "--by", "pass", "--merge")}
        of_draw = {row["pipeline"] + " " + row["call"]: row for row in rows("report", "--by", "draw")}
        for row in stated:
            self.assertTrue(0 < row["low"] < row["time"] < row["high"])
            wanted = [row["runs"] * row[name] for name in times]
            draw = of_draw.get(row["work"])
            self.assertEqual([draw["predicted_" + name] for name in times] if draw else of_pass[row["work"]], wanted, row)
        for draw in of_draw.values():
            if draw["call"].startswith("Draw"):
                self.assertIsNone(draw["predicted_time"], "what is in a pass has its time with the pass")

    def test_a_check_fails_only_where_the_whole_interval_is_beyond_the_limit(self):
        works = json.loads(succeed("predict", "--device", H200, "--format", "json", "counted.tally"))["tables"][0]["rows"]
        scene = next(row for row in works if row["work"].startswith("scene"))
        succeed("snapshot", "counted.tally", "-o", "scene.snapshot")

        def check(limit, *arguments):
            with open(os.path.join(FOLDER, "scene.limits"), "w") as file:
                file.write(f'tally-limits 1\ntime "{scene["work"]}" "NVIDIA H200" <={limit}ns\n')
            return run("check", *arguments, "scene.snapshot", "counted.tally")
        self.assertEqual(check(scene["low"], "--device", H200).returncode, 0)
        failed = check(scene["low"] - 1, "--device", H200)
        self.assertEqual(failed.returncode, 3)
        self.assertIn("at least", failed.stdout)
        self.assertIn("scene.limits:2", failed.stdout)
        self.assertEqual(check(10**9).returncode, 2, "without the device the limit is not compared")
        refused = check(10**9, "--device", "device.json")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("order only" if "NVIDIA H200" == device()["device"] else "no predicted time", refused.stderr)

    def test_two_equal_captures_have_ratios_of_one(self):
        report = json.loads(succeed("predict", "--device", "device.json", "counted.tally", "counted.tally",
                                    "--format", "json"))
        self.assertEqual({row["ratio"] for row in report["tables"][0]["rows"]}, {"1.000"})

    def test_an_edited_shader_changes_the_ratio_of_its_work_alone(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/lanterns/shaders/scene.frag")
        with open(source) as file:
            text = file.read()
        self.assertEqual(text.count("kMaxSteps = 96"), 1)
        with open(os.path.join(FOLDER, "edited.frag"), "w") as file:
            file.write(text.replace("kMaxSteps = 96", "kMaxSteps = 24"))
        edit = ["--egl", "off", "--strict", "--replace", "scene.frag=edited.frag"]
        succeed("run", *edit, "-o", "edited.tally", "--", LANTERNS, *FRAMES)
        report = json.loads(succeed("predict", "--device", "device.json", "counted.tally", "edited.tally", "--format", "json"))
        rows = {row["work"]: row for row in report["tables"][0]["rows"]}
        self.assertEqual(len(rows), 4)
        scene = next(work for work in rows if work.startswith("scene"))
        self.assertLess(float(rows.pop(scene)["ratio"]), 0.9)
        self.assertEqual({(row["ratio"], row["interval"]) for row in rows.values()}, {("1.000", "equal counts")})
        # Captures of one command line are versions of one program.
        succeed("run", *edit, "--times", "plain", "-o", "edited-plain.tally", "--", LANTERNS, *FRAMES)
        succeed("calibrate", "-o", "versions.json")
        succeed("calibrate", "-o", "versions.json", "--programs", "counted.tally", "plain.tally", "edited.tally",
                "edited-plain.tally")
        with open(os.path.join(FOLDER, "versions.json")) as file:
            programs = json.load(file)["programs"]
        self.assertEqual({(work["program"], work["version"]) for work in programs["works"]},
                         {("counted", "counted"), ("counted", "edited")})
        self.assertEqual(programs["ratio"]["works"], 2, "the edited pass, in both directions")

    def test_a_ratio_beyond_the_measured_ones_has_no_interval(self):
        edit = os.path.join(FOLDER, "constant.frag")
        with open(edit, "w") as file:
            file.write("#version 450\nlayout(location = 0) out vec4 color;\nvoid main() { color = vec4(1.0); }\n")
        succeed("run", "--egl", "off", "--strict", "--replace", "scene.frag=constant.frag", "-o", "constant.tally", "--", LANTERNS, *FRAMES)
        report = json.loads(succeed("predict", "--device", H200, "counted.tally", "constant.tally", "--format", "json"))
        scene = next(row for row in report["tables"][0]["rows"] if row["work"].startswith("scene"))
        self.assertLess(float(scene["ratio"]), 0.3)
        self.assertEqual(scene["interval"], "extrapolated")

    def test_idle_lanes_count_on_the_device_of_the_capture_alone(self):
        succeed("run", "--egl", "off", "--divergence", "-o", "lanes.tally", "--", LANTERNS, *FRAMES)

        def shares(device, file):
            rows = json.loads(succeed("predict", "--device", device, "--format", "json", file))["tables"][0]["rows"]
            return {row["work"]: row["share"] for row in rows}
        self.assertEqual(shares(H200, "lanes.tally"), shares(H200, "counted.tally"))
        with_lanes, without = shares("device.json", "lanes.tally"), shares("device.json", "counted.tally")
        scene = next(work for work in without if work.startswith("scene"))
        self.assertGreater(with_lanes[scene], without[scene], "the loop of the scene ends at a step of its own in each lane")

    def test_errors_of_programs_come_from_times_of_a_run_that_does_not_count(self):
        for arguments, why in ((["counted.tally"], "pairs"),
                               (["counted.tally", "counted.tally"], "shaders that count"),
                               (["plain.tally", "plain.tally"], "it has no counts")):
            done = run("calibrate", "-o", "device.json", "--programs", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)
        succeed("calibrate", "-o", "programs.json")
        succeed("calibrate", "-o", "programs.json", "--programs", "counted.tally", "plain.tally")
        with open(os.path.join(FOLDER, "programs.json")) as file:
            programs = json.load(file)["programs"]
        self.assertEqual(programs["pass"]["programs"], 1)
        self.assertNotIn("interval_80", programs["pass"])
        shown = succeed("predict", "--device", "programs.json", "counted.tally")
        self.assertIn("too few programs", shown)

    def test_plain_times_come_without_counts(self):
        report = json.loads(succeed("report", "--by", "pass", "--format", "json", "plain.tally"))
        self.assertTrue(any(row["gpu_time"] for row in report["tables"][0]["rows"]))
        done = run("predict", "--device", "device.json", "plain.tally")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no counts", done.stderr)

    def test_a_file_of_another_version_is_refused(self):
        changed = device() | {"version": 99}
        with open(os.path.join(FOLDER, "newer.json"), "w") as file:
            json.dump(changed, file)
        done = run("predict", "--device", "newer.json", "counted.tally")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("version 99", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
