// `tally extract`: the code of a captured shader as a file to edit, for `tally run --replace`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/disassembly.h"
#include "analysis/model/model.h"
#include "analysis/model/names.h"
#include "analysis/source/shader_source.h"
#include "catalogue/catalogue.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"
#include "report/table/display_text.h"

namespace tally::cli {
namespace {

namespace fs = std::filesystem;

struct ExtractOptions {
  std::string shader;
  std::string capture;
  std::string output;
  bool spirv = false;
  bool force = false;
  analysis::SourceChoice source = analysis::SourceChoice::Auto;
};

struct Extracted {
  std::string what;  // for the line that names the file
  std::string bytes;
  std::vector<std::string> notes;
};

std::string unknown_shader(const analysis::Model& model, const std::string& pattern) {
  const std::set<std::string> names(model.shader_names.begin(), model.shader_names.end());
  constexpr size_t kMaxNames = 8;
  std::string list;
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kMaxNames) break;
    list += (list.empty() ? "" : ", ") + name;
  }
  return fmt::format("no shader matches '{}'; the capture has {}{}", pattern,
                     list.empty() ? "none" : list, names.size() > kMaxNames ? ", ..." : "");
}

Result<uint32_t> find_shader(const analysis::Model& model, const std::string& pattern) {
  std::optional<uint32_t> found;
  std::set<std::string> candidates;
  const std::vector<std::string> names =
      analysis::disambiguated_shader_names(model, std::vector<std::string>(model.shaders.size()));
  if (std::ranges::count(names, pattern) == 1) {
    return static_cast<uint32_t>(std::ranges::find(names, pattern) - names.begin());
  }
  for (uint32_t s = 0; s < model.shaders.size(); ++s) {
    if (!analysis::shader_matches(model, s, pattern)) continue;
    candidates.insert(fmt::format("'{}' ({}, {})", names[s],
                                  analysis::stage_name(model.shaders[s].stage),
                                  analysis::short_hash(analysis::shader_hash(model, s))));
    if (!found) found = s;
  }
  if (!found) return Error{unknown_shader(model, pattern)};
  if (candidates.size() == 1) return *found;
  std::string list;
  for (const std::string& candidate : candidates) list += (list.empty() ? "" : ", ") + candidate;
  return Error{fmt::format("'{}' matches several shaders, name one: {}", pattern, list)};
}

bool is_hlsl(const spirv::Module& module) {
  constexpr auto kHlsl = static_cast<uint32_t>(spv::SourceLanguage::HLSL);
  for (size_t i = 0; i < module.instruction_count(); ++i) {
    const spirv::Instruction instruction = module.instruction(i);
    if (instruction.opcode() == spv::Op::OpSource) return instruction.operand(0) == kHlsl;
    if (instruction.opcode() == spv::Op::OpFunction) break;
  }
  return false;
}

const char* target_environment(uint32_t version) {
  if (version <= spirv::make_version(1, 0)) return "vulkan1.0";
  if (version <= spirv::make_version(1, 3)) return "vulkan1.1";
  if (version <= spirv::make_version(1, 4)) return "spirv1.4";
  return version <= spirv::make_version(1, 5) ? "vulkan1.2" : "vulkan1.3";
}

std::string compile_line(const spirv::Module& module, const store::ShaderRow& shader,
                         const std::string& file) {
  const char* environment = target_environment(module.version());
  const std::string name = report::shell_word(file.empty() ? "FILE" : file);
  if (is_hlsl(module)) {
    return fmt::format("dxc -spirv -T PROFILE -E {} -Zi -fspv-target-env={} -Fo {}.spv {}",
                       shader.entry_point, environment, name, name);
  }
  const catalogue::Stage* stage = catalogue::find_stage(shader.stage);
  return fmt::format("glslangValidator -V {} --target-env {} -S {} -o {}.spv {}",
                     module.has_extension("SPV_KHR_non_semantic_info") ? "-gVS" : "-g", environment,
                     stage ? stage->extension : "frag", name, name);
}

Result<Extracted> spirv_of(const spirv::Module& module, bool as_text) {
  const auto words = module.words();
  if (as_text) {
    auto text = TALLY_TRY(analysis::disassemble_spirv(words));
    return Extracted{"SPIR-V text", std::move(text), {}};
  }
  return Extracted{
      "SPIR-V", std::string(reinterpret_cast<const char*>(words.data()), words.size_bytes()), {}};
}

