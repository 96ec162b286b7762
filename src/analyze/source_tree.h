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

class SourceTree {
 public:
  // A tree without a package, for a single file.
  SourceTree() = default;
  // `given` as AnalyzeOptions::vllm_path. Throws ResolutionError E5 with the places tried.
  static SourceTree FindVllm(const std::string& given);

  const std::filesystem::path& root() const { return root_; }  // the folder that holds vllm/
  std::optional<std::string> Version() const;

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
  int files_parsed() const { return static_cast<int>(files_.size()); }
  const std::vector<SourceFile*>& loaded() const { return order_; }

 private:
  std::filesystem::path root_;
  std::unordered_map<std::string, std::optional<ModuleFile>> modules_;
  std::unordered_map<std::string, std::unique_ptr<SourceFile>> files_;
  std::vector<SourceFile*> order_;
};

}  // namespace tenon::analyze
