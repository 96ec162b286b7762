// A public model name -> architecture, by evidence: the shipped index, then whole-word hits in the
// tree's own texts. What a file is called is never evidence.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "analyze/session.h"
#include "base/files.h"
#include "base/text.h"

namespace tenon::analyze {
namespace fs = std::filesystem;
namespace {

std::string WithoutOwner(const std::string& name) { return name.substr(name.rfind('/') + 1); }

std::string Letters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

// Whether text[at, at + size) is a whole name token: GLM-4.7 is not in GLM-4.7-Flash.
bool WholeWord(std::string_view text, size_t at, size_t size) {
  if (at > 0 && IsWord(text[at - 1])) return false;
  const size_t end = at + size;
  if (end >= text.size()) return true;
  if (IsWord(text[end])) return false;
  // A full stop ends a sentence, unless a version goes on behind it.
  return text[end] != '.' || end + 1 >= text.size() ||
         !std::isalnum(static_cast<unsigned char>(text[end + 1]));
}

struct Hit {
  int weight = 0;
  Evidence evidence;
};

std::vector<fs::path> ModelFiles(const SourceTree& tree) {
  std::vector<fs::path> files;
  for (const char* folder : {"vllm/model_executor/models", "vllm/models"}) {
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(tree.root() / folder, options, error), end;
         !error && it != end; it.increment(error)) {
      if (it->path().extension() == ".py") files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string LineAt(const std::string& text, size_t at) {
  const size_t start = text.rfind('\n', at) + 1;
  const size_t end = std::min(text.find('\n', at), text.size());
  return std::string(Strip(std::string_view(text).substr(start, end - start)));
}

// Hits of the name in one file: 5 for a string literal or comment that names an owner, 3 for the
// docstring or comment of a class, 1 elsewhere.
std::vector<Hit> HitsIn(const std::string& shown, const std::string& text,
                        const std::string& name) {
  std::vector<Hit> hits;
  const std::string lower = Lower(text);
  for (size_t at = lower.find(name); at != std::string::npos; at = lower.find(name, at + 1)) {
    if (!WholeWord(lower, at, name.size())) continue;
    const bool owner = at > 1 && lower[at - 1] == '/';
    const std::string line = LineAt(text, at);
    const bool prose = line.starts_with("#") || line.starts_with("\"\"\"");
    Hit hit;
    hit.weight = owner ? 5 : prose ? 3 : 1;
    hit.evidence = {shown,
                    1 + static_cast<int>(std::count(
                            text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')),
                    line};
    hits.push_back(std::move(hit));
  }
  return hits;
}

bool IsDraft(const std::string& architecture) {
  const std::string lower = Lower(architecture);
  return lower.find("mtp") != std::string::npos || lower.find("eagle") != std::string::npos;
}

// The registered module whose file name is nearest, if its architecture is another one: listed as
// rejected, because a reader would look there first.
void RejectNearestFile(Session& s, const std::string& name, const std::string& winner) {
  const std::string wanted = Letters(WithoutOwner(name));
  const RegistryEntry* won = s.registry->Find(winner);
  const RegistryEntry* nearest = nullptr;
  size_t longest = 2;
  for (const RegistryEntry& entry : s.registry->entries()) {
    const std::string stem = entry.module.substr(entry.module.rfind('.') + 1);
    const std::string letters = Letters(stem);
    if (letters.size() <= longest || !wanted.starts_with(letters)) continue;
    nearest = &entry;
    longest = letters.size();
  }
  if (nearest == nullptr || won == nullptr || nearest->module == won->module) return;
  const auto file = [](const RegistryEntry& entry) {
    return entry.module.substr(entry.module.rfind('.') + 1) + ".py";
  };
  s.result.input.rejected.push_back(
      {nearest->architecture,
       fmt::format("only its file name {} resembles '{}'", file(*nearest), name)});
  s.result.diagnostics.push_back(
      {"note", "",
       fmt::format("{} is {} in {}; {} holds {}", WithoutOwner(name), winner, file(*won),
                   file(*nearest), nearest->architecture),
       std::nullopt, std::nullopt});
}

std::string FromTexts(Session& s, const std::string& name) {
  const std::string wanted = Lower(WithoutOwner(name));
  std::map<std::string, std::vector<Hit>> by_architecture;
  for (const fs::path& path : ModelFiles(s.tree)) {
    const std::string text = ReadFile(path);
    const std::string dotted = s.tree.DottedName(path).value_or("");
    const std::string shown = fs::relative(path, s.tree.root()).generic_string();
    for (const Hit& hit : HitsIn(shown, text, wanted)) {
      for (const RegistryEntry& entry : s.registry->entries()) {
        if (entry.module != dotted || IsDraft(entry.architecture)) continue;
        by_architecture[entry.architecture].push_back(hit);
      }
    }
  }
  std::vector<std::pair<int, std::string>> ranking;
  for (const auto& [architecture, hits] : by_architecture) {
    int score = 0;
    for (const Hit& hit : hits) score += hit.weight;
    ranking.emplace_back(-score, architecture);
  }
  std::sort(ranking.begin(), ranking.end());
  if (ranking.empty()) return "";
  if (ranking.size() > 1 && ranking[0].first > 2 * ranking[1].first) {
    std::string sentence = fmt::format("model name '{}' is ambiguous", name);
    for (const auto& [score, architecture] : ranking) {
      const Evidence& first = by_architecture[architecture][0].evidence;
      sentence +=
          fmt::format("\n  {} ({}:{}: {})", architecture, first.file, first.line, first.text);
    }
    throw ResolutionError("E3", sentence);
  }
  for (const Hit& hit : by_architecture[ranking[0].second]) {
    s.result.input.evidence.push_back(hit.evidence);
  }
  return ranking[0].second;
}

}  // namespace

std::string ArchitectureOfName(Session& s, const std::string& name) {
  std::string architecture;
  if (const IndexedModel* model = FindIndexedModel(name)) {
    architecture = model->architecture;
    s.result.input.evidence.push_back(
        {kModelIndexFile, model->line,
         fmt::format("{} is {} ({})", model->names[0], architecture, model->source)});
  } else {
    architecture = FromTexts(s, name);
  }
  if (architecture.empty()) s.registry->Require(name);  // E1, with near misses
  RejectNearestFile(s, name, architecture);
  return architecture;
}

}  // namespace tenon::analyze
