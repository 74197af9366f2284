// The HTML report: one file with script, style and data, which loads nothing and runs nothing else.
// Text of applications is only in the data, which is compressed and in base64: never markup.
#pragma once

#include <string>
#include <string_view>

#include "analysis/dataset/dataset.h"
#include "base/status.h"
#include "report/table/output.h"

namespace tally::report {

// Base64 (RFC 4648), piece by piece.

class Base64 {
 public:
  explicit Base64(Output out) : out_(std::move(out)) {}

  void write(std::string_view bytes);
  // Writes what is left over, with padding.
  void finish();

 private:
  const Output out_;
  std::string left_;  // less than three bytes
};

std::string base64(std::string_view bytes);

// The script and the style of the HTML report. The build makes them of page/ and embeds them
// (cmake/TallyHtml.cmake). Both are empty where the build could not make them.

struct BundleFile {
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal digits
};

const BundleFile& bundle_script();
const BundleFile& bundle_style();
// The licences of what the script contains of others.
const BundleFile& bundle_licences();

// A Dataset as bytes: a JSON head that says where the columns are, then the columns. The format is
// documented in page/src/data.ts.

void write_container(const analysis::Dataset& dataset, std::string_view tool_version,
                     const Output& out);

// Why this build of Tally cannot write HTML; empty: it can.
std::string_view why_no_html();

Status write_html(const analysis::Dataset& dataset, std::string_view tool_version,
                  const Output& out);

}  // namespace tally::report
