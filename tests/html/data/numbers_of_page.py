#!/usr/bin/env python3
"""Compares all numbers of an HTML report with those of `tally report --format json`.

Usage: numbers_of_page.py TALLY CAPTURE... Sums up the data of the page by the rules in src/report/html/page/src/data.ts, for each
draw, pass, frame, pipeline, label, shader, line and frame of EGL, in all metrics. Exits with 1 where one number differs.
"""
import collections
import json
import math
import os
import subprocess
import sys
import tempfile

import report_data

LIMIT = (1 << 64) - 1


def json_tables(tally, capture, *options):
    run = subprocess.run([tally, "report", "--format", "json", *options, capture], capture_output=True, check=False)
    if run.returncode == 1:
        return []  # nothing to show
    if run.returncode != 0:
        raise RuntimeError(run.stderr.decode())
    return json.loads(run.stdout)["tables"]


class Sums:
    """The values of commands, blocks and lines of one capture, by the rules of the contract."""

    def __init__(self, capture):
        self.capture = capture
        self.metrics = [m["id"] for m in capture.head["metrics"]]
        self.attribution = {m["id"]: m["attribution"] for m in capture.head["metrics"]}
        self.counted = set(capture.head["counted"])
        costs = capture["costs"]
        self.rows_of = collections.defaultdict(list)
        for row, block in enumerate(costs.column("block")):
            self.rows_of[block].append(row)
        self.cost = {m: costs.column(m) for m in self.metrics}
        self.cost_of_block = {}
        self.set_values = {}
        self.set_blocks = {}

    def block_cost(self, block, metric):
        key = (block, metric)
        if key not in self.cost_of_block:
            self.cost_of_block[key] = sum(self.cost[metric][row] for row in self.rows_of[block])
        return self.cost_of_block[key]

    def blocks_of(self, value_set):
        """{block: (executions, {counted metric: value})} of a set of values."""
        if value_set not in self.set_blocks:
            sets, counts = self.capture["value_sets"], self.capture["counts"]
            first, count = sets.column("first")[value_set], sets.column("count")[value_set]
            self.set_blocks[value_set] = {
                counts.column("block")[i]: (counts.column("executions")[i],
                                            {m: counts.column(m)[i] for m in self.counted})
                for i in range(first, first + count)}
        return self.set_blocks[value_set]

    def value_of_block(self, block, executions, stored, metric):
        if metric in self.counted:
            return stored[metric]
        return executions if metric == "executions" else min(executions * self.block_cost(block, metric), LIMIT)

    def values(self, value_set):
        """{metric: value} of a command."""
        if value_set is None:
            return dict.fromkeys(self.metrics, 0)
        if value_set not in self.set_values:
            blocks = self.blocks_of(value_set)
            self.set_values[value_set] = {
                m: min(sum(self.value_of_block(b, e, s, m) for b, (e, s) in blocks.items()), LIMIT) for m in self.metrics}
        return self.set_values[value_set]

    def totals(self):
        """{block: (executions, {metric: value})} over all commands."""
        totals = collections.defaultdict(lambda: [0, collections.Counter()])
        times = collections.Counter(v for v in self.capture["commands"].index("values") if v is not None)
        for value_set, count in times.items():
            for block, (executions, stored) in self.blocks_of(value_set).items():
                totals[block][0] += executions * count
                for m in self.counted:
                    totals[block][1][m] += stored[m] * count
        return {block: (e, {m: self.value_of_block(block, e, s, m) for m in self.metrics})
                for block, (e, s) in totals.items()}

    def lines(self):
        """{(shader, line or None): {metric: value}}."""
        totals = self.totals()
        costs, blocks = self.capture["costs"], self.capture["blocks"]
        line_of, shader_of, instance_of = costs.index("line"), blocks.column("shader"), costs.column("instance")
        lines = collections.defaultdict(lambda: dict.fromkeys(self.metrics, 0))
        most = {}  # by shader, line and instance: executions, values
        for block in sorted(self.rows_of):
            rows, shader = self.rows_of[block], shader_of[block]
            for row in rows:
                if line_of[row] is not None:
                    lines[shader, line_of[row]]
            executions, values = totals.get(block, (0, None))
            if not executions:
                continue
            for place in {(shader, line_of[row], instance_of[row]) for row in rows}:
                if executions > most.get(place, (0, None))[0]:
                    most[place] = executions, values
            for m in self.metrics:
                if self.attribution[m] == "class":
                    rest = values[m]
                    for row in rows:
                        part = min(rest, executions * self.cost[m][row])
                        lines[shader, line_of[row]][m] += part
                        rest -= part
                    lines[shader, None][m] += rest
                elif self.attribution[m] == "first":
                    lines[shader, blocks.index("line")[block]][m] += values[m]
        for (shader, line, _), (_, values) in most.items():
            for m in self.metrics:
                if self.attribution[m] == "every":
                    lines[shader, line][m] += values[m]
        return lines


