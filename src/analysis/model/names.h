// The names of shaders, stages, pipelines, calls and passes in a report, and which shaders a
// pattern matches.
#pragma once

#include <string>

#include "analysis/model/model.h"

namespace tally::analysis {

// "vertex", "fragment" ... of one VkShaderStageFlagBits; "stage 0x..." where it is not known.
std::string stage_name(uint32_t stage);

// The first eight digits of a hash: what a report shows and --shader takes.
std::string short_hash(const std::string& hash);

// By shader: the name that the application gave the module, else that of the source file that its
// debug information names, else its short hash.
std::vector<std::string> name_shaders(const Model& model);
// The model's names, where several shaders of a stage have the same with the start of the hash, or
// the entry point, behind it: "blur.frag (0123abcd)".
std::vector<std::string> tell_shaders_apart(const Model& model);
// The names that the application gave, else the starts of the hashes; with both where several
// pipelines have the same name.
std::vector<std::string> name_pipelines(const Model& model);
std::string shader_hash(const Model& model, uint32_t shader);
std::string pipeline_name(const Model& model, uint32_t pipeline);

// A pattern means a shader if it matches its name or stage, is its entry point, or starts its hash
// (from 4 digits on).
bool shader_matches(const Model& model, uint32_t shader, const std::string& pattern);

// "DrawIndexed 36 x 2", "Dispatch 4 x 1 x 1 firstThing=7": a call without its prefix, its sizes
// first, then the other parameters that are not 0.
std::string call_text(const Call& call);

// "main 640x480", or what it looks like where it has no name: "(640x480 RGBA8+D32F)".
std::string pass_text(const Pass* pass);

}  // namespace tally::analysis
