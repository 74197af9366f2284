#!/usr/bin/env python3
"""Cycles and costs of kernels: clock_run.py TALLY CLOCK_APP [--values], on the driver that the environment names.

CLOCK_APP runs one workgroup of 64 invocations of each kernel at a time. On every driver: which functions and loops have rows, how
often they ran, and what they cost, exactly; and that the function that waits takes more cycles for its cost than the loop that computes.

--values instead compares cycles with what they should be on an idle GPU of NVIDIA, and prints them; exit status 1 if one is off by
more than 10 %. A dependent multiply-add takes 4 cycles. GPU times of the plain program tell how many of these a load takes. And the
invocations that wait at a barrier wait as long as the others run.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TALLY, APP = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
STEPS, INVOCATIONS, WORKING = 64, 64, 32  # of an iteration; of a workgroup; of them, those that run the loop of wait.comp
KERNELS = ("chain.comp", "shared_loads.comp", "buffer_loads.comp", "wait.comp")  # in the order in which APP runs them
ITERATIONS, ROUNDS = 64, 3
SHORT, LONG, REPEATED = 256, 1024, 12  # of --values
CYCLES_OF_FMA, TOLERANCE = 4, 0.1


def tables(by, options, iterations, rounds):
    """The rows of a report of a capture of APP."""
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "clocks.tally")
        for command in ([TALLY, "run", "-q", "--egl", "off", *options, "-o", capture, "--", APP, str(iterations), str(rounds)],
                        [TALLY, "report", "--format", "json", *by, capture]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["tables"][0]


def cycles(iterations, rounds, every="--clocks=1"):
    """The rows of functions and loops by (shader, function, part)."""
    rows = tables(["--by", "clock"], [every], iterations, rounds)["rows"]
    return {(row["shader"], row["function"].split("(")[0], row["part"]): row for row in rows}


class Structure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows, cls.longer = cycles(ITERATIONS, ROUNDS), cycles(4 * ITERATIONS, ROUNDS)

    def test_each_long_loop_and_function_has_a_row(self):
        expected = {(kernel, "main", part) for kernel in KERNELS for part in ("function", "loop")}
        self.assertEqual(set(self.rows), expected | {("wait.comp", "wait_for_all", "function")})

    def test_runs_are_those_of_all_invocations(self):
        for (kernel, _, part), row in self.rows.items():
            runs = ROUNDS * (WORKING if (kernel, part) == ("wait.comp", "loop") else INVOCATIONS)
            self.assertEqual((row["runs"], row["timed_runs"]), (runs, runs), row)

    def test_the_cost_of_a_loop_is_that_of_its_iterations(self):
        for kernel, invocations in (("chain.comp", INVOCATIONS), ("wait.comp", WORKING)):
            short, long = (rows[kernel, "main", "loop"]["self_cost"] for rows in (self.rows, self.longer))
            more, rest = divmod(long - short, ROUNDS * invocations * 3 * ITERATIONS)
            self.assertEqual(rest, 0)
            # A multiply-add is a slot; the test, the step and the branch of the loop are few.
            self.assertGreaterEqual(more, STEPS)
            self.assertLess(more, STEPS + 8)

    def test_costs_add_up_to_those_of_the_shader(self):
        costs = tables(["--by", "shader"], ["--clocks=1"], ITERATIONS, ROUNDS)["rows"]
        for shader in costs:
            parts = {key: row for key, row in self.rows.items() if key[0] == shader["shader"]}
            self.assertEqual(sum(row["self_cost"] for row in parts.values()), shader["cost"], shader["shader"])
            self.assertEqual(parts[shader["shader"], "main", "function"]["total_cost"], shader["cost"])
        self.assertEqual(len(costs), len(KERNELS))

    def test_cycles_by_cost_are_of_equal_runs(self):
        for row in self.rows.values():
            per_run = row["self_cycles"] / row["timed_runs"], row["self_cost"] / row["runs"]
            self.assertAlmostEqual(row["cycles_per_cost"], per_run[0] / per_run[1], delta=1e-6 * row["cycles_per_cost"])

    def test_what_waits_takes_more_cycles_for_its_cost_than_what_computes(self):
        waits = self.longer["wait.comp", "wait_for_all", "function"]["cycles_per_cost"]
        computes = self.longer["wait.comp", "main", "loop"]["cycles_per_cost"]
        self.assertGreater(waits, 3 * computes)

    def test_costs_are_exact_where_few_invocations_are_timed(self):
        some = cycles(ITERATIONS, 40, "--clocks=4")
        row = some["chain.comp", "main", "loop"]
        self.assertLess(row["timed_runs"], row["runs"])
        self.assertEqual(row["runs"], 40 * INVOCATIONS)
        self.assertEqual(row["self_cost"] * ROUNDS, 40 * self.rows["chain.comp", "main", "loop"]["self_cost"])


def plain_nanoseconds(iterations):
    """The shortest GPU time of each kernel without counting, but for the first round, which may compile it."""
    rows = tables(["--by", "draw", "--each"], ["--times", "plain"], iterations, REPEATED)["rows"]
    times = [row["gpu_time"] for row in sorted(rows, key=lambda row: (row["frame"], row["command"]))]
    return {kernel: min(times[len(KERNELS) + k::len(KERNELS)]) for k, kernel in enumerate(KERNELS)}


def check_values():
    short, long = plain_nanoseconds(SHORT), plain_nanoseconds(LONG)
    # The difference leaves out the fixed cost of a dispatch.
    times = {kernel: (long[kernel] - short[kernel]) / ((LONG - SHORT) * STEPS) for kernel in KERNELS}
    rows = cycles(LONG, REPEATED)
    loop = rows["chain.comp", "main", "loop"]
    checks = [("a dependent multiply-add", loop["self_cycles"] / loop["timed_runs"] / (LONG * STEPS), CYCLES_OF_FMA)]
    for kernel in ("shared_loads.comp", "buffer_loads.comp"):
        row = rows[kernel, "main", "loop"]
        checks.append((f"a dependent load of {kernel}", row["self_cycles"] / row["timed_runs"] / (LONG * STEPS),
                       CYCLES_OF_FMA * times[kernel] / times["chain.comp"]))
    waits, works = rows["wait.comp", "wait_for_all", "function"], rows["wait.comp", "main", "loop"]
    checks.append(("waiting at a barrier", waits["self_cycles"] / works["timed_runs"], works["self_cycles"] / works["timed_runs"]))
    good = True
    for name, measured, expected in checks:
        error = measured / expected - 1
        good = good and abs(error) <= TOLERANCE
        print(f"{name:40} {measured:12.2f} cycles, expected {expected:12.2f} ({100 * error:+.1f} %)")
    for (kernel, function, part), row in sorted(rows.items()):
        print(f"{kernel:20} {function:14} {part:9} self cycles/run {row['self_cycles'] / row['timed_runs']:14.1f}"
              f" cost/run {row['self_cost'] / row['runs']:10.1f} cycles/cost {row['cycles_per_cost']:8.2f}")
    return 0 if good else 1


if __name__ == "__main__":
    if "--values" in sys.argv:
        sys.exit(check_values())
    unittest.main(argv=sys.argv[:1])
