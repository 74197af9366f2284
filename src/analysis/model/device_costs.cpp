#include "analysis/model/device_costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/device_model.h"
#include "base/file.h"
#include "catalogue/catalogue.h"

namespace tally::analysis {
namespace {

using spirv::CostClass;

constexpr std::string_view kGenericText =
#include "generic_device.inc"
    ;

constexpr double kMaxWeight = 1e6;
constexpr int kMaxDepth = 8;  // bounds the recursion on untrusted text

// "FILE:LINE:COLUMN" of a byte.
std::string place_in(const std::string& file, std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}:{}", file, std::ranges::count(before, '\n') + 1,
                     before.size() - start + 1);
}

// The first place of a name in quotes; the beginning where it is written in another way.
std::string place_of(const std::string& file, std::string_view text, const std::string& name) {
  const size_t found = text.find('"' + name + '"');
  return place_in(file, text, found == text.npos ? 0 : found + 1);
}

std::string class_ids() {
  std::vector<std::string_view> ids;
  for (size_t i = 0; i < spirv::kCostClassCount; ++i)
    ids.push_back(catalogue::counter(spirv::counter_of(static_cast<spirv::CostClass>(i))).id);
  return fmt::format("{}", fmt::join(ids, ", "));
}

std::optional<spirv::CostClass> class_with_id(const std::string& id) {
  const catalogue::Counter* counter = catalogue::find(id);
  return counter ? spirv::cost_class_of(counter->number) : std::nullopt;
}

Result<DeviceCosts> costs_in(const std::string& file, std::string_view text) {
  if (!DeviceModel::is_device_file(text))
    return DeviceCosts::parse(file, text, DeviceCosts::generic().get());
  auto device = DeviceModel::parse(file, text);
  if (!device) return device.error();
  auto costs = DeviceCosts::of(std::make_shared<const DeviceModel>(std::move(*device)));
  return costs ? std::move(costs) : with_context(costs.error(), file);
}

}  // namespace

std::shared_ptr<const DeviceCosts> DeviceCosts::generic() {
  static const auto costs =
      std::make_shared<const DeviceCosts>(parse("generic.json", kGenericText, nullptr).value());
  return costs;
}

Result<std::shared_ptr<const DeviceCosts>> DeviceCosts::load(const std::string& file) {
  const auto text = read_small_file(file, DeviceModel::kMaxFile);
  if (!text) return text.error();
  auto costs = costs_in(file, *text);
  if (!costs) return costs.error();
  return std::make_shared<const DeviceCosts>(std::move(*costs));
}

Result<DeviceCosts> DeviceCosts::parse(const std::string& file, std::string_view text,
                                       const DeviceCosts* base) {
  using Json = nlohmann::ordered_json;
  Json json;
  bool too_deep = false;
  try {
    json = Json::parse(text, [&](int depth, auto, auto&) {
      too_deep |= depth > kMaxDepth;
      return !too_deep;
    });
  } catch (const Json::parse_error& error) {
    return Error{place_in(file, text, error.byte) + ": this is not JSON"};
  }
  if (too_deep) return Error{file + ":1:1: lists are nested too deeply"};
  DeviceCosts costs;
  if (base) costs = *base;
  costs.name_.clear();
  if (!json.is_object()) return Error{file + ":1:1: this is not an object with \"weights\""};
  for (const auto& [key, value] : json.items()) {
    if (key == "name" && value.is_string()) {
      costs.name_ = value.get<std::string>();
    } else if (key != "weights" || !value.is_object()) {
      const bool known = key == "name" || key == "weights";
      return Error{fmt::format("{}: {} \"{}\"", place_of(file, text, key),
                               known ? "a wrong type for" : "there is no", key)};
    }
  }
  if (costs.name_.empty()) return Error{file + ":1:1: \"name\" is missing"};
  if (!json.contains("weights")) return Error{file + ":1:1: \"weights\" is missing"};
  for (const auto& [key, value] : json["weights"].items()) {
    const auto cost = class_with_id(key);
    if (!cost)
      return Error{fmt::format("{}: there is no class \"{}\"; the classes are {}",
                               place_of(file, text, key), key, class_ids())};
    const double weight = value.is_number() ? value.get<double>() : -1;
    if (!(weight >= 0 && weight <= kMaxWeight))
      return Error{fmt::format("{}: the weight of \"{}\" is not a number from 0 to 1,000,000",
                               place_of(file, text, key), key)};
    costs.thousandths_[static_cast<size_t>(*cost)] =
        static_cast<uint64_t>(std::llround(weight * 1000));
  }
  return costs;
}

Result<DeviceCosts> DeviceCosts::of(std::shared_ptr<const DeviceModel> device) {
  DeviceCosts costs;
  costs.name_ = device->name;
  const double slot = device->seconds_of(CostClass::Fma, WorkKind::Dispatch);
  if (!(slot > 0)) return Error{"the device has no time of a multiply-add"};
  // In compute shaders the loads of varyings are registers: the weights are those of passes.
  for (size_t c = 0; c < spirv::kCostClassCount; ++c) {
    const double weight = device->seconds_of(static_cast<CostClass>(c), WorkKind::Pass) / slot;
    costs.thousandths_[c] =
        static_cast<uint64_t>(std::llround(std::min(weight, kMaxWeight) * 1000));
  }
  costs.calibrated_ = std::move(device);
  return costs;
}

uint64_t DeviceCosts::cost_of(const spirv::InstructionMix& mix) const {
  __extension__ using Wide = unsigned __int128;
  Wide sum = 0;
  for (size_t c = 0; c < spirv::kCostClassCount; ++c)
    sum += Wide{thousandths_[c]} * mix[static_cast<spirv::CostClass>(c)];
  return static_cast<uint64_t>(
      std::min<Wide>((sum + 500) / 1000, std::numeric_limits<uint64_t>::max()));
}

}  // namespace tally::analysis