class Check:
    def __init__(self, tally, path, capture):
        self.tally, self.path, self.capture = tally, path, capture
        self.sums = Sums(capture)
        self.numbers = 0
        self.problems = []

    def same(self, what, here, there):
        self.numbers += 1
        close = isinstance(there, float) and here is not None and math.isclose(here, there, rel_tol=1e-12)
        if here != there and not close:
            self.problems.append(f"{what}: the page has {here}, JSON has {there}")

    def table(self, by, *options):
        tables = json_tables(self.tally, self.path, "--by", by, *options)
        return tables[0]["rows"] if tables else []

    def compare(self, by, rows, pages, key, *options):
        """`pages`: {key: {metric: value}}. `key` makes the key of a row of JSON. Equal keys are added up."""
        wanted = collections.defaultdict(collections.Counter)
        for row in rows:
            wanted[key(row)].update({m: row[m] or 0 for m in self.sums.metrics if m in row})
        for place in set(wanted) ^ set(pages):
            values = wanted.get(place) or pages.get(place)
            if any(values.values()):
                self.problems.append(f"--by {by}: only one has {place}")
        for place in set(wanted) & set(pages):
            for m in self.sums.metrics:
                self.same(f"--by {by}, {place}, {m}", pages[place].get(m, 0), wanted[place][m])

    def by_command(self, key):
        """{key(row of commands): {metric: sum}}"""
        sums = collections.defaultdict(collections.Counter)
        for row, value_set in enumerate(self.capture["commands"].index("values")):
            sums[key(row)].update(self.sums.values(value_set))
        return sums

    def run(self):
        self.commands()
        self.passes()
        self.labels()
        self.shaders()
        self.lines()
        self.egl()
        return self.problems

    def commands(self):
        commands, frames = self.capture["commands"], self.capture["frames"]
        calls, pipelines = self.capture.texts("commands", "call"), self.capture.texts("pipelines", "name")
        frame = [frames.column("number")[f] for f in commands.column("frame")]
        pipeline = ["" if p is None else pipelines[p] for p in commands.index("pipeline")]
        if self.capture.head["commands"] == "each":
            number = commands.column("number")
            self.compare("draw", self.table("draw", "--each"),
                         self.by_command(lambda r: (frame[r], number[r], calls[r], pipeline[r])),
                         lambda row: (row["frame"], row["command"], row["call"], row["pipeline"]))
        self.compare("frame", self.table("frame") if commands.rows else [], self.by_command(lambda r: frame[r]),
                     lambda row: row["frame"])
        self.compare("pipeline", self.table("pipeline"), self.by_command(lambda r: pipeline[r]),
                     lambda row: row["pipeline"] if row["kind" if "kind" in row else "bind_point"] else "")
        runs = collections.Counter()
        for f, kind, count in zip(frame, commands.column("kind"), commands.column("runs")):
            runs[f, kind] += count
        for row in self.table("frame") if commands.rows else []:
            self.same(f"frame {row['frame']}, draws", runs[row["frame"], 0], row["draws"])
            self.same(f"frame {row['frame']}, dispatches", runs[row["frame"], 1], row["dispatches"])

    def passes(self):
        passes, frames = self.capture["passes"], self.capture["frames"]
        frame = [frames.column("number")[f] for f in passes.column("frame")]
        place = [(frame[p], n) for p, n in enumerate(passes.column("number"))]
        in_pass = self.capture["commands"].index("pass")
        sums = self.by_command(lambda r: None if in_pass[r] is None else place[in_pass[r]])
        sums.pop(None, None)
        rows = [row for row in self.table("pass") if row["pass"] != "(outside of passes)"]
        self.compare("pass", rows, sums, lambda row: (row["frame"], row["pass_number"]))
        of_place = {p: i for i, p in enumerate(place)}
        names = self.capture.texts("passes", "name")
        for row in rows:
            p = of_place[row["frame"], row["pass_number"]]
            self.same(f"pass {row['pass_number']}, name", names[p], row["pass"])
            time, first_use = passes.column("gpu_time")[p], passes.column("first_use")[p]
            time = None if math.isnan(time) else time
            self.same(f"pass {p}, time", None if first_use else time, row["gpu_time"])
            self.same(f"pass {p}, first use", time if first_use else None, row["first_use_time"])
        merged = passes.column("merged")
        outside = collections.defaultdict(collections.Counter)
        names = self.capture.texts("merged_passes", "name")
        for row, value_set in enumerate(self.capture["commands"].index("values")):
            name = "(outside of passes)" if in_pass[row] is None else names[merged[in_pass[row]]]
            outside[name].update(self.sums.values(value_set))
        self.compare("pass --merge", self.table("pass", "--merge"), outside, lambda row: row["pass"])

    def labels(self):
        labels = self.capture["labels"]
        names, parents = self.capture.texts("labels", "name"), labels.index("parent")
        sums = collections.defaultdict(collections.Counter)
        for row, label in enumerate(self.capture["commands"].index("label")):
            while label is not None:
                path, at = [], label
                while at is not None:
                    path.append(names[at])
                    at = parents[at]
                sums[" / ".join(reversed(path))].update(self.sums.values(self.capture["commands"].index("values")[row]))
                label = parents[label]
        rows = [row for row in self.table("label") if row["label"] != "(no label)"]
        self.compare("label", rows, sums, lambda row: row["label"])

    def shader_keys(self):
        texts = [self.capture.texts("shaders", c) for c in ("name", "stage", "entry_point", "pipeline")]
        return list(zip(*texts))

    def shaders(self):
        keys = self.shader_keys()
        shader_of = self.capture["blocks"].column("shader")
        sums = collections.defaultdict(collections.Counter)
        totals = self.sums.totals()
        for block, (_, values) in totals.items():
            sums[keys[shader_of[block]]].update(values)
        rows = self.table("shader")
        self.compare("shader", rows, sums,
                     lambda row: (row["shader"], row["stage"], row["entry_point"], row["pipeline"]))
        reasons = self.capture.texts("shaders", "not_counted")
        entry = self.capture["shaders"].index("invocation_block")
        found = {key: i for i, key in enumerate(keys)}
        for row in rows:
            at = found.get((row["shader"], row["stage"], row["entry_point"], row["pipeline"]))
            if at is None:
                self.problems.append(f"no shader {row['shader']}")
                continue
            self.same(f"shader {row['shader']}, not counted", reasons[at], row["not_counted"])
            if row["invocations"] is not None:
                executions = totals.get(entry[at], (0, None))[0]
                self.same(f"shader {row['shader']}, invocations", executions, row["invocations"])

    def lines(self):
        keys = self.shader_keys()
        lines, files = self.capture["lines"], self.capture["files"]
        texts, names = self.capture.texts("files", "text"), self.capture.texts("files", "name")
        source = self.capture["shaders"].column("source")
        pages = collections.defaultdict(collections.Counter)
        for (shader, line), values in self.sums.lines().items():
            name, stage, _, pipeline = keys[shader]
            if line is None:
                place = name if source[shader] != 2 else None
                text = "(instructions without a source line)"
            elif source[shader] == 2:
                if not values.get("instructions"):
                    continue
                number = lines.column("line")[line]
                place = f"{name}:asm:{number}"
                text = texts[lines.column("file")[line]].split("\n")[number - 1]
            else:
                file, number = lines.column("file")[line], lines.column("line")[line]
                title = names[file].replace("\\", "/").rsplit("/", 1)[-1] or name
                place = f"{title}:{number}"
                content = texts[file].split("\n")
                text = content[number - 1] if number <= len(content) else "(not available)" if content else ""
            if place is not None:
                pages[place, stage, name, pipeline, text.lstrip(" \t")].update(values)
        self.compare("line", self.table("line"), pages,
                     lambda row: (row["location"], row["stage"], row["shader"], row["pipeline"], row["text"]))

    def egl(self):
        frames, counters = self.capture["egl_frames"], self.capture.head["egl_counters"]
        if frames.rows == 0:
            return
        rows = {row["frame"]: row for row in self.table("frame")}
        number = self.capture["frames"].column("number")
        for at, frame in enumerate(frames.column("frame")):
            row = rows[number[frame]]
            for counter in counters:
                value = frames.column(counter["id"])[at]
                self.same(f"frame {number[frame]}, {counter['id']}", None if math.isnan(value) else value,
                          row[counter["id"]])


def main():
    tally, failed = sys.argv[1], False
    for path in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "report.html")
            subprocess.run([tally, "report", "--html", page, path], check=True)
            size = os.path.getsize(page)
            _, captures = report_data.read(page)
        check = Check(tally, path, captures[0])
        problems = check.run()
        print(f"{path}: {check.numbers} numbers compared, {len(problems)} differ, {size} bytes")
        for problem in problems[:20]:
            print("  " + problem)
        failed |= bool(problems) or check.numbers == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
