// Rows of shader modules, shaders and pipelines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/specialization.h"
#include "store/keys.h"
#include "store/table.h"

namespace tally::store {

template <typename Key>
struct ModuleOf {
  Key id = 0;
  std::string hash;
  std::string name;
  std::vector<uint32_t> spirv;

  static constexpr auto table() {
    using Row = ModuleOf;
    return store::table(Section::Definitions, "module",
                        "a SPIR-V module; equal modules share the row", column("id", &Row::id),
                        column("hash", &Row::hash, "of the words").constrained("UNIQUE"),
                        column("name", &Row::name, "debug name").not_sent(),
                        column("spirv", &Row::spirv, "the words as the application gave them"));
  }
};
using ModuleRow = ModuleOf<RowId>;

// An entry point of a module in one stage, on one device, specialized.
template <typename Key>
struct ShaderOf {
  Key id = 0;
  Key device = 0;
  OptionalKey<Key> module{};
  uint32_t stage = 0;  // one VkShaderStageFlagBits
  std::string entry_point;
  std::string not_instrumented;
  Specialization constants;

  static constexpr auto table() {
    using Row = ShaderOf;
    return store::table(
        Section::Definitions, "shader",
        "an entry point of a module on a device; pipelines that specialize it alike share the row",
        column("id", &Row::id), column("device", &Row::device).references("device"),
        column("module", &Row::module, "NULL: the SPIR-V is not known").references("module"),
        column("stage", &Row::stage), column("entry_point", &Row::entry_point),
        column("not_instrumented", &Row::not_instrumented,
               "why there are no counts; empty: no such reason is known"),
        column("constants", &Row::constants,
               "the specialization constants that the application gave: a JSON object with the "
               "bytes of each as a hexadecimal number, by SpecId")
            .since(7, "'{}'"));
  }
};
using ShaderRow = ShaderOf<RowId>;

template <typename Key>
struct PipelineOf {
  Key id = 0;
  Key device = 0;
  std::string hash;
  std::string bind_point;
  std::string name;
  std::string not_instrumented;
  bool bound = false;
  std::vector<Key> shaders;  // rows of pipeline_shader

  static constexpr auto table() {
    using Row = PipelineOf;
    return store::table(
        Section::Definitions, "pipeline", "a pipeline", column("id", &Row::id),
        column("device", &Row::device).references("device"),
        column("hash", &Row::hash,
               "of its stages, entry points, modules and specialization: identifies the pipeline "
               "in other captures"),
        column("bind_point", &Row::bind_point, "graphics, compute, ray tracing"),
        column("name", &Row::name, "debug name").not_sent(),
        column("not_instrumented", &Row::not_instrumented),
        column(
            "bound", &Row::bound,
            "1: a command buffer that was recorded for captured frames bound it, executed or not")
            .not_sent());
  }
};
using PipelineRow = PipelineOf<RowId>;

struct PipelineShaderRow {
  RowId pipeline = 0;
  int64_t position = 0;
  RowId shader = 0;

  static constexpr auto table() {
    using Row = PipelineShaderRow;
    return store::table(Section::Definitions, "pipeline_shader", "a shader that a pipeline has",
                        column("pipeline", &Row::pipeline).references("pipeline"),
                        column("position", &Row::position),
                        column("shader", &Row::shader).references("shader"))
        .constrained("PRIMARY KEY (pipeline, position)")
        .without_rowid();
  }
};

}  // namespace tally::store
