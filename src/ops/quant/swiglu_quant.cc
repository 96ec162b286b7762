#include "ops/activation/activation.h"
#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract swiglu_quant() {
  Contract c("quant", "swiglu_quant");
  c.Doc(
      "h = silu_and_mul(x); per row: scale = max(max|h|, 1e-10) / largest; q = round(h / scale); "
      "for "
      "the rows that group_list counts");
  c.In("x", ir::Elem::Storage(), "..., width=2*d");
  c.OptionalIn("group_list", ir::Elem::Index(), "experts", 0).NoneByDefault();
  c.Int("group_list_type", 1).Between(0, 1);
  c.KeywordOnly();
  DeclareDType(c);
  c.LimitRows("group_list", "group_list_type");
  c.Out("q", DType::kI8, "..., d").DTypeFrom("dtype");
  c.Out("scale", DType::kF32, "...");
  c.Body([](ops::Body& b) {
    const Quantised q =
        PerToken(activation::SiluAndMul(b.In("x"), ir::NamedAxis("d")), b.Type("dtype"));
    b.Out("q", q.values);
    b.Out("scale", q.scale);
  });
  return c;
}

}  // namespace tenon::ops::quant
