#include "backend/profile.h"

#include <gmock/gmock.h>

#include "backend/cpu/bandwidth.h"
#include "base/error.h"
#include "base/files.h"

namespace tenon::backend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string UsageErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(BuiltinProfiles, AllParseAndKeepEveryFigure) {
  EXPECT_THAT(BuiltinProfileNames(), ElementsAre("ascend910b", "h200"));
  for (const std::string& name : BuiltinProfileNames()) {
    const DeviceProfile profile = FindProfile(name);
    EXPECT_FALSE(profile.matrix_gflops.empty()) << name;
    EXPECT_FALSE(profile.copy_gb_per_s.source.empty()) << name;
    const std::string text = ProfileText(profile);
    EXPECT_EQ(ProfileText(ParseProfile(text, name)), text);
  }
}

TEST(BuiltinProfiles, H200SaysWhatWasMeasured) {
  const DeviceProfile profile = FindProfile("h200");
  EXPECT_EQ(profile.kind, "cuda");
  EXPECT_EQ(profile.copy_gb_per_s.basis, Basis::kMeasured);
  EXPECT_EQ(profile.vector_gflops.basis, Basis::kPublished);
  EXPECT_EQ(profile.cores.value, 132);
  ASSERT_TRUE(profile.collective_us.has_value());
  EXPECT_EQ(profile.collective_us->basis, Basis::kMeasured);
}

TEST(Profile, IsSavedAndFoundByPath) {
  const TempDir folder;
  const std::string path = (folder.path() / "mine.json").string();
  DeviceProfile profile = FindProfile("h200");
  profile.name = "mine";
  profile.copy_gb_per_s.value = 123.5;
  profile.link_gb_per_s.reset();
  SaveProfile(profile, path);
  EXPECT_EQ(FindProfile(path).name, "mine");
  EXPECT_EQ(FindProfile(path).copy_gb_per_s.value, 123.5);
  EXPECT_FALSE(FindProfile(path).link_gb_per_s.has_value());
  EXPECT_TRUE(FindProfile(path).collective_us.has_value());
}

TEST(Profile, RefusesWhatItDoesNotUnderstandBySentence) {
  EXPECT_EQ(
      UsageErrorOf([] { FindProfile("h20"); }),
      "unknown device 'h20': known are ascend910b, h200, cpu and profiles of your own (a path "
      "that ends in .json); did you mean h200?");
  EXPECT_EQ(UsageErrorOf([] { ParseProfile("{", "x.json"); }),
            "x.json: the device profile is not JSON");
  EXPECT_EQ(UsageErrorOf([] { ParseProfile("{\"name\": 3}", "x.json"); }),
            "x.json: \"name\" must be a string");
  EXPECT_EQ(UsageErrorOf([] { ParseProfile(R"({"name": "a", "kind": "cpu"})", "x.json"); }),
            "x.json: the device profile lacks \"copy_gb_per_s\"");
  std::string text = ProfileText(FindProfile("h200"));
  text.replace(text.find("4041.0"), 6, "-1");
  EXPECT_THAT(UsageErrorOf([&] { ParseProfile(text, "x.json"); }),
              HasSubstr("the value of \"copy_gb_per_s\" must be a positive number"));
}

TEST(Measurements, ArePlausible) {
  const cpu::CopyBandwidth copy = cpu::MeasureCopyBandwidth(int64_t{4} << 20);
  EXPECT_GT(copy.memcpy_gb_per_s, 0.1);
  EXPECT_GT(copy.stream_gb_per_s, 0.1);
  EXPECT_GE(copy.best(), copy.stream_gb_per_s);
  EXPECT_GT(cpu::MeasureVectorGflops(), 1);
  EXPECT_GT(cpu::MeasureParallelForUs(), 0);
}

}  // namespace
}  // namespace tenon::backend
