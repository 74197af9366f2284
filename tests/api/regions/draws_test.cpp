// Counts by region of single draws (vk/region_draws.h), compared with values computed by hand and
// with those of the pass.
#include "vk/region_draws.h"

#include <map>

#include "api/regions/kit.h"
#include "discard.frag.h"
#include "plain.frag.h"

namespace tally::test {
namespace {

constexpr VkExtent2D kTarget = {96, 80};
constexpr const char* kSize = "32x16";  // 3 columns and 5 rows
constexpr VkExtent2D kRegion = {32, 16};
constexpr uint32_t kRegions = 3 * 5;

// The values of one counter in the regions of one draw; without those that are 0.
using ByRegion = std::map<uint32_t, uint32_t>;

// The list of the draws of a pass, which the layer writes.
class DrawList {
 public:
  DrawList(const Context& context, uint32_t counters, uint32_t capacity)
      : counters_(counters),
        buffer_(context,
                sizeof(vk::RegionDrawsHeader) + capacity * vk::region_draw_entry_bytes(counters),
                VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                    VK_BUFFER_USAGE_TRANSFER_DST_BIT) {
    begin_.list = buffer_.address();
    begin_.capacity = capacity;
  }
  vk::RegionDrawsBegin* begin_info() { return &begin_; }

  vk::RegionDrawsHeader header() const { return buffer_.as<vk::RegionDrawsHeader>()[0]; }
  ByRegion values(uint32_t draw, uint32_t counter) const {
    ByRegion found;
    for_each([&](const uint32_t* entry) {
      if (entry[0] == draw && entry[2 + counter] != 0) {
        EXPECT_TRUE(found.emplace(entry[1], entry[2 + counter]).second) << "a region twice";
      }
    });
    return found;
  }
  ByRegion sums(uint32_t counter) const {
    ByRegion sums;
    for_each([&](const uint32_t* entry) {
      if (entry[2 + counter] != 0) sums[entry[1]] += entry[2 + counter];
    });
    return sums;
  }

 private:
  template <typename Visit>
  void for_each(Visit visit) const {
    const uint32_t* words = buffer_.as<uint32_t>().data() + sizeof(vk::RegionDrawsHeader) / 4;
    for (uint32_t i = 0; i < std::min(header().entries, begin_.capacity); ++i) {
      visit(words + size_t{i} * (2 + counters_));
    }
  }

