// Loop drivers for row-wise kernels: generated text and hand-written kernels call these.
//
// A row of n elements is walked in chunks of kLanes; the last chunk may be partial. A chunk is a
// value that knows its position and, by its type, whether it is partial; Load and Store take it, so
// one generic lambda serves full vectors and tails:
//
//   HWY_FLATTEN void RmsNormRow(const BF16* x, const float* w, BF16* y, size_t n, float eps) {
//     SumAccumulator squares;
//     ForEachBlock(n, [&](auto c) HWY_ATTR {
//       const VF v = Load(c, x);
//       squares.Add(c, v * v);
//     });
//     const VF mean = squares.Total() / Splat(float(n));
//     const VF scale = Rsqrt(mean + Splat(eps));
//     ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, x) * scale * Load(c, w), y); });
//   }
//
// Drivers    ForEachChunk      element-wise: each chunk once, in ascending order
//            ForEachBlock      the same, unrolled over 64 elements: needed by accumulators, also
//            fine
//                              for stores in the same pass
//            ForEachChunkStreaming   ForEachChunk whose Store bypasses the caches
// Memory     Load(c, base)  Store(c, v, base): base points to the row's first element and may be
//            unaligned; T is float, F16, BF16, F8E4M3 or int8_t
//            LoadPairs(c, base, even, odd)  StorePairs(c, even, odd, base): elements 2i and 2i+1
//            for the chunk's i, so the driver's n counts pairs RoundTo<T>(v): what storing v as T
//            and loading it would give
// Reductions SumAccumulator, MaxAccumulator, MinAccumulator (NaN propagates), AmaxAccumulator
//            (max |v|, NaN ignored, at least 0): Add(c, v) and Total(), a vector that holds the
//            result in every lane. Several may run in one pass.
// Scratch    ScratchRow(slot, n): float row of this thread, for values kept between passes
//
// Mark the kernel HWY_FLATTEN: everything above is then inlined into it and accumulators stay in
// registers.
//
// The order of a sum is fixed (it depends on n alone): element i goes to virtual lane i % 64, each
// lane adds its elements in ascending order to +0, then lanes j and j + 32 are added, then j and
// j + 16, 8, 4, 2, 1. Lanes beyond the row add nothing. A vector of any width up to 64 lanes keeps
// 64 / kLanes partial vectors and returns the same bits.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "backend/cpu/math-inl.h"
#include "backend/cpu/pairs-inl.h"
#include "backend/cpu/scratch.h"

#if defined(TENON_BACKEND_CPU_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_BACKEND_CPU_ROW_INL_H_
#undef TENON_BACKEND_CPU_ROW_INL_H_
#else
#define TENON_BACKEND_CPU_ROW_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

inline constexpr size_t kBlock = 64;  // virtual lanes of a reduction
inline constexpr size_t kBlockVectors = kBlock / kLanes;

// ---- Chunks

inline constexpr int kNoSlot = -1;  // a chunk of ForEachChunk: accumulators refuse it

// kLanes elements from `index`. `slot` is the position within a block of 64.
template <int slot = kNoSlot, bool streams = false>
struct FullChunk {
  static constexpr int kSlot = slot;
  static constexpr bool kIsFull = true;
  static constexpr bool kStreams = streams;
  size_t index;
};

// The last `count` <= kLanes elements of a row.
template <int slot = kNoSlot>
struct TailChunk {
  static constexpr int kSlot = slot;
  static constexpr bool kIsFull = false;
  static constexpr bool kStreams = false;
  size_t index;
  size_t count;
};

template <class Chunk>
HWY_INLINE MF LanesOf(Chunk c) {
  return hn::FirstN(DF(), c.count);
}

// ---- Memory

template <class Chunk, typename T>
HWY_INLINE VF Load(Chunk c, const T* base) {
  if constexpr (Chunk::kIsFull) {
    return LoadFull(base + c.index);
  } else {
    return LoadFirst(base + c.index, c.count);
  }
}

template <class Chunk, typename T>
HWY_INLINE void Store(Chunk c, VF v, T* base) {
  if constexpr (Chunk::kStreams) {
    StreamFull(v, base + c.index);
  } else if constexpr (Chunk::kIsFull) {
    StoreFull(v, base + c.index);
  } else {
    StoreFirst(v, base + c.index, c.count);
  }
}

template <class Chunk, typename T>
HWY_INLINE void LoadPairs(Chunk c, const T* base, VF& even, VF& odd) {
  if constexpr (Chunk::kIsFull) {
    LoadPairsFull(base + 2 * c.index, even, odd);
  } else {
    LoadPairsFirst(base + 2 * c.index, c.count, even, odd);
  }
}

template <class Chunk, typename T>
HWY_INLINE void StorePairs(Chunk c, VF even, VF odd, T* base) {
  if constexpr (Chunk::kIsFull) {
    StorePairsFull(even, odd, base + 2 * c.index);
  } else {
    StorePairsFirst(even, odd, base + 2 * c.index, c.count);
  }
}

