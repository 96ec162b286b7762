#include "ops/registry.h"
#include "ops/rope/rope.h"

namespace tenon::ops::rope {

Contract gather_cos_sin() {
  Contract c("rope", "gather_cos_sin");
  c.Doc("the cosines and sines of each position: once, twice in a row (neox) or each twice");
  DeclareGatheredTable(c);
  c.Out("cos", ir::Elem::Storage(), "..., width=repeat*half");
  c.Out("sin", ir::Elem::Storage(), "..., width=repeat*half");
  c.Body(GatherCosSin);
  return c;
}

}  // namespace tenon::ops::rope
