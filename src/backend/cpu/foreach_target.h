// Compiles the file named by HWY_TARGET_INCLUDE once per target. The form of a kernel file:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "path/of/this_file.cc"
//   #include "backend/cpu/foreach_target.h"
//   #include "backend/cpu/row-inl.h"
//
//   HWY_BEFORE_NAMESPACE();
//   namespace tenon::cpu::HWY_NAMESPACE {
//   HWY_FLATTEN void Scale(const float* x, float* y, size_t n, float s) { ... }
//   }  // namespace tenon::cpu::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   #include "backend/cpu/targets.h"
//   namespace tenon::cpu {
//   constexpr TargetTable<void(const float*, float*, size_t, float)> kScale = {
//       HWY_CHOOSE_AVX2(Scale), HWY_CHOOSE_AVX3(Scale)};
//   void Scale(const float* x, float* y, size_t n, float s) { kScale.Chosen()(x, y, n, s); }
//   }  // namespace tenon::cpu
//   #endif
#pragma once

#include "backend/cpu/hwy_config.h"
#include "hwy/foreach_target.h"  // quoted, so that it sorts behind its configuration
