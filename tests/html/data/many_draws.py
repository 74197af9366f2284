#!/usr/bin/env python3
"""Makes a large capture: many_draws.py CAPTURE OUT DRAWS

Adds frames of 1,000 draws in 10 passes to a copy of CAPTURE. Each draw runs the blocks that some draw of CAPTURE ran, with
parameters and counts of its own: random numbers, so that all draws differ and nothing compresses well. That is worse
than what programs do.
"""
import json
import random
import shutil
import sqlite3
import sys

DRAWS_OF_FRAME, DRAWS_OF_PASS, DRAWS_OF_BATCH = 1000, 100, 20


def compact(value):
    return json.dumps(value, separators=(",", ":"))


class Writer:
    def __init__(self, database):
        self.db = database
        self.random = random.Random(1)
        self.next = {t: self.one(f"SELECT max(id) + 1 FROM {t}") for t in
                     ("frame", "submission", "execution", "pass", "command_batch")}
        self.number = self.one("SELECT max(number) + 1 FROM frame")
        self.time = 1_000_000
        self.models = [(row, self.db.execute("SELECT sub, stage, block FROM batch_count WHERE batch = ?", row[:1]).fetchall())
                       for row in self.db.execute("SELECT id, function, pipeline, parameters FROM command_batch "
                                                  "WHERE pass IS NOT NULL AND counted GROUP BY pipeline")]

    def one(self, sql):
        return self.db.execute(sql).fetchone()[0]

    def add(self, table, *values):
        row = self.next[table]
        self.next[table] += 1
        self.db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * (len(values) + 1))})", (row, *values))
        return row

    def frame(self, draws):
        frame = self.add("frame", 1, self.number, "submit", self.time, self.time + 16_000_000, 0)
        submission = self.add("submission", frame, 1, self.number, self.time, None)
        execution = self.add("execution", submission, 0, None, None, 1, self.number, 1, 0)
        self.number += 1
        position = 0
        for number in range((draws + DRAWS_OF_PASS - 1) // DRAWS_OF_PASS):
            took = self.random.randrange(100_000, 1_000_000)
            in_pass = self.add("pass", execution, number, "rendering", None, None, 1920, 1080, 1, 0,
                               '[{"format":97,"load":"clear","store":"store"}]', 1, self.time, took, None)
            self.time += took
            for _ in range(0, min(DRAWS_OF_PASS, draws - number * DRAWS_OF_PASS), DRAWS_OF_BATCH):
                count = min(DRAWS_OF_BATCH, draws - position)
                self.batch(execution, in_pass, position, count)
                position += count

    def batch(self, execution, in_pass, position, count):
        (_, function, pipeline, parameters), blocks = self.random.choice(self.models)
        own = {name: [self.random.randrange(1, 5000) for _ in range(count)] for name in json.loads(parameters)}
        batch = self.add("command_batch", execution, count, function, pipeline, in_pass, 0, 1, str(position), "1",
                         compact(own), "null", "null", None, self.random.choice((None, 3, 4)), self.random.choice((0, 0, 1)), 0, 0, None)
        sizes = [self.random.randrange(1, 200_000) for _ in range(count)]
        for sub, stage, block in blocks:
            executions = [self.random.randrange(size + 1) for size in sizes]
            self.db.execute("INSERT INTO batch_count VALUES (?, ?, ?, ?, ?)", (batch, sub, stage, block, compact(executions)))


def main():
    source, out, draws = sys.argv[1], sys.argv[2], int(sys.argv[3])
    shutil.copyfile(source, out)
    with sqlite3.connect(out, isolation_level=None) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        writer = Writer(database)
        for first in range(0, draws, DRAWS_OF_FRAME):
            writer.frame(min(DRAWS_OF_FRAME, draws - first))
        database.execute("COMMIT")


if __name__ == "__main__":
    main()
