// Whole way with replaced shaders: the sample scene under `tally run --replace`, and `tally
// extract`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "picture/picture.h"
#include "program.h"
#include "store/read/reader.h"
#include "store/testing/test_capture.h"

namespace tally::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReplaceRun : public testing::Test {
 protected:
  platform::CapturedRun run(const std::string& capture, const std::string& options) {
    return run_script(folder_.path(), "exec \"$TALLY\" run -o " + capture + " --force " + options +
                                          " -- \"" TALLY_LANTERNS
                                          "\" --frames 1 --size 100x70 "
                                          "--png " +
                                          capture + ".png");
  }
  platform::CapturedRun tally(const std::string& arguments) {
    return run_script(folder_.path(), "exec \"$TALLY\" " + arguments);
  }
  std::string read(const std::string& file) {
    std::ifstream in(folder_.file(file), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& file, const std::string& text) {
    std::ofstream(folder_.file(file), std::ios::binary) << text;
  }
  // Writes `from` with the first `old` changed.
  void edit(const std::string& from, const std::string& to, const std::string& old,
            const std::string& now) {
    std::string text = read(from);
    const size_t at = text.find(old);
    ASSERT_NE(at, std::string::npos) << from << " has no " << old;
    write(to, text.replace(at, old.size(), now));
  }
  // The executions of the line that has this text.
  uint64_t executions(const std::string& capture, const std::string& text) {
    const auto result = tally("report --by line --top 0 --format json " + capture);
    EXPECT_EQ(result.end.shell_status(), 0) << result.standard_error;
    const auto rows = nlohmann::json::parse(result.standard_output)["tables"][0]["rows"];
    for (const auto& row : rows) {
      if (row["text"].get<std::string>().find(text) != std::string::npos) return row["executions"];
    }
    ADD_FAILURE() << "no line has " << text;
    return 0;
  }

  store::TestDirectory folder_;
};

TEST_F(ReplaceRun, a_shader_that_is_replaced_by_itself_changes_nothing) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  for (const char* shader : {"scene.frag", "scene.vert", "blur.comp"}) {
    const std::string name = shader;
    const auto extracted = tally("extract " + name + " before.tally --force -o " + name);
    ASSERT_EQ(extracted.end.shell_status(), 0) << extracted.standard_error;
    EXPECT_THAT(extracted.standard_error, HasSubstr("source: " + name));
    EXPECT_THAT(extracted.standard_error,
                HasSubstr("glslangValidator -V -gVS --target-env vulkan1.1"));
    const auto after = run("after.tally", "--strict --replace " + name + "=" + name);
    ASSERT_EQ(after.end.shell_status(), 0) << after.standard_error;
    EXPECT_THAT(after.standard_error, HasSubstr("replaced: " + name));
    const auto diff = tally("diff before.tally after.tally");
    EXPECT_EQ(diff.end.shell_status(), 0) << diff.standard_output;
    EXPECT_EQ(read("after.tally.png"), read("before.tally.png"));
  }
}

