#!/usr/bin/env python3
"""The layers' manifests describe, for Vulkan Configurator, the settings that the layers' code reads: the same keys, of the
same type, with a default of that type and the same choices.

Usage: check.py SRC. Prints each difference and ends with status 1 if there was one.
"""
import json
import pathlib
import re
import sys

TYPES = {"flag": {"BOOL"}, "number": {"INT"}, "text": {"STRING", "SAVE_FILE", "ENUM"}, "choose": {"ENUM"}}
READ = re.compile(r'settings\.(flag|number|text)\(\s*"(\w+)"')
CHOOSE = re.compile(r'choose<[\w:]+>\(\s*settings,\s*"(\w+)",[^{]*\{((?:\s*\{"\w+",\s*[\w:]+\},?)+)\s*\}')


# Code outside of a layer's folder that reads its settings: other libraries read them too.
SHARED = {"counters": [], "capture": ["base/frame_range.cpp"]}


def read_code(paths):
    """key -> (how it is read, names to choose from or None)."""
    keys = {}
    for path in paths:
        if path.name.endswith("_test.cpp"):
            continue
        code = path.read_text()
        keys.update({key: (how, None) for how, key in READ.findall(code)})
        keys.update({key: ("choose", re.findall(r'\{"(\w+)"', names)) for key, names in CHOOSE.findall(code)})
    return keys


def all_settings(settings):
    for setting in settings:
        yield setting
        yield from all_settings(setting.get("settings", []))


def is_of_type(value, kind):
    return isinstance(value, {"BOOL": bool, "INT": int}.get(kind, str))


def check_setting(setting, how, names):
    key, kind = setting["key"], setting["type"]
    choices = [flag["key"] for flag in setting.get("flags", [])]
    if setting.get("env") != "TALLY_" + key.upper():
        yield f"{key}: its variable is TALLY_{key.upper()}, not {setting.get('env')}"
    if kind not in TYPES[how]:
        yield f"{key}: {kind} in the manifest, read as {how}"
    if not is_of_type(setting["default"], kind) or (choices and setting["default"] not in choices):
        yield f"{key}: {setting['default']!r} cannot be the default"
    if names is not None and sorted(names) != sorted(choices):
        yield f"{key}: {choices} in the manifest, {names} in the code"
    for name in ("label", "description"):
        if not setting.get(name):
            yield f"{key}: no {name}"


def check_presets(presets, settings):
    for preset in presets:
        for entry in preset["settings"]:
            described = settings.get(entry["key"])
            if not described:
                yield f"preset {preset['label']}: no setting {entry['key']}"
            elif not is_of_type(entry["value"], described["type"]) or (
                described.get("flags") and entry["value"] not in [flag["key"] for flag in described["flags"]]
            ):
                yield f"preset {preset['label']}: {entry['value']!r} is no value of {entry['key']}"


def check_layer(paths, manifest):
    features = json.loads(manifest.read_text())["layer"]["features"]
    described = {setting["key"]: setting for setting in all_settings(features["settings"])}
    read = read_code(paths)
    for key in sorted(read.keys() - described.keys()):
        yield f"{key}: read, but not in the manifest"
    for key in sorted(described.keys() - read.keys()):
        yield f"{key}: in the manifest, but never read"
    for key in sorted(described.keys() & read.keys()):
        yield from check_setting(described[key], *read[key])
    yield from check_presets(features.get("presets", []), described)


def main():
    source = pathlib.Path(sys.argv[1])
    found = 0
    for layer in ("counters", "capture"):
        manifest = source / layer / f"VkLayer_tally_{layer}.json.in"
        paths = sorted((source / layer).rglob("*.cpp")) + [source / path for path in SHARED[layer]]
        for difference in check_layer(paths, manifest):
            print(f"{layer}: {difference}")
            found += 1
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
