// The shape rules that functions.def names.
#pragma once

#include "analyze/tensor_functions.h"

namespace tenon::analyze {

#define TENON_RULE(name) Value name(Interpreter&, const TensorFunction&, Arguments&)
// tensor_views.cc
TENON_RULE(ReshapeRule);  // view, reshape: sizes
TENON_RULE(ViewAsRule);   // like another tensor
TENON_RULE(FlattenRule);
TENON_RULE(UnflattenRule);
TENON_RULE(SqueezeRule);
TENON_RULE(UnsqueezeRule);
TENON_RULE(PermuteRule);  // permute, transpose, t
TENON_RULE(ExpandRule);
TENON_RULE(SameRule);  // contiguous, detach ...: the tensor itself
TENON_RULE(SplitRule);
TENON_RULE(ChunkRule);
TENON_RULE(NarrowRule);
TENON_RULE(UnbindRule);
TENON_RULE(SizeRule);  // size, dim, numel
// tensor_math.cc
TENON_RULE(UnaryRule);    // element-wise, dtype kept
TENON_RULE(BinaryRule);   // element-wise with broadcasting
TENON_RULE(InPlaceRule);  // x.add_(y): a new version of x
TENON_RULE(ClampRule);
TENON_RULE(WhereRule);
TENON_RULE(ReduceRule);  // mean, sum, amax ...: dim, keepdim
TENON_RULE(CastRule);    // to, float, half ...
TENON_RULE(SoftmaxRule);
TENON_RULE(ListRule);  // tolist: as many unknown numbers
TENON_RULE(StrideRule);
TENON_RULE(ItemRule);
TENON_RULE(PredicateRule);  // is_contiguous, is_floating_point: a bool
// tensor_create.cc
TENON_RULE(ConcatRule);  // cat, stack
TENON_RULE(MatmulRule);
TENON_RULE(BufferRule);    // empty, empty_like, new_empty: no operator
TENON_RULE(FillRule);      // zeros, ones, full, arange: aux fill
TENON_RULE(ConstantRule);  // torch.tensor(number)
TENON_RULE(CopyRule);      // clone, copy_, repeat
TENON_RULE(GatherRule);    // gather, index_select, embedding, take_along_dim
#undef TENON_RULE

}  // namespace tenon::analyze
