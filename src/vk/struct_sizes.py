#!/usr/bin/env python3
"""Prints the rows of struct_sizes.inc: the structs that may occur in the pNext chains that Tally copies.

usage: struct_sizes.py vk.xml vulkan_core.h > struct_sizes.inc
Only structs that vulkan_core.h declares are printed, so that the table compiles against that header and newer ones.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

EXTENDED = {
    "VkInstanceCreateInfo", "VkDeviceCreateInfo", "VkGraphicsPipelineCreateInfo", "VkComputePipelineCreateInfo",
    "VkRayTracingPipelineCreateInfoKHR", "VkPipelineShaderStageCreateInfo", "VkPipelineLayoutCreateInfo",
    "VkShaderModuleCreateInfo", "VkRenderPassBeginInfo", "VkRenderingInfo", "VkSubmitInfo", "VkSubmitInfo2",
    "VkCommandBufferBeginInfo", "VkCommandBufferInheritanceInfo", "VkQueryPoolCreateInfo",
}


def main():
    declared = open(sys.argv[2], encoding="utf-8").read()
    rows = {}
    for struct in ElementTree.parse(sys.argv[1]).getroot().findall('./types/type[@category="struct"]'):
        if not EXTENDED & set((struct.get("structextends") or "").split(",")):
            continue
        name = struct.get("name")
        if not re.search(r"\b%s\b" % name, declared):
            continue
        rows[struct.find("member").get("values")] = name
    for value, name in sorted(rows.items()):
        print(f"TALLY_STRUCT({value}, {name})")


main()
