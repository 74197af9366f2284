// Shader variants, as tables distinguish them. A shader has one variant. Captures before format 7
// have one shader for all pipelines that specialize it; there it has one variant for each
// specialization.
//
// Invariant: the first variants are the shaders in model order; they stand for all pipelines whose
// specialization is not distinguished. The others follow.
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
  uint32_t pipeline;  // one pipeline with this specialization; kNone: any pipeline
};

class Variants {
 public:
  Variants(const Model& model, ShaderCodes& codes);

  size_t size() const { return variants_.size(); }
  const Variant& operator[](size_t variant) const { return variants_[variant]; }
  // The variant of a shader that this pipeline uses.
  uint32_t of(uint32_t pipeline, uint32_t shader) const;
  bool is_split(uint32_t shader) const { return is_split_[shader]; }
  // True if it is selected, in one of its pipelines.
  bool is_selected(const Model& model, uint32_t variant) const;

 private:
  void split(const Model& model, const std::vector<uint32_t>& alike, uint32_t shader);

  std::vector<Variant> variants_;
  std::vector<bool> is_split_;                            // by shader
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_;  // split shaders, by pipeline and shader
};

// The name of the pipeline with the variant's specialization; empty if the shader has only one
// variant.
std::string variant_text(const Model& model, const Variant& variant);

}  // namespace tally::analysis
