// Every generated kernel against the float64 reference, against itself on other targets and
// threads, and row by row.
#include "backend/cpu/parallel.h"
#include "ops/generated_row.h"
#include "ops/kernel_testing.h"

namespace tenon::ops {
namespace {

INSTANTIATE_TEST_SUITE_P(op, KernelTest, ::testing::ValuesIn(GeneratedNames()), FormName);

void RunAndCompare(CaseSpec spec) {
  SCOPED_TRACE(CaseText(spec));
  Case test(std::move(spec));
  RunBits(test);
  ExpectMatchesReference(test);
}

TEST_P(KernelTest, MatchesTheReferenceAtEdges) {
  int number = 0;
  for (CaseSpec spec : EdgeCases(GetParam())) {
    for (DType storage : kStorages) {
      spec.storage = storage;
      spec.param = ++number % 2 ? storage : DType::kF32;
      spec.index = number % 3 ? DType::kI64 : DType::kI32;
      spec.lead = {5};
      spec.fill = Fill::kNormal;
      RunAndCompare(spec);
      spec.lead = {13};
      spec.fill = Fill::kAdversarial;
      spec.seed = static_cast<uint64_t>(number);
      RunAndCompare(spec);
      if (HasFailure()) return;
    }
  }
}

TEST_P(KernelTest, MatchesTheReferenceAtModelShapes) {
  for (CaseSpec spec : ModelCases(GetParam())) {
    for (DType storage : {DType::kF32, DType::kBF16}) {
      spec.storage = storage;
      spec.param = storage;
      spec.lead = {2};
      RunAndCompare(spec);
    }
  }
}

TEST_P(KernelTest, MatchesTheReferenceOnWideRows) {
  CaseSpec spec = PlainCases(GetParam()).front();
  for (const char* size : {"d", "hidden", "width"}) {
    const auto known = spec.sizes.find(size);
    if (known != spec.sizes.end()) known->second = 65536;
  }
  spec.storage = DType::kF16;
  spec.param = DType::kF32;
  spec.lead = {1};
  RunAndCompare(spec);
}

TEST_P(KernelTest, TargetsAndThreadsReturnTheSameBits) {
  for (CaseSpec spec : EdgeCases(GetParam())) {
    for (DType storage : kStorages) {
      spec.storage = storage;
      spec.param = storage;
      spec.lead = {9};
      spec.fill = Fill::kAdversarial;
      SCOPED_TRACE(CaseText(spec));
      Case test(spec);
      const Bits expected = WithOneNan(RunBits(test), test);
      for (cpu::Target target : cpu::SupportedTargets()) {
        EXPECT_EQ(WithOneNan(RunBits(test, target), test), expected) << cpu::TargetName(target);
      }
    }
  }
  for (CaseSpec spec : PlainCases(GetParam())) {
    spec.storage = DType::kBF16;
    spec.param = DType::kBF16;
    spec.lead = {1500};  // enough for several threads
    Case test(spec);
    cpu::SetNumThreads(1);
    const Bits expected = RunBits(test);
    for (int threads : {2, 3}) {
      cpu::SetNumThreads(threads);
      EXPECT_EQ(RunBits(test), expected) << CaseText(spec) << ", threads: " << threads;
    }
    cpu::SetNumThreads(0);
  }
}

// The bytes of the first `count` of `rows` rows.
std::vector<uint8_t> FirstRows(const std::vector<uint8_t>& bits, int64_t rows, int64_t count) {
  return {bits.begin(),
          bits.begin() + static_cast<int64_t>(bits.size()) / std::max<int64_t>(rows, 1) * count};
}

TEST_P(KernelTest, RowsDoNotDependOnTheBatch) {
  for (CaseSpec spec : PlainCases(GetParam())) {
    spec.storage = DType::kBF16;
    spec.param = DType::kF32;
    spec.fill = Fill::kAdversarial;
    spec.lead = {257};
    SCOPED_TRACE(CaseText(spec));
    const Bits all = RunBits(spec);
    for (int64_t tokens : {1, 2, 63, 255, 256}) {
      spec.lead = {tokens};
      const Bits some = RunBits(spec);
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(some[i], FirstRows(all[i], 257, tokens)) << "tokens " << tokens;
      }
    }
  }
}

TEST_P(KernelTest, InPlaceReturnsTheBitsOfTheFunctionalForm) {
  if (!in_place()) return;
  for (CaseSpec spec : EdgeCases(GetParam())) {
    for (DType storage : kStorages) {
      spec.storage = storage;
      spec.param = storage;
      spec.lead = {7};
      spec.fill = Fill::kAdversarial;
      for (Layout layout : {Layout::kDense, Layout::kRowGaps, Layout::kLastStride}) {
        spec.layout = layout;
        SCOPED_TRACE(CaseText(spec));
        const Bits written = RunBits(spec);
        CaseSpec functional = spec;
        functional.op = form().op->name();
        functional.layout = Layout::kDense;
        Bits results = RunBits(functional);
        std::erase_if(results, [](const auto& bits) { return bits.empty(); });  // no key
        EXPECT_EQ(written, results);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::ops
