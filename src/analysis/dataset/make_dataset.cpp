#include "analysis/dataset/make_dataset.h"

namespace tally::analysis {

Result<Dataset> make_dataset(const Model& model, const Model* old, const SourceOptions& sources,
                             const Progress& progress) {
  (void)sources, (void)progress;
  Dataset dataset;
  for (const Model* m : {&model, old}) {
    if (!m) continue;
    DataCapture& capture = dataset.captures.emplace_back();
    capture.summary = summarize(*m);
    capture.metrics = describe_metrics(*m);
  }
  return dataset;
}

}  // namespace tally::analysis
