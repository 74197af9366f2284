#include "cli/profiles.h"

#include "analysis/model/load_model.h"
#include "analysis/tables/empty_result.h"
#include "cli/progress.h"

namespace tally::cli {

Result<analysis::Profile> load_profile(const std::string& file,
                                       const analysis::ProfileOptions& options) {
  auto reader = store::Reader::open(file);
  if (!reader) return reader.error();
  ProgressLine progress("reading " + file);
  const auto model = analysis::load_model(std::move(*reader), {});
  if (!model) return with_context(model.error(), file);
  if (model->commands.empty())
    return Error{file + ": " + why_no_rows(*model, analysis::By::Draw, {})};
  auto profile = make_profile(*model, options, [&](double part) { progress.update(part); });
  if (!profile) return with_context(profile.error(), file);
  return profile;
}

}  // namespace tally::cli
