#include "ops/quant/quant.h"
#include "ops/registry.h"

namespace tenon::ops::quant {

Contract per_token_group_quant_fp8() {
  Contract c("quant", "per_token_group_quant_fp8");
  c.Doc(
      "per group: scale = max(max|x|, 1e-10) / 448, with scale_ue8m0 the power of two above; q = "
      "clamp(x / scale, -448, 448)");
  DeclareGroupedRow(c, "x");
  c.Int("group_size", 128).Positive();
  c.KeywordOnly();
  c.Bool("scale_ue8m0", false);
  c.Bool("column_major_scales", false);
  c.Out("q", DType::kF8E4M3, "..., groups*group_size").As("..., groups, group_size");
  // The layout that TMA reads: columns begin at multiples of 16 bytes.
  c.Out("scale", DType::kF32, "..., groups").ColumnMajorWhen("column_major_scales", 4);
  c.Body([](ops::Body& b) {
    const Quantised q = PerGroup(b.In("x"), b.Attr("scale_ue8m0"));
    b.Out("q", q.values);
    b.Out("scale", q.scale);
  });
  return c;
}

}  // namespace tenon::ops::quant
