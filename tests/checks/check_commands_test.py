#!/usr/bin/env python3
"""Errors that check_commands.py must notice, on a small registry."""
import unittest
from xml.etree import ElementTree

from check_commands import check

REGISTRY = """<registry>
  <commands>
    <command><proto><type>void</type> <name>vkCmdDraw</name></proto></command>
    <command><proto><type>void</type> <name>vkCmdSetLineWidth</name></proto></command>
    <command><proto><type>void</type> <name>vkGetImageLayout</name></proto></command>
    <command name="vkGetImageLayoutKHR" alias="vkGetImageLayout"/>
    {command}
  </commands>
  <feature api="vulkan" name="VK_VERSION_1_0">
    <require>
      <command name="vkCmdDraw"/><command name="vkCmdSetLineWidth"/><command name="vkGetImageLayout"/>
      <command name="vkGetImageLayoutKHR"/>
    </require>
  </feature>
  <extensions><extension name="VK_EXT_new" supported="{supported}"><require>{require}</require></extension></extensions>
</registry>"""
HOOKS = {"layer": {"vkCmdDraw"}}
TEXT = """
[layer]
passed on: It says nothing of the GPU's work.
  vkCmdSet* vkGet*
"""


def registry(new="", supported="vulkan", attributes=""):
    command = f"<command{attributes}><proto><name>{new}</name></proto></command>" if new else ""
    require = f'<command name="{new}"/>' if new else ""
    return ElementTree.fromstring(REGISTRY.format(command=command, require=require, supported=supported))


class CheckCommands(unittest.TestCase):
    def test_hooked_and_listed_commands_pass(self):
        self.assertEqual(check(registry(), HOOKS, TEXT, newest=True), [])

    def test_a_new_command_that_draws_fails_even_where_a_pattern_matches_it(self):
        new = registry("vkCmdDrawEverythingEXT")
        wrong = ["layer: vkCmdDrawEverythingEXT is neither hooked nor named"]
        self.assertEqual(check(new, HOOKS, TEXT), wrong)
        self.assertEqual(check(new, HOOKS, TEXT + "  vkCmd*\n"), wrong)
        self.assertEqual(check(new, HOOKS, TEXT + "  vkCmdDrawEverythingEXT\n"), [])
        self.assertEqual(check(new, {"layer": {"vkCmdDraw", "vkCmdDrawEverythingEXT"}}, TEXT), [])

    def test_verbs_that_matter_are_named_one_by_one(self):
        for name in ("vkCmdDispatchAllEXT", "vkCmdTraceMoreKHR", "vkCmdBindHeapEXT", "vkCmdPushDataEXT", "vkCmdBeginQueryEXT",
                     "vkCmdSetDescriptorHeapEXT", "vkQueueSubmit3", "vkCreateDataPipelinesEXT", "vkCreateShadersNV",
                     "vkResetQueryPool2"):
            with self.subTest(name):
                self.assertEqual(len(check(registry(name), HOOKS, TEXT + "  vk*\n")), 1)

    def test_what_the_registry_calls_an_action_is_named_whatever_it_is_called(self):
        action = registry("vkCmdSetFire", attributes=' tasks="action"')
        self.assertEqual(len(check(action, HOOKS, TEXT)), 1)
        self.assertEqual(check(registry("vkCmdSetFire", attributes=' tasks="state"'), HOOKS, TEXT), [])

    def test_any_other_new_command_fails_where_nothing_matches_it(self):
        self.assertEqual(check(registry("vkMakeTeaEXT"), HOOKS, TEXT), ["layer: vkMakeTeaEXT is neither hooked nor listed"])

    def test_disabled_extensions_and_vulkan_sc_have_no_commands(self):
        for supported in ("disabled", "vulkansc"):
            self.assertEqual(check(registry("vkCmdDrawEverythingEXT", supported), HOOKS, TEXT), [])
        both = registry("vkCmdDrawEverythingEXT", "vulkansc,vulkan")
        self.assertEqual(len(check(both, HOOKS, TEXT)), 1)

    def test_a_hooked_command_is_not_listed(self):
        self.assertEqual(len(check(registry(), HOOKS, TEXT + "  vkCmdDraw\n")), 1)

    def test_a_hidden_command_needs_no_line_and_belongs_to_hidden_extensions_alone(self):
        new = registry("vkCmdDrawEverythingEXT")
        hidden = HOOKS | {"hidden": {"vkCmdDrawEverythingEXT"}, "hidden_extension": {"VK_EXT_new"}}
        self.assertEqual(check(new, hidden, TEXT, newest=True), [])
        self.assertEqual(len(check(new, hidden, TEXT + "  vkCmdDrawEverythingEXT\n")), 1)
        self.assertEqual(len(check(new, hidden | {"hidden_extension": {"VK_EXT_other"}}, TEXT)), 1)
        self.assertEqual(len(check(registry(), hidden, TEXT, newest=True)), 1)
        core = HOOKS | {"hidden": {"vkCmdDraw"}, "hidden_extension": {"VK_EXT_new"}}
        self.assertEqual(len(check(registry(), core, TEXT)), 1)

    def test_a_list_may_be_of_several_layers(self):
        hooks = {"layer": {"vkCmdDraw"}, "other": {"vkCmdDraw"}}
        self.assertEqual(check(registry(), hooks, TEXT.replace("[layer]", "[layer other]"), newest=True), [])

    def test_each_layer_is_checked(self):
        wrong = check(registry(), {"layer": {"vkCmdDraw"}, "other": set()}, TEXT)
        self.assertEqual(len(wrong), 4)

    def test_the_newest_registry_knows_all_names(self):
        self.assertEqual(check(registry(), HOOKS, TEXT + "  vkOld vkOlder*\n"), [])
        self.assertEqual(len(check(registry(), HOOKS, TEXT + "  vkOld vkOlder*\n", newest=True)), 2)
        self.assertEqual(len(check(registry(), {"layer": {"vkCmdDraw", "vkTypo"}}, TEXT, newest=True)), 1)

    def test_a_class_needs_a_reason_and_a_name_a_class(self):
        for text in ("[layer]\nvkCmdSet*\n", "[layer]\nforgotten: No class.\n", "[layer]\n  vkGet*\n", TEXT + "  vkGet*\n"):
            with self.subTest(text):
                self.assertTrue(any(sentence.startswith("line ") for sentence in check(registry(), HOOKS, text)))


if __name__ == "__main__":
    unittest.main()
