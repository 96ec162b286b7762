#include "base/files.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace tenon {
namespace {

TEST(Files, WritesAndReadsBack) {
  const TempDir dir;
  WriteFile(dir.path() / "a/b.txt", "one");
  WriteFile(dir.path() / "a/b.txt", "two");
  EXPECT_EQ(ReadFile(dir.path() / "a/b.txt"), "two");
}

TEST(Files, NamesTheFileThatCannotBeRead) {
  try {
    ReadFile("/nowhere/at/all");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "cannot read /nowhere/at/all: No such file or directory");
  }
}

TEST(Files, FolderIsReplacedWhole) {
  const TempDir dir;
  const auto target = dir.path() / "kernel";
  WriteFolder(target, [](const auto& f) { WriteFile(f / "old", "1"); });
  WriteFolder(target, [](const auto& f) { WriteFile(f / "new", "2"); });
  EXPECT_FALSE(std::filesystem::exists(target / "old"));
  EXPECT_EQ(ReadFile(target / "new"), "2");
}

TEST(Files, FailedFillLeavesNothing) {
  const TempDir dir;
  EXPECT_THROW(WriteFolder(dir.path() / "kernel", [](const auto&) { throw UsageError("no"); }),
               UsageError);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace tenon