// The program's own pictures say how many pixels differ.
TEST_F(ReplaceRun, pictures_of_passes_differ_in_the_pixels_that_the_program_draws_differently) {
  const auto pictures = [&](const std::string& capture) {
    const auto diff = tally("diff before.tally " + capture + " --format json");
    return nlohmann::json::parse(diff.standard_output)["diffs"][0]["pictures"];
  };
  ASSERT_EQ(run("before.tally", "--regions").end.shell_status(), 0);
  ASSERT_EQ(tally("extract scene.frag before.tally -o same.frag").end.shell_status(), 0);
  const auto same = run("same.tally", "--regions --strict --replace scene.frag=same.frag");
  ASSERT_EQ(same.end.shell_status(), 0) << same.standard_error;
  const auto equal = tally("diff before.tally same.tally");
  EXPECT_EQ(equal.end.shell_status(), 0);
  EXPECT_THAT(equal.standard_output, HasSubstr(", and every pixel of 2 pictures."));
  EXPECT_EQ(pictures("same.tally")["pixels"], 0);

  edit("same.frag", "other.frag", "min(d, 0.6)", "min(d, 0.4)");
  const auto other = run("other.tally", "--regions --strict --replace scene.frag=other.frag");
  ASSERT_EQ(other.end.shell_status(), 0) << other.standard_error;
  const auto decoded = [&](const std::string& file) {
    const std::string png = read(file);
    return decode_png(std::as_bytes(std::span(png)), 100 * 70).value();
  };
  const Picture before = decoded("before.tally.png"), after = decoded("other.tally.png");
  uint64_t pixels = 0;
  for (size_t i = 0; i < before.pixels.size(); ++i) pixels += before.pixels[i] != after.pixels[i];
  EXPECT_GT(pixels, 0u);
  const auto found = pictures("other.tally");
  ASSERT_EQ(found["list"].size(), 2u);
  EXPECT_EQ(found["list"][1]["pass"], "composite 100x70");
  EXPECT_EQ(found["list"][1]["pixels"], pixels);
  EXPECT_EQ(found["only_before"], 0);
  EXPECT_THAT(tally("diff before.tally other.tally").standard_output,
              HasSubstr("Pictures at the end of passes: "));
}

// One of the pixels of a picture is changed in the file.
TEST_F(ReplaceRun, a_pixel_that_differs_is_a_difference_though_the_counts_are_equal) {
  ASSERT_EQ(run("before.tally", "--regions").end.shell_status(), 0);
  std::filesystem::copy_file(folder_.file("before.tally"), folder_.file("after.tally"));
  {
    auto database =
        store::Database::open(folder_.file("after.tally"), store::Database::Mode::Create);
    ASSERT_TRUE(database.ok());
    auto row = database->prepare("SELECT png FROM pass_picture ORDER BY pass LIMIT 1");
    ASSERT_TRUE(row.ok() && row->step());
    Picture picture = decode_png(row->blob(0), 100 * 70).value();
    picture.at(60, 20) ^= 0x000500;
    const auto png = encode_png(picture).value();
    auto update = database->prepare(
        "UPDATE pass_picture SET png = ? WHERE pass = (SELECT min(pass) FROM pass_picture)");
    ASSERT_TRUE(update.ok());
    update->bind(std::span<const std::byte>(png)).step();
  }
  const auto diff = tally("diff before.tally after.tally --format json");
  EXPECT_EQ(diff.end.shell_status(), 1);
  const auto pictures = nlohmann::json::parse(diff.standard_output)["diffs"][0]["pictures"];
  EXPECT_EQ(pictures["pixels"], 1);
  const nlohmann::json box = {{"left", 60}, {"top", 20}, {"right", 61}, {"bottom", 21}};
  EXPECT_EQ(pictures["list"][0]["box"], box);
  EXPECT_EQ(pictures["list"][1]["pixels"], 0);
}

// Without debug information the capture has no source: GLSL is reconstructed, and SPIR-V is text.
TEST_F(ReplaceRun, code_without_source_goes_the_same_way) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  for (const char* form : {"--source glsl -o blur.comp", "-o blur.spvasm", "-o blur.spv"}) {
    const std::string options = form, file = options.substr(options.find("blur"));
    ASSERT_EQ(tally("extract blur.comp before.tally --force " + options).end.shell_status(), 0);
    const auto after = run("after.tally", "--strict --replace blur.comp=" + file);
    ASSERT_EQ(after.end.shell_status(), 0) << after.standard_error;
    EXPECT_EQ(read("after.tally.png"), read("before.tally.png"));
    const int diff = tally("diff before.tally after.tally").end.shell_status();
    EXPECT_EQ(diff, file == "blur.comp" ? 1 : 0) << "GLSL of SPIRV-Cross is other code";
  }
}

// Takes the options of DirectXShaderCompiler; glslang compiles the HLSL.
constexpr const char* kStandInDxc = R"(#!/bin/bash
echo "$*" >>dxc-commands
while [ $# -gt 1 ]; do
  case $1 in
    -T) [ "$2" = ps_6_0 ] || { echo "error: no profile $2"; exit 1; }; shift ;;
    -E) [ "$2" = main ] || exit 1; shift ;;
    -fspv-target-env=*) environment=${1#*=} ;;
    -Fo) output=$2; shift ;;
  esac
  shift
