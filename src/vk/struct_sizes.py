#!/usr/bin/env python3
"""Prints the structs that may occur in the pNext chains that Tally copies, for 64-bit programs.

usage: struct_sizes.py VK_XML > chained_structs.inc             all of the registry: {sType, size in bytes, is flat}
       struct_sizes.py VK_XML VULKAN_CORE_H > struct_sizes.inc  those that the header declares, by name; the build of the tests

A struct is flat if it has neither pointers besides pNext nor handles: a copy of its bytes stays valid.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

# The structs whose chains are copied.
EXTENDED = {
    "VkInstanceCreateInfo", "VkDeviceCreateInfo", "VkGraphicsPipelineCreateInfo", "VkComputePipelineCreateInfo",
    "VkRayTracingPipelineCreateInfoKHR", "VkPipelineShaderStageCreateInfo", "VkPipelineLayoutCreateInfo",
    "VkShaderModuleCreateInfo", "VkRenderPassBeginInfo", "VkRenderingInfo", "VkSubmitInfo", "VkSubmitInfo2",
    "VkCommandBufferBeginInfo", "VkCommandBufferInheritanceInfo", "VkQueryPoolCreateInfo", "VkShaderCreateInfoEXT",
    "VkPipelineVertexInputStateCreateInfo", "VkPipelineInputAssemblyStateCreateInfo",
    "VkPipelineTessellationStateCreateInfo", "VkPipelineViewportStateCreateInfo", "VkPipelineRasterizationStateCreateInfo",
    "VkPipelineMultisampleStateCreateInfo", "VkPipelineDepthStencilStateCreateInfo", "VkPipelineColorBlendStateCreateInfo",
    "VkPipelineDynamicStateCreateInfo", "VkSamplerCreateInfo", "VkBufferCreateInfo", "VkImageCreateInfo",
    "VkSwapchainCreateInfoKHR", "VkGeneratedCommandsInfoEXT", "VkGeneratedCommandsMemoryRequirementsInfoEXT",
}
POINTER = 8
SIZES = {"char": 1, "uint8_t": 1, "int8_t": 1, "uint16_t": 2, "int16_t": 2, "uint32_t": 4, "int32_t": 4, "int": 4,
         "float": 4, "double": 8, "uint64_t": 8, "int64_t": 8, "size_t": 8}


class Registry:
    def __init__(self, path):
        root = ElementTree.parse(path).getroot()
        self.types = {}
        for kind in root.findall("./types/type"):
            if self.is_ours(kind):
                self.types.setdefault(kind.get("name") or kind.findtext("name"), kind)
        self.constants = {one.get("name"): int(one.get("value"), 0) for one in root.findall("./enums[@name='API Constants']/enum")
                          if re.fullmatch(r"\d+U?", one.get("value") or "")}
        self.numbers, aliases = {}, {}
        for one in root.findall("./enums[@name='VkStructureType']/enum"):
            self.number(one, None, aliases)
        for part in root.findall("./feature") + root.findall("./extensions/extension"):
            for one in part.findall("./require/enum[@extends='VkStructureType']"):
                self.number(one, part.get("number"), aliases)
        for name, of in aliases.items():
            if of in self.numbers:
                self.numbers[name] = self.numbers[of]

    @staticmethod
    def is_ours(element):
        return "vulkan" in (element.get("api") or "vulkan").split(",")

    def number(self, one, extension, aliases):
        if one.get("alias"):
            aliases[one.get("name")] = one.get("alias")
        elif one.get("value"):
            self.numbers[one.get("name")] = int(one.get("value"), 0)
        else:
            self.numbers[one.get("name")] = (1000000000 + (int(one.get("extnumber") or extension) - 1) * 1000
                                             + int(one.get("offset")))

    def layout(self, name):
        """(size, alignment, is flat) of a type; None where the registry does not say."""
        if name in SIZES:
            return SIZES[name], SIZES[name], True
        if name.startswith("PFN_"):
            return POINTER, POINTER, False
        kind = self.types.get(name)
        if kind is None:
            return None
        if kind.get("alias"):
            return self.layout(kind.get("alias"))
        category = kind.get("category")
        if category == "handle":
            return POINTER, POINTER, False
        if category == "enum" or name.startswith("StdVideo"):
            return 4, 4, True
        if category in ("basetype", "bitmask"):
            return (POINTER, POINTER, False) if "*" in "".join(kind.itertext()) else self.layout(kind.findtext("type"))
        return self.compound(kind, category == "union") if category in ("struct", "union") else None

    def compound(self, kind, is_union):
        size, largest, flat = 0, 1, True
        for member in filter(self.is_ours, kind.findall("member")):
            text = "".join(part for part in member.itertext() if part != member.findtext("comment"))
            if "*" in text:
                one = POINTER, POINTER, member.findtext("name") == "pNext"
            else:
                one = self.layout(member.findtext("type"))
            if one is None or ":" in text:
                return None
            bytes_, alignment, is_flat = one
            for count in re.findall(r"\[(\w+)\]", text):
                bytes_ *= self.constants[count] if count in self.constants else int(count)
            flat, largest = flat and is_flat, max(largest, alignment)
            if is_union:
                size = max(size, bytes_)
            else:
                size = (size + alignment - 1) // alignment * alignment + bytes_
        return (size + largest - 1) // largest * largest, largest, flat

    def chained(self):
        """(sType's name, struct's name), in ascending order."""
        rows = {}
        for name, kind in self.types.items():
            if kind.get("category") == "struct" and EXTENDED & set((kind.get("structextends") or "").split(",")):
                rows[kind.find("member").get("values")] = name
        return sorted(rows.items())


def main():
    registry = Registry(sys.argv[1])
    if len(sys.argv) > 2:
        declared = open(sys.argv[2], encoding="utf-8").read()
        for value, name in registry.chained():
            if re.search(rf"\b{name}\b", declared) and re.search(rf"\b{value}\b", declared):
                print(f"TALLY_STRUCT({value}, {name})")
        return
    rows = {}
    for value, name in registry.chained():
        layout = registry.layout(name)
        if value in registry.numbers and layout:
            rows[registry.numbers[value]] = f"{layout[0]}, {'true' if layout[2] else 'false'}}},  // {name}"
    for number, rest in sorted(rows.items()):
        print(f"{{{number}, {rest}")


main()
