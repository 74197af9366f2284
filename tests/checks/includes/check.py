#!/usr/bin/env python3
"""Who may include whom in src/: the table of docs/architecture.md, checked on every #include "folder/...".

Usage: check.py SRC. Prints each forbidden include and ends with status 1 if there was one.
Tests (*_test.cpp, folders named testing) are not checked: a test may look at anything.
"""
import pathlib
import re
import sys

# folder -> folders (or single headers) that it may include, beside itself and include/tally.
BLOCK_MAP = {"spirv/analysis/block_map.h", "spirv/ir/module.h", "spirv/analysis/cost.h"}
STREAM = {"store/stream.h", "store/stream_client.h", "store/this_process.h", "store/clock.h"}
ALLOWED = {
    "base": set(),
    "catalogue": {"base"},
    "vk": {"base"},
    "probe": {"base"},
    "spirv": {"base", "catalogue"},
    "spirv/pass": {"base", "catalogue", "spirv", "probe"},
    "counters": {"base", "catalogue", "spirv", "spirv/pass", "probe", "vk"},
    "capture": {"base", "catalogue", "vk", "store"} | BLOCK_MAP,
    "egl": {"base", "catalogue"} | STREAM,
    "picture": {"base"},
    "store": {"base", "catalogue", "picture"},
    "analysis": {"base", "store", "catalogue"} | BLOCK_MAP,
    "report": {"base", "analysis", "store", "catalogue", "picture"},
    "cli": {"base", "report", "analysis", "store", "catalogue", "picture"},
}
# Inside counters: a room may include the rooms below its own.
COUNTERS_LEVEL = {"entry": 5, "state": 4, "result": 3, "source": 2, "shader": 1, "memory": 0}

GENERATED = re.compile(r"^[a-z_]+\.comp\.h$")  # from GLSL, by tally_glsl
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def folder_of(path):
    """The row of the table that a path relative to src/ belongs to."""
    parts = path.split("/")
    return "spirv/pass" if parts[:2] == ["spirv", "pass"] else parts[0]


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "counters" and len(parts) > 2 else None


def forbidden(source, included):
    """Why `source` may not include `included` (both relative to src/), or None."""
    here, there = folder_of(source), folder_of(included)
    if here not in ALLOWED or there not in ALLOWED:
        return "a folder that the table does not have"
    if here != there and there not in ALLOWED[here] and included not in ALLOWED[here]:
        return f"{here} may not include {there}"
    ours, theirs = room_of(source), room_of(included)
    if ours and theirs and ours != theirs:
        if COUNTERS_LEVEL.get(theirs, 99) >= COUNTERS_LEVEL.get(ours, -1):
            return f"counters/{ours} may not include counters/{theirs}"
    return None


def check(src):
    faults = []
    for file in sorted(src.rglob("*")):
        if file.suffix not in (".h", ".cpp") or file.name.endswith("_test.cpp") or "testing" in file.parts:
            continue
        source = file.relative_to(src).as_posix()
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and not GENERATED.match(match[1]) and (reason := forbidden(source, match[1])):
                faults.append(f"src/{source}:{number}: {line.strip()}: {reason}")
    return faults


def self_test():
    assert not forbidden("counters/entry/draw.cpp", "counters/layer/device.h")
    assert forbidden("counters/layer/device.cpp", "counters/entry/draw.h")
    assert forbidden("counters/shader/variant.cpp", "counters/result/values.h")
    assert forbidden("capture/entry/layer.cpp", "counters/layer.h")
    assert forbidden("egl/profile/sender.cpp", "store/writer.h")
    assert forbidden("capture/entry/layer.cpp", "spirv/analysis/cfg.h")
    assert not forbidden("capture/entry/layer.cpp", "spirv/analysis/block_map.h")
    assert forbidden("spirv/ir/module.cpp", "spirv/instrument/block_count.h")
    assert forbidden("base/log.cpp", "catalogue/catalogue.h")


def main():
    self_test()
    faults = check(pathlib.Path(sys.argv[1]))
    print("\n".join(faults) if faults else "every include is allowed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