done
exec glslangValidator -D -V --quiet -g -e main -S frag --target-env "$environment" -o "$output" "$1"
)";
// fireflies.frag of the sample.
constexpr const char* kFireflies = R"(
struct In { [[vk::location(0)]] float2 corner : CORNER; [[vk::location(1)]] float3 tint : TINT; };
float4 main(In input) : SV_Target0 {
  const float r2 = dot(input.corner, input.corner);
  if (r2 > 1.0) discard;
  return float4(input.tint * 0.5 * pow(1.0 - r2, 3.0), 0.0);
}
)";

TEST_F(ReplaceRun, hlsl_is_compiled_by_dxc) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  write("flies.ps.hlsl", kFireflies);
  write("dxc", kStandInDxc);
  ASSERT_EQ(run_script(folder_.path(), "chmod +x dxc").end.shell_status(), 0);
  const auto run_with = [&](const std::string& path) {
    return run_script(folder_.path(), "export PATH=\"" + path +
                                          "\"; exec \"$TALLY\" run --force -o after.tally --strict "
                                          "--replace fireflies.frag=flies.ps.hlsl -- "
                                          "\"" TALLY_LANTERNS
                                          "\" --frames 1 --size 100x70 --png after.tally.png");
  };
  EXPECT_THAT(run_with("/nowhere").standard_error, HasSubstr("dxc is not in PATH"));
  const auto with_dxc = [&] { return run_with("$PWD:$PATH"); };
  const auto after = with_dxc();
  ASSERT_EQ(after.end.shell_status(), 0) << after.standard_error;
  EXPECT_THAT(read("dxc-commands"),
              HasSubstr("-spirv -T ps_6_0 -E main -Zi -fspv-target-env=vulkan1.0 -Fo "));
  EXPECT_EQ(read("after.tally.png"), read("before.tally.png"));
  EXPECT_EQ(executions("after.tally", "if (r2 > 1.0) discard"),
            executions("before.tally", "if (r2 > 1.0) discard"));
  EXPECT_EQ(executions("after.tally", "pow(1.0 - r2, 3.0)"),
            executions("before.tally", "pow(1.0 - r2, 3.0)"));
  write("flies.ps.hlsl", "float4 main() : SV_Target0 { return x; }\n");
  EXPECT_THAT(with_dxc().standard_error, HasSubstr("dxc does not accept it: "));
}

// Two passes of 100x70 in workgroups of 64: 2 x 70 and 2 x 100 of them. Each invocation adds up 25
// texels; with one step less, 24.
TEST_F(ReplaceRun, a_shorter_loop_changes_its_lines_by_one_step_of_each_invocation) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  ASSERT_EQ(tally("extract blur.comp before.tally -o blur.comp").end.shell_status(), 0);
  edit("blur.comp", "less.comp", "k <= kRadius", "k < kRadius");
  const auto after = run("after.tally", "--replace blur.comp=less.comp");
  ASSERT_EQ(after.end.shell_status(), 0) << after.standard_error;
  const uint64_t invocations = 64 * (2 * 70 + 2 * 100);
  EXPECT_EQ(executions("before.tally", "weights += weight"), 25 * invocations);
  EXPECT_EQ(executions("after.tally", "weights += weight"), 24 * invocations);
  EXPECT_NE(read("after.tally.png"), read("before.tally.png"));
  const auto diff = tally("diff before.tally after.tally --by shader --format json");
  EXPECT_EQ(diff.end.shell_status(), 1) << diff.standard_error;
  EXPECT_THAT(tally("report after.tally").standard_output,
              HasSubstr("replaced     blur.comp compute by less.comp"));
  EXPECT_THAT(tally("report before.tally").standard_output, Not(HasSubstr("replaced")));
  const auto reader = store::Reader::open(folder_.file("after.tally"));
  ASSERT_TRUE(reader.ok());
  const auto rows = reader->replacements();
  ASSERT_TRUE(rows.ok() && rows->size() == 1);
  EXPECT_EQ(rows->front().file, "less.comp");
  EXPECT_NE(rows->front().new_hash, rows->front().hash);
}

