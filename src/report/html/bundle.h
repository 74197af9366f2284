// The script and the style of the HTML report. The build makes them of page/ and embeds them
// (cmake/TallyHtml.cmake). Both are empty where the build could not make them.
#pragma once

#include <string_view>

namespace tally::report {

struct BundleFile {
  std::string_view text;
  std::string_view sha256;  // of the text, in hexadecimal digits
};

const BundleFile& bundle_script();
const BundleFile& bundle_style();
// The licences of what the script contains of others.
const BundleFile& bundle_licences();

}  // namespace tally::report
