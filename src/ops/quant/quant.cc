#include "ops/quant/quant.h"

namespace tenon::ops::quant {
namespace {

constexpr double kLargestF8 = 448.0;

// The smallest power of two that is not below a normal positive float32: its mantissa is carried
// into the exponent.
ir::Value PowerOfTwoAbove(ir::Value v) {
  ir::Builder& b = *v.builder();
  const auto bits = [&](double mask) { return b.Const(mask, DType::kI32); };
  const ir::Value carried = Unary(ir::Op::kBitsOf, v) + bits(0x7FFFFF);
  return Unary(ir::Op::kFromBits, Binary(ir::Op::kBitAnd, carried, bits(0x7F800000)));
}

}  // namespace

ir::Value ScaleOf(ir::Value amax, DType dtype) {
  const double largest = dtype == DType::kI8 ? 127.0 : kLargestF8;
  return Round(Max(amax, 1e-10) / largest, DType::kF32);
}

Quantised PerToken(ir::Value x, DType dtype) {
  const ir::Value scale = ScaleOf(Amax(x, x.type().axes.back().name), dtype);
  return {Cast(x / scale, dtype), scale};
}

void DeclareGroupedRow(Contract& c, std::string_view name) {
  c.In(name, ir::Elem::Storage(), "..., groups*group_size").As("..., hidden=groups*group_size");
}

void DeclareGroupResults(Contract& c) {
  c.Out("q", DType::kF8E4M3, "..., groups*group_size").As("..., groups, group_size");
  c.Out("scale", DType::kF32, "..., groups");
}

Quantised PerGroup(ir::Value x, ir::Value ue8m0) {
  const ir::Value groups = SplitAxis(x, x.type().axes.back().name,
                                     {ir::NamedAxis("groups"), ir::NamedAxis("group_size")});
  const ir::Value plain = ScaleOf(Amax(groups, "group_size"), DType::kF8E4M3);
  const ir::Value scale = Select(ue8m0, PowerOfTwoAbove(plain), plain);
  return {Cast(groups / scale, DType::kF8E4M3), scale};
}

void DeclareScale(Contract& c) { c.In("scale", DType::kF32, "hidden | 1 |").As("hidden"); }

void DeclareOffset(Contract& c) {
  c.OptionalIn("offset", ir::Elem::Param(), "hidden | 1 |", 0.0)
      .NoneByDefault()
      .Integers()
      .NoneWith("dtype", "f8e4m3")
      .As("hidden");
}

void DeclareDType(Contract& c) { c.ScalarType("dtype", {"i8", "f8e4m3"}).Static(); }

ir::Value Static(const Body& b, ir::Value x) {
  const ir::Value steps = x / b.In("scale");
  if (b.Type("dtype") == DType::kF8E4M3) return Cast(steps, DType::kF8E4M3);
  return Cast(RoundInt(steps) + b.In("offset"), DType::kI8);
}

}  // namespace tenon::ops::quant
