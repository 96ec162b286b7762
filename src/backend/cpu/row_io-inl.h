// What row-wise kernels need beside the loops of row-inl.h: rows of tables, row numbers, copies and
// single values.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/cpu/quotient-inl.h"
#include "backend/cpu/row-inl.h"
#include "backend/cpu/row_kernel.h"

#if defined(TENON_BACKEND_CPU_ROW_IO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKEND_CPU_ROW_IO_INL_H_
#undef TENON_BACKEND_CPU_ROW_IO_INL_H_
#else
#define TENON_BACKEND_CPU_ROW_IO_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <typename T>
HWY_INLINE const float* WidenRow(int slot, const T* row, size_t n) {
  float* const wide = ScratchRow(slot, n);
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, row), wide); });
  return wide;
}

// Row `row` of a table as n floats: in place when it holds float32, else widened into the scratch
// row `slot`.
HWY_INLINE const float* FetchRow(int slot, const RowTensor& table, int64_t row, size_t n) {
  const int64_t offset = row * table.strides[0];
  if (table.dtype == DType::kBF16) {
    return WidenRow(slot, static_cast<const BF16*>(table.data) + offset, n);
  }
  if (table.dtype == DType::kF16) {
    return WidenRow(slot, static_cast<const F16*>(table.data) + offset, n);
  }
  return static_cast<const float*>(table.data) + offset;
}

// Element `row` of an index tensor of i32 or i64, [row, column] of one with two axes.
HWY_INLINE int64_t LoadIndex(const RowTensor& index, int64_t row, int64_t column = 0) {
  const int64_t offset = row * index.strides[0] + column * index.strides[1];
  return index.dtype == DType::kI32 ? static_cast<const int32_t*>(index.data)[offset]
                                    : static_cast<const int64_t*>(index.data)[offset];
}

HWY_INLINE VI IotaFrom(size_t first) { return hn::Iota(DI(), static_cast<int32_t>(first)); }
HWY_INLINE VI BitsOf(VF v) { return hn::BitCast(DI(), v); }
HWY_INLINE VF FromBits(VI bits) { return hn::BitCast(DF(), bits); }

// Rows of `floats` elements that go through the first loops of a nest before the others begin: they
// stay in L1 with what they keep.
inline constexpr int64_t kRowBatch = 8;
constexpr int64_t RowBatch(int64_t floats) {
  constexpr int64_t kFloats = 2048;
  return HWY_MAX(int64_t{1}, HWY_MIN(kRowBatch, kFloats / HWY_MAX(int64_t{1}, floats)));
}

// The same where the first loops do little but read. Rows of float32 that go past the caches wait
// for memory, which takes reads and writes worse in turns: Zen 5, two threads, 4096 tokens of
// split_qkv_rmsnorm_rope one by one 2.8 ms, in eights 3.2; in bf16 3.0 and 2.1.
template <typename T>
constexpr int64_t RowBatch(int64_t floats, bool stream) {
  return stream && sizeof(T) == sizeof(float) ? 1 : RowBatch(floats);
}

// One element in every lane.
template <typename T>
HWY_INLINE VF LoadOne(const T* from) {
  return Splat(hn::GetLane(LoadFirst(from, 1)));  // Broadcast stays within 128 bits
}

template <typename T>
HWY_INLINE void StoreOne(VF v, T* to) {
  StoreFirst(v, to, 1);
}

// Stores a value that RoundTo<T> has rounded: bf16 then takes its upper half as it is, which saves
// rounding it once more.
template <class Chunk, typename T>
HWY_INLINE void StoreExact(Chunk c, VF v, T* base, StorePath path) {
  if constexpr (std::is_same_v<T, BF16>) {
    const V16 words = hn::TruncateTo(D16(), hn::ShiftRight<16>(hn::BitCast(DU(), v)));
    uint16_t* const to = reinterpret_cast<uint16_t*>(base + c.index);
    if constexpr (Chunk::kIsFull) {
      path.Write(words, D16(), to);
    } else {
      StoreFirstWords(words, D16(), to, c.count);
    }
  } else {
    Store(c, v, base, path);
  }
}

template <typename T>
HWY_INLINE void FillRow(VF v, T* to, size_t n) {
  ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, v, to); });
}

// The bits of n elements. Nothing happens when a row is copied onto itself (in-place operators).
template <typename T>
HWY_INLINE void CopyRow(bool stream, const T* from, T* to, size_t n) {
  if (from == to) return;
  const size_t bytes = n * sizeof(T);
  const hn::ScalableTag<uint8_t> d;
  const size_t step = hn::Lanes(d);
  if (!stream || reinterpret_cast<uintptr_t>(to) % step != 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  const uint8_t* in = reinterpret_cast<const uint8_t*>(from);
  uint8_t* out = reinterpret_cast<uint8_t*>(to);
  size_t i = 0;
  for (; i + step <= bytes; i += step) hn::Stream(hn::LoadU(d, in + i), d, out + i);
  std::memcpy(out + i, in + i, bytes - i);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENON_BACKEND_CPU_ROW_IO_INL_H_
