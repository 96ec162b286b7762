#include "backend/cpu/targets.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace tenon::cpu {
namespace {

using testing::HasSubstr;

TEST(Targets, TheWidestSupportedOneIsTheDefault) {
  EXPECT_EQ(SelectTarget(""), SupportedTargets().back());
  for (Target target : SupportedTargets()) EXPECT_EQ(SelectTarget(TargetName(target)), target);
}

TEST(Targets, AnUnknownNameGetsTheListOfNames) {
  try {
    SelectTarget("avx9");
    FAIL() << "nothing thrown";
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "TENON_TARGET must be one of avx2, avx3, got avx9");
  }
}

TEST(Targets, StaticFlagsNameOneTarget) {
  EXPECT_THAT(StaticTargetFlags(Target::kAvx2), HasSubstr("-DHWY_BASELINE_TARGETS=HWY_AVX2"));
  EXPECT_THAT(StaticTargetFlags(Target::kAvx3), HasSubstr("-DHWY_BASELINE_TARGETS=HWY_AVX3"));
}

}  // namespace
}  // namespace tenon::cpu
