#!/usr/bin/env python3
"""The table of memory accesses, with numbers worked out by hand: memory_run.py TALLY APP, on the environment's driver.

APP runs 64 workgroups of 64 invocations: 128 subgroups of 32.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

TALLY, APP = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
BYTES = 64 * 64 * 4  # a word of each invocation
COLUMNS = ("location,resource,access,requested_bytes,memory_subgroups,sector_bytes,coalescing,memory_sectors,memory_lines,"
           "memory_texels,extra_passes,missed_accesses")


def report(case, *arguments, memory="--memory=32"):
    """A table of the case's capture."""
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "memory.tally")
        subprocess.run([TALLY, "run", "--egl", "off", memory, "-o", capture, "--", APP, case], check=True,
                       capture_output=True)
        made = subprocess.run([TALLY, "report", *arguments, "--format", "json", capture],
                              check=True, capture_output=True, text=True)
    return json.loads(made.stdout)["tables"][0]


def rows(case):
    """The rows by line, resource and access."""
    table = report(case, "--by", "memory", "--columns", COLUMNS)
    return {(row["location"], row["resource"], row["access"]): row for row in table["rows"]}


def footprints(case, by="draw", **options):
    """The footprint and the reuse of each row."""
    each = ["--each"] if by == "draw" else []
    table = report(case, "--by", by, *each, "--columns", "footprint,reuse", **options)
    assert any("standard error of 2.9 %" in note for note in table["notes"]), table["notes"]
    return [(row["footprint"], row["reuse"]) for row in table["rows"]]


def estimate(lines):
    """The bytes of a set of (binding, line) of set 0 as docs/user/memory.md says that they are estimated."""
    word, bits = 0xffffffff, set()
    for binding, line in lines:
        h = line * 0x9e3779b1 & word
        h ^= h >> 15 ^ ((binding + 1) * 0x9e3779b1 & word)
        h = (h ^ h >> 16) * 0x85ebca6b & word
        h = (h ^ h >> 13) * 0xc2b2ae35 & word
        h ^= h >> 16
        rest = h >> 9 | 1 << 23
        bits.add((h & 511, (rest & -rest).bit_length() - 1))
    shares = [2.0 ** -min(bit + 1, 23) for bit in range(24)]
    rows_with = [sum(1 for _, other in bits if other == bit) for bit in range(24)]
    count = float(len(bits))
    while True:  # Newton's method for the zero of the slope of the likelihood's logarithm
        slope = curve = 0.0
        for share, rows_of in zip(shares, rows_with):
            grown = math.exp(share * count / 512)
            slope += rows_of * share / (grown - 1) - (512 - rows_of) * share
            curve -= rows_of * share * share * grown / (grown - 1) ** 2 / 512
        step = slope / curve
        count -= step
        if abs(step) < 1e-9 * count:
            return 128 * round(count)


def only_load(table):
    """The row of the one load of lines.comp, whose block has no line."""
    row, = (row for (_, _, access), row in table.items() if access == "load")
    return row


def mixed_indices():
    """The numbers that lines.comp makes of the indices of invocations."""
    return [((i ^ i >> 5) * 747796405 + 2891336453 & 0xffffffff) >> 8 for i in range(64 * 64)]


