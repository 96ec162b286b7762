#include "ir/normal_form.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "host_tensor.h"
#include "ir/builder.h"
#include "ir/interpreter.h"
#include "random_graph.h"

namespace tenon::ir {
namespace {

const Axis kRows = NamedAxis("rows");
const Axis kCols = NamedAxis("cols");

using Body = std::function<Value(Builder&, Value x, Value y)>;

// The nodes of one body over x and y in normal form, as text that tells graphs apart.
std::string KeyOf(const Body& body) {
  Builder b("f");
  const Value x = b.Input("x", Elem::Storage(), {kRows, kCols});
  const Value y = b.Input("y", DType::kF32, {kRows, kCols});
  b.Output("out", body(b, x, y));
  const Graph graph = NormalForm(b.graph());
  std::string key;
  for (const Node& node : graph.nodes()) key += NodeKey(node) + "\n";
  return key + std::to_string(graph.outputs()[0].value);
}

void ExpectSame(const Body& a, const Body& b) { EXPECT_EQ(KeyOf(a), KeyOf(b)); }
void ExpectDifferent(const Body& a, const Body& b) { EXPECT_NE(KeyOf(a), KeyOf(b)); }

Value Wide(Value v) { return Cast(v, DType::kF32); }

TEST(NormalForm, Arithmetic) {
  ExpectSame([](Builder&, Value x, Value y) { return x * y + y; },
             [](Builder&, Value x, Value y) { return y + y * x; });
  ExpectSame([](Builder&, Value, Value y) { return y - 3.0; },
             [](Builder&, Value, Value y) { return -3.0 + y; });
  ExpectSame([](Builder&, Value x, Value y) { return x + -y; },
             [](Builder&, Value x, Value y) { return x - y; });
  ExpectSame([](Builder&, Value x, Value y) { return x - -y; },
             [](Builder&, Value x, Value y) { return x + y; });
  ExpectSame([](Builder&, Value, Value y) { return y * 1.0; },
             [](Builder&, Value, Value y) { return y / 1.0 + -0.0; });
  ExpectSame([](Builder&, Value, Value y) { return y * -1.0; },
             [](Builder&, Value, Value y) { return -(-(-y)); });
  ExpectSame([](Builder&, Value, Value y) { return Abs(-Abs(y)); },
             [](Builder&, Value, Value y) { return Abs(y); });
  ExpectSame([](Builder&, Value, Value y) { return y / 8.0; },
             [](Builder&, Value, Value y) { return 0.125 * y; });
  ExpectSame([](Builder&, Value, Value y) { return 1.0 / Sqrt(y); },
             [](Builder&, Value, Value y) { return Rsqrt(y); });
  ExpectSame([](Builder& b, Value, Value y) { return y * (b.Const(3.0) + 0.5); },
             [](Builder&, Value, Value y) { return y * 3.5; });
}

TEST(NormalForm, KeepsApartWhatHasOtherBits) {
  ExpectDifferent([](Builder&, Value, Value y) { return y + 0.0; },
                  [](Builder&, Value, Value y) { return y; });
  ExpectDifferent([](Builder&, Value, Value y) { return y / 3.0; },
                  [](Builder&, Value, Value y) { return y * (1 / 3.0); });
  ExpectDifferent([](Builder&, Value x, Value y) { return x / Sqrt(y); },
                  [](Builder&, Value x, Value y) { return x * Rsqrt(y); });
  ExpectDifferent([](Builder&, Value x, Value y) { return Max(x, y); },
                  [](Builder&, Value x, Value y) { return Max(y, x); });
  ExpectDifferent([](Builder&, Value x, Value y) { return x * y + y; },
                  [](Builder&, Value x, Value y) { return Fma(x, y, y); });
  ExpectDifferent([](Builder&, Value, Value y) { return Round(y * y, Elem::Storage()); },
                  [](Builder&, Value, Value y) { return y * y; });
  ExpectDifferent([](Builder&, Value x, Value y) { return Round(x + y, Elem::Storage()) * y; },
                  [](Builder&, Value x, Value y) { return (x + y) * y; });
}

TEST(NormalForm, Precision) {
  ExpectSame([](Builder&, Value x, Value y) { return Wide(x) * y; },
             [](Builder&, Value x, Value y) { return x * y; });
  ExpectSame([](Builder&, Value, Value y) { return Cast(y, Elem::Storage()); },
             [](Builder&, Value, Value y) { return Round(y, Elem::Storage()); });
  ExpectSame([](Builder&, Value x, Value) { return Round(Wide(x), Elem::Storage()); },
             [](Builder&, Value x, Value) { return x; });
  ExpectSame([](Builder&, Value, Value y) { return Round(Round(y, DType::kBF16), DType::kBF16); },
             [](Builder&, Value, Value y) { return Round(y, DType::kBF16); });
  ExpectDifferent(
      [](Builder&, Value, Value y) { return Round(Round(y, DType::kF16), DType::kBF16); },
      [](Builder&, Value, Value y) { return Round(y, DType::kBF16); });
  ExpectSame([](Builder&, Value, Value y) { return Round(y, DType::kI8); },
             [](Builder&, Value, Value y) { return Cast(y, DType::kI8); });
  // A widened value that leaves the graph keeps its type.
  Builder b("wide");
  b.Output("y", Wide(b.Input("x", DType::kBF16, {kRows})) * 1.0);
  const Graph graph = NormalForm(b.graph());
  EXPECT_EQ(TypeText(graph.node(graph.outputs()[0].value).type), "f32[rows]");
}

TEST(NormalForm, ChoiceAndBounds) {
  ExpectSame(
      [](Builder&, Value x, Value y) { return Select(Not(Binary(Op::kLt, x, y)), y, y * 2.0); },
      [](Builder&, Value x, Value y) { return Select(Binary(Op::kLt, x, y), y * 2.0, y); });
  ExpectSame([](Builder&, Value, Value y) { return Max(Min(y, 7.0), -7.0); },
             [](Builder&, Value, Value y) { return Min(Max(y, -7.0), 7.0); });
  ExpectSame([](Builder& b, Value, Value y) { return Max(b.Const(2.0), y); },
             [](Builder&, Value, Value y) { return Max(y, 2.0); });
  ExpectDifferent([](Builder&, Value, Value y) { return Max(Min(y, 1.0), 2.0); },
                  [](Builder&, Value, Value y) { return Min(Max(y, 2.0), 1.0); });
}

TEST(NormalForm, Movement) {
  const std::vector<Axis> whole = {kRows, kCols};
  ExpectSame([&](Builder&, Value x, Value y) { return Copy(x) * Broadcast(Sum(y, "cols"), whole); },
             [](Builder&, Value x, Value y) { return Sum(y, "cols") * x; });
  ExpectSame(
      [](Builder&, Value, Value y) {
        return Transpose(Transpose(y, {"cols", "rows"}), {"rows", "cols"});
      },
      [](Builder&, Value, Value y) { return y; });
  ExpectSame(
      [](Builder&, Value, Value y) {
        return Slice(Slice(y, "cols", 2, {"cols", "cols - 2"}), "cols", 3, {"part", 4});
      },
      [](Builder&, Value, Value y) {
        return Slice(y, "cols", 5, {"part", 4});
      });
  ExpectSame(
      [](Builder&, Value x, Value y) {
        return Slice(Concat({Wide(x), y}, 1, "both"), "both", "cols", {"cols", "cols"}) * x;
      },
      [](Builder&, Value x, Value y) { return x * y; });
}

TEST(NormalForm, IsItsOwnNormalForm) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Graph once = NormalForm(MakeRandomGraph(seed, 60).graph);
    const Graph twice = NormalForm(once);
    ASSERT_EQ(once.nodes().size(), twice.nodes().size()) << seed;
    for (size_t i = 0; i < once.nodes().size(); ++i) {
      EXPECT_EQ(NodeKey(once.nodes()[i]), NodeKey(twice.nodes()[i])) << seed;
    }
  }
}

