// Which instruction sets kernels exist for, which this CPU has, and which one runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon::cpu {

enum class Target : uint8_t { kAvx2, kAvx3 };  // from the narrowest vectors to the widest
inline constexpr size_t kNumTargets = 2;

std::string_view TargetName(Target target);  // avx2, avx3: what TENON_TARGET takes

// Those of this CPU, narrowest first. UsageError on a CPU without AVX2.
std::span<const Target> SupportedTargets();

// The widest supported target, or the one that `name` selects ("" selects none). UsageError for an
// unknown name and for a target that this CPU lacks.
Target SelectTarget(std::string_view name);

// SelectTarget($TENON_TARGET), evaluated once.
Target ChosenTarget();

// Compiler flags that make a file with the *-inl.h headers compile for this target alone.
std::string StaticTargetFlags(Target target);

// One function per target: filled with HWY_CHOOSE_AVX2(f), HWY_CHOOSE_AVX3(f).
template <typename Function>
struct TargetTable {
  Function* functions[kNumTargets];

  Function* operator[](Target target) const { return functions[static_cast<size_t>(target)]; }
  Function* Chosen() const { return (*this)[ChosenTarget()]; }
};

}  // namespace tenon::cpu
