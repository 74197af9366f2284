#!/usr/bin/env python3
"""Captures that somebody made to keep a reader busy: each command ends with a result or with a reason, after little processor
time and in little memory, in proportion to the file. Usage: hostile_captures.py TALLY APP [ARGUMENT...]     the program submits a few commands, draws in a pass among them"""
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile

tally, *app = sys.argv[1:]
folder = tempfile.TemporaryDirectory()
capture = os.path.join(folder.name, "sound.tally")
subprocess.run([tally, "run", "-o", capture, "--", *app], check=True, stdout=subprocess.DEVNULL)
file_bytes, processor_seconds, memory = 10 << 20, 10, 1 << 30


def columns_of(database, table):
    return [row[1] for row in database.execute("PRAGMA table_info(%s)" % table)]


def copies(database, table, count, change):
    """Adds copies of the table's first row: `change` gives the new values by column."""
    names = columns_of(database, table)
    row = dict(zip(names, database.execute("SELECT * FROM %s ORDER BY 1 LIMIT 1" % table).fetchone()))
    insert = "INSERT INTO %s VALUES (%s)" % (table, ",".join(":" + name for name in names))
    database.executemany(insert, ({**row, **change(i)} for i in range(count)))


def long_device_name(database):
    database.execute("UPDATE device SET name = ?", ("A" * 200_000,))


def many_devices(database):
    copies(database, "device", 10_000, lambda i: {"id": 1000 + i, "name": "B" * 500 + str(i)})


def many_frame_counters(database):
    database.executemany(
        "INSERT INTO frame_counter (id, device, group_name, name, unit, denominator, is_level) "
        "VALUES (?, 1, 'group', ?, 'unit', 1, 0)", ((i, "counter %d" % (i // 2)) for i in range(1, 100_001)))
    copies(database, "frame", 1000, lambda i: {"id": 1000 + i, "number": 1000 + i})
    database.executemany("INSERT INTO frame_values VALUES (?, 1, '[1]')", ((1000 + i,) for i in range(1000)))


def many_metrics(database):
    position = database.execute("SELECT max(position) FROM device_metric").fetchone()[0]
    database.executemany("INSERT INTO metric (id, name, description) VALUES (?, 'same name', ?)",
                         ((1000 + i, str(i)) for i in range(50_000)))
    database.executemany("INSERT INTO device_metric (device, position, metric) VALUES (1, ?, ?)",
                         ((position + 1 + i, 1000 + i) for i in range(50_000)))


def many_messages(database):
    database.executemany("INSERT INTO message (id, process, time_ns, severity, text, count) "
                         "VALUES (?, 1, 0, 'warning', ?, 1)", ((i, "message %d" % i) for i in range(1, 100_001)))


def many_regions(database, passes=50_000):
    database.execute("INSERT INTO region_counter (id, name) VALUES (1, 'Fragment invocations')")
    copies(database, "pass", passes, lambda i: {"id": 1000 + i})
    database.executemany("INSERT INTO pass_regions VALUES (?, ?, 0, 0, 0, 0, 64, 64, 32, 32)",
                         ((i + 1, 1000 + i) for i in range(passes)))
    database.executemany("INSERT INTO region_values VALUES (?, 1, 4, ?)",
                         ((i + 1, b"\1\0\0\0" * 4) for i in range(passes)))


def regions_without_a_key(database):
    many_regions(database, 45_000)
    database.executescript("CREATE TABLE copy AS SELECT * FROM region_values; DROP TABLE region_values;"
                           "CREATE TABLE region_values AS SELECT * FROM copy;")


def many_commands_in_few_bytes(database):
    copies(database, "command_batch", 30_000, lambda i: {
        "id": 1000 + i, "size": 1024, "positions": "1", "labels": "null", "parameters": "{}",
        "gpu_begin_ns": "null", "gpu_time_ns": "null"})


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


commands = [["report"], ["report", "--by", "line"], ["report", "--by", "frame"], ["report", "--by", "region"],
            ["report", "--html", "OUT"], ["diff", "COPY"], ["export", "--to", "OUT", "--commit", "c", "--scene", "s"],
            ["export", "--format", "perfetto", "-o", "OUT"], ["merge", "-o", "OUT", "COPY"], ["snapshot", "-o", "OUT"],
            ["coverage", "-o", "OUT"]]
failed = 0
for spoil in (long_device_name, many_devices, many_frame_counters, many_metrics, many_messages, many_regions,
              regions_without_a_key, many_commands_in_few_bytes):
    hostile = os.path.join(folder.name, spoil.__name__ + ".tally")
    shutil.copy(capture, hostile)
    database = sqlite3.connect(hostile)
    spoil(database)
    database.commit()
    database.execute("VACUUM")
    database.close()
    size = os.path.getsize(hostile)
    if size > file_bytes:
        print("%s: a file of %.1f MiB" % (spoil.__name__, size / (1 << 20)))
        failed = 1
    shutil.copy(hostile, os.path.join(folder.name, "copy.tally"))
    for command in commands:
        out = os.path.join(folder.name, "out")
        words = [{"OUT": out, "COPY": os.path.join(folder.name, "copy.tally")}.get(word, word) for word in command]
        done = subprocess.run([tally, *words, hostile], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, errors="replace", preexec_fn=limit)
        if os.path.isdir(out):
            shutil.rmtree(out)
        elif os.path.exists(out):
            os.remove(out)
        said = done.stderr.strip().splitlines()
        has_reason = any(line.startswith("tally: ") and "bad_alloc" not in line for line in said)
        if done.returncode < 0 or done.returncode > 1 and not has_reason or "bad_alloc" in done.stderr:
            print("%s: tally %s: status %d %s" % (spoil.__name__, " ".join(command), done.returncode, said[-1:]))
            failed = 1
sys.exit(failed)
