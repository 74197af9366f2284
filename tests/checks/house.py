#!/usr/bin/env python3
"""The shape of src/, which tells early when a concept is cut into pieces again. Limits, not aims: a file that is large because its
concept is stays whole, and its row in WHOLE says which concept that is.

Usage: house.py SRC. Prints what is over a limit and exits with status 1 if there is anything.
Tests (*_test.cpp, folders named testing) are not counted.
"""
import functools
import pathlib
import re
import statistics
import sys

MOST_FILES = 547  # of them 19 for Windows
LEAST_MEDIAN = 162
MOST_LINES = 600
MOST_DEPTH = 12  # of a chain of includes
SMALL_HEADER = 40  # lines; one with a single includer belongs to that includer, unless it is the interface of its own .cpp file
WHOLE = {  # file -> its concept
    "spirv/ir/parser.cpp": "the reader of modules",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def measure(texts):
    """A text for each limit that the files {path relative to src/: text} exceed."""
    lines = {path: text.count("\n") for path, text in texts.items()}
    includes = {path: [other for other in INCLUDE.findall(text) if other in texts] for path, text in texts.items()}

    @functools.cache
    def depth(path):
        return 1 + max((depth(other) for other in includes[path]), default=0)

    wrong = []
    if len(texts) > MOST_FILES:
        wrong.append(f"{len(texts)} files; at most {MOST_FILES}")
    if (median := statistics.median(lines.values())) < LEAST_MEDIAN:
        wrong.append(f"the median of the files has {median} lines; at least {LEAST_MEDIAN}")
    wrong += [f"{path} has {count} lines; at most {MOST_LINES}" for path, count in sorted(lines.items())
              if count > MOST_LINES and path not in WHOLE]
    deepest = max(texts, key=depth)
    if depth(deepest) > MOST_DEPTH:
        wrong.append(f"{deepest} has includes {depth(deepest)} deep; at most {MOST_DEPTH}")
    for path in sorted(texts):
        users = [other for other in texts if path in includes[other]]
        if path.endswith(".h") and lines[path] < SMALL_HEADER and len(users) == 1 and f"{path[:-2]}.cpp" not in texts:
            wrong.append(f"{path} has {lines[path]} lines and is included by {users[0]} alone")
    return wrong


def self_test():
    line = "int line;\n"
    whole = {f"{i}.cpp": line * LEAST_MEDIAN for i in range(3)}
    assert not measure(whole)
    assert measure({f"{i}.cpp": line * LEAST_MEDIAN for i in range(MOST_FILES + 1)})
    assert measure(dict.fromkeys(whole, line))
    assert measure(whole | {"long.cpp": line * (MOST_LINES + 1)})
    assert measure(whole | {"0.cpp": whole["0.cpp"] + '#include "small.h"\n', "small.h": line})
    assert not measure(whole | {"0.cpp": whole["0.cpp"] + '#include "0.h"\n', "0.h": line})
    assert measure({f"{i}.h": line * LEAST_MEDIAN + f'#include "{i + 1}.h"\n' for i in range(MOST_DEPTH + 1)})


def main():
    self_test()
    src = pathlib.Path(sys.argv[1])
    wrong = measure({file.relative_to(src).as_posix(): file.read_text() for file in src.rglob("*")
                     if file.suffix in (".h", ".cpp") and not file.name.endswith("_test.cpp") and "testing" not in file.parts})
    print("\n".join(wrong) if wrong else "the files of src/ are within their limits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
