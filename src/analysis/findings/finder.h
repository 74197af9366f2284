// Finds what the rules of findings look for. The counts of a capture by shader, command and pass,
// and the rules over them: those over stages, passes and commands in command_rules.cpp, those over
// the code of a shader and its accesses to memory in shader_rules.cpp.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/cost/block_totals.h"
#include "analysis/findings/facts.h"
#include "analysis/findings/findings.h"
#include "analysis/model/metrics.h"
#include "spirv/analysis/loop_bounds.h"
#include "spirv/analysis/source_info.h"

namespace tally::analysis {

// In the order of the table of rules.
enum class Rule {
  VertexBound,
  FragmentBound,
  Overdraw,
  BytesRequested,
  Discard,
  LoopLimit,
  OneWayBranch,
  NeverRan,
  UniformWork,
  LowSimdEfficiency,
  TinyCommands,
  SmallWorkgroup,
  EmptyPass,
  OverwrittenPass,
  CopyPass,
  SameCode,
  Uncoalesced,
  BankConflicts,
  ReadAfterWrite,
};

inline constexpr uint32_t kFragmentStage = 0x10;

inline std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

inline double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// A shader variant that ran, with its code.
struct Ran {
  uint32_t variant, shader, stage;
  const ShaderCode* code;
  uint64_t invocations, work;
};

struct Attachment {
  uint64_t bytes = 0;  // of a texel; 0: not known
  bool stored = false, loaded = false;
};

std::vector<Attachment> attachments_of(const Pass& pass);

// The fragments of a command.
struct Fragments {
  uint64_t invocations = 0, work = 0, bytes = 0;
};

// Render passes of one name.
struct PassGroup {
  uint64_t passes = 0, empty = 0, pixels = 0, fragments = 0, fragment_work = 0;
  uint64_t fragment_bytes = 0, attachment_bytes = 0;
  uint64_t overwritten = 0, copies = 0;
  bool has_unknown_attachments = false;
  bool multisampled = false;
};

class Finder {
 public:
  Finder(const Model& model, ShaderCodes& codes, ShaderSources& sources, const Variants& variants,
         const BlockTotals& totals, const BranchTotals& branches)
      : model_(model),
        codes_(codes),
        sources_(sources),
        variants_(variants),
        totals_(totals),
        branches_(branches),
        metrics_(describe_metrics(model)),
        metric_(default_metric(metrics_)),
        is_complete_(variants.selected_runs().uncounted == 0) {}
  Result<Findings> run(const Progress& progress);

 private:
  uint64_t work_of(uint32_t variant, size_t block) const;
  void collect_shaders();
  // Invocations of each command: of its fragment shader, and the most of any stage.
  Status collect_commands(const Progress& progress);
  static void add_pixels(const Pass& pass, PassGroup& group);
  uint64_t value_of(std::string_view metric, uint32_t variant, size_t block) const;
  // That a block requested of buffers and images.
  uint64_t bytes_of(uint32_t variant, size_t block) const;
  static bool is_multisampled(const std::string& attachments);
  double share_of(uint64_t work) const { return ratio(work, work_); }
  std::string metric_name() const;
  std::string name_of(const Ran& ran) const;
  // In sentences, which say what was not counted.
  std::string subject(const Ran& ran) const;
  void add(Rule rule, double share, std::string text, std::vector<FindingPlace> places = {});
  FindingPlace place(const Ran& ran, std::optional<spirv::SourceLocation> location,
                     std::string numbers);
  FindingPlace place_of_block(const Ran& ran, uint32_t block, std::string numbers);

  // Rules over stages, passes and commands.
  void find_bound();
  void find_overdraw();
  void find_bytes_requested();
  void find_tiny_commands();
  void find_empty_passes();
  struct PassCommands {
    uint32_t first = kNone, last = kNone;
  };
  void find_redundant_passes();
  // The next pass of the command buffer renders to the same framebuffer, and loads nothing that
  // this one stores.
  bool overwrites(const Pass& pass, const Pass& next) const;
  // No command that could read what the first one stored ran in between.
  static bool follows(const PassCommands& pass, const PassCommands& next, bool has_other);
  // One draw of at most two triangles whose fragments read a texel each.
  bool is_copy(const Pass& pass, const PassCommands& of) const;
  bool only_copies(const Ran& ran) const;

  // Rules over the code of a shader.
  void find_discards(const Ran& ran);
  void find_loop_limits(const Ran& ran);
  // The header is executed once more than the body, for the test that ends the loop.
  void find_loop_limit(const Ran& ran, const spirv::MappedFunction& function, const spirv::Cfg& cfg,
                       const spirv::LoopBound& bound);
  void find_one_way_branches(const Ran& ran);
  void find_unused_functions(const Ran& ran);
  void find_uniform_work(const Ran& ran);
  void find_low_efficiency(const Ran& ran);
  void find_small_workgroups(const Ran& ran);

  // Rules over accesses to memory.
  void list_accesses();
  struct MemoryPlace {
    uint64_t too_many;
    const MemoryLine* line;
    std::string numbers;
  };
  void add_memory(Rule rule, const Ran& ran, std::string text, std::vector<MemoryPlace> found);
  // Small subgroups cannot fill a sector with a word each: one each is then the least.
  void find_uncoalesced(const Ran& ran);
  void find_bank_conflicts(const Ran& ran);
  void find_reads_after_writes(const Ran& ran);

  // Over all shaders: modules with the same code.
  void find_same_code();

  const Model& model_;
  ShaderCodes& codes_;
  ShaderSources& sources_;
  const Variants& variants_;
  const BlockTotals& totals_;
  const BranchTotals& branches_;
  const std::vector<Metric> metrics_;
  const uint32_t metric_;
  const bool is_complete_;  // all work is known

  std::vector<Ran> ran_;  // the most work first
  std::vector<MemoryLine> memory_;
  uint64_t work_ = 0;  // of all shaders
  std::map<uint32_t, uint64_t> work_of_stage_, invocations_of_stage_;
  std::vector<uint64_t> most_invocations_;  // by command
  std::vector<Fragments> fragments_;        // by command
  std::map<std::string, PassGroup> passes_;
  std::map<store::RowId, std::pair<uint32_t, uint32_t>> largest_areas_;  // by framebuffer
  Findings found_;
};

}  // namespace tally::analysis
