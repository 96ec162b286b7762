#include "ops/rope/rope.h"

namespace tenon::ops::rope {
namespace {

ir::Axis Half() { return ir::NamedAxis("half"); }

struct Pair {
  ir::Value a;
  ir::Value b;
};

Pair SplitPairs(ir::Value rotary, bool is_neox) {
  if (is_neox) return {Slice(rotary, "rotary", 0, Half()), Slice(rotary, "rotary", "half", Half())};
  const ir::Value pairs = SplitAxis(rotary, "rotary", {Half(), {"pair", 2}});
  return {Pick(pairs, "pair", 0), Pick(pairs, "pair", 1)};
}

}  // namespace

void DeclarePositions(Contract& c) { c.In("positions", ir::Elem::Index(), "..."); }

void DeclareCosSinCache(Contract& c) {
  c.In("cos_sin_cache", ir::Elem::Param(), "rows, rotary=2*half");
}

Rotation GatherRotation(const Body& b) {
  const ir::Value row = GatherRow(b.In("cos_sin_cache"), b.In("positions"), ir::IndexRule::kError);
  return {Slice(row, "rotary", 0, Half()), Slice(row, "rotary", "half", Half()), b.Flag("is_neox")};
}

Rotation Inverse(Rotation rotation, ir::Value inverse) {
  ir::Builder& builder = *inverse.builder();
  rotation.sin = rotation.sin * Select(inverse, builder.Const(-1.0), builder.Const(1.0));
  return rotation;
}

ir::Value Rotate(ir::Value x, const Rotation& rotation, const ir::Dim& offset) {
  const ir::Axis axis = x.type().axes.back();
  const int position = static_cast<int>(x.type().axes.size()) - 1;
  const ir::Value rotary = Slice(x, axis.name, offset, {"rotary", "2*half"});
  const auto [a, b] = SplitPairs(rotary, rotation.is_neox);
  const auto& [cos, sin, is_neox] = rotation;
  const ir::Value first = Round(a * cos - b * sin, ir::Elem::Storage());
  const ir::Value second = Round(b * cos + a * sin, ir::Elem::Storage());

  std::vector<ir::Value> parts;
  if (!(offset == ir::Dim(0))) parts.push_back(Slice(x, axis.name, 0, {"before", offset}));
  if (is_neox) {
    parts.insert(parts.end(), {first, second});
  } else {
    parts.push_back(MergeAxes(ir::Stack({first, second}, "pair"), "half", "pair", "rotary"));
  }
  const ir::Dim end = offset + "2*half";
  parts.push_back(Slice(x, axis.name, end, {"after", axis.size - end}));
  return Concat(parts, position, axis.name);
}

}  // namespace tenon::ops::rope
