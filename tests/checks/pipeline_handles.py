#!/usr/bin/env python3
"""Checks that a device makes no pipeline late if an extension is enabled that passes pipelines to the driver in a way
that the counters layer does not change.

Usage: pipeline_handles.py DEVICE_CREATION_CPP VK_XML
DEVICE_CREATION_CPP has the list of these extensions (DeviceCreation::makes_pipelines_late).
"""
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

# Commands and structs that never get the handle of a stand-in, or that the layer changes.
HANDLED = {
    "vkCmdBindPipeline": "binds the variant that is wanted",
    "vkDestroyPipeline": "destroys the stand-in",
    "VkComputePipelineCreateInfo": "a base has VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT, so it is not late",
    "VkGraphicsPipelineCreateInfo": "the same",
    "VkPipelineLibraryCreateInfoKHR": "libraries are not late",
    "VkPipelineBinaryCreateInfoKHR": "the pipeline has VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR, so it is not late",
    "VkReleaseCapturedPipelineDataInfoKHR": "the same",
}
# The pipelines of these extensions have create infos of their own, and are not late.
OWN_PIPELINES = {"VK_KHR_ray_tracing_pipeline", "VK_NV_ray_tracing", "VK_ARM_data_graph"}


def takes_pipeline(part):
    return any(item.findtext("type") == "VkPipeline" for item in part.findall("param") + part.findall("member"))


def users_of_pipelines(registry):
    """The commands and structs that take pipelines."""
    for command in registry.findall("commands/command"):
        name = command.findtext("proto/name")
        if name and not name.startswith("vkCreate") and takes_pipeline(command):
            yield name
    for struct in registry.findall("types/type[@category='struct']"):
        if takes_pipeline(struct):
            yield struct.get("name")


def owners_of(registry):
    """The extensions that each command and struct belongs to. An alias belongs to those of its name, too."""
    aliases = {part.get("name"): part.get("alias") for part in registry.iter() if part.get("alias")}
    owners = {}
    for part in registry.findall("feature") + registry.findall("extensions/extension"):
        if part.get("supported") == "disabled":
            continue
        for item in part.findall("require/command") + part.findall("require/type"):
            owners.setdefault(aliases.get(item.get("name"), item.get("name")), set()).add(part.get("name"))
    return owners


def main():
    source, xml = sys.argv[1:]
    function = re.search(r"::makes_pipelines_late\(\) const \{(.*?)\n\}", Path(source).read_text(), re.S)
    listed = set(re.findall(r'"(VK_\w+)"', function.group(1))) if function else set()
    registry = ElementTree.parse(xml).getroot()
    owners = owners_of(registry)
    known = {extension.get("name") for extension in registry.findall("extensions/extension")}
    wrong, used = [], set()
    for name in sorted(set(users_of_pipelines(registry)) - set(HANDLED)):
        extensions = owners.get(name, set()) - OWN_PIPELINES
        used |= extensions
        wrong += [f"{name}: {extension} passes pipelines to the driver and is not in {source}"
                  for extension in sorted(extensions - listed)]
    wrong += [f"{extension} passes no pipelines to the driver" for extension in sorted((listed & known) - used)]
    if not listed:
        wrong.append(f"{source} has no list")
    if wrong:
        sys.exit("\n".join(wrong))


main()
