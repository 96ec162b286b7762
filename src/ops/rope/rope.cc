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

Rotation GatherRotation(const Body& b, std::string_view positions) {
  const ir::Value row = GatherRow(b.In("cos_sin_cache"), b.In(positions), ir::IndexRule::kError);
  return {Slice(row, "rotary", 0, Half()), Slice(row, "rotary", "half", Half()), b.Flag("is_neox")};
}

void DeclareSectionPositions(Contract& c) {
  c.In("positions", ir::Elem::Index(), "..., sections=3").Sections();
}

void DeclareSections(Contract& c) {
  c.IntList("mrope_section", 3).NonNegative();
  c.Require("mrope_section_0 + mrope_section_1 + mrope_section_2", Compare::kEq, "half",
            "the sum of mrope_section must be half of cos_sin_cache's last axis");
}

namespace {

struct Channels {
  ir::Value of_height;  // [half], bool
  ir::Value of_width;
};

ir::Value Both(ir::Value a, ir::Value b) { return Binary(ir::Op::kAnd, a, b); }

Channels ChannelsOf(const Body& b, ir::Builder& builder) {
  const ir::Value channel = Cast(builder.Iota(Half()), DType::kF32);
  const ir::Value time = b.Item("mrope_section", 0);
  const ir::Value height = b.Item("mrope_section", 1);
  const ir::Value width = b.Item("mrope_section", 2);
  const ir::Value third = channel - 3.0 * Unary(ir::Op::kFloor, channel / 3.0);
  const auto every_third = [&](double rest, ir::Value count) {
    return Both(Binary(ir::Op::kEq, third, builder.Const(rest)),
                Binary(ir::Op::kLt, channel, 3.0 * count));
  };
  const ir::Value interleaved = b.Attr("mrope_interleaved");
  const ir::Value height_block =
      Both(Binary(ir::Op::kLe, time, channel), Binary(ir::Op::kLt, channel, time + height));
  const ir::Value width_block = Binary(ir::Op::kLe, time + height, channel);
  return {Select(interleaved, every_third(1, height), height_block),
          Select(interleaved, every_third(2, width), width_block)};
}

}  // namespace

Rotation GatherSections(const Body& b, bool is_neox) {
  const ir::Value rows = GatherRow(b.In("cos_sin_cache"), b.In("positions"), ir::IndexRule::kError);
  const Channels channels = ChannelsOf(b, *rows.builder());
  const auto choose = [&](const ir::Dim& offset) {
    const auto of = [&](int section) {
      return Slice(Pick(rows, "sections", section), "rotary", offset, Half());
    };
    return Select(channels.of_height, of(1), Select(channels.of_width, of(2), of(0)));
  };
  return {choose(0), choose("half"), is_neox};
}

void DeclareGatheredTable(Contract& c) {
  c.In("cos_sin_cache", ir::Elem::Storage(), "rows, rotary=2*half");
  DeclarePositions(c);
  c.String("layout", "half", {"half", "neox", "interleave"}).Sizes("repeat", {1, 2, 2});
}

void GatherCosSin(Body& b) {
  const ir::Value row = GatherRow(b.In("cos_sin_cache"), b.In("positions"), ir::IndexRule::kError);
  const auto part = [&](const ir::Dim& offset) -> ir::Value {
    if (b.Word("layout") == "half") return Slice(row, "rotary", offset, {"width", "half"});
    const ir::Value value = Slice(row, "rotary", offset, Half());
    if (b.Word("layout") == "neox") return ir::Concat({value, value}, 1, "width");
    return MergeAxes(ir::Stack({value, value}, "pair"), "half", "pair", "width");
  };
  b.Out("cos", part(0));
  b.Out("sin", part("half"));
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
