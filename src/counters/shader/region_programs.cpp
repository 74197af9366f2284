#include "counters/shader/region_programs.h"

#include <algorithm>

#include "catalogue/catalogue.h"
#include "region_links.comp.h"
#include "region_values.comp.h"

namespace tally::counters {
namespace {

uint32_t accumulator_of(catalogue::Number number) {
  const auto all = catalogue::counters_of(catalogue::Scope::Region);
  return static_cast<uint32_t>(std::ranges::find(all, number, &catalogue::Counter::number) -
                               all.begin());
}

}  // namespace

RegionPrograms::~RegionPrograms() {
  programs_.destroy(values_);
  programs_.destroy(links_);
}

VkResult RegionPrograms::prepare() {
  const std::lock_guard lock(mutex_);
  const uint32_t accumulators[] = {accumulator_of(catalogue::Number::FragmentWarps),
                                   accumulator_of(catalogue::Number::FragmentInvocations),
                                   accumulator_of(catalogue::Number::FragmentPrimitives)};
  const VkResult result = programs_.make(region_values_comp, accumulators, values_);
  return result == VK_SUCCESS ? programs_.make(region_links_comp, {}, links_) : result;
}

void RegionPrograms::write_values(const InternalCommands& commands, VkDeviceAddress block,
                                  uint32_t columns, uint32_t rows, uint32_t layers) const {
  programs_.use(commands, values_, block);
  next_.CmdDispatch(commands.handle, (columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile,
                    layers);
}

void RegionPrograms::link(const InternalCommands& commands, VkDeviceAddress list,
                          bool unlink) const {
  programs_.use(commands, links_, list | (unlink ? 1 : 0));
  next_.CmdDispatch(commands.handle, 1, 1, 1);
}

}  // namespace tally::counters
