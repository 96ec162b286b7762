// The stages of an analysis, in order.
#include "analyze/analyze.h"

#include <fmt/format.h>

#include <chrono>

#include "analyze/dump.h"
#include "analyze/session.h"

namespace tenon::analyze {
namespace {

constexpr std::string_view kStages[] = {"index", "registry", "config", "overlay",
                                        "build", "trace",    "canon"};

// Runs one stage and notes its time.
template <typename Fn>
void Stage(Session& s, std::string_view name, Fn&& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  s.result.stats.ms.emplace_back(name, spent.count());
}

void FillEnvironment(Session& s) {
  Environment& environment = s.result.environment;
  environment.vllm_version = s.tree.Version();
  environment.platform = s.platform.name;
  environment.tp = s.platform.tp;
  environment.dtype = s.platform.dtype;
  if (!s.options.quant.empty()) environment.quant = s.options.quant;
  environment.tokens = s.platform.tokens;
  s.result.source_root = s.tree.root().string();
}

void Finish(Session& s) {
  Analysis& result = s.result;
  Interpreter& in = *s.in;
  for (SourceFile* file : s.tree.loaded()) {
    for (const SyntaxProblem& problem : file->problems()) {
      in.diagnostics.push_back(
          {"warning", "E9",
           fmt::format("{}:{}:{}: syntax error; the file's other definitions are used",
                       file->shown(), problem.line, problem.column),
           file->shown(), problem.line});
    }
  }
  for (Diagnostic& diagnostic : in.diagnostics) result.diagnostics.push_back(diagnostic);
  result.assumptions = in.assumptions;
  result.stats.assumptions = static_cast<int>(in.assumptions.size());
  result.stats.files_parsed = s.tree.files_parsed();
  const auto count = [&](const std::vector<Op>& ops) {
    for (const Op& op : ops) result.stats.opaque += op.op == "opaque" ? 1 : 0;
  };
  for (const Variant& variant : result.variants) count(variant.ops);
  count(result.outside_layers);
}

std::string Raised(const PythonError& error) {
  return fmt::format("{}:{}: raises {}: {}", error.file, error.line, error.Name(), error.Message());
}

// Reading the module of the target may raise, as on a platform that its family does not support.
void Resolve(Session& s) {
  try {
    FindTarget(s);
  } catch (const PythonError& error) {
    throw ResolutionError("E10", Raised(error));
  } catch (const LimitReached& limit) {
    throw ResolutionError("E11", "the search for the main class stopped at " + limit.what);
  }
}

void Run(Session& s) {
  Stage(s, "index", [&] {
    s.tree = SourceTree::FindVllm(s.options.vllm_path, s.cache);
    s.tree.FindTransformers(s.options.transformers_path);
  });
  Stage(s, "registry", [&] {
    s.platform = MakePlatform(s.options);
    s.in = std::make_unique<Interpreter>(s.tree, s.platform);
    s.registry = std::make_unique<Registry>(*s.in);
  });
  FillEnvironment(s);
  Stage(s, "config", [&] { Resolve(s); });
  Stage(s, "overlay", [&] { ApplyOverlays(s); });
  const auto limited = [&](auto&& run) {
    try {
      run();
    } catch (const PythonError& error) {
      s.in->diagnostics.push_back({"error", "E10", Raised(error), error.file, error.line});
    } catch (const LimitReached& limit) {
      s.in->diagnostics.push_back(
          {"warning", "E11", "the analysis stopped at " + limit.what + "; the result is incomplete",
           std::nullopt, std::nullopt});
    }
  };
  // What the Transformers backend runs is not in this tree.
  const bool native = s.result.model.backend == "native";
  Stage(s, "build", [&] { limited([&] { native ? BuildModel(s) : void(); }); });
  Stage(s, "trace", [&] { limited([&] { native ? TraceModel(s) : void(); }); });
  Stage(s, "canon", [&] { limited([&] { Canonicalise(s); }); });
  Finish(s);
}

}  // namespace

constexpr int kDefaultRanks = 2;

std::shared_ptr<SourceCache> MakeSourceCache() { return std::make_shared<SourceCache>(); }

Analysis Analyze(const AnalyzeOptions& options, std::shared_ptr<SourceCache> cache) {
  if (cache == nullptr) cache = MakeSourceCache();
  const auto on_ranks = [&](int ranks) {
    AnalyzeOptions chosen = options;
    chosen.tp = ranks;
    Session session(chosen, cache);
    Run(session);
    return std::move(session.result);
  };
  if (options.tp != 0) return on_ranks(options.tp);
  Analysis shared = on_ranks(kDefaultRanks);
  if (!shared.HasErrors()) return shared;
  Analysis alone = on_ranks(1);
  if (alone.HasErrors()) return shared;
  for (const Diagnostic& diagnostic : shared.diagnostics) {
    if (diagnostic.severity != "error") continue;
    alone.diagnostics.push_back(
        {"note", diagnostic.code,
         fmt::format("analysed for one rank; for {}: {}", kDefaultRanks, diagnostic.message),
         diagnostic.file, diagnostic.line});
  }
  return alone;
}

std::vector<ListedArchitecture> ListArchitectures(const AnalyzeOptions& options) {
  Session s(options);
  s.tree = SourceTree::FindVllm(options.vllm_path, nullptr);
  s.platform = MakePlatform(options);
  s.in = std::make_unique<Interpreter>(s.tree, s.platform);
  s.registry = std::make_unique<Registry>(*s.in);
  std::vector<ListedArchitecture> list;
  for (const RegistryEntry& entry : s.registry->entries()) {
    list.push_back({entry.architecture, entry.table, entry.module, entry.cls});
  }
  return list;
}

std::vector<std::string> StageNames() { return {std::begin(kStages), std::end(kStages)}; }

std::string Dump(const AnalyzeOptions& options, std::string_view stage) {
  TENON_CHECK(std::find(std::begin(kStages), std::end(kStages), stage) != std::end(kStages),
              "analyze: --dump must be one of {}, got '{}'", fmt::join(kStages, ", "), stage);
  AnalyzeOptions chosen = options;
  if (chosen.tp == 0) chosen.tp = kDefaultRanks;
  Session session(chosen);
  Run(session);
  return DumpStage(session, stage);
}

}  // namespace tenon::analyze