// ---- Drivers

template <class Body>
HWY_INLINE void ForEachChunk(size_t n, const Body& body) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(FullChunk<>{i});
  if (i != n) body(TailChunk<>{i, n - i});
}

// Store goes past the caches where the address is a multiple of the stored vector's size: for
// outputs larger than the last-level cache. Call StreamFence() once after the last row.
template <class Body>
HWY_INLINE void ForEachChunkStreaming(size_t n, const Body& body) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(FullChunk<kNoSlot, true>{i});
  if (i != n) body(TailChunk<>{i, n - i});
}

HWY_INLINE void StreamFence() { hwy::FlushStream(); }

template <class Body, size_t... slots>
HWY_INLINE void FullBlock(size_t i, const Body& body, std::index_sequence<slots...>) {
  (body(FullChunk<static_cast<int>(slots)>{i + slots * kLanes}), ...);
}

template <class Body, size_t... slots>
HWY_INLINE void TailBlock(size_t i, size_t n, const Body& body, std::index_sequence<slots...>) {
  // Stops at the first slot that lies beyond the row.
  (void)(... && (i + slots * kLanes < n &&
                 (body(TailChunk<static_cast<int>(slots)>{i + slots * kLanes,
                                                          HWY_MIN(kLanes, n - i - slots * kLanes)}),
                  true)));
}

template <class Body>
HWY_INLINE void ForEachBlock(size_t n, const Body& body) {
  constexpr std::make_index_sequence<kBlockVectors> kSlots;
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) FullBlock(i, body, kSlots);
  if (i != n) TailBlock(i, n, body, kSlots);
}

// ---- Reductions

// Every lane of the result holds the fixed tree over the 64 virtual lanes. Written without loops
// over the array: GCC 12 keeps an array in memory when an index becomes constant only late.
template <class Op, size_t first, size_t stride>
HWY_INLINE VF CombineVectors(const VF (&partial)[kBlockVectors]) {
  if constexpr (stride == kBlockVectors) {
    return partial[first];
  } else {
    return Op::Combine(CombineVectors<Op, first + stride, 2 * stride>(partial),
                       CombineVectors<Op, first, 2 * stride>(partial));
  }
}

template <class Op>
HWY_INLINE VF CombineLanes(VF v) {
#if HWY_TARGET <= HWY_AVX3
  v = Op::Combine(VF{_mm512_shuffle_f32x4(v.raw, v.raw, 0x4E)}, v);  // lane j + 8
#endif
  v = Op::Combine(hn::SwapAdjacentBlocks(v), v);  // + 4
  v = Op::Combine(hn::Shuffle1032(v), v);         // + 2
  return Op::Combine(hn::Shuffle2301(v), v);      // + 1
}

template <class Op>
class Accumulator {
 public:
  HWY_INLINE Accumulator() : Accumulator(std::make_index_sequence<kBlockVectors>()) {}

  template <class Chunk>
  HWY_INLINE void Add(Chunk c, VF v) {
    static_assert(Chunk::kSlot != kNoSlot, "reductions need ForEachBlock");
    VF& partial = partial_[Chunk::kSlot];
    const VF next = Op::Combine(v, partial);
    if constexpr (Chunk::kIsFull) {
      partial = next;
    } else {
      partial = hn::IfThenElse(LanesOf(c), next, partial);
    }
  }

  // The result in every lane.
  HWY_INLINE VF Total() const { return CombineLanes<Op>(CombineVectors<Op, 0, 1>(partial_)); }

 private:
  template <size_t... slots>
  HWY_INLINE explicit Accumulator(std::index_sequence<slots...>)
      : partial_{((void)slots, Op::Identity())...} {}

  VF partial_[kBlockVectors];
};

struct SumOp {
  static HWY_INLINE VF Identity() { return hn::Zero(DF()); }
  static HWY_INLINE VF Combine(VF v, VF sum) { return hn::Add(sum, v); }
};
struct MaxOp {
  static HWY_INLINE VF Identity() { return Splat(-std::numeric_limits<float>::infinity()); }
  static HWY_INLINE VF Combine(VF v, VF max) { return Maximum(max, v); }
};
struct MinOp {
  static HWY_INLINE VF Identity() { return Splat(std::numeric_limits<float>::infinity()); }
  static HWY_INLINE VF Combine(VF v, VF min) { return Minimum(min, v); }
};
struct AmaxOp {
  static HWY_INLINE VF Identity() { return hn::Zero(DF()); }
  static HWY_INLINE VF Combine(VF v, VF max) { return MaximumNumber(hn::Abs(v), max); }
};

using SumAccumulator = Accumulator<SumOp>;    // of no elements: 0
using MaxAccumulator = Accumulator<MaxOp>;    // of no elements: -Inf
using MinAccumulator = Accumulator<MinOp>;    // of no elements: Inf
using AmaxAccumulator = Accumulator<AmaxOp>;  // of no elements: 0

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENON_BACKEND_CPU_ROW_INL_H_
