#include "cli/run/replace.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/model/disassembly.h"
#include "base/file.h"
#include "catalogue/catalogue.h"
#include "cli/files.h"
#include "cli/run/environment.h"
#include "platform/program.h"
#include "store/stream/stream.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCompilerLimit{60};
constexpr size_t kMaxFiles = 64;
constexpr size_t kMaxLines = 3;  // of a compiler's message

using Words = std::vector<uint32_t>;

struct Asked {
  std::string pattern;
  std::string file;
};

std::optional<Asked> parse(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) return std::nullopt;
  return Asked{text.substr(0, equals), text.substr(equals + 1)};
}

// A name that tables print, as the layer matches it: "blur.frag (0123abcd)" by its hash, and
// "blur.frag [RADIUS=3]" without its constants.
std::string layer_pattern_of(std::string name) {
  if (const size_t constants = name.find(" ["); constants != name.npos) name.resize(constants);
  const size_t open = name.rfind(" (");
  if (open == name.npos || !name.ends_with(')')) return name;
  const std::string hash = name.substr(open + 2, name.size() - open - 3);
  const bool is_hash = hash.size() >= 4 && hash.find_first_not_of("0123456789abcdef") == hash.npos;
  return is_hash ? hash : name;
}

// The stage of HLSL files. Files of ray-tracing stages have their GLSL extensions alone.
struct HlslStage {
  uint32_t stage;
  std::string_view extension;
  const char* profile;
};
constexpr HlslStage kHlslStages[] = {
    {0x01, "vs", "vs_6_0"}, {0x02, "hs", "hs_6_0"}, {0x04, "ds", "ds_6_0"}, {0x08, "gs", "gs_6_0"},
    {0x10, "ps", "ps_6_0"}, {0x20, "cs", "cs_6_0"}, {0x40, "as", "as_6_5"}, {0x80, "ms", "ms_6_5"},
};

const catalogue::Stage* stage_of_extension(const std::string& extension) {
  for (const HlslStage& hlsl : kHlslStages)
    if (extension == hlsl.extension) return catalogue::find_stage(hlsl.stage);
  const auto stages = catalogue::stages();
  const auto found =
      std::ranges::find_if(stages, [&](const auto& stage) { return extension == stage.extension; });
  return found == stages.end() ? nullptr : &*found;
}

const char* hlsl_profile(const catalogue::Stage& stage) {
  const auto* found = std::ranges::find(kHlslStages, stage.bit, &HlslStage::stage);
  return found == std::end(kHlslStages) ? "lib_6_3" : found->profile;
}

// "less.frag", "less.frag.glsl", "less.ps.hlsl"; else by the pattern: "scene.frag".
const catalogue::Stage* stage_of(const std::string& file, const std::string& pattern) {
  for (const std::string& name : {fs::path(file).filename().string(), pattern}) {
    for (fs::path path(name); path.has_extension(); path = path.stem())
      if (const auto* stage = stage_of_extension(path.extension().string().substr(1))) return stage;
  }
  return nullptr;
}

Result<Words> words_of(const std::string& bytes) {
  Words words(bytes.size() / sizeof(uint32_t));
  if (bytes.size() % sizeof(uint32_t) != 0 || words.empty()) return Error{"not a SPIR-V module"};
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

bool is_spirv(std::string_view bytes) {
  constexpr uint32_t kMagic = 0x07230203;
  uint32_t first = 0;
  if (bytes.size() < sizeof first) return false;
  std::memcpy(&first, bytes.data(), sizeof first);
  return first == kMagic;
}

// The lines of a compiler's output that name errors, or else its first lines, in one line.
std::string message_of(const platform::CapturedRun& run) {
  std::vector<std::string> errors, lines;
  const std::string all = run.standard_output + run.standard_error;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string line = all.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    const bool is_sum = line.find("compilation errors") != line.npos;
    const bool is_error = line.find("ERROR: ") != line.npos || line.find("error: ") != line.npos;
    if (is_error && !is_sum && errors.size() < kMaxLines) errors.push_back(line);
    if (lines.size() < kMaxLines) lines.push_back(line);
  }
  return fmt::format("{}", fmt::join(errors.empty() ? lines : errors, "; "));
}

// Nullopt: there is no such program.
std::optional<Result<Words>> compile_with(std::vector<std::string> command, const fs::path& made) {
  const Environment environment = current_environment();
  if (platform::find_program(command.front(), value_of(environment, "PATH")).empty())
    return std::nullopt;
  const auto run =
      platform::run_captured(command, environment_strings(environment), kCompilerLimit);
  if (!run) return Result<Words>(run.error());
  if (run->timed_out) return Result<Words>(Error{fmt::format("{} took too long", command.front())});
  if (run->end.shell_status() != 0) {
    return Result<Words>(
        Error{fmt::format("{} does not accept it: {}", command.front(), message_of(*run))});
  }
  const auto bytes = read_small_file(made.string(), store::stream::kMaxModuleBytes);
  if (!bytes) return Result<Words>(bytes.error());
  return words_of(*bytes);
}

class Compiler {
 public:
  Compiler(const Asked& asked, const fs::path& made) : asked_(asked), made_(made) {}

  // All versions of the module among which the layer chooses.
  Result<std::vector<Words>> modules() {
    auto bytes = TALLY_TRY(read_small_file(asked_.file, store::stream::kMaxModuleBytes));
    const std::string extension = fs::path(asked_.file).extension().string();
    if (is_spirv(bytes)) return one(words_of(bytes));
    if (extension == ".spv") return Error{"not a SPIR-V module"};
    if (extension == ".spvasm") return one(analysis::assemble_spirv(bytes));
    const catalogue::Stage* stage = stage_of(asked_.file, asked_.pattern);
    if (!stage) {
      return Error{
          "its stage is not known: name it like x.frag, x.comp, x.vert.glsl or x.ps.hlsl, or give "
          "SPIR-V as .spv or .spvasm"};
    }
    return extension == ".hlsl" ? hlsl(*stage) : glsl(*stage);
  }

