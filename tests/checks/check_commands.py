#!/usr/bin/env python3
"""Checks that each layer hooks or hides every command of vk.xml, or that commands.txt says why it does not.

Usage: check_commands.py [--newest] HOOK_NAMES VK_XML
HOOK_NAMES is the program that prints the layers' hooks, and what they hide (src/catalogue/hidden_extensions.cpp). A hidden
command must belong to hidden extensions alone. With --newest the registry knows every command: names in
commands.txt or in the layers that it does not know are wrong, too.
"""
import fnmatch
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).parent / "commands.txt"
CLASSES = ("passed on", "not counted")

# Commands that a counter may have to see: they draw, dispatch, trace, bind, push, query, submit, or make pipelines or
# shaders. A pattern classifies none of them; each is named. Commands of command buffers are all among them, except those
# that set one state.
NAMED_ONE_BY_ONE = re.compile(
    r"vkCmd(?!Set)|vkCmdSet.*(Descriptor|Buffer|Offset)|vkQueue"
    r"|vkCreate.*(Pipeline|Shader|Query|Indirect|Module|Function|Graph)|vk(?!GetPhysicalDevice).*QueryPool")


def commands_of(registry):
    """The commands of Vulkan (not Vulkan SC) by name, each with whether the registry calls it an action."""
    used = set()
    for part in registry.findall("feature") + registry.findall("extensions/extension"):
        apis = (part.get("api") or part.get("supported") or "vulkan").split(",")
        if "vulkan" not in apis:
            continue
        for require in part.findall("require"):
            if "vulkan" in (require.get("api") or "vulkan").split(","):
                used.update(command.get("name") for command in require.findall("command"))
    tasks, aliases = {}, {}
    for command in registry.findall("commands/command"):
        if command.get("alias"):
            aliases[command.get("name")] = command.get("alias")
        else:
            tasks[command.findtext("proto/name")] = command.get("tasks") or ""
    return {name: "action" in tasks.get(aliases.get(name, name), "") for name in used}


def extensions_of(registry):
    """The extensions that each command belongs to; a core version counts as one."""
    owners = {}
    for part in registry.findall("feature") + registry.findall("extensions/extension"):
        for command in part.findall("require/command"):
            owners.setdefault(command.get("name"), set()).add(part.get("name"))
    return owners


class Classification:
    """commands.txt: for each layer, the class and the reason of each name or pattern."""

    def __init__(self, text):
        self.exact, self.patterns, self.errors = {}, {}, []
        layers, group = [], None
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].rstrip()
            if not line:
                continue
            if line.startswith("["):
                layers, group = line.strip("[]").split(), None
            elif not line.startswith(" "):
                group = line.split(": ", 1)
                if group[0] not in CLASSES or len(group) < 2:
                    self.errors.append(f"line {number}: a class ({', '.join(CLASSES)}) and a reason are expected")
            elif not layers or group is None:
                self.errors.append(f"line {number}: names stand behind a layer, a class and a reason")
            else:
                for layer in layers:
                    for name in line.split():
                        self.add(layer, name, group[0], number)

    def add(self, layer, name, kind, number):
        known = (self.patterns if "*" in name else self.exact).setdefault(layer, {})
        if name in known:
            self.errors.append(f"line {number}: {name} stands twice under [{layer}]")
        known[name] = kind


def check_hidden(registry, commands, hooks, newest):
    """Errors of the hidden commands: they must be those of hidden extensions, and of no others."""
    owners, hidden = extensions_of(registry), hooks.get("hidden_extension", set())
    wrong = []
    for name in sorted(hooks.get("hidden", ())):
        for owner in sorted(owners.get(name, set()) - hidden):
            wrong.append(f"{name} is hidden, but {owner}, which has it too, is not")
        if newest and name not in commands:
            wrong.append(f"{name} is hidden, but is no command of Vulkan")
    known = {extension.get("name") for extension in registry.findall("extensions/extension")}
    if newest:
        wrong += [f"{name} is hidden, but is no extension of Vulkan" for name in sorted(hidden - known)]
    return wrong


def check(registry, hooks, text, newest=False):
    """All errors, as a list of sentences. `hooks` are the names of each layer, and the hidden ones."""
    commands, known = commands_of(registry), Classification(text)
    hidden = hooks.get("hidden", set())
    wrong = known.errors + check_hidden(registry, commands, hooks, newest)
    for layer, hooked in sorted(hooks.items()):
        if layer.startswith("hidden"):
            continue
        exact, patterns = known.exact.get(layer, {}), known.patterns.get(layer, {})
        used = set()
        for name in sorted(commands):
            matching = [pattern for pattern in patterns if fnmatch.fnmatchcase(name, pattern)]
            used.update(matching)
            if name in hooked:
                if name in exact:
                    wrong.append(f"{layer}: {name} is hooked, but is listed as \"{exact[name]}\"")
            elif name in hidden:
                if name in exact:
                    wrong.append(f"{layer}: {name} is hidden, but is listed as \"{exact[name]}\"")
            elif name in exact:
                continue
            elif commands[name] or NAMED_ONE_BY_ONE.match(name):
                wrong.append(f"{layer}: {name} is neither hooked nor named")
            elif not matching:
                wrong.append(f"{layer}: {name} is neither hooked nor listed")
        if newest:
            wrong += [f"{layer}: {name} is hooked, but is no command of Vulkan" for name in sorted(hooked - set(commands))]
            wrong += [f"{layer}: {name} is listed, but is no command of Vulkan" for name in sorted(set(exact) - set(commands))]
            wrong += [f"{layer}: {name} stands for no command of Vulkan" for name in sorted(set(patterns) - used)]
    return wrong


def read_hooks(program):
    hooks = {}
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        layer, name = line.split()
        hooks.setdefault(layer, set()).add(name)
    return hooks


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--newest"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    registry = ElementTree.parse(arguments[1]).getroot()
    hooks = read_hooks(arguments[0])
    if not {"counters", "capture"} <= set(hooks):
        sys.exit(f"the hooks of both layers are expected, not those of {sorted(hooks)}")
    wrong = check(registry, hooks, LIST.read_text(), "--newest" in sys.argv)
    for sentence in wrong:
        print(sentence)
    if wrong:
        sys.exit(f"{len(wrong)} errors: hook or hide the command, or say in {LIST} why not")
    print(f"{len(commands_of(registry))} commands, each hooked, hidden or listed")


if __name__ == "__main__":
    main()
