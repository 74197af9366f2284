#include "catalogue/catalogue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <vulkan/vulkan_core.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "catalogue/hidden_extensions.h"

namespace tally::catalogue {
namespace {

TEST(catalogue, ids_numbers_and_names_in_a_group_are_unique) {
  std::set<std::string_view> ids;
  std::set<std::pair<std::string_view, std::string_view>> names;
  std::set<Number> numbers;
  for (const Counter& one : counters()) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    EXPECT_TRUE(names.emplace(one.group, one.name).second) << one.name;
    EXPECT_TRUE(numbers.insert(one.number).second) << one.id;
  }
}

TEST(catalogue, ids_are_valid_for_options_and_files) {
  for (const Counter& one : counters()) {
    const std::string_view id = one.id;
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), id.npos) << id;
    EXPECT_EQ(std::string_view("0123456789_").find(id.front()), id.npos) << id;
  }
}

// VK_MAX_DESCRIPTION_SIZE is the capacity of Vulkan's descriptions, including the terminator.
TEST(catalogue, texts_fit_vulkans_descriptions) {
  for (const Counter& one : counters()) {
    EXPECT_LT(one.name.size(), static_cast<size_t>(VK_MAX_DESCRIPTION_SIZE)) << one.id;
    EXPECT_LT(one.description.size(), static_cast<size_t>(VK_MAX_DESCRIPTION_SIZE)) << one.id;
    EXPECT_FALSE(one.name.empty()) << one.id;
    EXPECT_FALSE(one.group.empty()) << one.id;
    EXPECT_TRUE(one.description.ends_with('.')) << one.id;
  }
}

TEST(catalogue, units_and_storage_match_vulkan) {
  EXPECT_EQ(static_cast<int>(Unit::Generic), VK_PERFORMANCE_COUNTER_UNIT_GENERIC_KHR);
  EXPECT_EQ(static_cast<int>(Unit::Bytes), VK_PERFORMANCE_COUNTER_UNIT_BYTES_KHR);
  EXPECT_EQ(static_cast<int>(Unit::Nanoseconds), VK_PERFORMANCE_COUNTER_UNIT_NANOSECONDS_KHR);
  EXPECT_EQ(static_cast<int>(Unit::Cycles), VK_PERFORMANCE_COUNTER_UNIT_CYCLES_KHR);
  EXPECT_EQ(static_cast<int>(Storage::Int32), VK_PERFORMANCE_COUNTER_STORAGE_INT32_KHR);
  EXPECT_EQ(static_cast<int>(Storage::Uint64), VK_PERFORMANCE_COUNTER_STORAGE_UINT64_KHR);
  EXPECT_EQ(static_cast<int>(Storage::Float64), VK_PERFORMANCE_COUNTER_STORAGE_FLOAT64_KHR);
}

TEST(catalogue, counters_are_found_by_id_and_number) {
  for (const Counter& one : counters()) {
    EXPECT_EQ(find(one.id), &one);
    EXPECT_EQ(&counter(one.number), &one);
  }
  EXPECT_EQ(find("no such counter"), nullptr);
}

TEST(catalogue, block_counters_begin_with_executions) {
  const std::vector<const Counter*> block = counters_of(Scope::Block);
  ASSERT_FALSE(block.empty());
  EXPECT_EQ(block[0]->number, Number::Executions);
}

TEST(catalogue, counters_of_branches_are_in_the_order_of_the_targets) {
  const std::vector<const Counter*> branches = counters_of(Scope::Branch);
  EXPECT_EQ(branches.size(), 16u);
  for (uint32_t target = 0; target < branches.size(); ++target) {
    EXPECT_EQ(static_cast<uint32_t>(branches[target]->number),
              static_cast<uint32_t>(Number::BranchTarget0) + target);
  }
}

TEST(catalogue, counters_of_sites_are_consecutive) {
  const std::vector<const Counter*> sites = counters_of(Scope::Site);
  ASSERT_FALSE(sites.empty());
  for (uint32_t i = 0; i < sites.size(); ++i) {
    EXPECT_EQ(static_cast<uint32_t>(sites[i]->number),
              static_cast<uint32_t>(Number::LoopIterations) + i);
  }
  EXPECT_EQ(sites.back()->number, Number::TouchedLines);
}

TEST(catalogue, region_counters_begin_with_warps_and_have_32_bits) {
  const std::vector<const Counter*> region = counters_of(Scope::Region);
  ASSERT_FALSE(region.empty());
  EXPECT_EQ(region[0]->number, Number::FragmentWarps);
  for (const Counter* one : region) EXPECT_EQ(one->storage, Storage::Uint32) << one->id;
}

// EGL lists counters by group. Vulkan does not.
TEST(catalogue, names_of_vulkans_counters_are_unique) {
  std::set<std::string_view> names;
  for (const Counter& one : counters()) {
    if (one.scopes.has(Scope::Process)) continue;
    EXPECT_TRUE(names.insert(one.name).second) << one.id;
  }
}

TEST(catalogue, what_is_counted_is_the_unit_of_a_plain_count_alone) {
  for (const Counter& one : counters()) {
    EXPECT_TRUE(one.counted.empty() || one.unit == Unit::Generic) << one.id;
  }
  EXPECT_EQ(unit_of(counter(Number::GlDrawCalls)), "calls");
  EXPECT_EQ(unit_of(counter(Number::GlUniformBytes)), "bytes");
  EXPECT_EQ(unit_of(counter(Number::Draws)), "count");
}

// Authors of applications rely on docs/reference/counters.md: a change of a number shows here.
TEST(catalogue, the_page_is_up_to_date) {
  std::ifstream file(TALLY_COUNTERS_PAGE);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(page, markdown()) << "build the target counters_page";
}

TEST(hidden_extensions, are_those_of_the_page) {
  std::string table = "| extension | why it is hidden |\n| --- | --- |\n";
  for (const HiddenExtension& extension : hidden_extensions()) {
    table += fmt::format("| `{}` | {} |\n", extension.name, extension.reason);
  }
  std::ifstream file(TALLY_VULKAN_PAGE);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(page.find(table), std::string::npos) << TALLY_VULKAN_PAGE << " must contain:\n"
                                                 << table;
}

TEST(hidden_extensions, are_found_by_name_and_by_command) {
  EXPECT_NE(find_hidden_extension("VK_NV_ray_tracing"), nullptr);
  EXPECT_EQ(find_hidden_extension("VK_KHR_ray_tracing_pipeline"), nullptr);
  EXPECT_TRUE(is_hidden_command("vkCmdTraceRaysNV"));
  EXPECT_FALSE(is_hidden_command("vkCmdTraceRaysKHR"));
  EXPECT_FALSE(is_hidden_command(""));
}

}  // namespace
}  // namespace tally::catalogue
