// Writes the HTML report of a capture: `tally report --html` and `tally run --html`.
#pragma once

#include <string>

#include "analysis/model/model.h"
#include "analysis/source/shader_source.h"

namespace tally::cli {

struct HtmlReport {
  std::string file;  // to write
  std::string capture;
  std::string against;  // the old capture; empty: none
  analysis::Selection selection;
  analysis::SourceOptions sources;
  bool force = false;
  bool quiet = false;  // does not say what it has written
};

// Says what is wrong; returns the exit status.
int write_html_report(const HtmlReport& report);

}  // namespace tally::cli
