#include "fuse/artefact.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "fuse/fuse.h"
#include "ir/printer.h"

namespace tenon::fuse {
namespace {

using Json = nlohmann::ordered_json;

std::string_view StatusWord(FuseStatus status) {
  constexpr std::string_view kWords[] = {"fused", "no_gain", "check_failed"};
  return kWords[static_cast<int>(status)];
}

Json CheckJson(const CheckResult& check) {
  Json cases = Json::array();
  for (const CheckCase& c : check.cases) {
    Json sizes = Json::object();
    for (const auto& [name, value] : c.sizes) sizes[name] = value;
    cases.push_back({{"output", c.output},
                     {"inputs", InputKindName(c.inputs)},
                     {"sizes", sizes},
                     {"worst_share_of_tolerance", c.worst},
                     {"beyond_tolerance", c.beyond},
                     {"bits_differ_from_chain", c.bits_differ},
                     {"passed", c.passed()}});
  }
  return {{"passed", check.passed()}, {"sentence", check.Sentence()}, {"cases", cases}};
}

Json TimingJson(const std::vector<Timing>& timings) {
  Json rows = Json::array();
  for (const Timing& t : timings) {
    rows.push_back({{"tokens", t.tokens},
                    {"fused_us", t.fused_us},
                    {"unfused_us", t.chain_us},
                    {"speedup", t.speedup()},
                    {"repeats", t.repeats},
                    {"kind", "measured here, medians of interleaved repeats"}});
  }
  return rows;
}

}  // namespace

void CheckWritable(const std::filesystem::path& output) {
  const std::filesystem::path probe = output / ".tenon-probe";
  try {
    WriteFile(probe, "");
  } catch (const UsageError& e) {
    throw UsageError(
        fmt::format("fuse: the output folder {} cannot be written: {}", output.string(), e.what()));
  }
  std::filesystem::remove(probe);
}

std::filesystem::path WriteArtefact(const ArtefactParts& parts,
                                    const std::filesystem::path& output) {
  const Kernel& fused = *parts.fused;
  const std::string name = parts.flat->name();
  const std::filesystem::path folder =
      output / fmt::format("{}-{}", name, HashHex(fused.source).substr(0, 12));
  WriteFolder(folder, [&](const std::filesystem::path& fresh) {
    WriteFile(fresh / (name + ".cc"), fused.source);
    WriteFile(fresh / "kernel.so", ReadFile(fused.library->path()));
    WriteFile(fresh / "plan.txt", parts.result->plan);
    WriteFile(fresh / "graph.ir", ir::PrintGraph(*parts.body));
    WriteFile(fresh / "check.json", CheckJson(parts.result->check).dump(2) + "\n");
    WriteFile(fresh / "timing.json", TimingJson(parts.result->timings).dump(2) + "\n");
    WriteFile(fresh / "interface.py", InterfacePy(parts));
  });
  return folder;
}

std::string ResultJson(const FuseResult& result) {
  const Json json = {
      {"name", result.name},
      {"status", StatusWord(result.status)},
      {"sentence", result.sentence},
      {"chain", result.chain},
      {"artefact", result.artefact.empty() ? Json(nullptr) : Json(result.artefact.string())},
      {"check", CheckJson(result.check)},
      {"timings", TimingJson(result.timings)}};
  return json.dump(2) + "\n";
}

}  // namespace tenon::fuse
