#include "analysis/model/model.h"

namespace tally::analysis {

uint32_t Model::shader_of(uint32_t pipeline, uint32_t sub, uint32_t stage) const {
  if (pipeline == kNone) return kNone;
  uint32_t found = kNone;
  uint32_t count = 0;
  uint32_t position = 0;
  for (const store::RowId id : pipelines[pipeline].shaders) {
    const uint32_t at = position++;
    const uint32_t shader = shader_index.find(id);
    if (shader == kNone || shaders[shader].stage != stage) continue;
    if (at == sub) return shader;
    found = shader;
    ++count;
  }
  return count == 1 ? found : kNone;
}

uint32_t Model::parent_of_label(uint32_t label) const {
  const uint32_t parent = label_index.find(labels[label].parent);
  return parent != kNone && parent < label ? parent : kNone;
}

bool Model::is_selected(uint32_t shader, uint32_t pipeline) const {
  if (!shader_selected[shader] || !selected_by_pipeline[shader]) return shader_selected[shader];
  return pipeline != kNone && pipeline_selected[pipeline];
}

bool Model::frame_selected(uint32_t frame) const {
  return !selection.frames || selection.frames->contains(frames[frame].number);
}

bool Model::is_draw(const Command& command) const {
  if (command.call == kNone) return false;
  const store::CallKind kind = calls[command.call].kind;
  return kind == store::CallKind::Draw ||
         (kind == store::CallKind::Generated && command.pass != kNone);
}

}  // namespace tally::analysis