// In float64, too, every rule keeps bits, except that dropping a cast from f32 to f32 and folding
// constants leave out a rounding to float32: the random graphs have neither.
TEST(NormalForm, KeepsTheBitsOfRandomGraphs) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const RandomGraph random = MakeRandomGraph(seed, 40);
    const HostTensor x(DType::kF16, {3, 4}, {1, -2, 0.5, 3, -0.0, 8, -1, 2, 0, -0.25, 100, 7});
    const HostTensor residual(DType::kBF16, {3, 4}, {-1, 2, 2, 5, 0, 3, 1, -9, 4, 1, -3, 0.125});
    const HostTensor slots(DType::kI32, {3}, {2, 0, 1});
    const HostTensor flags(DType::kBool, {3}, {1, 0, 1});
    const HostTensor codes(DType::kI8, {3, 4}, {1, -2, 3, -4, 5, 6, 7, 8, -9, 10, 11, 127});
    RunInputs inputs = Inputs({{"x", x.tensor()},
                               {"residual", residual.tensor()},
                               {"weight", std::nullopt},
                               {"slots", slots.tensor()},
                               {"flags", flags.tensor()},
                               {"codes", codes.tensor()}});
    inputs.storage = DType::kF16;
    inputs.attributes = random.attributes;
    const auto before = Interpret(random.graph, inputs);
    const auto after = Interpret(NormalForm(random.graph), inputs);
    for (size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(before[i].dtype, after[i].dtype) << seed;
      ASSERT_EQ(before[i].shape, after[i].shape) << seed;
      for (size_t k = 0; k < before[i].words.size(); ++k) {
        if (before[i].is_float() && std::isnan(before[i].words[k].f)) {
          EXPECT_TRUE(std::isnan(after[i].words[k].f)) << seed;
        } else {
          EXPECT_EQ(before[i].words[k].i, after[i].words[k].i) << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::ir
