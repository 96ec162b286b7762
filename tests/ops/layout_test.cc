// The same values wherever they lie give the same bits.
#include "base/dtype.h"
#include "ops/kernel_testing.h"

namespace tenon::ops {
namespace {

class LayoutTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(op, LayoutTest, ::testing::ValuesIn(OperatorNames()), FormName);

TEST_P(LayoutTest, StridesDoNotMatter) {
  for (CaseSpec spec : PlainCases(GetParam())) {
    for (DType storage : kStorages) {
      spec.storage = storage;
      spec.param = storage;
      spec.fill = Fill::kAdversarial;
      for (const std::vector<int64_t>& lead :
           {std::vector<int64_t>{6}, std::vector<int64_t>{2, 3}, std::vector<int64_t>{1, 1, 4}}) {
        spec.lead = lead;
        spec.layout = Layout::kDense;
        const Bits expected = RunBits(spec);
        for (Layout layout : {Layout::kMisaligned, Layout::kRowGaps, Layout::kLastStride}) {
          spec.layout = layout;
          EXPECT_EQ(RunBits(spec), expected) << CaseText(spec);
        }
      }
    }
  }
}

TEST_P(LayoutTest, ExpandedArguments) {
  for (CaseSpec spec : PlainCases(GetParam())) {
    spec.lead = {3, 2};
    spec.layout = Layout::kExpanded;
    if (in_place()) {
      EXPECT_THROW(Case{spec}, UsageError);
      continue;
    }
    SCOPED_TRACE(CaseText(spec));
    const Bits expanded = RunBits(spec);
    spec.lead = {1, 2};
    spec.layout = Layout::kDense;
    const Bits once = RunBits(spec);
    for (size_t i = 0; i < once.size(); ++i) {
      std::vector<uint8_t> thrice;
      for (int k = 0; k < 3; ++k) thrice.insert(thrice.end(), once[i].begin(), once[i].end());
      EXPECT_EQ(expanded[i], thrice);
    }
  }
}

TEST_P(LayoutTest, EmptyAndSingleRows) {
  for (CaseSpec spec : PlainCases(GetParam())) {
    spec.lead = {0};
    RunBits(spec);
    spec.lead = {2, 0};
    RunBits(spec);
    spec.lead = {1};
    const Bits one = RunBits(spec);
    spec.lead = {};
    EXPECT_EQ(RunBits(spec), one) << "no leading axis is one row";
    spec.lead = {1, 1, 1};
    EXPECT_EQ(RunBits(spec), one);
  }
}

TEST_P(LayoutTest, OtherWaysToWriteTheShape) {
  for (CaseSpec spec : PlainCases(GetParam())) {
    spec.lead = {4};
    const Bits expected = RunBits(spec);
    for (const Param& param : form().op->contract().params()) {
      for (size_t i = 1; i < param.shapes.size(); ++i) {
        if (param.elem.concrete()) continue;  // fewer values: another result
        CaseSpec other = spec;
        other.alternatives[param.name] = static_cast<int>(i);
        EXPECT_EQ(RunBits(other), expected) << param.name << " as " << param.shapes[i].text();
      }
    }
  }
}

TEST(SoftmaxLayout, AnyAxis) {
  CaseSpec spec = ParseCase("softmax_batch_invariant width=37");
  spec.lead = {4, 3};
  const Bits last = RunBits(spec);
  for (int64_t dim : {0, 1, -3}) {
    spec.attributes["dim"] = dim;
    for (Layout layout : kLayouts) {
      if (layout == Layout::kExpanded) continue;
      spec.layout = layout;
      Case test(spec);
      RunBits(test);
      ExpectMatchesReference(test);
    }
  }
}

TEST(SoftmaxLayout, CastsFirst) {
  for (DType from : kStorages) {
    for (DType to : kStorages) {
      CaseSpec spec = ParseCase("softmax_batch_invariant width=37");
      spec.lead = {5};
      spec.storage = from;
      spec.attributes["dtype"] = to;
      Case test(spec);
      RunBits(test);
      ExpectMatchesReference(test);
      EXPECT_EQ(test.results()[0].dtype, to);
    }
  }
}

}  // namespace
}  // namespace tenon::ops
