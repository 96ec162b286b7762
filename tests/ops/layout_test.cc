// The same values wherever they lie give the same bits.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/dtype.h"
#include "base/error.h"
#include "ops/arena.h"
#include "ops/kernel_testing.h"
#include "ops/strided.h"
#include "tenon/op.h"

namespace tenon::ops {
namespace {

class LayoutTest : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(op, LayoutTest, ::testing::ValuesIn(GeneratedNames()), FormName);

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
    const auto& params = form().op->contract().params();
    const bool sections = std::any_of(params.begin(), params.end(),
                                      [](const Param& param) { return param.sections; });
    spec.lead = {};  // [3] would be three tokens where positions have sections
    if (!sections) {
      EXPECT_EQ(RunBits(spec), one) << "no leading axis is one row";
    }
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
        if (param.elem.concrete() || param.broadcasts || param.integers) continue;  // fewer values
        CaseSpec other = spec;
        other.alternatives[param.name] = static_cast<int>(i);
        EXPECT_EQ(RunBits(other), expected) << param.name << " as " << param.shapes[i].text();
      }
    }
  }
}

// A tensor with the values of `t` repeated to the shape [2, 3, 5].
Tensor Expanded(Arena& arena, const Tensor& t) {
  Tensor view = t;
  view.rank = 3;
  const std::array<int64_t, 3> shape = {2, 3, 5};
  for (int axis = 0; axis < 3; ++axis) {
    const int from = axis - (3 - t.rank);
    view.sizes[axis] = shape[axis];
    view.strides[axis] = from < 0 || t.sizes[from] == 1 ? 0 : t.strides[from];
  }
  const Tensor dense = arena.Make(t.dtype, {2, 3, 5});
  CopyStrided(view, dense);
  return dense;
}

TEST(MulAdd, BroadcastsAsNumpyDoes) {
  Arena arena;
  const auto random = [&](std::vector<int64_t> shape) {
    const Tensor t = arena.Make(DType::kBF16, std::move(shape));
    for (int64_t i = 0; i < t.numel(); ++i) {
      StoreElement(t.data, t.dtype, i, std::sin(i + t.rank + 1.0));
    }
    return t;
  };
  const Tensor a = random({2, 3, 5});
  const Op op = Op::Find("mul_add");
  const std::vector<std::vector<int64_t>> shapes = {
      {2, 3, 5}, {3, 5}, {5}, {1}, {}, {3, 1}, {2, 1, 5}, {2, 3, 1}, {1, 1, 1}, {1, 3, 5}};
  for (const auto& b_shape : shapes) {
    for (const auto& c_shape : shapes) {
      const Tensor b = random(b_shape);
      const Tensor c = random(c_shape);
      EXPECT_EQ(BitsOf(op.Run({a, b, c})[0].tensor()),
                BitsOf(op.Run({a, Expanded(arena, b), Expanded(arena, c)})[0].tensor()));
    }
  }
  for (const auto& shape :
       std::vector<std::vector<int64_t>>{{4}, {2, 5}, {2, 2, 3, 5}, {3, 3, 5}}) {
    EXPECT_THROW(op.Run({a, random(shape), a}), UsageError) << "must not enlarge a";
  }
  EXPECT_THROW(op.Run({random({1, 5}), random({2, 5}), random({5})}), UsageError);
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
