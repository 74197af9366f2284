#!/usr/bin/env python3
"""Who may include whom in src/: the table of docs/developer/architecture.md, checked on every #include "folder/...".
Also checks that no files include each other in a circle; a header and its .cpp file count as one. And that what differs between
operating systems is in src/platform: no other file asks for Windows or includes its headers.

Usage: check.py SRC. Prints each violation and exits with status 1 if there is one.
Tests (*_test.cpp, folders named testing) are not checked: a test may look at anything.
"""
import pathlib
import re
import sys

# folder -> folders (or single headers) that it may include, besides itself and include/tally.
SPIRV = {"base", "catalogue", "probe", "spirv/ir", "spirv/analysis", "spirv/plan", "spirv/instrument"}
COUNTERS = SPIRV | {"vk", "counters/base"}
COUNTERS_PIPELINES = COUNTERS | {"counters/memory", "counters/shaders", "counters/layouts", "counters/pipelines"}
FEATURE = "counters/features/"
COUNTERS_FEATURES = COUNTERS_PIPELINES | {FEATURE + name for name in ("instrumentation", "regions", "performance", "queries")}
BLOCK_MAP = {"spirv/analysis/block_map.h", "spirv/analysis/memory_access.h", "spirv/analysis/sites.h", "spirv/analysis/source_info.h", "spirv/ir/module.h", "spirv/analysis/cost.h"}
CAPTURE = {"base", "catalogue", "vk", "store/format", "store/stream", "capture/base"} | BLOCK_MAP | {"spirv/analysis/launch_inputs.h", "spirv/analysis/substitution.h", "spirv/ir/editor.h"}
MODEL = {"base", "catalogue", "store/format", "store/read", "store/stream", "analysis/model"} | BLOCK_MAP
ANALYSIS = MODEL | {"analysis/source", "analysis/cost"}
REPORT = {"base", "catalogue", "picture", "store/format", "store/read", "store/stream", "analysis/model", "analysis/coverage",
          "analysis/cost", "analysis/findings", "analysis/tables", "analysis/diff", "analysis/check", "analysis/fleet"}
CLI = REPORT | {"analysis/source", "analysis/dataset", "analysis/predict", "store/write", "report/table", "report/export", "report/html", "cli"}
ALLOWED = {
    "base": set(),
    "platform": {"base/file.h", "base/hash.h", "base/status.h"},
    "catalogue": {"base"},
    "vk": {"base", "catalogue"},
    "probe": {"base"},
    "spirv/ir": {"base", "catalogue"},
    "spirv/analysis": {"base", "catalogue", "spirv/ir"},
    "spirv/plan": {"base", "catalogue", "spirv/ir", "spirv/analysis"},
    "spirv/instrument": SPIRV,
    "counters/base": COUNTERS,
    "counters/memory": COUNTERS,
    "counters/shaders": COUNTERS,
    "counters/layouts": COUNTERS | {"counters/memory", "counters/shaders"},
    "counters/pipelines": COUNTERS_PIPELINES,
    "counters/features/instrumentation": COUNTERS_PIPELINES,
    "counters/features/regions": COUNTERS_PIPELINES,
    "counters/features/performance": COUNTERS_PIPELINES,
    "counters/features/queries": COUNTERS_PIPELINES | {"counters/features/performance"},
    "counters/recording": COUNTERS_FEATURES,
    "counters/layer": COUNTERS_FEATURES | {"counters/recording"},
    "counters/entry": COUNTERS_FEATURES | {"counters/recording", "counters/layer"},
    "capture/base": CAPTURE,
    "capture/record": CAPTURE | {"capture/submit/live_totals.h"},
    "capture/submit": CAPTURE | {"capture/record"},
    "capture/send": CAPTURE | {"capture/record", "capture/submit"},
    "capture/read": CAPTURE | {"capture/record", "capture/submit", "capture/send"},
    "capture/layer": CAPTURE | {"capture/record", "capture/submit", "capture/send", "capture/read"},
    "capture/entry": CAPTURE | {"capture/record", "capture/submit", "capture/send", "capture/read", "capture/layer"},
    "egl": {"base", "catalogue", "store/stream"},
    "picture": {"base"},
    "store/format": {"base", "catalogue", "picture"},
    "store/stream": {"base", "store/format"},
    "store/read": {"base", "catalogue", "picture", "store/format", "store/stream"},
    "store/write": {"base", "picture", "store/format", "store/stream", "store/read"},
    "analysis/model": MODEL | {"spirv/ir", "spirv/analysis/loop_bounds.h"},
    "analysis/source": MODEL | {"spirv/analysis/cfg.h", "spirv/ir"},
    "analysis/cost": MODEL | {"analysis/source", "spirv/analysis/cfg.h", "spirv/analysis/loops.h"},
    "analysis/findings": ANALYSIS | {"spirv/ir", "spirv/analysis"},
    "analysis/tables": ANALYSIS | {"analysis/findings", "analysis/predict"},
    "analysis/coverage": ANALYSIS,
    "analysis/diff": ANALYSIS | {"analysis/tables", "picture"},
    "analysis/check": ANALYSIS | {"analysis/tables", "analysis/diff", "analysis/predict"},
    "analysis/dataset": ANALYSIS | {"analysis/tables", "analysis/diff", "analysis/findings", "analysis/predict"},
    "analysis/fleet": {"base", "analysis/model", "analysis/coverage", "analysis/diff"},
    "analysis/predict": ANALYSIS | {"spirv/analysis/loop_bounds.h"},
    "report/table": REPORT,
    "report/export": REPORT | {"report/table"},
    "report/html": REPORT | {"analysis/dataset", "report/table"},
    "cli": CLI,
    "cli/run": CLI,
    "cli/report": CLI | {"cli/run"},
    "cli/compare": CLI,
    "cli/doctor": CLI | {"cli/run"},
    "cli/export": CLI | {"cli/run"},
    "cli/predict": CLI | {"cli/run", "vk/layer.h"},
    "cli/main": CLI | {"cli/run", "cli/doctor", "cli/export"},
}

