#include "analyze/source_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/analyze.h"
#include "base/env.h"
#include "base/files.h"

namespace tenon::analyze {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRegistry = "model_executor/models/registry.py";

constexpr std::string_view kTransformersModels = "transformers/models/";

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The folder that holds vllm/ when `path` is it, or is the package itself.
std::optional<fs::path> PackageParent(const fs::path& path) {
  if (IsFile(path / "vllm" / kRegistry)) return path;
  if (IsFile(path / kRegistry)) return path.parent_path();
  return std::nullopt;
}

std::vector<fs::path> SitePackages() {
  std::vector<fs::path> places;
  for (const char* prefix : {"/usr/local/lib", "/usr/lib"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(prefix, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("python3")) continue;
      places.push_back(entry.path() / "site-packages");
      places.push_back(entry.path() / "dist-packages");
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace

SourceTree SourceTree::FindVllm(const std::string& given, std::shared_ptr<SourceCache> cache) {
  std::vector<std::string> tried;
  const auto attempt = [&](const fs::path& path) -> std::optional<fs::path> {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error).lexically_normal();
    fs::path clean = absolute.filename().empty() ? absolute.parent_path() : absolute;
    tried.push_back(clean.string());
    return PackageParent(clean);
  };
  std::optional<fs::path> root;
  if (!given.empty()) {
    root = attempt(given);
    if (!root) {
      throw ResolutionError(
          "E5", fmt::format("{} holds no vllm/{} and is no vllm package; give --vllm the root of a "
                            "checkout, a site-packages directory, or the package itself",
                            tried.back(), kRegistry));
    }
  }
  const std::string variable = EnvValue("TENON_VLLM_PATH");
  if (!root && !variable.empty()) root = attempt(variable);
  std::error_code error;
  for (fs::path at = fs::current_path(error); !root && !at.empty(); at = at.parent_path()) {
    root = attempt(at);
    if (at == at.root_path()) break;
  }
  for (const fs::path& place : SitePackages()) {
    if (!root) root = attempt(place);
  }
  if (!root) {
    std::string places;
    for (const std::string& place : tried) places += "\n  " + place;
    throw ResolutionError("E5",
                          "vLLM's sources were not found. Give --vllm PATH or set "
                          "TENON_VLLM_PATH. Places tried:" +
                              places);
  }
  SourceTree tree;
  tree.root_ = *root;
  if (cache != nullptr) tree.cache_ = std::move(cache);
  return tree;
}

void SourceTree::FindTransformers(const std::string& given) {
  const auto attempt = [&](const fs::path& path) {
    if (IsFile(path / "transformers" / "configuration_utils.py")) transformers_root_ = path;
    return !transformers_root_.empty();
  };
  if (!given.empty()) {
    std::error_code error;
    const fs::path path = fs::absolute(given, error).lexically_normal();
    const fs::path clean = path.filename().empty() ? path.parent_path() : path;
    TENON_CHECK(
        attempt(clean) || attempt(clean / "src") ||
            (clean.filename() == "transformers" && attempt(clean.parent_path())),
        "{} holds no transformers/configuration_utils.py; give --transformers the root of a "
        "checkout, a site-packages directory, or the package itself",
        clean.string());
    return;
  }
  if (attempt(root_)) return;
  for (const fs::path& place : SitePackages()) {
    if (attempt(place)) return;
  }
}

std::string SourceTree::ConfigModule(const std::string& class_name) {
  if (transformers_root_.empty() || !class_name.ends_with("Config")) return "";
  if (cache_->config_modules.empty()) {
    std::error_code error;
    const fs::path models = transformers_root_ / kTransformersModels;
    for (const auto& family : fs::directory_iterator(models, error)) {
      if (!family.is_directory(error)) continue;
      for (const auto& file : fs::directory_iterator(family.path(), error)) {
        const std::string stem = file.path().stem().string();
        if (!stem.starts_with("configuration_") || file.path().extension() != ".py") continue;
        const std::string text = "\n" + ReadFile(file.path());
        constexpr std::string_view kClass = "\nclass ";
        for (size_t at = text.find(kClass); at != std::string::npos; at = text.find(kClass, at)) {
          at += kClass.size();
          cache_->config_modules[text.substr(at, text.find_first_of("(:", at) - at)] =
              fmt::format("transformers.models.{}.{}", family.path().filename().string(), stem);
        }
      }
    }
  }
  const auto known = cache_->config_modules.find(class_name);
  return known == cache_->config_modules.end() ? "" : known->second;
}

std::optional<std::string> SourceTree::Version() const {
  const fs::path path = root_ / "vllm" / "_version.py";
  if (IsFile(path)) {
    const std::string text = ReadFile(path);
    for (const char* name : {"\n__version__ = version = '", "\nversion = '", "__version__ = '",
                             "__version__ = \"", "version = \""}) {
      const size_t at = text.find(name);
      if (at == std::string::npos) continue;
      const size_t start = at + std::string_view(name).size();
      const size_t end = text.find_first_of("'\"", start);
      if (end != std::string::npos) return text.substr(start, end - start);
    }
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("vllm-") && name.ends_with(".dist-info")) {
      return name.substr(5, name.size() - 15);
    }
  }
  return std::nullopt;
}

std::optional<SourceTree::ModuleFile> SourceTree::Find(const std::string& dotted) {
  if (const auto known = modules_.find(dotted); known != modules_.end()) return known->second;
  std::optional<ModuleFile> found;
  if (!root_.empty() && !dotted.empty()) {
    std::string relative = dotted;
    std::replace(relative.begin(), relative.end(), '.', '/');
    // Only the package itself: other folders beside it (tests, tools) are not installed.
    if (relative == "vllm" || relative.starts_with("vllm/")) {
      if (IsFile(root_ / (relative + ".py"))) {
        found = ModuleFile{root_ / (relative + ".py"), false};
      } else if (IsFile(root_ / relative / "__init__.py")) {
        found = ModuleFile{root_ / relative / "__init__.py", true};
      }
    }
    // Of transformers only what defines configurations is read.
    const fs::path beside = transformers_root_ / (relative + ".py");
    if (!transformers_root_.empty() && relative.starts_with(kTransformersModels) &&
        beside.filename().string().starts_with("configuration_") && IsFile(beside)) {
      found = ModuleFile{beside, false};
    }
  }
  modules_[dotted] = found;
  return found;
}

void SourceTree::AddModule(const std::string& dotted, const fs::path& path) {
  modules_[dotted] = ModuleFile{path, path.filename() == "__init__.py"};
}

std::optional<std::string> SourceTree::DottedName(const fs::path& path) const {
  if (root_.empty()) return std::nullopt;
  std::error_code error;
  const fs::path relative = fs::relative(path, root_, error);
  const std::string text = relative.generic_string();
  if (error || !text.starts_with("vllm/") || !text.ends_with(".py")) return std::nullopt;
  std::string dotted = text.substr(0, text.size() - 3);
  if (dotted.ends_with("/__init__")) dotted.resize(dotted.size() - 9);
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  return dotted;
}

SourceFile* SourceTree::Load(const fs::path& path) {
  const std::string key = path.string();
  std::unique_ptr<SourceFile>& file = cache_->files[key];
  if (file != nullptr) {
    if (std::find(order_.begin(), order_.end(), file.get()) == order_.end()) {
      order_.push_back(file.get());
    }
    return file.get();
  }
  std::string shown = key;
  for (const fs::path& root : {root_, transformers_root_}) {
    if (root.empty() || !key.starts_with(root.string() + "/")) continue;
    shown = key.substr(root.string().size() + 1);
    break;
  }
  file = std::make_unique<SourceFile>(shown, ReadFile(path));
  order_.push_back(file.get());
  return file.get();
}

SourceFile* SourceTree::LoadStandIn(const std::string& dotted, std::string_view text) {
  std::unique_ptr<SourceFile>& file = cache_->stand_ins[dotted];
  if (file == nullptr) {
    file = std::make_unique<SourceFile>("<" + dotted + ">", std::string(text));
  }
  return file.get();
}

}  // namespace tenon::analyze
