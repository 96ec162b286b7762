// Files that are read whole and written aside, then renamed: a reader never sees half a file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace tenon {

// The whole file; UsageError with the path and the system's reason when it cannot be read.
std::string ReadFile(const std::filesystem::path& path);

// Writes beside `path` and renames; creates missing parent folders. UsageError when it cannot.
void WriteFile(const std::filesystem::path& path, std::string_view text);

// Calls fill(folder) on a fresh folder beside `path`, then renames it to `path`, replacing what is
// there. When two processes do so at once, one of the two complete folders stays.
void WriteFolder(const std::filesystem::path& path,
                 const std::function<void(const std::filesystem::path&)>& fill);

// A fresh, empty folder under the system's temporary folder, removed with its content on
// destruction.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tenon