  const uint32_t counters_;
  const Buffer buffer_;
  vk::RegionDrawsBegin begin_;
};

struct Box {
  uint32_t left, top, right, bottom;
  RectanglePush push() const {
    const auto number = [](uint32_t value) { return static_cast<float>(value); };
    return {number(left),   number(top),           number(right),
            number(bottom), number(kTarget.width), number(kTarget.height)};
  }
  // Its pixels in each region.
  ByRegion pixels() const {
    ByRegion found;
    for (uint32_t y = top; y < bottom; ++y)
      for (uint32_t x = left; x < right; ++x)
        ++found[y / kRegion.height * (kTarget.width / kRegion.width) + x / kRegion.width];
    return found;
  }
};
// They overlap in x 40 to 60, y 20 to 50.
constexpr Box kFirst = {5, 3, 60, 50}, kSecond = {40, 20, 96, 71};

class RegionDraws : public RegionsTest {
 protected:
  static ByRegion of_pass(const Capture& values, std::string_view counter) {
    ByRegion found;
    for (uint32_t row = 0; row < values.rows(); ++row) {
      for (uint32_t column = 0; column < values.columns(); ++column) {
        const uint32_t value = values.value(counter, column, row);
        if (value != 0) found[row * values.columns() + column] = value;
      }
    }
    return found;
  }
  std::vector<std::string_view> counters() {
    std::vector<std::string_view> all = {"fragment_invocations", "fragment_instructions",
                                         "covered_samples", "discarded_invocations",
                                         "fragment_subgroups"};
    if (offers_counter(context(), "fragment_primitives")) all.push_back("fragment_primitives");
    return all;
  }
  // Draws both boxes, the second one with discards. Without a list only the pass is counted.
  void draw_boxes(const Capture& values, BeginInfo* begin, DrawList* list, int times = 1) {
    const RenderTarget target(context(), {.extent = kTarget});
    const Pipeline plain = make_rectangles(plain_frag), discards = make_rectangles(discard_frag);
    begin->pNext = list ? list->begin_info() : nullptr;
    for (int i = 0; i < times; ++i) {
      capture(target, values, [&](VkCommandBuffer commands) {
        draw(commands, plain, kFirst.push());
        draw(commands, discards, kSecond.push());
      });
    }
  }
};

TEST_F(RegionDraws, two_quads_that_overlap_have_their_own_pixels) {
  start({{"region_size", kSize}});
  Capture values(context(), {kTarget});
  DrawList list(context(), 1, 64);
  draw_boxes(values, values.begin_info(), &list);
  EXPECT_EQ(list.header().magic, vk::kRegionDrawsMagic);
  EXPECT_EQ(list.header().draws, 2u);
  EXPECT_EQ(list.header().counted, 2u);
  EXPECT_EQ(list.values(0, 0), kFirst.pixels());
  EXPECT_EQ(list.values(1, 0), kSecond.pixels());
  EXPECT_EQ(list.header().entries, kFirst.pixels().size() + kSecond.pixels().size());
  EXPECT_EQ(list.sums(0), of_pass(values, kInvocations));
}

TEST_F(RegionDraws, counts_of_draws_add_up_to_those_of_the_pass_which_are_as_without_them) {
  start({{"region_size", kSize}});
  const auto all = counters();
  Capture without(context(), {kTarget, all}), values(context(), {kTarget, all});
  draw_boxes(without, without.begin_info(), nullptr);
  DrawList list(context(), static_cast<uint32_t>(all.size()), 64);
  draw_boxes(values, values.begin_info(), &list, 3);  // each execution lists its own
  for (uint32_t c = 0; c < all.size(); ++c) {
    EXPECT_EQ(list.sums(c), of_pass(values, all[c])) << all[c];
    if (all[c] != "fragment_subgroups") {
      EXPECT_EQ(of_pass(values, all[c]), of_pass(without, all[c])) << all[c];
    }
    EXPECT_FALSE(of_pass(values, all[c]).empty()) << all[c];
  }
  values.expect_layout();
}

TEST_F(RegionDraws, where_the_list_is_full_it_says_how_many_entries_there_are) {
  start({{"region_size", kSize}});
  Capture values(context(), {kTarget});
  DrawList list(context(), 1, 3);
  draw_boxes(values, values.begin_info(), &list);
  EXPECT_EQ(list.header().entries, kFirst.pixels().size() + kSecond.pixels().size());
  ByRegion both = kFirst.pixels();
  for (const auto& [region, pixels] : kSecond.pixels()) both[region] += pixels;
  EXPECT_EQ(of_pass(values, kInvocations), both) << "the pass lacks nothing";
}

TEST_F(RegionDraws, draws_beyond_the_limit_count_for_the_pass_alone) {
  start({{"region_size", kSize}});
  constexpr uint32_t kDraws = 1030, kLimit = 1024;
  const RenderTarget target(context(), {.extent = kTarget});
  const Pipeline pipeline = make_rectangles(plain_frag);
  Capture values(context(), {kTarget});
  DrawList list(context(), 1, 2 * kDraws);
  values.begin_info()->pNext = list.begin_info();
  capture(target, values, [&](VkCommandBuffer commands) {
    for (uint32_t i = 0; i < kDraws; ++i) draw(commands, pipeline, Box{0, 0, 8, 2}.push());
  });
  EXPECT_EQ(list.header().draws, kDraws);
  EXPECT_EQ(list.header().counted, kLimit);
  EXPECT_EQ(list.sums(0), (ByRegion{{0, 16 * kLimit}}));
  EXPECT_EQ(of_pass(values, kInvocations), (ByRegion{{0, 16 * kDraws}}));
}

// A command that draws nothing takes a number.
TEST_F(RegionDraws, numbers_are_those_of_the_commands_that_draw) {
  start({{"region_size", kSize}});
  const RenderTarget target(context(), {.extent = kTarget});
  const Pipeline pipeline = make_rectangles(plain_frag);
  Capture values(context(), {kTarget});
  DrawList list(context(), 1, 2 * kRegions);
  values.begin_info()->pNext = list.begin_info();
  capture(target, values, [&](VkCommandBuffer commands) {
    draw(commands, pipeline, kFirst.push(), 0);
    draw(commands, pipeline, kFirst.push(), 2);
  });
  EXPECT_EQ(list.header().draws, 2u);
  EXPECT_EQ(list.values(0, 0), ByRegion{});
  ByRegion twice = kFirst.pixels();
  for (auto& [region, pixels] : twice) pixels *= 2;
  EXPECT_EQ(list.values(1, 0), twice);
}

}  // namespace
}  // namespace tally::test
