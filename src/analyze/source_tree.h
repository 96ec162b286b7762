// Stage `index`: where vLLM's sources are, their version, and which file a dotted module name is.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/syntax.h"

namespace tenon::analyze {

// Files that several analyses of one tree parse once.
struct SourceCache {
  std::unordered_map<std::string, std::unique_ptr<SourceFile>> files;      // by path
  std::unordered_map<std::string, std::unique_ptr<SourceFile>> stand_ins;  // by dotted name
  std::unordered_map<std::string, std::string> config_modules;  // class -> module, once asked for
};

class SourceTree {
 public:
  // A tree without a package, for a single file.
  SourceTree() : cache_(std::make_shared<SourceCache>()) {}
  // `given` as AnalyzeOptions::vllm_path. Throws ResolutionError E5 with the places tried.
  static SourceTree FindVllm(const std::string& given, std::shared_ptr<SourceCache> cache);
  // Adds the package transformers: `given` as AnalyzeOptions::transformers_path, else beside vllm/
  // or in site-packages; without one its names are external. Throws UsageError when `given` holds
  // none.
  void FindTransformers(const std::string& given);

  const std::filesystem::path& root() const { return root_; }  // the folder that holds vllm/
  std::optional<std::string> Version() const;
  // The folder that holds transformers/, or empty.
  const std::filesystem::path& transformers_root() const { return transformers_root_; }
  // Transformers' packages load their names when they are asked for. The dotted module that defines
  // a configuration class, or "".
  std::string ConfigModule(const std::string& class_name);

  struct ModuleFile {
    std::filesystem::path path;
    bool is_package = false;
  };
  std::optional<ModuleFile> Find(const std::string& dotted);
  // Adds a module that is not in the tree: the file of a Python target.
  void AddModule(const std::string& dotted, const std::filesystem::path& path);
  // The dotted name of a file inside the tree.
  std::optional<std::string> DottedName(const std::filesystem::path& path) const;

  // Parses once. The shown path is relative to the root when the file is inside it.
  SourceFile* Load(const std::filesystem::path& path);
  // A text of the analyser's own, under the module's name.
  SourceFile* LoadStandIn(const std::string& dotted, std::string_view text);
  int files_parsed() const { return static_cast<int>(order_.size()); }
  // Those that this analysis read.
  const std::vector<SourceFile*>& loaded() const { return order_; }

 private:
  std::filesystem::path root_;
  std::filesystem::path transformers_root_;
  std::unordered_map<std::string, std::optional<ModuleFile>> modules_;
  std::shared_ptr<SourceCache> cache_;
  std::vector<SourceFile*> order_;
};

}  // namespace tenon::analyze
