#!/usr/bin/env python3
"""Data sets that are written twice, by several processes at once, by one that is killed, and on a full disk; and wrong input.

Usage: writing_test.py TALLY WRITE_CAPTURES FAULT_LIBRARY
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import engines

TALLY, WRITE_CAPTURES, FAULT = sys.argv[1:4]
CI_VARIABLES = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "CIRCLE_SHA1", "TRAVIS_COMMIT", "BITBUCKET_COMMIT",
                "BUILDKITE_COMMIT", "DRONE_COMMIT_SHA", "GIT_COMMIT")
WITHOUT_PARQUET = "tally: no Parquet files"  # a message, where DuckDB is not installed


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob("*") if path.is_file()}


class Writing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.captures = pathlib.Path(tempfile.mkdtemp(prefix="tally-fleet-"))
        cls.addClassCleanup(shutil.rmtree, cls.captures)
        subprocess.run([WRITE_CAPTURES, cls.captures], check=True)
        cls.files = [str(cls.captures / name) for name in ("sample.tally", "calls.tally")]

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tally-fleet-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.data_set = self.folder / "fleet"

    def environment(self, **more):
        environment = {name: value for name, value in os.environ.items() if name not in CI_VARIABLES}
        environment.pop("LD_LIBRARY_PATH", None)
        return dict(environment, GIT_CEILING_DIRECTORIES=str(self.folder.parent), **more)

    def start(self, *arguments, data_set=None, environment=None, **options):
        return subprocess.Popen([TALLY, "export", "--to", str(data_set or self.data_set), *arguments], cwd=self.folder,
                                env=environment or self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                **options)

    def export(self, *arguments, status=0, **options):
        process = self.start(*arguments, **options)
        output, self.said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, self.said)
        return output.splitlines()

    def check_complete(self, count=None):
        """Every visible capture has all its tables in full, and nothing else is visible."""
        captures = sorted(self.data_set.glob("commit=*/device=*/scene=*/capture=*"))
        for capture in captures:
            for table in engines.TABLES:
                text = (capture / f"{table}.jsonl").read_text()
                self.assertTrue(text.endswith("\n"), capture)
                for line in text.splitlines():
                    self.assertEqual(json.loads(line)["capture"], capture.name.removeprefix("capture="))
            parquet = sorted(path.name for path in capture.glob("*.parquet"))
            self.assertIn(parquet, ([], sorted(f"{table}.parquet" for table in engines.TABLES)))
            self.assertEqual(len(list(capture.iterdir())), 4 + len(parquet))
        if count is not None:
            self.assertEqual(len(captures), count)
        return captures

    def assert_nothing_partial(self):
        self.assertEqual([path for path in self.data_set.rglob(".*")], [])
        self.assertEqual([path.name for path in self.data_set.iterdir() if not path.name.startswith("commit=")],
                         ["tally-data-set.json"])

    def test_a_repeated_export_changes_nothing(self):
        first = self.export("--commit", "a", *self.files)
        before = {path: path.stat().st_mtime_ns for path in self.data_set.rglob("*")}
        self.assertEqual(self.export("--commit", "a", *self.files), first)
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.data_set.rglob("*")}, before)
        self.check_complete(2)

    def test_many_processes_at_once_write_each_capture_once(self):
        processes = [self.start("--commit", "a", *self.files) for _ in range(8)]
        outputs = {process.communicate(timeout=60)[0] for process in processes}
        self.assertEqual({process.returncode for process in processes}, {0})
        self.assertEqual(len(outputs), 1)
        self.check_complete(2)
        self.assert_nothing_partial()

    def faults(self, kind, **variables):
        """Lets an export meet a fault at its first change of a file, at its second ..., until one meets none."""
        for at in range(1, 1000):
            self.data_set = self.folder / f"{kind}-{at}"
            environment = self.environment(LD_PRELOAD=FAULT, TALLY_FAULT=kind, TALLY_FAULT_AT=str(at), **variables)
            process = self.start("--commit", "a", self.files[0], environment=environment)
            _, said = process.communicate(timeout=60)
            said = "".join(line for line in said.splitlines(True) if not line.startswith(WITHOUT_PARQUET))
            self.check_complete(1 if process.returncode == 0 else None)
            yield process.returncode, said
            if process.returncode == 0 and not said:
                return
            self.export("--commit", "a", self.files[0])
            self.check_complete(1)
            self.assert_nothing_partial()
        self.fail("every call met a fault")

    def check_killed(self, at_least, **variables):
        statuses = [status for status, _ in self.faults("kill", **variables)]
        self.assertEqual(set(statuses[:-1]), {-signal.SIGKILL})
        self.assertGreater(len(statuses), at_least)

    def check_full(self, at_least, **variables):
        number = 0
        for number, (status, said) in enumerate(self.faults("full", **variables)):
            if status == 0:
                break
            self.assertEqual(status, 2)
            self.assertEqual(said.count("\n"), 1, said)
            self.assertIn("No space left on device", said)
        self.assertGreater(number, at_least)

    def test_a_process_killed_at_any_change_leaves_no_partial_capture(self):
        self.check_killed(15, LD_LIBRARY_PATH=self.parquet())

    def test_a_disk_that_is_full_at_any_change_leaves_no_partial_capture(self):
        self.check_full(15, LD_LIBRARY_PATH=self.parquet())

    def export_onto(self, size):
        """Both captures, one after the other, to a file system of `size` bytes, which is then copied to self.data_set. The status
        and the last message of each."""
        full = self.folder / "full"
        full.mkdir(exist_ok=True)
        script = 'for file; do "$0" export --to full/fleet --commit a "$file" >said 2>&1; echo $? $(tail -n 1 said); done; cp -a full/fleet .'
        done = subprocess.run(["bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", full, "--chdir", self.folder, "--",
                               "sh", "-c", script, TALLY, *self.files], env=self.environment(LD_LIBRARY_PATH=self.parquet()),
                              stdout=subprocess.PIPE, text=True, timeout=60)
        return [line.split(" ", 1) for line in done.stdout.splitlines()]

    def test_a_full_file_system_holds_no_partial_capture(self):
        page, ends = os.sysconf("SC_PAGESIZE"), set()
        for pages in range(2, 100):
            shutil.rmtree(self.data_set, ignore_errors=True)
            ended = self.export_onto(pages * page)
            for status, said in ended:
                self.assertIn(status, ("0", "2"), said)
                if status == "2":
                    self.assertRegex(said, "^tally: .*: No space left on device$")
            self.check_complete(sum(status == "0" for status, _ in ended))
            ends.add("".join(status for status, _ in ended))
            if ends >= {"00"}:
                break
        self.assertLessEqual({"22", "02", "00"}, ends)

    @staticmethod
    def parquet():
        return str(engines.LIBRARY.parent)

    def test_a_file_size_limit_is_an_error_in_one_line(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        self.export("--commit", "a", self.files[0], status=2, preexec_fn=limit)
        self.assertEqual(self.said.splitlines()[-1].count("File too large"), 1, self.said)
        self.check_complete(0)
        self.assertEqual(list(self.data_set.rglob(".*")), [])

    def test_names_stand_encoded_in_folders_and_plain_in_rows(self):
        scene = "a/b=c%d 'é'+*?[x]\\"
        [capture] = self.export("--commit", "v1/x", "--scene", scene, self.files[0])
        self.assertIn("/commit=v1%2Fx/", capture)
        self.assertIn("/scene=a%2Fb%3Dc%25d%20%27%C3%A9%27%2B%2A%3F%5Bx%5D%5C/", capture)
        row = json.loads((self.folder / capture / "capture.jsonl").read_text())
        self.assertEqual((row["commit"], row["scene"]), ("v1/x", scene))

    def test_the_commit_is_that_of_the_checkout_or_of_ci(self):
        def git(*arguments):
            environment = self.environment(GIT_COMMITTER_DATE="1700000000 +0000", GIT_CONFIG_GLOBAL="/dev/null")
            return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.folder, check=True,
                                  env=environment, capture_output=True, text=True).stdout.strip()
        self.export(self.files[0], environment=self.environment(GITHUB_SHA="0123abc"))
        git("init", "-q")
        git("commit", "-q", "--allow-empty", "-m", "first")
        self.export(self.files[0], environment=self.environment(GITHUB_SHA="0123abc"))
        self.export("--commit", "HEAD", self.files[0])
        rows = [json.loads((capture / "capture.jsonl").read_text()) for capture in self.check_complete(3)]
        self.assertEqual({row["commit"]: row["commit_time"] for row in rows},
                         {"0123abc": rows[0]["start_time"], git("rev-parse", "HEAD"): 1700000000, "HEAD": 1700000000})

    def check_refused(self, what, *arguments, data_set=None):
        before = contents(self.folder)
        self.export(*arguments, status=2, data_set=data_set)
        lines = [line for line in self.said.splitlines() if "no Parquet files" not in line]
        self.assertEqual(len(lines), 1, self.said)
        self.assertIn(what, lines[0])
        after = contents(self.folder)
        after.pop("fleet/tally-data-set.json", None)
        before.pop("fleet/tally-data-set.json", None)
        self.assertEqual(after, before)

    def test_wrong_input_is_refused_in_one_line(self):
        self.check_refused("no commit", self.files[0])
        self.check_refused("--commit is too long", "--commit", "x" * 201, self.files[0])
        self.check_refused("--commit has a control character", "--commit", "a\nb", self.files[0])
        self.check_refused("--commit is not UTF-8", "--commit", b"\xff", self.files[0])
        self.check_refused("--scene is too long", "--commit", "a", "--scene", "/" * 67, self.files[0])
        self.check_refused("--format", "--commit", "a", "--format", "csv", self.files[0])
        self.check_refused("nowhere", "--commit", "a", str(self.folder / "nowhere"))
        (self.folder / "text").write_text("no capture")
        self.check_refused("text", "--commit", "a", str(self.folder / "text"))
        self.check_refused("text", "--commit", "a", self.files[0], data_set=self.folder / "text")
        shutil.copy(self.files[0], self.folder / "open.tally")
        subprocess.run(["sqlite3", self.folder / "open.tally", "UPDATE capture SET end_monotonic_ns = NULL"], check=True)
        self.check_refused("open.tally: capture is incomplete", "--commit", "a", str(self.folder / "open.tally"))

    def test_other_folders_are_left_as_they_are(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine/notes").write_text("x")
        self.check_refused("not a data set and not empty", "--commit", "a", self.files[0], data_set=self.folder / "mine")
        (self.folder / "newer").mkdir()
        (self.folder / "newer/tally-data-set.json").write_text('{"format":2}\n')
        self.check_refused("not a data set of this version", "--commit", "a", self.files[0], data_set=self.folder / "newer")

    def test_one_wrong_capture_does_not_stop_the_others(self):
        self.export("--commit", "a", str(self.folder / "nowhere"), self.files[0], status=2)
        self.check_complete(1)

    def test_without_duckdb_there_are_json_lines_and_a_message(self):
        self.export("--commit", "a", self.files[0])
        self.assertIn("no Parquet files, JSON lines only: libduckdb.so is not installed", self.said)
        self.assertEqual(list(self.data_set.rglob("*.parquet")), [])

    @unittest.skipUnless(engines.LIBRARY.exists(), "scripts/fetch-duckdb has not been run")
    def test_parquet_files_hold_the_same_rows(self):
        self.data_set = self.folder / "a'b [1]*?"
        self.export("--commit", "v1/x", "--scene", "a/b=c%d 'é'+*?[x]\\", *self.files,
                    environment=self.environment(LD_LIBRARY_PATH=str(engines.LIBRARY.parent)))
        self.assertEqual(self.said, "")
        self.check_complete(2)
        for table in engines.TABLES:
            rows = []
            for sql in ("duckdb.sql", "duckdb_parquet.sql"):
                engine = engines.DuckDb(self.data_set, sql)
                names = [row[0] for row in engine.query(f"DESCRIBE {table}")]
                rows.append((sorted(names), sorted(engine.query(f"SELECT {', '.join(sorted(names))} FROM {table}"))))
                engine.close()
            self.assertEqual(rows[0], rows[1])
            self.assertTrue(rows[0][1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
