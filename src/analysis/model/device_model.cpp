#include "analysis/model/device_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "catalogue/catalogue.h"

namespace tally::analysis {
namespace {

using spirv::CostClass;
using NumberJson = nlohmann::ordered_json;

constexpr std::string_view kFormat = "tally-device";
constexpr int kVersion = 5;
constexpr double kMaxLogError = 20;  // a factor of 500 million
constexpr double kPicosecond = 1e-12;
constexpr int kDeepest = 8;  // bounds the recursion on untrusted text

// Limits of the errors over programs that a prediction did not see; beyond them no time is stated.
constexpr double kMinSpearman = 0.95;
constexpr double kMaxMedianError = 0.20;
constexpr double kMaxPercentile90 = 0.60;

constexpr std::array<std::string_view, kResources> kResourceNames = {
    "issue",   "special functions", "memory",          "shared memory",
    "texture", "atomics",           "synchronisation", "raster"};

std::string id_of(size_t cost) {
  return std::string(catalogue::counter(spirv::counter_of(static_cast<CostClass>(cost))).id);
}

// The numbers that are no class, by their names in the file.
struct NamedNumber {
  const char* name;
  const char* unit;
  DeviceNumber DeviceModel::*number;
};
constexpr NamedNumber kNamed[] = {
    {"invocation", "ps", &DeviceModel::invocation},
    {"workgroup", "ps", &DeviceModel::workgroup},
    {"spread_sector", "ps", &DeviceModel::spread_sector},
    {"extra_pass", "ps", &DeviceModel::extra_pass},
    {"vertex", "ps", &DeviceModel::vertex},
    {"fragment", "ps", &DeviceModel::fragment},
    {"attachment_pixel", "ps", &DeviceModel::attachment_pixel},
    {"dispatch", "ps", &DeviceModel::dispatch},
    {"draw", "ps", &DeviceModel::draw},
    {"pass", "ps", &DeviceModel::pass},
    {"graphics_arithmetic", "times", &DeviceModel::graphics_arithmetic},
    {"graphics_memory", "times", &DeviceModel::graphics_memory},
    {"graphics_texture", "times", &DeviceModel::graphics_texture},
    {"needed_invocations", "invocations", &DeviceModel::needed_invocations},
    {"needed_invocations_memory", "invocations", &DeviceModel::needed_invocations_memory},
    {"overlap", "exponent", &DeviceModel::overlap},
};

double scale_of(std::string_view unit) { return unit == "ps" ? kPicosecond : 1; }

constexpr std::string_view kCycles = "cycles";

// The names of members that hold times of works and kernels.
struct TimeNames {
  explicit TimeNames(bool in_cycles)
      : measured(in_cycles ? "measured_cycles" : "measured_s"),
        modelled(in_cycles ? "modelled_cycles" : "modelled_s") {}
  const char* measured;
  const char* modelled;
};

NumberJson number_json(const DeviceNumber& number, std::string_view unit) {
  return {{"value", number.value / scale_of(unit)},
          {"unit", unit},
          {"kernel", number.kernel},
          {"residual", number.residual}};
}

// A finite, non-negative number; anything else ends the reading.
double number_in(const NumberJson& json, const char* key) {
  const double value = json.at(key).get<double>();
  if (!std::isfinite(value) || value < 0)
    throw std::runtime_error(fmt::format("\"{}\" is not a number from 0", key));
  return value;
}

DeviceNumber number_from(const NumberJson& json) {
  const auto unit = json.at("unit").get<std::string>();
  return {number_in(json, "value") * scale_of(unit), json.at("kernel").get<std::string>(),
          json.at("residual").get<double>()};
}

NumberJson errors_json(const ProgramErrors& errors) {
  NumberJson json = {{"programs", errors.programs},
                     {"works", errors.works},
                     {"shift", errors.shift},
                     {"spearman", errors.spearman},
                     {"median_error", errors.median_error},
                     {"percentile_90", errors.percentile_90},
                     {"min_modelled", errors.min_modelled},
                     {"max_modelled", errors.max_modelled},
                     {"bounds", errors.bounds}};
  if (errors.low) json["interval_80"] = {*errors.low, *errors.high};
  if (errors.coverage) json["coverage"] = *errors.coverage;
  return json;
}

ProgramErrors errors_from(const NumberJson& json) {
  ProgramErrors errors{.programs = json.at("programs").get<size_t>(),
                       .works = json.at("works").get<size_t>(),
                       .shift = json.at("shift").get<double>(),
                       .spearman = json.at("spearman").get<double>(),
                       .median_error = json.at("median_error").get<double>(),
                       .percentile_90 = json.at("percentile_90").get<double>(),
                       .min_modelled = number_in(json, "min_modelled"),
                       .max_modelled = number_in(json, "max_modelled"),
                       .bounds = json.at("bounds").get<std::vector<std::string>>()};
  if (json.contains("interval_80")) {
    errors.low = json["interval_80"].at(0).get<double>();
    errors.high = json["interval_80"].at(1).get<double>();
  }
  for (const double logarithm : {errors.shift, errors.low.value_or(0), errors.high.value_or(0)}) {
    if (!(std::abs(logarithm) < kMaxLogError))
      throw std::runtime_error("an error of programs is not the logarithm of a ratio");
  }
  if (json.contains("coverage")) errors.coverage = json["coverage"].get<double>();
  return errors;
}

void read_numbers(const NumberJson& numbers, DeviceModel& device) {
  for (size_t c = 0; c < spirv::kCostClassCount; ++c)
    device.classes[c] = number_from(numbers.at(id_of(c)));
  for (const NamedNumber& named : kNamed)
    device.*named.number = number_from(numbers.at(named.name));
  if (device.overlap.value < 1) throw std::runtime_error("\"overlap\" is below 1");
}

void read_programs(const NumberJson& programs, DeviceModel& device) {
  for (size_t k = 0; k < kWorkKinds; ++k) {
    const std::string name(name_of(static_cast<WorkKind>(k)));
    if (programs.contains(name)) device.errors[k] = errors_from(programs[name]);
  }
  if (programs.contains("ratio")) device.ratio_errors = errors_from(programs["ratio"]);
  for (const NumberJson& work : programs.at("works")) {
    const TimeNames names(device.in_cycles);
    device.program_works.push_back(
        {work.at("program").get<std::string>(), work.at("version").get<std::string>(),
         work.at("name").get<std::string>(),
         work.at("kind") == "pass" ? WorkKind::Pass : WorkKind::Dispatch,
         number_in(work, names.measured), number_in(work, names.modelled),
         number_in(work, "instructions"), number_in(work, "bytes"),
         work.at("bound").get<std::string>()});
    if (!work.contains("counts")) continue;
    const NumberJson& counts = work["counts"];
    for (size_t c = 0; c < spirv::kCostClassCount; ++c) {
      const std::string id = id_of(c);
      if (counts.contains(id))
        device.program_works.back().counts[c] = number_in(counts, id.c_str());
    }
  }
}

DeviceModel device_from(const NumberJson& json) {
  DeviceModel device{.name = json.at("device").get<std::string>(),
                     .driver = json.at("driver").get<std::string>(),
                     .date = json.at("date").get<std::string>(),
                     .is_cpu = json.at("is_cpu").get<bool>(),
                     .in_cycles = json.value("unit", "") == kCycles,
                     .subgroup_size = json.at("subgroup_size").get<uint32_t>(),
                     .clock_spread = number_in(json, "clock_spread")};
  read_numbers(json.at("numbers"), device);
  const TimeNames names(device.in_cycles);
  for (const NumberJson& kernel : json.at("kernels")) {
    device.kernels.push_back({kernel.at("name").get<std::string>(),
                              number_in(kernel, names.measured), number_in(kernel, names.modelled),
                              number_in(kernel, "clock")});
  }
  for (const auto& [name, value] : json.at("not_used").items())
    device.informative.emplace_back(name, value.get<double>());
  if (json.contains("programs")) read_programs(json["programs"], device);
  return device;
}

NumberJson programs_json(const DeviceModel& device) {
  NumberJson json = NumberJson::object();
  for (size_t k = 0; k < kWorkKinds; ++k) {
    if (device.errors[k])
      json[std::string(name_of(static_cast<WorkKind>(k)))] = errors_json(*device.errors[k]);
  }
  if (device.ratio_errors) json["ratio"] = errors_json(*device.ratio_errors);
  const TimeNames names(device.in_cycles);
  json["works"] = NumberJson::array();
  for (const DeviceModel::ProgramWork& work : device.program_works) {
    json["works"].push_back({{"program", work.program},
                             {"version", work.version},
                             {"name", work.name},
                             {"kind", name_of(work.kind)},
                             {names.measured, work.measured},
                             {names.modelled, work.modelled},
                             {"instructions", work.instructions},
                             {"bytes", work.bytes},
                             {"bound", work.bound}});
    NumberJson counts = NumberJson::object();
    for (size_t c = 0; c < spirv::kCostClassCount; ++c) {
      if (work.counts[c] > 0) counts[id_of(c)] = work.counts[c];
    }
    if (!counts.empty()) json["works"].back()["counts"] = std::move(counts);
  }
  return json;
}

}  // namespace

std::string_view name_of(Resource resource) {
  return kResourceNames[static_cast<size_t>(resource)];
}

std::string_view name_of(WorkKind kind) { return kind == WorkKind::Pass ? "pass" : "dispatch"; }

Resource resource_of(CostClass cost) {
  switch (cost) {
    case CostClass::SpecialFunction:
      return Resource::Special;
    case CostClass::BufferLoad:
    case CostClass::BufferBytesLoaded:
    case CostClass::BufferStore:
    case CostClass::BufferBytesStored:
    case CostClass::UniformLoad:
    case CostClass::UniformBytesLoaded:
    case CostClass::VaryingLoad:
    case CostClass::VaryingStore:
    case CostClass::Emit:
      return Resource::Memory;
    case CostClass::SharedLoad:
    case CostClass::SharedBytesLoaded:
    case CostClass::SharedStore:
    case CostClass::SharedBytesStored:
      return Resource::Shared;
    case CostClass::TextureSample:
    case CostClass::TextureGather:
    case CostClass::TextureFetch:
    case CostClass::ImageLoad:
    case CostClass::ImageStore:
    case CostClass::ResourceQuery:
      return Resource::Texture;
    case CostClass::Atomic:
      return Resource::Atomics;
    case CostClass::Barrier:
    case CostClass::Subgroup:
      return Resource::Synchronisation;
    default:
      return Resource::Issue;
  }
}

double Work::bytes() const {
  const Work& self = *this;
  return self[CostClass::BufferBytesLoaded] + self[CostClass::BufferBytesStored] +
         self[CostClass::UniformBytesLoaded] + self[CostClass::SharedBytesLoaded] +
         self[CostClass::SharedBytesStored];
}

std::string ProgramErrors::why_no_time() const {
  if (!low) return fmt::format("too few programs were measured for an interval: {}", programs);
  if (spearman < kMinSpearman)
    return fmt::format("the rank correlation over {} programs is {:.2f}, below {:.2f}", programs,
                       spearman, kMinSpearman);
  if (median_error > kMaxMedianError)
    return fmt::format("the median error over {} programs is {:.0f} %, above {:.0f} %", programs,
                       median_error * 100, kMaxMedianError * 100);
  if (percentile_90 > kMaxPercentile90)
    return fmt::format("a tenth of the errors over {} programs exceed {:.0f} %, above {:.0f} %",
                       programs, percentile_90 * 100, kMaxPercentile90 * 100);
  return {};
}

bool are_of_equal_counts(double modelled, double other) {
  constexpr double kRounding = 1e-9;
  return std::abs(modelled - other) <= kRounding * std::max(modelled, other);
}

double DeviceModel::seconds_of(CostClass cost, WorkKind kind) const {
  const bool is_register = kind == WorkKind::Dispatch && cost == CostClass::VaryingLoad;
  return is_register ? 0 : classes[static_cast<size_t>(cost)].value;
}

WorkTime DeviceModel::time_of(const Work& work) const {
  WorkTime time;
  const bool is_pass = work.kind == WorkKind::Pass;
  for (size_t c = 0; c < spirv::kCostClassCount; ++c)
    time.by_resource[static_cast<size_t>(resource_of(static_cast<CostClass>(c)))] +=
        work.counts[c] * seconds_of(static_cast<CostClass>(c), work.kind);
  const auto of = [&](Resource resource) -> double& {
    return time.by_resource[static_cast<size_t>(resource)];
  };
  of(Resource::Memory) += work.spread_sectors * spread_sector.value;
  of(Resource::Shared) += work.extra_passes * extra_pass.value;
  if (!is_pass)
    of(Resource::Issue) += work.invocations * invocation.value + work.workgroups * workgroup.value;
  const double invocations = std::max(work.invocations, 1.0);
  for (size_t r = 0; r < kResources; ++r) {
    const auto resource = static_cast<Resource>(r);
    const bool is_texture = resource == Resource::Texture;
    const bool is_memory =
        is_texture || resource == Resource::Memory || resource == Resource::Atomics;
    double slower = 1;
    if (is_pass)
      slower = (is_texture  ? graphics_texture
                : is_memory ? graphics_memory
                            : graphics_arithmetic)
                   .value;
    // Few invocations cannot fill the device: each waits for its own results.
    const double needed = (is_memory ? needed_invocations_memory : needed_invocations).value;
    time.slowdown[r] = std::max(slower, needed / invocations);
    time.by_resource[r] *= time.slowdown[r];
  }
  if (is_pass)
    of(Resource::Raster) = work.vertices * vertex.value + work.fragments * fragment.value +
                           work.attachment_pixels * attachment_pixel.value;
  const double longest = *std::ranges::max_element(time.by_resource);
  double sum = 0;
  for (const double part : time.by_resource)
    sum += longest > 0 ? std::pow(part / longest, overlap.value) : 0;
  const double shaders = longest > 0 ? longest * std::pow(sum, 1 / overlap.value) : 0;
  time.fixed = is_pass ? pass.value + work.commands * draw.value : work.commands * dispatch.value;
  time.seconds = shaders + time.fixed;
  const auto largest =
      static_cast<size_t>(std::ranges::max_element(time.by_resource) - time.by_resource.begin());
  time.bound = time.fixed > shaders ? "fixed cost" : std::string(kResourceNames[largest]);
  return time;
}

std::string DeviceModel::to_json() const {
  NumberJson json = {{"format", kFormat},
                     {"version", kVersion},
                     {"device", name},
                     {"driver", driver},
                     {"date", date},
                     {"is_cpu", is_cpu},
                     {"subgroup_size", subgroup_size},
                     {"clock_spread", clock_spread}};
  if (in_cycles) json["unit"] = kCycles;
  const auto unit_of = [&](std::string_view unit) {
    return in_cycles && unit == "ps" ? kCycles : unit;
  };
  NumberJson& numbers = json["numbers"];
  for (const NamedNumber& named : kNamed)
    numbers[named.name] = number_json(this->*named.number, unit_of(named.unit));
  for (size_t c = 0; c < spirv::kCostClassCount; ++c)
    numbers[id_of(c)] = number_json(classes[c], unit_of("ps"));
  const TimeNames names(in_cycles);
  json["not_used"] = NumberJson::object();
  for (const auto& [key, value] : informative) json["not_used"][key] = value;
  json["kernels"] = NumberJson::array();
  for (const Kernel& kernel : kernels) {
    json["kernels"].push_back({{"name", kernel.name},
                               {names.measured, kernel.seconds},
                               {names.modelled, kernel.modelled},
                               {"clock", kernel.clock}});
  }
  if (!program_works.empty()) json["programs"] = programs_json(*this);
  return json.dump(1, ' ', false, NumberJson::error_handler_t::replace) + "\n";
}

bool DeviceModel::is_device_file(std::string_view text) {
  constexpr size_t kHead = 64;  // the format is the first member
  return text.substr(0, kHead).find(kFormat) != std::string_view::npos;
}

Result<DeviceModel> DeviceModel::parse(const std::string& file, std::string_view text) {
  bool too_deep = false;
  const NumberJson json = NumberJson::parse(
      text,
      [&](int depth, auto, auto&) {
        too_deep |= depth > kDeepest;
        return !too_deep;
      },
      false);
  if (json.is_discarded() || too_deep || !json.is_object() || !json.contains("format") ||
      json["format"] != kFormat)
    return Error{file + ": this is not a device file of tally calibrate"};
  if (!json.contains("version") || json["version"] != kVersion)
    return Error{
        fmt::format("{}: a device file of version {}; this tally reads version {}: "
                    "calibrate again",
                    file, json.contains("version") ? json["version"].dump() : "?", kVersion)};
  // The JSON library reports an unexpected structure by an exception, which ends here.
  try {
    return device_from(json);
  } catch (const std::exception& error) {
    return Error{fmt::format("{}: a damaged device file: {}", file, error.what())};
  }
}

Result<DeviceModel> DeviceModel::load(const std::string& file) {
  const auto text = TALLY_TRY(read_small_file(file, kMaxFile));
  return parse(file, text);
}

namespace {

constexpr std::string_view kGenericText =
#include "generic_device.inc"
    ;

constexpr double kMaxWeight = 1e6;

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
  auto device = TALLY_TRY(DeviceModel::parse(file, text));
  auto costs = DeviceCosts::of(std::make_shared<const DeviceModel>(std::move(device)));
  return costs ? std::move(costs) : with_context(costs.error(), file);
}

}  // namespace

std::shared_ptr<const DeviceCosts> DeviceCosts::generic() {
  static const auto costs =
      std::make_shared<const DeviceCosts>(parse("generic.json", kGenericText, nullptr).value());
  return costs;
}

Result<std::shared_ptr<const DeviceCosts>> DeviceCosts::load(const std::string& file) {
  const auto text = TALLY_TRY(read_small_file(file, DeviceModel::kMaxFile));
  auto costs = TALLY_TRY(costs_in(file, text));
  return std::make_shared<const DeviceCosts>(std::move(costs));
}

Result<DeviceCosts> DeviceCosts::parse(const std::string& file, std::string_view text,
                                       const DeviceCosts* base) {
  using Json = nlohmann::ordered_json;
  Json json;
  bool too_deep = false;
  try {
    json = Json::parse(text, [&](int depth, auto, auto&) {
      too_deep |= depth > kDeepest;
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
