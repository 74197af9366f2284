#!/usr/bin/env python3
"""Updates the tables in its folder from the SPIR-V registry's grammar: grammar_tables.py FOLDER

FOLDER holds spirv.core.grammar.json and the grammars of the extended instruction sets, as spirv-headers installs them
(/usr/include/spirv/unified1). In opcode_table.inc it adds new opcodes, whose cost is then to be chosen by hand, and
rewrites the operands; an opcode's costs and fewest words stay. enumerant_table.inc and ext_inst_table.inc are written
as a whole. """
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent

# Keyed by the prefix under which modules import a set; the newest grammar of each. The kinds of operands of
# OpenCL.DebugInfo.100 contain those of DebugInfo, so its grammar comes first.
SETS = {
    "GLSL.std.450": "extinst.glsl.std.450.grammar.json",
    "NonSemantic.ClspvReflection.": "extinst.nonsemantic.clspvreflection.grammar.json",
    "NonSemantic.DebugPrintf": "extinst.nonsemantic.debugprintf.grammar.json",
    "NonSemantic.Shader.DebugInfo.": "extinst.nonsemantic.shader.debuginfo.grammar.json",
    "OpenCL.DebugInfo.100": "extinst.opencl.debuginfo.100.grammar.json",
    "DebugInfo": "extinst.debuginfo.grammar.json",
    "OpenCL.std": "extinst.opencl.std.100.grammar.json",
    "SPV_AMD_gcn_shader": "extinst.spv-amd-gcn-shader.grammar.json",
    "SPV_AMD_shader_ballot": "extinst.spv-amd-shader-ballot.grammar.json",
    "SPV_AMD_shader_explicit_vertex_parameter": "extinst.spv-amd-shader-explicit-vertex-parameter.grammar.json",
    "SPV_AMD_shader_trinary_minmax": "extinst.spv-amd-shader-trinary-minmax.grammar.json",
}


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def kinds_of(operands):
    left_out = ("IdResultType", "IdResult")
    return " ".join(o["kind"] + o.get("quantifier", "") for o in operands if o["kind"] not in left_out)


def ids_of(operands):
    kinds = [o["kind"] for o in operands]
    return "TypeResult" if "IdResultType" in kinds else "Result" if "IdResult" in kinds else "NoResult"


def opcode_table(grammar):
    path = HERE / "opcode_table.inc"
    head, rows = [], {}
    for line in path.read_text().splitlines():
        row = re.match(r"OPCODE\((\d+), (\w+), (\w+), (\d+), (\w+)", line)
        if row:
            rows[int(row[1])] = row.groups()
        else:
            head.append(line)
    operands = {}
    for instruction in grammar["instructions"]:
        opcode, all_operands = instruction["opcode"], instruction.get("operands", [])
        operands.setdefault(opcode, kinds_of(all_operands))
        if opcode not in rows:
            least = 1 + sum("quantifier" not in o for o in all_operands)
            rows[opcode] = (opcode, instruction["opname"][2:], ids_of(all_operands), least, "Other")
    lines = [f'OPCODE({", ".join(map(str, row))}, "{operands.get(opcode, "")}")' for opcode, row in sorted(rows.items())]
    path.write_text("\n".join(head + lines) + "\n")


def enumerant_rows(kinds, prefix=""):
    for kind in sorted((k for k in kinds if k["category"] in ("BitEnum", "ValueEnum")), key=lambda k: k["kind"]):
        yield f'KIND({kind["kind"]}, {"Mask" if kind["category"] == "BitEnum" else "Value"})'
        seen = set()
        for one in sorted(kind["enumerants"], key=lambda e: number(e["value"])):
            value = number(one["value"])
            if value in seen:
                continue
            seen.add(value)
            extensions = ""
            if kind["kind"] in ("Capability", "ExecutionMode"):
                extensions = " ".join(one.get("extensions", []))
            yield (f'ENUMERANT({kind["kind"]}, {hex(value) if kind["category"] == "BitEnum" else value}, '
                   f'"{one["enumerant"]}", "{kinds_of(one.get("parameters", []))}", "{extensions}")')


def main(folder):
    core = json.loads((folder / "spirv.core.grammar.json").read_text())
    opcode_table(core)
    kinds = {kind["kind"]: kind for kind in core["operand_kinds"]}
    rows = []
    for name, file in SETS.items():
        grammar = json.loads((folder / file).read_text())
        for kind in grammar.get("operand_kinds", []):
            kinds.setdefault(kind["kind"], kind)
        for instruction in sorted(grammar["instructions"], key=lambda i: i["opcode"]):
            operands = kinds_of(instruction.get("operands", []))
            if not re.search(r"\b(?!IdRef\b)\w+", operands):
                operands = "IdRef*"
            rows.append(f'EXT_INST("{name}", {instruction["opcode"]}, "{instruction["opname"]}", "{operands}")')
    (HERE / "ext_inst_table.inc").write_text(
        "// The instructions of extended instruction sets. Made by grammar_tables.py.\n//\n"
        "//   EXT_INST(what the set's name begins with, number, name, operands)\n"
        "//\n// Ordered by number within a set.\n" + "\n".join(rows) + "\n")
    (HERE / "enumerant_table.inc").write_text(
        "// The enumerants of the SPIR-V registry. Made by grammar_tables.py.\n//\n"
        "//   KIND(kind of operand, Value or Mask)\n"
        "//   ENUMERANT(kind, value, name, operands that follow, extensions that declare it)\n"
        "//\n// Ordered by kind and value; extensions only of capabilities and execution modes.\n"
        + "\n".join(enumerant_rows(kinds.values())) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
