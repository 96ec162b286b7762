// The rules of the IR, executable, and what a rewrite must not lose.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ir/transform.h"

namespace tenon::ir {

// The first rule that the graph breaks, as a sentence that shows the node; nothing when it is
// valid. What is checked beyond the types that InferType gives: arguments come before their node
// and are as many as the op takes; fields that the op does not use keep their defaults; names are
// present, inputs and outputs unique; logic takes bool; rows and slices are written with the
// target's element type (rounding is a node, never a side effect of a store); roundings say to
// which type; index rules fit reading or writing; an in-place output has the shape and type of its
// input, and no two share one.
std::optional<std::string> FindViolation(const Graph& graph);

// UsageError with that sentence.
void Verify(const Graph& graph);

// What `after` lost or changed against `before`, as a sentence; nothing when it kept everything.
// Both sides are inlined with `resolver` and brought to normal form. Inputs and outputs must be the
// same (types, defaults, in-place, strides), and every output must still depend on the same inputs,
// attributes, constants, roundings, casts, reductions, index rules and operations, each applied to
// the same kinds of values; no rounding may have been added. How values are moved on the way
// (reshape, slice, transpose ...) is the rewrite's business, as long as FindDifference finds none.
std::optional<std::string> FindLoss(const Graph& before, const Graph& after,
                                    const CallResolver& resolver = nullptr);

// The first element of an output that the two graphs compute differently, as a sentence: both are
// interpreted on equal random inputs, at small sizes that `before` accepts. Calls stand for numbers
// that depend on all of their arguments. Nothing when they agree, or `before` cannot be interpreted
// (opaque nodes).
std::optional<std::string> FindDifference(const Graph& before, const Graph& after);

// InternalError with that sentence: a rewrite that loses something is a bug.
void VerifyRewrite(const Graph& before, const Graph& after, const CallResolver& resolver = nullptr);

// Runs one pass and verifies what comes out; InternalError naming the pass. The check takes about a
// microsecond per node, so that it is always on.
Graph RunPass(std::string_view name, const std::function<Graph(const Graph&)>& pass,
              const Graph& graph);

}  // namespace tenon::ir
