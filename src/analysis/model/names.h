// The display names of shaders, stages, pipelines, calls and passes, and the matching of shaders
// against a pattern.
#pragma once

#include <string>
#include <vector>

#include "analysis/model/model.h"
#include "spirv/analysis/block_map.h"
#include "spirv/analysis/memory_access.h"

namespace tally::analysis {

// The name of what an access to memory reads or writes: "0.1 Values", "workgroup tile", "address".
std::string resource_text(const spirv::Module& module, const spirv::MemoryAccess& access);
// "load", "store" or "atomic".
std::string access_text(spirv::MemoryAccess::Kind kind);

// Labels with their enclosing labels: "Frame / Shadow". The length of a path is bounded however
// deep labels are nested: it shows the outermost labels, the number of omitted ones, and the
// innermost.
//
// Must not outlive the model.

class LabelPaths {
 public:
  explicit LabelPaths(const Model& model);
  // Empty if `label` is kNone.
  std::string path(uint32_t label) const;

 private:
  const Model& model_;
  std::vector<uint32_t> depth_;  // by label: the number of enclosing labels
  std::vector<uint32_t> outer_;  // by label: the last of the outermost labels that are shown
};

// Numbers in sentences and tables.

// 1234567 -> "1,234,567"; "-1234567.25" -> "-1,234,567.25".
std::string with_separators(uint64_t value);
std::string with_separators(std::string number);

// "1 draw", "2 draws", "1,000 draws", "2 passes".
std::string counted(uint64_t count, const std::string& singular);

// Names and texts of source files.

// The file's name without its folders; "source" if it has no name.
std::string file_title(const spirv::BlockMap& map, uint32_t file);

// The lines of a text, without line terminators.
std::vector<std::string> lines_of_text(const std::string& text);

// "vertex", "fragment" ... for one VkShaderStageFlagBits; "stage 0x..." if it is unknown.
std::string stage_name(uint32_t stage);
// "vertex, geometry"
std::string stage_names(uint32_t stages);

// The first eight digits of a hash, which reports show and --shader accepts.
std::string short_hash(const std::string& hash);

// Indexed by shader: the name that the application gave the module, else the name of the source
// file in its debug information, else the name of its pipelines if they have one, else its short
// hash.
std::vector<std::string> name_shaders(const Model& model);
// The model's names. If several shaders of a stage have the same name, the short hash, the entry
// point or the specialization constants that differ are appended: "blur.frag (0123abcd)",
// "blur.frag [RADIUS=3]". `constants`: by shader (ShaderConstants::distinguishing).
std::vector<std::string> disambiguated_shader_names(const Model& model,
                                                    const std::vector<std::string>& constants);
// The names that the application gave, else the short hashes. If several pipelines have the same
// name, both.
std::vector<std::string> name_pipelines(const Model& model);
std::string shader_hash(const Model& model, uint32_t shader);
std::string pipeline_name(const Model& model, uint32_t pipeline);

// A pattern matches a shader by its name or stage, its entry point, or the start of its hash (at
// least 4 digits).
bool shader_matches(const Model& model, uint32_t shader, const std::string& pattern);

// A pattern matches a pipeline by its name, also as tables show it, or the start of its hash (at
// least 4 digits). A pattern without * and ? must be the whole name.
bool pipeline_matches(const Model& model, uint32_t pipeline, const std::string& pattern);

// "DrawIndexed 36 x 2", "Dispatch 4 x 1 x 1 firstThing=7": a call without its prefix, first its
// sizes, then its other parameters that are not 0.
std::string call_text(const Call& call);

// "main 640x480"; a pass without a name is described by its attachments: "(640x480 RGBA8+D32F)".
std::string pass_text(const Pass* pass);

}  // namespace tally::analysis