std::string text_of_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

// The file that most shaders have alone, or that the others are included by.
uint32_t main_file(const analysis::ShaderSource& source) {
  for (uint32_t f = 0; f < source.files().size(); ++f) {
    if (source.file_title(f) == source.map().source_name() && !source.files()[f].lines.empty())
      return f;
  }
  const auto with_text =
      std::ranges::find_if(source.files(), [](const auto& file) { return !file.lines.empty(); });
  return static_cast<uint32_t>(with_text - source.files().begin());
}

Result<Extracted> source_of(const analysis::Model& model, uint32_t shader,
                            const analysis::ShaderCode& code, analysis::ShaderSources& sources,
                            const std::string& file) {
  const analysis::ShaderSource& source = sources.of(shader);
  if (!source.has_lines()) {
    return Error{
        fmt::format("there is no source, and no GLSL can be made of the SPIR-V ({}); "
                    "--spirv writes the SPIR-V",
                    source.why_not_reconstructed())};
  }
  const uint32_t chosen = main_file(source);
  if (chosen >= source.files().size())
    return Error{"the capture does not hold the text of its source; --spirv writes the SPIR-V"};
  const bool is_made = source.origin() == analysis::SourceOrigin::Reconstructed;
  Extracted extracted{
      is_made ? "reconstructed GLSL" : "source", text_of_lines(source.files()[chosen].lines), {}};
  for (uint32_t f = 0; f < source.files().size(); ++f) {
    if (f != chosen && !source.files()[f].lines.empty())
      extracted.notes.push_back(
          fmt::format("it includes {}, which is not written", source.files()[f].name));
  }
  extracted.notes.push_back("compile: " + compile_line(code.module, model.shaders[shader], file));
  return extracted;
}

Result<int> run_extract(const ExtractOptions& options) {
  auto model =
      TALLY_TRY(analysis::open_model(options.capture, {}, analysis::Model::Detail::Batches));
  const auto shader = TALLY_TRY(with_context(find_shader(model, options.shader), options.capture));
  model.shaders[shader].constants.clear();  // the pipeline specializes what replaces it, too
  analysis::ShaderCodes codes(model);
  const auto& code = codes.of(shader);
  if (!code) return with_context(code.error(), model.shader_names[shader]);
  analysis::ShaderSources sources(model, codes, {options.source, nullptr});
  const std::string extension = fs::path(options.output).extension().string();
  const bool wants_spirv = options.spirv || extension == ".spv" || extension == ".spvasm" ||
                           options.source == analysis::SourceChoice::Spirv;
  const auto extracted =
      TALLY_TRY(with_context(wants_spirv ? spirv_of(code->module, extension != ".spv")
                                         : source_of(model, shader, *code, sources, options.output),
                             model.shader_names[shader]));
  auto file = TALLY_TRY(ExportFile::open(options.output, options.capture, options.force));
  file.write(extracted.bytes);
  TALLY_TRY(file.finish());
  file.say_written(extracted.what);
  for (const std::string& note : extracted.notes) say(note);
  return kDone;
}

}  // namespace

void add_extract(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ExtractOptions>();
  CLI::App* command = app.add_subcommand(
      "extract", "Write a captured shader's code to a file, to edit for run --replace");
  command
      ->add_option("SHADER", options->shader,
                   "A name as reports show it, an entry point, or the start of a hash")
      ->required();
  command->add_option("FILE", options->capture,
                      "Capture made by tally run (default: the newest in this folder)");
  command
      ->add_option("-o,--output", options->output,
                   "File to write: .spv is binary SPIR-V, .spvasm its text, any other name the "
                   "source (default: standard output)")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "Replace the file if it exists");
  command->add_flag("--spirv", options->spirv, "Write SPIR-V: as text, unless the file is a .spv");
  add_source_option(*command, options->source);
  command->footer(
      "Example: tally extract scene.frag game.tally -o scene.frag\n"
      "Then edit it, and: tally run --replace scene.frag=scene.frag -- ./game");
  command->callback([options, &chosen] {
    chosen = [options]() -> Result<int> {
      TALLY_TRY(default_to_newest(options->capture));
      return run_extract(*options);
    };
  });
}

}  // namespace tally::cli
