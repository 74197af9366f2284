// The tables of a DataCapture that describe code, while they are being filled. Each has a member
// for each of its columns.
#pragma once

#include "analysis/dataset/dataset.h"

namespace tally::analysis {

struct ShaderRows {
  DataTable table{"shaders"};
  DataColumn& name = table.add("name", DataColumn::Kind::Index);
  DataColumn& stage = table.add("stage", DataColumn::Kind::Index);
  DataColumn& entry_point = table.add("entry_point", DataColumn::Kind::Index);
  DataColumn& hash = table.add("hash", DataColumn::Kind::Index);
  DataColumn& constants = table.add("constants", DataColumn::Kind::Index);
  DataColumn& pipeline = table.add("pipeline", DataColumn::Kind::Index);
  DataColumn& source = table.add("source", DataColumn::Kind::Number);
  DataColumn& invocation_block = table.add("invocation_block", DataColumn::Kind::Index);
};

struct BlockRows {
  DataTable table{"blocks"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& number = table.add("number", DataColumn::Kind::Number);
  DataColumn& function = table.add("function", DataColumn::Kind::Index);
  DataColumn& line = table.add("line", DataColumn::Kind::Index);
};

struct FunctionRows {
  DataTable table{"functions"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& name = table.add("name", DataColumn::Kind::Index);
};

struct LineRows {
  DataTable table{"lines"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& file = table.add("file", DataColumn::Kind::Index);
  DataColumn& line = table.add("line", DataColumn::Kind::Number);
};

struct FileRows {
  DataTable table{"files"};
  DataColumn& name = table.add("name", DataColumn::Kind::Index);
  DataColumn& text = table.add("text", DataColumn::Kind::Index);
  DataColumn& kind = table.add("kind", DataColumn::Kind::Number);
};

struct AssemblyRows {
  DataTable table{"assembly"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& text = table.add("text", DataColumn::Kind::Index);
};

struct AssemblyLineRows {
  DataTable table{"assembly_lines"};
  DataColumn& shader = table.add("shader", DataColumn::Kind::Index);
  DataColumn& row = table.add("row", DataColumn::Kind::Number);
  DataColumn& block = table.add("block", DataColumn::Kind::Index);
  DataColumn& line = table.add("line", DataColumn::Kind::Index);
};

struct BranchRows {
  DataTable table{"branches"};
  DataColumn& block = table.add("block", DataColumn::Kind::Index);
  DataColumn& line = table.add("line", DataColumn::Kind::Index);
  DataColumn& target = table.add("target", DataColumn::Kind::Index);
  DataColumn& number = table.add("number", DataColumn::Kind::Index);
  DataColumn& slot = table.add("slot", DataColumn::Kind::Number);
};

}  // namespace tally::analysis