// The loop of 25 texels takes a root of a negative number in each step.
TEST_F(ReplaceRun, runs_of_loops_and_unwanted_values_are_counted_on_request) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  const auto rows = [&](const std::string& by) {
    const auto result = tally("report --format json after.tally --shader blur.comp --by " + by);
    EXPECT_EQ(result.end.shell_status(), 0) << result.standard_error;
    return nlohmann::json::parse(result.standard_output)["tables"][0]["rows"];
  };
  EXPECT_THAT(tally("report --by loop before.tally").standard_error,
              HasSubstr("the capture has no counts of loops: capture with tally run --loops"));
  ASSERT_EQ(tally("extract blur.comp before.tally -o blur.comp").end.shell_status(), 0);
  edit("blur.comp", "bad.comp", "weights += weight",
       "float bad = sqrt(-1.0 - weight);\n    weights += weight");
  const auto after = run("after.tally", "--loops --values --replace blur.comp=bad.comp");
  ASSERT_EQ(after.end.shell_status(), 0) << after.standard_error;
  EXPECT_EQ(read("after.tally.png"), read("before.tally.png"));
  const uint64_t invocations = 64 * (2 * 70 + 2 * 100);
  const auto loops = rows("loop");
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_THAT(loops[0]["text"].get<std::string>(), HasSubstr("for (int k"));
  EXPECT_EQ(loops[0]["runs"], invocations);
  EXPECT_EQ(loops[0]["loop_iterations"], 25 * invocations);
  EXPECT_EQ(loops[0]["mean_run"], 25.0);
  EXPECT_EQ(loops[0]["loop_longest_run"], 25u);
  EXPECT_EQ(loops[0]["loop_runs_16"], invocations);
  const auto values = rows("value");
  ASSERT_EQ(values.size(), 1u);
  EXPECT_THAT(values[0]["text"].get<std::string>(), HasSubstr("float bad"));
  EXPECT_EQ(values[0]["executions"], 25 * invocations);
  EXPECT_EQ(values[0]["nan_results"], 25 * invocations);
  EXPECT_EQ(values[0]["negative_operands"], 25 * invocations);
  EXPECT_EQ(values[0]["zero_divisions"], 0u);
}

TEST_F(ReplaceRun, cycles_of_a_shader_are_split_among_its_functions_and_loops) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  EXPECT_THAT(tally("report --by clock before.tally").standard_error,
              HasSubstr("the capture has no cycles: capture with tally run --clocks"));
  EXPECT_EQ(run("after.tally", "--clocks=3").standard_error,
            "tally: --clocks=3: not a power of two up to 65536\n");
  const auto after = run("after.tally", "--clocks=1");
  ASSERT_EQ(after.end.shell_status(), 0) << after.standard_error;
  EXPECT_EQ(read("after.tally.png"), read("before.tally.png"));
  EXPECT_EQ(tally("diff before.tally after.tally").end.shell_status(), 0) << "counts are the same";
  for (const char* shader : {"blur.comp", "scene.frag"}) {
    SCOPED_TRACE(shader);
    const auto result =
        tally("report --format json after.tally --by clock --shader " + std::string(shader));
    if (result.end.shell_status() != 0) {
      EXPECT_STREQ(std::getenv("TALLY_TEST_DRIVER"), "swiftshader") << result.standard_error;
      EXPECT_THAT(result.standard_error, HasSubstr("the device has no shaderSubgroupClock"));
      EXPECT_THAT(after.standard_error, HasSubstr("no cycles: no subgroup was chosen"));
      return;
    }
    const auto rows = nlohmann::json::parse(result.standard_output)["tables"][0]["rows"];
    uint64_t whole = 0, sum = 0, runs = 0, loops = 0, cost = 0, whole_cost = 0;
    for (const auto& row : rows) {
      sum += row["self_cycles"].get<uint64_t>();
      EXPECT_LE(row["self_cycles"], row["cycles"]);
      EXPECT_EQ(row["timed_runs"], row["runs"]) << "all are timed";
      cost += row["self_cost"].get<uint64_t>();
      loops += row["part"] == "loop";
      if (row["part"] == "loop" || row["function"] != "main") continue;
      whole = row["cycles"], runs = row["timed_runs"], whole_cost = row["total_cost"];
    }
    EXPECT_GT(whole, 0u);
    EXPECT_EQ(sum, whole) << "each invocation is in one of them at a time";
    EXPECT_EQ(loops > 0, std::string(shader) == "scene.frag") << "the loop of the other is short";
    const auto shaders =
        tally("report --format json after.tally --by shader --shader " + std::string(shader));
    const auto counted = nlohmann::json::parse(shaders.standard_output)["tables"][0]["rows"];
    EXPECT_EQ(runs, counted[0]["invocations"].get<uint64_t>());
    EXPECT_EQ(cost, counted[0]["cost"].get<uint64_t>());
    EXPECT_EQ(whole_cost, cost);
  }
}