for row in ALLOWED.values():
    row.add("platform")  # which is as low as base

GENERATED = re.compile(r"^[a-z0-9_]+(\.(comp|frag|vert)\.h|_device\.inc)$")  # from GLSL, by tally_glsl; from share/tally/devices
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
WINDOWS = re.compile(r"^\s*#.*(\b_WIN(32|64)\b|\b__MINGW|<(windows|winsock2)\.h>)", re.IGNORECASE)


def folder_of(path):
    """The row of the table that a path relative to src/ belongs to."""
    parts = path.split("/")
    if re.match(r"^counters/.*/entry[a-z_]*\.cpp$", path):
        return "counters/entry"  # entry points are in the folder of their feature, but may use every folder
    if path in ("cli/main.cpp", "cli/absent_commands.cpp"):
        return "cli/main"
    return next((row for row in ("/".join(parts[:3]), "/".join(parts[:2]), parts[0]) if row in ALLOWED), None)


def forbidden(source, included):
    """Why `source` may not include `included` (both relative to src/), or None."""
    here, there = folder_of(source), folder_of(included)
    if not here or not there:
        return "a folder that the table does not have"
    if there == "platform" and included.count("/") > 1 and here != there:
        return "only the headers of src/platform itself are for others"
    if here != there and there not in ALLOWED[here] and included not in ALLOWED[here]:
        return f"{here} may not include {there}"
    return None


def cycles(includes):
    """The circles of a graph {file: files that it includes}: its strongly connected components of two files or more."""
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in sorted(includes.get(file, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == index[file]:
            component = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(component) > 1:
                found.append(sorted(component))

    for file in sorted(includes):
        if file not in index:
            visit(file)
    return found


def unit(path):
    return path.rsplit(".", 1)[0]


def check(src):
    violations, includes = [], {}
    for file in sorted(src.rglob("*")):
        if file.suffix not in (".h", ".cpp") or file.name.endswith("_test.cpp") or "testing" in file.parts:
            continue
        source = file.relative_to(src).as_posix()
        mine = includes.setdefault(unit(source), set())
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if WINDOWS.match(line) and not source.startswith("platform/windows/"):
                violations.append(f"src/{source}:{number}: {line.strip()}: only src/platform/windows knows Windows")
            if not (match := INCLUDE.match(line)) or GENERATED.match(match[1]):
                continue
            if reason := forbidden(source, match[1]):
                violations.append(f"src/{source}:{number}: {line.strip()}: {reason}")
            if unit(match[1]) != unit(source):
                mine.add(unit(match[1]))
    return violations + ["files that include each other in a circle: " + ", ".join(cycle) for cycle in cycles(includes)]


def self_test():
    assert forbidden("counters/features/regions/recorder.cpp", "counters/layer/device.h")
    assert forbidden("counters/features/regions/recorder.cpp", "counters/features/queries/recorder.h")
    assert not forbidden("counters/features/regions/entry.cpp", "counters/layer/device.h")
    assert forbidden("counters/recording/command_buffer.cpp", "counters/layer/entry_points.h")
    assert forbidden("spirv/analysis/cfg.cpp", "spirv/instrument/block_count.h")
    assert forbidden("spirv/ir/module.cpp", "spirv/analysis/cfg.h")
    assert forbidden("capture/entry/layer.cpp", "counters/layer/layer.h")
    assert forbidden("egl/profile/profile.cpp", "store/write/writer.h")
    assert forbidden("capture/entry/layer.cpp", "spirv/analysis/cfg.h")
    assert not forbidden("capture/entry/layer.cpp", "spirv/analysis/block_map.h")
    assert forbidden("base/log.cpp", "catalogue/catalogue.h")
    assert forbidden("base/log.cpp", "elsewhere/log.h")
    assert not forbidden("base/log.cpp", "platform/files.h")
    assert forbidden("base/log.cpp", "platform/windows/start.h")
    assert forbidden("platform/linux/files.cpp", "base/log.h")
    assert WINDOWS.match("#ifdef _WIN32") and WINDOWS.match("#include <windows.h>") and not WINDOWS.match("int windows;")
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert not cycles({"a": {"b", "c"}, "b": {"c"}})


def main():
    self_test()
    violations = check(pathlib.Path(sys.argv[1]))
    print("\n".join(violations) if violations else "every include is allowed, and there is no circle")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
