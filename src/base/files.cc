#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace tenon {
namespace fs = std::filesystem;
namespace {

// A name that no other thread or process uses at the same time.
std::string UniqueSuffix() {
  static std::atomic<int> counter{0};
  return fmt::format(".tmp-{}-{}", getpid(), counter.fetch_add(1));
}

void MakeParent(const fs::path& path) {
  if (!path.has_parent_path()) return;
  std::error_code ec;
  fs::create_directories(path.parent_path(), ec);
  TENON_CHECK(!ec, "cannot create the folder {}: {}", path.parent_path().string(), ec.message());
}

}  // namespace

std::string ReadFile(const fs::path& path) {
  TENON_CHECK(!fs::is_directory(path), "cannot read {}: it is a folder", path.string());
  std::ifstream in(path, std::ios::binary);
  TENON_CHECK(in.good(), "cannot read {}: {}", path.string(), std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

void WriteFile(const fs::path& path, std::string_view text) {
  MakeParent(path);
  const fs::path aside = path.string() + UniqueSuffix();
  {
    std::ofstream out(aside, std::ios::binary);
    TENON_CHECK(out.good(), "cannot write {}: {}", path.string(), std::strerror(errno));
    out << text;
    out.flush();
    if (!out.good()) {
      const std::string reason = std::strerror(errno);
      fs::remove(aside);
      throw UsageError(fmt::format("cannot write {}: {}", path.string(), reason));
    }
  }
  std::error_code ec;
  fs::rename(aside, path, ec);
  if (ec) {
    fs::remove(aside);
    throw UsageError(fmt::format("cannot write {}: {}", path.string(), ec.message()));
  }
}

void WriteFolder(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  MakeParent(path);
  const fs::path aside = path.string() + UniqueSuffix();
  std::error_code ec;
  fs::create_directory(aside, ec);
  TENON_CHECK(!ec, "cannot create a folder in {}: {}", path.parent_path().string(), ec.message());
  try {
    fill(aside);
  } catch (...) {
    fs::remove_all(aside, ec);
    throw;
  }
  // Exchanged in one step, an older folder is never missing for other processes.
  if (renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(aside, ec);
    return;
  }
  // There is none, or the file system cannot exchange; rename(2) replaces only an empty folder, so
  // an older one is moved away first. Another process may slip in between; then its folder stays,
  // which is as complete as ours.
  const fs::path old = aside.string() + "-old";
  fs::rename(path, old, ec);
  fs::rename(aside, path, ec);
  if (ec) {
    const std::string reason = ec.message();
    fs::remove_all(aside, ec);
    TENON_CHECK(fs::is_directory(path), "cannot write {}: {}", path.string(), reason);
  }
  fs::remove_all(old, ec);
}

TempDir::TempDir() {
  std::string pattern = (fs::temp_directory_path() / "tenon-XXXXXX").string();
  TENON_CHECK(mkdtemp(pattern.data()) != nullptr, "cannot create a temporary folder: {}",
              std::strerror(errno));
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ec;
  fs::remove_all(path_, ec);
}

}  // namespace tenon
