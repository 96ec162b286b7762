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
//     const VF scale = Rsqrt(squares.Total() / Splat(float(n)) + Splat(eps));
//     ForEachChunk(n, [&](auto c) HWY_ATTR { Store(c, Load(c, x) * scale * Load(c, w), y); });
//   }
//
// Drivers    ForEachChunk   element-wise: each chunk once, in ascending order
//            ForEachStaged  the same in two stages: a value of 128 elements, then what follows
//            ForEachBlock   the same, unrolled over 64 elements: needed by accumulators, also fine
//                           for stores in the same pass
// Memory     Load(c, base)  Store(c, v, base[, path]): base points to the row's first element and
//            may be unaligned; T is float, F16, BF16, F8E4M3 or int8_t; path says whether full
//            vectors bypass the caches: call StreamFence after the last row
//            Prefetch(c, base, bytes): what lies that far behind the chunk
//            LoadPairs(c, base, even, odd)  StorePairs(c, even, odd, base): elements 2i and 2i+1
//            for the chunk's i, so the driver's n counts pairs
//            RoundTo<T>(v): what storing v as T and loading it would give
// Reductions SumAccumulator, MaxAccumulator, MinAccumulator (NaN propagates), AmaxAccumulator
//            (max |v|, NaN ignored, at least 0): Add(c, v), then Total() in every lane of a vector
//            or TotalScalar(), a float. Several may run in one pass.
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
template <int slot = kNoSlot>
struct FullChunk {
  static constexpr int kSlot = slot;
  static constexpr bool kIsFull = true;
  size_t index;
};

// The last `count` <= kLanes elements of a row.
template <int slot = kNoSlot>
struct TailChunk {
  static constexpr int kSlot = slot;
  static constexpr bool kIsFull = false;
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
  if constexpr (Chunk::kIsFull) {
    StoreFull(v, base + c.index);
  } else {
    StoreFirst(v, base + c.index, c.count);
  }
}

template <class Chunk, typename T>
HWY_INLINE void Store(Chunk c, VF v, T* base, StorePath path) {
  if constexpr (Chunk::kIsFull) {
    StoreFull(v, base + c.index, path);
  } else {
    StoreFirst(v, base + c.index, c.count);
  }
}

HWY_INLINE void StreamFence(bool stream) {
  if (stream) hwy::FlushStream();
}

// Hardware prefetchers stop at the end of a page and a kernel's arithmetic fills the window of the
// core. A loop that reads a row once asks for what comes kAheadBytes later. Two threads on Zen 5,
// 4096 tokens, 512 bytes -> 3 KiB: silu_and_mul 1.05 to 1.17 times as fast,
// split_qkv_rmsnorm_rope 1.10 to 1.17, static_scaled_int8_quant 1.05 to 1.12; no loss in L1. 2 and
// 4 KiB are as good, 1 and 8 KiB less.
inline constexpr int64_t kAheadBytes = 3072;

// A row that is read by several loops one after the other is in L1 from the first on: the memory
// would idle until the next row. The last loop asks for that row, `stride` elements on. RMS norm of
// 4096 rows of 4096, two threads on Zen 4, stores past the caches: f32 34 -> 40 GB/s. Asking for a
// part of it in every loop was slower (bf16 38 -> 33).
template <typename T>
constexpr int64_t NextRow(int64_t stride) {
  return stride * int64_t{sizeof(T)};
}

// Asks for what lies `bytes` behind the chunk's elements at base + step * index. The address may
// lie beyond the array: a prefetch does not fault.
template <int step = 1, class Chunk, typename T>
HWY_INLINE void Prefetch(Chunk c, const T* base, int64_t bytes) {
  if constexpr (Chunk::kIsFull) {
    const auto from = reinterpret_cast<uintptr_t>(base) + step * sizeof(T) * c.index;
    hwy::Prefetch(reinterpret_cast<const char*>(from + static_cast<uintptr_t>(bytes)));
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

inline constexpr size_t kStage = 128;  // elements: 8 vectors of AVX-512

// second(c, first(c)) for each chunk; first() of some chunks before second() of the first of them.
template <class First, class Second>
HWY_INLINE void ForEachStaged(size_t n, const First& first, const Second& second) {
  HWY_ALIGN float staged[kStage];
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i != whole;) {
    const size_t count = HWY_MIN(kStage, whole - i);
    for (size_t j = 0; j != count; j += kLanes) {
      hn::Store(first(FullChunk<>{i + j}), DF(), staged + j);
    }
    for (size_t j = 0; j != count; j += kLanes) {
      second(FullChunk<>{i + j}, hn::Load(DF(), staged + j));
    }
    i += count;
  }
  if (whole != n) {
    const TailChunk<> tail{whole, n - whole};
    second(tail, first(tail));
  }
}

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

// Lane 0 of the tree over the lanes of v, halving the vector as long as its width is native.
template <class Op>
HWY_INLINE float CombineLanes(VF v) {
#if HWY_TARGET <= HWY_AVX3
  const hn::Half<DF> dh;
  const auto v8 = Op::Combine(hn::UpperHalf(dh, v), hn::LowerHalf(dh, v));
#else
  const DF dh;
  const VF v8 = v;
#endif
  const hn::Half<decltype(dh)> dq;
  auto v4 = Op::Combine(hn::UpperHalf(dq, v8), hn::LowerHalf(dq, v8));
  v4 = Op::Combine(hn::Shuffle1032(v4), v4);
  return hn::GetLane(Op::Combine(hn::Shuffle2301(v4), v4));
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
  HWY_INLINE VF Total() const { return Splat(TotalScalar()); }

  HWY_INLINE float TotalScalar() const {
    return CombineLanes<Op>(CombineVectors<Op, 0, 1>(partial_));
  }

 private:
  template <size_t... slots>
  HWY_INLINE explicit Accumulator(std::index_sequence<slots...>)
      : partial_{((void)slots, Splat(Op::kIdentity))...} {}

  VF partial_[kBlockVectors];
};

struct SumOp {
  static constexpr float kIdentity = 0.0f;
  template <class V>
  static HWY_INLINE V Combine(V v, V sum) {
    return hn::Add(sum, v);
  }
};
struct MaxOp {
  static constexpr float kIdentity = -std::numeric_limits<float>::infinity();
  template <class V>
  static HWY_INLINE V Combine(V v, V max) {
    return Maximum(max, v);
  }
};
struct MinOp {
  static constexpr float kIdentity = std::numeric_limits<float>::infinity();
  template <class V>
  static HWY_INLINE V Combine(V v, V min) {
    return Minimum(min, v);
  }
};
struct AmaxOp {
  static constexpr float kIdentity = 0.0f;
  template <class V>
  static HWY_INLINE V Combine(V v, V max) {
    return MaximumNumber(hn::Abs(v), max);
  }
};

using SumAccumulator = Accumulator<SumOp>;    // of no elements: 0
using MaxAccumulator = Accumulator<MaxOp>;    // of no elements: -Inf
using MinAccumulator = Accumulator<MinOp>;    // of no elements: Inf
using AmaxAccumulator = Accumulator<AmaxOp>;  // of no elements: 0

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TENON_BACKEND_CPU_ROW_INL_H_
