#!/usr/bin/env python3
"""The table of memory accesses, with numbers worked out by hand: memory_run.py TALLY APP, on the environment's driver.

APP runs 64 workgroups of 64 invocations: 128 subgroups of 32.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TALLY, APP = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
BYTES = 64 * 64 * 4  # a word of each invocation
COLUMNS = ("location,resource,access,requested_bytes,memory_subgroups,sector_bytes,coalescing,memory_sectors,memory_lines,"
           "memory_texels,extra_passes,missed_accesses")


def rows(case):
    """The rows by line, resource and access."""
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "memory.tally")
        subprocess.run([TALLY, "run", "--egl", "off", "--memory=32", "-o", capture, "--", APP, case], check=True,
                       capture_output=True)
        made = subprocess.run([TALLY, "report", "--by", "memory", "--columns", COLUMNS, "--format", "json", capture],
                              check=True, capture_output=True, text=True)
    table = json.loads(made.stdout)["tables"][0]
    return {(row["location"], row["resource"], row["access"]): row for row in table["rows"]}


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

    def test_columns_of_an_unpadded_tile_are_in_one_bank(self):
        table = rows("bank-conflicts")
        self.check(table["columns.comp:13", "workgroup tile", "store"], requested_bytes=BYTES,
                   extra_passes=128 * 31)
        self.check(table["columns.comp:15", "workgroup tile", "load"], extra_passes=0)

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
