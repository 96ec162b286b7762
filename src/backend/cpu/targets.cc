#include "backend/cpu/targets.h"

#include <cpuid.h>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"

namespace tenon::cpu {
namespace {

// Leaf 1 of cpuid; clang 14's __builtin_cpu_supports does not know the name.
bool HasF16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2") && HasF16c();
}

bool HasAvx3() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

struct TargetRow {
  Target target;
  std::string_view name;
  std::string_view highway_name;
  std::string_view needs;
  bool (*supported)();
};

constexpr TargetRow kTargetRows[kNumTargets] = {
    {Target::kAvx2, "avx2", "HWY_AVX2", "AVX2, FMA, F16C and BMI2", HasAvx2},
    {Target::kAvx3, "avx3", "HWY_AVX3", "AVX-512 F, VL, DQ and BW", HasAvx3},
};

const TargetRow& Row(Target target) { return kTargetRows[static_cast<size_t>(target)]; }

}  // namespace

std::string_view TargetName(Target target) { return Row(target).name; }

std::span<const Target> SupportedTargets() {
  static const std::vector<Target> supported = [] {
    __builtin_cpu_init();
    std::vector<Target> found;
    for (const TargetRow& row : kTargetRows) {
      if (row.supported()) found.push_back(row.target);
    }
    return found;
  }();
  TENON_CHECK(
      !supported.empty(),
      "Tenon's CPU kernels need a processor with {} (x86-64 since about 2013, Intel Haswell "
      "or AMD Zen), and this one lacks them",
      kTargetRows[0].needs);
  return supported;
}

Target SelectTarget(std::string_view name) {
  const std::span<const Target> supported = SupportedTargets();
  if (name.empty()) return supported.back();
  std::vector<std::string> names;
  for (const TargetRow& row : kTargetRows) {
    names.emplace_back(row.name);
    if (row.name != name) continue;
    for (Target target : supported) {
      if (target == row.target) return target;
    }
    throw UsageError(fmt::format("TENON_TARGET={}: this processor lacks {}; unset TENON_TARGET",
                                 name, row.needs));
  }
  throw UsageError(fmt::format("TENON_TARGET must be one of {}, got {}", Join(names, ", "), name));
}

Target ChosenTarget() {
  static const Target chosen = SelectTarget(EnvValue("TENON_TARGET"));
  return chosen;
}

std::string StaticTargetFlags(Target target) {
  return fmt::format("-DHWY_COMPILE_ONLY_STATIC -DHWY_BASELINE_TARGETS={} -ffp-contract=off",
                     Row(target).highway_name);
}

}  // namespace tenon::cpu
