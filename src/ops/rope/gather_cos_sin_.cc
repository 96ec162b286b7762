#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

// gather_cos_sin into buffers of more rows than there are positions, whose addresses stay: the rows
// behind are left alone.
Contract gather_cos_sin_() {
  Contract c("rope", "gather_cos_sin_");
  c.Doc("gather_cos_sin into the first rows of cos_out and sin_out");
  c.In("cos_out", ir::Elem::Storage(), "..., width=repeat*half").FirstRows();
  c.In("sin_out", ir::Elem::Storage(), "..., width=repeat*half").FirstRows();
  DeclareGatheredTable(c);
  c.Out("cos", ir::Elem::Storage(), "..., width=repeat*half");
  c.Out("sin", ir::Elem::Storage(), "..., width=repeat*half");
  c.InPlaceOnly({{"cos", "cos_out"}, {"sin", "sin_out"}});
  c.Body(GatherCosSin);
  return c;
}

}  // namespace tenon::ops::rope
