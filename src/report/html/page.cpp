#include "report/html/page.h"

#include <fmt/format.h>

#include "report/gzip.h"
#include "report/html/base64.h"
#include "report/html/bundle.h"
#include "report/html/container.h"

namespace tally::report {
namespace {

constexpr int kCompression = 9;

int digit_value(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

// "sha256-...", as a content security policy names a script or style.
std::string policy_hash(const BundleFile& file) {
  std::string bytes;
  for (size_t i = 0; i + 1 < file.sha256.size(); i += 2)
    bytes += static_cast<char>(digit_value(file.sha256[i]) << 4 | digit_value(file.sha256[i + 1]));
  return "'sha256-" + base64(bytes) + "'";
}

std::string head() {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; "
      "style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Tally report</title>\n<style>",
      policy_hash(bundle_script()), policy_hash(bundle_style()));
}

}  // namespace

std::string_view why_no_html() {
  if (!bundle_script().text.empty()) return {};
  return "this build of tally has no HTML reports: it was made without npm";
}

Status write_html(const analysis::Dataset& dataset, std::string_view tool_version,
                  const Output& out) {
  out(head());
  out(bundle_style().text);
  out("</style>\n<!-- The script contains uPlot.\n\n");
  out(bundle_licences().text);
  out("-->\n</head>\n<body>\n<noscript>This report needs JavaScript.</noscript>\n"
      "<div id=\"tally\"></div>\n<script type=\"application/x-tally\" id=\"data\">");
  Base64 text(out);
  Gzip compressed([&](std::string_view piece) { text.write(piece); }, kCompression);
  write_container(dataset, tool_version, [&](std::string_view piece) { compressed.write(piece); });
  if (Status finished = compressed.finish(); !finished) return finished;
  text.finish();
  out("</script>\n<script>");
  out(bundle_script().text);
  out("</script>\n</body>\n</html>\n");
  return {};
}

}  // namespace tally::report
