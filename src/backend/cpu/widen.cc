#include "backend/cpu/widen.h"

#include "base/dtype.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/widen.cc"
#include "backend/cpu/foreach_target.h"
#include "backend/cpu/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <typename T>
HWY_FLATTEN void WidenArray(const void* from, int64_t count, float* to) {
  const T* const in = static_cast<const T*>(from);
  ForEachChunk(static_cast<size_t>(count), [&](auto c) HWY_ATTR { Store(c, Load(c, in), to); });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "backend/cpu/targets.h"
namespace tenon::cpu {

template <typename T>
constexpr TargetTable<void(const void*, int64_t, float*)> kWiden = {HWY_CHOOSE_AVX2(WidenArray<T>),
                                                                    HWY_CHOOSE_AVX3(WidenArray<T>)};

void Widen(const void* from, DType dtype, int64_t count, float* to) {
  VisitDtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_class_v<T> || sizeof(T) == 1 || std::is_same_v<T, float>) {
      if constexpr (!std::is_same_v<T, bool>) {
        kWiden<T>.Chosen()(from, count, to);
        return;
      }
    }
    throw InternalError(__FILE__, __LINE__, "this element type is not widened in vectors");
  });
}

}  // namespace tenon::cpu
#endif  // HWY_ONCE