class Memory(unittest.TestCase):
    def check(self, row, **expected):
        self.assertEqual({key: row[key] for key in expected}, expected)

    def test_a_stride_of_one_uses_all_bytes_of_its_sectors(self):
        table = rows("coalesced")
        for key in [("columns.comp:12", "0.0 Values", "load"), ("columns.comp:15", "0.1 Sums", "store")]:
            self.check(table[key], requested_bytes=BYTES, memory_subgroups=128, memory_sectors=128 * 4,
                       memory_lines=128, coalescing=1, sector_bytes=BYTES, missed_accesses=0)
        self.check(table["columns.comp:13", "workgroup tile", "store"], extra_passes=0, memory_subgroups=128)

    def test_counts_are_the_same_wherever_the_pointers_are(self):
        table = rows("coalesced")
        self.assertEqual(rows("coalesced-with-libraries"), table)
        os.environ["TALLY_RECORD_ADDRESS"] = "descriptor"
        try:
            self.assertEqual(rows("coalesced"), table)
        finally:
            del os.environ["TALLY_RECORD_ADDRESS"]

    def test_a_stride_of_a_line_takes_a_sector_for_each_invocation(self):
        self.check(rows("uncoalesced")["columns.comp:12", "0.0 Values", "load"], requested_bytes=BYTES,
                   memory_sectors=128 * 32, memory_lines=128 * 32, coalescing=0.125)

    def test_each_stride_takes_the_sectors_and_lines_that_its_words_are_in(self):
        for stride in (2, 4, 8, 16, 64):
            sectors, lines = min(32, 4 * stride), min(32, stride)
            self.check(rows(f"stride-{stride}")["columns.comp:12", "0.0 Values", "load"], requested_bytes=BYTES,
                       memory_sectors=128 * sectors, memory_lines=128 * lines, coalescing=128 / (32 * sectors))

    def test_a_word_that_all_read_is_one_sector_of_each_subgroup(self):
        self.check(only_load(rows("broadcast")), requested_bytes=BYTES, memory_sectors=128,
                   memory_lines=128, coalescing=4)

    def test_indices_in_no_order_take_the_sectors_that_the_host_works_out(self):
        words = [index % (64 * 4096) for index in mixed_indices()]
        sectors, lines = (sum(len({word * 4 // size for word in words[first:first + 32]}) for first in range(0, 4096, 32))
                          for size in (32, 128))
        self.check(only_load(rows("random")), requested_bytes=BYTES, memory_sectors=sectors,
                   memory_lines=lines)

    def test_members_of_structures_take_the_sectors_of_whole_structures(self):
        table = rows("structures")
        for line in (10, 11):
            self.check(table[f"structures.comp:{line}", "0.0 Values", "load"], requested_bytes=BYTES,
                       memory_sectors=128 * 16, coalescing=0.25)
        for line in (12, 13):
            self.check(table[f"structures.comp:{line}", "0.0 Values", "load"], requested_bytes=BYTES,
                       memory_sectors=128 * 4, coalescing=1)

    def test_columns_of_an_unpadded_tile_are_in_one_bank(self):
        table = rows("bank-conflicts")
        self.check(table["columns.comp:13", "workgroup tile", "store"], requested_bytes=BYTES,
                   extra_passes=128 * 31)
        self.check(table["columns.comp:15", "workgroup tile", "load"], extra_passes=0)

    @unittest.skipIf(os.environ.get("TALLY_TEST_DRIVER") == "swiftshader", "no non-uniform indices of buffers")
    def test_addresses_are_kept_apart_and_so_are_buffers_of_an_array(self):
        table = rows("pointers")
        # Even invocations take one of eight words, odd ones every other word.
        self.check(table["pointers.comp:14", "address", "load"], requested_bytes=BYTES // 2,
                   memory_sectors=128 * 16)
        self.check(table["pointers.comp:16", "address", "load"], requested_bytes=BYTES // 2,
                   memory_sectors=128 * 4)
        # Each of two buffers in every other word.
        self.check(table["pointers.comp:18", "0.0 sinks", "store"], requested_bytes=BYTES, memory_sectors=128 * 8,
                   memory_lines=128 * 2)

    def test_texels_count_once_for_a_subgroup(self):
        table = rows("texels")
        stored, loaded, added = (table["texels.comp:9", "0.0 picture", "store"],
                                 table["texels.comp:10", "0.0 picture", "load"],
                                 table["texels.comp:11", "0.1 sums", "atomic"])
        self.check(stored, requested_bytes=BYTES, memory_texels=128 * 32, memory_subgroups=128, memory_sectors=0)
        self.check(loaded, requested_bytes=BYTES, memory_texels=128 * 16, missed_accesses=0)
        self.check(added, requested_bytes=BYTES, memory_texels=128 * 4)


class Footprints(unittest.TestCase):
    """Known sets of lines: the numbers are those that the host estimates for them, and near their size."""
    def check(self, case, lines, requested, **options):
        (footprint, reuse), = footprints(case, **options)
        self.assertEqual(footprint, estimate(lines))
        self.assertLess(abs(footprint / 128 / len(lines) - 1), 3 * 0.0287)
        self.assertAlmostEqual(reuse, requested / footprint)

    def columns(self, stride, invocations=64 * 64):
        return ({(0, i * stride * 4 // 128) for i in range(invocations)} |
                {(1, i * 4 // 128) for i in range(invocations)})

    def test_each_word_once_is_a_reuse_of_one(self):
        for memory in ("--memory", "--memory=32", "--memory=64"):
            self.check("coalesced", self.columns(1), 2 * BYTES, memory=memory)

    def test_a_stride_of_a_line_touches_a_line_for_each_invocation(self):
        for memory in ("--memory", "--memory=32"):
            self.check("uncoalesced", self.columns(32), 2 * BYTES, memory=memory)

    def test_a_word_that_all_read_is_one_line(self):
        self.check("broadcast", {(0, 0)} | {(1, line) for line in range(128)}, 2 * BYTES)

    def test_indices_in_no_order(self):
        lines = {(0, index % (64 * 4096) // 32) for index in mixed_indices()} | {(1, line) for line in range(128)}
        self.assertGreater(len(lines), 2000)
        self.check("random", lines, 2 * BYTES)

    def test_dispatches_of_a_pipeline_have_their_own_and_their_group_has_the_largest(self):
        large, small = estimate(self.columns(2)), estimate(self.columns(2, 5 * 64))
        self.assertEqual(footprints("two-sizes"), [(large, 2 * BYTES / large), (small, 2 * 5 * 64 * 4 / small)])
        (footprint, reuse), = footprints("two-sizes", by="pipeline")
        self.assertEqual(footprint, large)
        self.assertAlmostEqual(reuse, 2 * 69 * 64 * 4 / (large + small))

    @unittest.skipIf(os.environ.get("TALLY_TEST_DRIVER") == "swiftshader", "no non-uniform indices of buffers")
    def test_addresses_and_buffers_of_an_array_are_kept_apart(self):
        (footprint, _), = footprints("pointers")
        # 512 lines of one address and 128 of the other, of which each half is read; 2 buffers of 128.
        self.assertLess(abs(footprint / 128 / (512 + 128 + 256) - 1), 3 * 0.0287)

    def test_images_have_no_lines(self):
        columns = [column["id"] for column in report("texels", "--by", "draw")["columns"]]
        self.assertNotIn("footprint", columns)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