 private:
  static Result<std::vector<Words>> one(const Result<Words>& words) {
    if (!words) return words.error();
    return std::vector<Words>{*words};
  }

  // Code differs with the version of SPIR-V and with the debug information, and so do counts.
  Result<std::vector<Words>> glsl(const catalogue::Stage& stage) {
    std::vector<Words> found;
    std::optional<Error> problem;
    for (const char* environment :
         {"vulkan1.0", "vulkan1.1", "spirv1.4", "vulkan1.2", "vulkan1.3"}) {
      for (const char* debug : {"-g", "-gVS"}) {
        auto words = glslang({"-V", "--quiet", debug, "--target-env", environment, "-S",
                              stage.extension, "-o", made_.string(), asked_.file});
        if (words) {
          found.push_back(std::move(*words));
          continue;
        }
        problem = words.error();  // the newest environment knows most
        break;
      }
    }
    if (found.empty()) return *problem;
    return found;
  }

  static Result<Words> result_or_missing(std::optional<Result<Words>> words, const char* missing) {
    if (words) return std::move(*words);
    return Error{missing};
  }

  Result<Words> glslang(std::vector<std::string> arguments) {
    std::optional<Result<Words>> words;
    for (const char* program : {"glslangValidator", "glslang"}) {
      arguments.insert(arguments.begin(), program);
      words = compile_with(arguments, made_);
      if (words) break;
      arguments.erase(arguments.begin());
    }
    return result_or_missing(
        std::move(words),
        "neither glslangValidator nor glslang is in PATH: install glslang (Debian's package "
        "glslang-tools), or give SPIR-V");
  }

  Result<std::vector<Words>> hlsl(const catalogue::Stage& stage) {
    std::vector<Words> found;
    std::optional<Error> problem;
    for (const char* environment : {"vulkan1.0", "vulkan1.1", "vulkan1.2", "vulkan1.3"}) {
      auto words =
          result_or_missing(compile_with({"dxc", "-spirv", "-T", hlsl_profile(stage), "-E", "main",
                                          "-Zi", fmt::format("-fspv-target-env={}", environment),
                                          "-Fo", made_.string(), asked_.file},
                                         made_),
                            "dxc is not in PATH: install DirectXShaderCompiler, or give SPIR-V");
      if (words) {
        found.push_back(std::move(*words));
      } else {
        problem = words.error();
      }
    }
    if (found.empty()) return *problem;
    return found;
  }

  const Asked& asked_;
  const fs::path made_;
};

Status write_words(const fs::path& path, std::span<const uint32_t> words) {
  auto file = TALLY_TRY(with_context(
      PartialFile::create(platform::Folder::current(), path.string(), 0600), path.string()));
  file.write({reinterpret_cast<const char*>(words.data()), words.size_bytes()});
  if (const int error = file.finish(platform::Existing::Replace); error != 0)
    return Error{fmt::format("{}: {}", path.string(), std::strerror(error))};
  return {};
}

// Drops what SPIRV-Tools does not accept; fails if nothing is left.
Status drop_invalid(std::vector<Words>& modules) {
  Status last;
  std::erase_if(modules, [&](const Words& words) {
    Status valid = analysis::validate_spirv(words);
    const bool is_invalid = !valid;
    if (is_invalid) last = std::move(valid);
    return is_invalid;
  });
  if (!modules.empty()) return {};
  return Error{"SPIRV-Tools does not accept it: " + last.error().message};
}

}  // namespace

Status check_replacements(const std::vector<std::string>& replacements) {
  if (replacements.size() > kMaxFiles)
    return Error{fmt::format("--replace is given more than {} times", kMaxFiles)};
  for (const std::string& text : replacements) {
    const auto asked = parse(text);
    if (!asked) return Error{fmt::format("--replace {}: not SHADER=FILE", text)};
    if (text.find_first_of("\t\n") != text.npos)
      return Error{fmt::format("--replace {}: has a tab or a line break", text)};
    std::error_code ignored;
    if (!fs::is_regular_file(asked->file, ignored))
      return Error{fmt::format("--replace {}: {} is not a file", text, asked->file)};
  }
  return {};
}

Result<PreparedReplacements> prepare_replacements(const std::vector<std::string>& replacements,
                                                  const std::filesystem::path& folder) {
  PreparedReplacements prepared;
  std::string list;
  size_t number = 0;
  for (const std::string& text : replacements) {
    const Asked asked = *parse(text);
    auto modules = Compiler(asked, folder / "compiled.spv").modules();
    Status usable = modules ? drop_invalid(*modules) : Status(modules.error());
    list += layer_pattern_of(asked.pattern) + '\t' + asked.pattern + '\t' + asked.file;
    if (!usable) {
      prepared.problems.push_back(fmt::format("{} is not replaced: {}: {}", asked.pattern,
                                              asked.file, usable.error().message));
      list += '\n';
      continue;
    }
    for (const Words& words : *modules) {
      const fs::path path = folder / fmt::format("replacement-{}.spv", number++);
      TALLY_TRY(write_words(path, words));
      list += '\t' + path.string();
    }
    list += '\n';
  }
  if (list.empty()) return prepared;
  prepared.list = (folder / "replacements").string();
  TALLY_TRY(replace_file(prepared.list, list));
  return prepared;
}

}  // namespace tally::cli
