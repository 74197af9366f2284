#!/usr/bin/env python3
"""The commands that are recorded into command buffers, with their types as the C ABI passes them: command_list.inc.

usage: command_list.py vk.xml > command_list.inc
       command_list.py --check command_list.inc vk.xml    compares the rows of the commands that this registry knows

An enumeration or a set of flags is its integer, a pointer or an array is a pointer, a handle that is no pointer is an
integer of 64 bits. So the table compiles with headers that are older than a command. A command buffer stays one: the layer
has to name another in its place.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

PLAIN = {"float": "float", "int": "int", "int32_t": "int32_t", "size_t": "size_t", "uint16_t": "uint16_t",
         "uint32_t": "uint32_t", "uint64_t": "uint64_t", "VkBool32": "uint32_t", "VkDeviceAddress": "uint64_t",
         "VkDeviceSize": "uint64_t", "VkFlags": "uint32_t", "VkFlags64": "uint64_t", "VkCommandBuffer": "VkCommandBuffer"}
# Structs that name command buffers. No command of the list takes one of them.
NAMES_BUFFERS = {"VkSubmitInfo", "VkCommandBufferSubmitInfo"}
# Has a hook of its own: it takes an array of command buffers.
TAKES_BUFFERS = {"vkCmdExecuteCommands"}
# Recording them changes an object, so they cannot be recorded twice.
RECORDED_ONCE = {"vkCmdBeginGpaSessionAMD", "vkCmdEndGpaSessionAMD", "vkCmdBeginGpaSampleAMD", "vkCmdEndGpaSampleAMD",
                 "vkCmdCopyGpaSessionResultsAMD"}


def for_vulkan(element):
    return "vulkan" in (element.get("api") or "vulkan").split(",")


class Registry:
    def __init__(self, path):
        self.root = ElementTree.parse(path).getroot()
        self.types = {}
        for kind in self.root.findall("types/type"):
            if for_vulkan(kind):
                self.types[kind.get("name") or kind.findtext("name")] = kind
        for name, kind in self.types.items():
            members = kind.findall("member/type")
            if any(member.text == "VkCommandBuffer" for member in members) and name not in NAMES_BUFFERS:
                sys.exit(f"{name} names command buffers")

    def abi_type(self, name):
        if name in PLAIN:
            return PLAIN[name]
        kind = self.types[name]
        if kind.get("alias"):
            return self.abi_type(kind.get("alias"))
        category = kind.get("category")
        if category == "enum":
            return "uint32_t"
        if category in ("bitmask", "basetype"):
            return self.abi_type(kind.findtext("type"))
        if category == "handle" and kind.findtext("type") == "VK_DEFINE_NON_DISPATCHABLE_HANDLE":
            return "uint64_t"
        sys.exit(f"{name}: how is it passed?")

    def abi_of(self, command, parameter):
        name = parameter.findtext("type")
        declaration = "".join(parameter.itertext())
        if "*" in declaration or "[" in declaration:
            if name == "VkCommandBuffer" and command not in TAKES_BUFFERS:
                sys.exit(f"{command} takes command buffers: it needs a hook of its own")
            return "const void*"
        return self.abi_type(name)

    def used(self):
        names = set()
        for part in self.root.findall("feature") + self.root.findall("extensions/extension"):
            supported = (part.get("api") or part.get("supported") or "vulkan").split(",")
            if "vulkan" not in supported:
                continue
            for require in filter(for_vulkan, part.findall("require")):
                names.update(command.get("name") for command in require.findall("command"))
        return {name for name in names if name.startswith("vkCmd")}

    def rows(self):
        """The types of each command, by name."""
        defined, aliases = {}, {}
        for command in filter(for_vulkan, self.root.findall("commands/command")):
            if command.get("alias"):
                aliases[command.get("name")] = command.get("alias")
            else:
                defined[command.findtext("proto/name")] = command
        rows = {}
        for name in sorted(self.used() - RECORDED_ONCE):
            original = name
            while original in aliases:
                original = aliases[original]
            command = defined[original]
            result = command.findtext("proto/type")
            if result not in ("void", "VkResult"):
                sys.exit(f"{name} returns {result}")
            first, *others = filter(for_vulkan, command.findall("param"))
            if first.findtext("type") != "VkCommandBuffer" or "*" in "".join(first.itertext()):
                sys.exit(f"{name}: the first parameter is no command buffer")
            types = ", ".join(self.abi_of(original, other) for other in others)
            rows[name] = f"{result}({types})"
        return rows


def row(name, types):
    return f"TALLY_COMMAND({name}, {types})"


def check(listed, rows):
    known = dict(re.findall(r"^TALLY_COMMAND\((\w+), (.*)\)$", listed, re.MULTILINE))
    wrong = [row(name, types) for name, types in rows.items() if known.get(name) != types]
    if wrong:
        print("\n".join(wrong))
        sys.exit(f"{len(wrong)} commands are missing or have other types: run {sys.argv[0]} with the newest registry")
    print(f"{len(rows)} commands, each with its types")


def main():
    if sys.argv[1:2] == ["--check"] and len(sys.argv) == 4:
        with open(sys.argv[2], encoding="utf-8") as file:
            check(file.read(), Registry(sys.argv[3]).rows())
    elif len(sys.argv) == 2:
        print("// Printed by command_list.py.")
        for name, types in Registry(sys.argv[1]).rows().items():
            print(row(name, types))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