TEST_F(ReplaceRun, a_shader_is_found_by_the_start_of_its_hash) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  const auto reader = store::Reader::open(folder_.file("before.tally"));
  ASSERT_TRUE(reader.ok());
  const auto modules = reader->modules();
  ASSERT_TRUE(modules.ok() && !modules->empty());
  const std::string hash = modules->back().hash;
  ASSERT_EQ(tally("extract " + hash.substr(0, 8) + " before.tally -o x.spv").end.shell_status(), 0);
  const auto after = run("after.tally", "--strict --replace " + hash.substr(0, 8) + "=x.spv");
  EXPECT_EQ(after.end.shell_status(), 0) << after.standard_error;
  EXPECT_EQ(tally("diff before.tally after.tally").end.shell_status(), 0);
}

TEST_F(ReplaceRun, another_interface_is_refused_and_the_original_runs) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  ASSERT_EQ(tally("extract scene.frag before.tally -o scene.frag").end.shell_status(), 0);
  ASSERT_EQ(tally("extract blur.comp before.tally -o blur.comp").end.shell_status(), 0);
  edit("scene.frag", "input.frag", "layout(location = 0) in", "layout(location = 3) in");
  edit("blur.comp", "group.comp", "local_size_x = 64", "local_size_x = 32");
  const auto input = run("after.tally", "--replace scene.frag=input.frag");
  EXPECT_EQ(input.end.shell_status(), 0);
  EXPECT_THAT(input.standard_error,
              HasSubstr("not replaced: scene.frag fragment by input.frag: it reads the input at "
                        "location 3 (floatx2), which the original does not read"));
  EXPECT_EQ(tally("diff before.tally after.tally").end.shell_status(), 0);
  const auto group = run("after.tally", "--strict --replace blur.comp=group.comp");
  EXPECT_EQ(group.end.shell_status(), 4);
  EXPECT_THAT(group.standard_error, HasSubstr("its workgroup is 32x1x1, the original's 64x1x1"));
  EXPECT_THAT(tally("report after.tally").standard_output,
              HasSubstr("not replaced blur.comp compute by group.comp"));
}

TEST_F(ReplaceRun, a_file_that_does_not_compile_ends_a_strict_run_before_its_program) {
  write("bad.frag", "#version 450\nvoid main() { x = 1; }\n");
  const auto strict = run("after.tally", "--strict --replace scene.frag=bad.frag");
  EXPECT_EQ(strict.end.shell_status(), 2);
  EXPECT_THAT(strict.standard_error, HasSubstr("bad.frag:2: 'x' : undeclared identifier"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("after.tally.png")));
  const auto other = run("after.tally", "--replace scene.frag=bad.frag");
  EXPECT_EQ(other.end.shell_status(), 0);
  EXPECT_THAT(other.standard_error, HasSubstr("scene.frag is not replaced: bad.frag: "));
  EXPECT_THAT(other.standard_error,
              HasSubstr("not replaced: scene.frag fragment by bad.frag: the file cannot be used"));
}

