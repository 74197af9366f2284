"""Reads the data of a Tally HTML report: the format that src/report/html/page/src/data.ts describes."""
import base64
import gzip
import json
import re
import struct

CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f64": "d"}
MISSING = {"u8": 0xFF, "u16": 0xFFFF, "u32": 0xFFFFFFFF, "u64": (1 << 64) - 1}
# Columns that refer to another table or to the strings; the others are numbers.
INDEX = {"frame", "label", "parent", "pass", "queue", "pipeline", "shader", "block", "function", "line_row", "values",
         "file", "merged", "image", "branch", "value_set", "invocation_block", "command_buffer", "device", "match"}


class Table:
    def __init__(self, rows, columns):
        self.rows = rows
        self.columns = columns

    def column(self, name):
        """Numbers; an index that is missing is None."""
        return self.columns.get(name, [0] * self.rows)

    def index(self, name):
        return self.columns.get(name, [None] * self.rows)


def data_of(html):
    """The bytes of the container in the text of a report."""
    found = re.search(rb'<script type="application/x-tally" id="data">([A-Za-z0-9+/=]*)</script>', html)
    if not found:
        raise ValueError("no data")
    return gzip.decompress(base64.b64decode(found.group(1), validate=True))


def head_of(data):
    if data[:8] != b"TALLYHTM":
        raise ValueError("not the data of a report")
    version, length = struct.unpack("<II", data[8:16])
    if version != 1 or length % 8 != 0:
        raise ValueError(f"version {version}, head of {length} bytes")
    return json.loads(data[16:16 + length].decode("utf-8")), 16 + length


def is_index(table, column):
    if column == "line":
        return table not in ("lines",)
    return column in INDEX


def read_table(name, table, data, start):
    columns = {}
    for column, place in table["columns"].items():
        code = CODES[place["type"]]
        if place["offset"] % 8 != 0 or place["bytes"] != table["rows"] * struct.calcsize(code):
            raise ValueError(f"{name}.{column}: {place}")
        begin = start + place["offset"]
        values = list(struct.unpack(f"<{table['rows']}{code}", data[begin:begin + place["bytes"]]))
        if is_index(name, column):
            missing = MISSING[place["type"]]
            values = [None if v == missing else v for v in values]
        columns[column] = values
    return Table(table["rows"], columns)


class Capture:
    def __init__(self, head, number, data, start):
        self.head = head["captures"][number]
        self.strings = head["strings"]
        self.tables = {name: read_table(name, table, data, start) for name, table in self.head["tables"].items()}

    def __getitem__(self, name):
        return self.tables[name]

    def texts(self, table, column):
        return [self.strings[i] for i in self[table].column(column)]


def read(path):
    """The head and the captures of a report."""
    with open(path, "rb") as file:
        data = data_of(file.read())
    head, start = head_of(data)
    return head, [Capture(head, i, data, start) for i in range(len(head["captures"]))]
