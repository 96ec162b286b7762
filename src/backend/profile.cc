#include "backend/profile.h"

#include <nlohmann/json.hpp>

#include "backend/profile_texts.h"
#include "base/dtype.h"
#include "base/env.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace tenon::backend {
namespace {

using Json = nlohmann::ordered_json;

struct Field {
  const char* name;
  Figure DeviceProfile::*figure;
};

constexpr Field kFields[] = {
    {"copy_gb_per_s", &DeviceProfile::copy_gb_per_s},
    {"launch_us", &DeviceProfile::launch_us},
    {"captured_launch_us", &DeviceProfile::captured_launch_us},
    {"cores", &DeviceProfile::cores},
    {"core_memory_bytes", &DeviceProfile::core_memory_bytes},
    {"cache_bytes", &DeviceProfile::cache_bytes},
    {"vector_gflops", &DeviceProfile::vector_gflops},
};

struct OptionalField {
  const char* name;
  std::optional<Figure> DeviceProfile::*figure;
};

constexpr OptionalField kOptionalFields[] = {
    {"link_gb_per_s", &DeviceProfile::link_gb_per_s},
    {"collective_us", &DeviceProfile::collective_us},
};

Json ToJson(const Figure& figure) {
  Json json;
  json["value"] = figure.value;
  json["basis"] = figure.basis == Basis::kMeasured ? "measured" : "published";
  json["source"] = figure.source;
  return json;
}

// Reads with sentences that name file and field.
class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  const Json& Member(const Json& json, const std::string& name) const {
    TENON_CHECK(json.is_object() && json.contains(name), "{}: the device profile lacks \"{}\"",
                origin_, name);
    return json.at(name);
  }

  std::string Text(const Json& json, const std::string& name) const {
    const Json& value = Member(json, name);
    TENON_CHECK(value.is_string(), "{}: \"{}\" must be a string", origin_, name);
    return value.get<std::string>();
  }

  Figure ReadFigure(const Json& json, const std::string& name) const {
    const Json& object = Member(json, name);
    const Json& value = Member(object, "value");
    TENON_CHECK(value.is_number() && value.get<double>() > 0,
                "{}: the value of \"{}\" must be a positive number", origin_, name);
    const std::string basis = Text(object, "basis");
    TENON_CHECK(basis == "measured" || basis == "published",
                "{}: the basis of \"{}\" must be measured or published, got {}", origin_, name,
                basis);
    return {value.get<double>(), basis == "measured" ? Basis::kMeasured : Basis::kPublished,
            Text(object, "source")};
  }

 private:
  std::string origin_;
};

std::filesystem::path CpuProfilePath() {
  return std::filesystem::path(CacheDir()) / "profile-cpu.json";
}

}  // namespace

std::string ProfileText(const DeviceProfile& profile) {
  Json json;
  json["name"] = profile.name;
  json["kind"] = profile.kind;
  for (const Field& field : kFields) json[field.name] = ToJson(profile.*field.figure);
  for (const OptionalField& field : kOptionalFields) {
    if (profile.*field.figure) json[field.name] = ToJson(*(profile.*field.figure));
  }
  json["matrix_gflops"] = Json::object();
  for (const auto& [dtype, figure] : profile.matrix_gflops) {
    json["matrix_gflops"][std::string(DTypeName(dtype))] = ToJson(figure);
  }
  return json.dump(2) + "\n";
}

DeviceProfile ParseProfile(std::string_view text, std::string_view origin) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  TENON_CHECK(!json.is_discarded(), "{}: the device profile is not JSON", origin);
  const Reader reader(origin);
  DeviceProfile profile;
  profile.name = reader.Text(json, "name");
  profile.kind = reader.Text(json, "kind");
  for (const Field& field : kFields) profile.*field.figure = reader.ReadFigure(json, field.name);
  for (const OptionalField& field : kOptionalFields) {
    if (json.contains(field.name)) profile.*field.figure = reader.ReadFigure(json, field.name);
  }
  const Json& rates = reader.Member(json, "matrix_gflops");
  for (const auto& [name, figure] : rates.items()) {
    const std::optional<DType> dtype = ParseDType(name);
    TENON_CHECK(dtype, "{}: \"matrix_gflops\" has the unknown element type {}", origin, name);
    profile.matrix_gflops[*dtype] = reader.ReadFigure(rates, name);
  }
  return profile;
}

DeviceProfile LoadProfile(const std::filesystem::path& path) {
  return ParseProfile(ReadFile(path), path.string());
}

void SaveProfile(const DeviceProfile& profile, const std::filesystem::path& path) {
  WriteFile(path, ProfileText(profile));
}

std::vector<std::string> BuiltinProfileNames() {
  std::vector<std::string> names;
  for (const ProfileFile& file : kProfileFiles) names.emplace_back(file.name);
  return names;
}

DeviceProfile FindProfile(const std::string& name) {
  if (name.ends_with(".json")) return LoadProfile(name);
  for (const ProfileFile& file : kProfileFiles) {
    if (file.name == name) return ParseProfile(file.text, name + ".json");
  }
  std::vector<std::string> names = BuiltinProfileNames();
  names.emplace_back("cpu");
  if (name != "cpu") {
    const std::vector<std::string> near = NearestNames(name, names);
    throw UsageError(fmt::format(
        "unknown device '{}': known are {} and profiles of your own (a path that ends in .json){}",
        name, Join(names, ", "), near.empty() ? "" : fmt::format("; did you mean {}?", near[0])));
  }
  if (std::filesystem::exists(CpuProfilePath())) return LoadProfile(CpuProfilePath());
  const DeviceProfile measured = MeasureCpuProfile();
  SaveProfile(measured, CpuProfilePath());
  return measured;
}

}  // namespace tenon::backend