TEST_F(ReplaceRun, a_name_without_a_shader_is_reported_at_the_end) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  ASSERT_EQ(tally("extract scene.frag before.tally -o scene.frag").end.shell_status(), 0);
  const auto result =
      run("after.tally", "--replace other.frag=scene.frag --replace scene.vert=scene.frag");
  EXPECT_EQ(result.end.shell_status(), 0);
  EXPECT_THAT(result.standard_error,
              HasSubstr("not replaced: other.frag by scene.frag: no shader"));
  EXPECT_THAT(result.standard_error,
              HasSubstr("not replaced: scene.vert by scene.frag: no shader"));
}

TEST_F(ReplaceRun, wrong_options_are_named) {
  EXPECT_THAT(run("a.tally", "--replace scene.frag").standard_error, HasSubstr("not SHADER=FILE"));
  EXPECT_THAT(run("a.tally", "--replace scene.frag=no.frag").standard_error,
              HasSubstr("no.frag is not a file"));
  write("x.txt", "void main() {}");
  EXPECT_THAT(run("a.tally", "--replace scene=x.txt").standard_error,
              HasSubstr("its stage is not known"));
  write("x.spv", "SPIR");
  EXPECT_THAT(run("a.tally", "--replace scene.frag=x.spv").standard_error,
              HasSubstr("not a SPIR-V module"));
}

// The pipeline specializes `width` of discard.frag to 4; its default is 32. Extracted files have
// the default, and the pipeline specializes the replacement again.
TEST_F(ReplaceRun, what_is_extracted_keeps_its_specialization_constants) {
  const auto draw = [&](const std::string& capture, const std::string& options) {
    return run_script(folder_.path(), "exec \"$TALLY\" run -o " + capture + " --force " + options +
                                          " -- \"" TALLY_EXPLAINED_APP "\" no-discard");
  };
  ASSERT_EQ(draw("before.tally", "").end.shell_status(), 0);
  EXPECT_THAT(tally("report --by shader before.tally --columns shader,constants").standard_output,
              HasSubstr("width=4"));
  for (const char* form :
       {"-o discard.frag", "--source glsl -o glsl.frag", "-o discard.spvasm", "-o discard.spv"}) {
    SCOPED_TRACE(form);
    const std::string options = form, file = options.substr(options.rfind(' ') + 1);
    ASSERT_EQ(tally("extract discard.frag before.tally " + options).end.shell_status(), 0);
    if (file.ends_with(".frag")) {
      EXPECT_THAT(read(file), HasSubstr("layout(constant_id = 0) const float width = 32"));
    }
    if (file.ends_with(".spvasm")) {
      EXPECT_THAT(read(file), ::testing::ContainsRegex("OpSpecConstant %[0-9a-z]+ 32"));
    }
    const auto after = draw("after.tally", "--strict --replace discard.frag=" + file);
    ASSERT_EQ(after.end.shell_status(), 0) << after.standard_error;
    const auto shaders = tally("report --by shader after.tally --format json");
    const auto rows = nlohmann::json::parse(shaders.standard_output)["tables"][0]["rows"];
    const auto found =
        std::ranges::find_if(rows, [](const auto& row) { return row["stage"] == "fragment"; });
    ASSERT_NE(found, rows.end());
    EXPECT_EQ((*found)["discarded"], 4 * 64);
  }
}

TEST_F(ReplaceRun, extract_says_why_it_writes_nothing) {
  ASSERT_EQ(run("before.tally", "").end.shell_status(), 0);
  EXPECT_THAT(tally("extract no.frag before.tally").standard_error,
              HasSubstr("no shader matches 'no.frag'; the capture has blur.comp"));
  EXPECT_THAT(tally("extract main before.tally").standard_error, HasSubstr("matches several"));
  ASSERT_EQ(tally("extract scene.frag before.tally -o x.frag").end.shell_status(), 0);
  EXPECT_EQ(tally("extract scene.frag before.tally -o x.frag").end.shell_status(), 2);
}

}  // namespace
}  // namespace tally::test
