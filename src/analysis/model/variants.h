// Shaders as tables tell them apart: a shader of which several pipelines have their own
// specialization is one variant for each of those, every other shader is one variant.
//
// Invariant: the first variants are the shaders in the order of the model: all that pipelines
// without such a sibling run. The others follow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/shader_code.h"

namespace tally::analysis {

struct Variant {
  uint32_t shader;
  uint32_t pipeline;  // one of those that have this specialization; kNone: whichever pipelines
};

class Variants {
 public:
  Variants(const Model& model, ShaderCodes& codes);

  size_t size() const { return variants_.size(); }
  const Variant& operator[](size_t variant) const { return variants_[variant]; }
  // The variant of a shader that the model says this pipeline has.
  uint32_t of(uint32_t pipeline, uint32_t shader) const;
  bool is_split(uint32_t shader) const { return is_split_[shader]; }

 private:
  void split(const Model& model, const std::vector<uint32_t>& alike, uint32_t shader);

  std::vector<Variant> variants_;
  std::vector<bool> is_split_;                            // by shader
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_;  // by pipeline and shader: those split
};

// The name of the pipeline whose specialization it is; empty where there is only one.
std::string variant_text(const Model& model, const Variant& variant);

}  // namespace tally::analysis
