// Inputs that checks and benches feed to a body.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuse/kernel.h"

namespace tenon::fuse {

// normal: what activations look like. wide: magnitudes from 1e-12 to 1e4. zeros: rows of zeros of
// both signs. special: NaN and infinities in some rows, the other rows must not notice.
enum class InputKind : uint8_t { kNormal, kWide, kZeros, kSpecial };
std::string_view InputKindName(InputKind kind);

// Values for every size of the graph: `given`, else a value by what the size counts.
ir::Bindings CompleteSizes(const ir::Graph& graph, const ir::Bindings& given);

// Every input of `graph`, equal for equal arguments; indices stay within their tables.
std::map<std::string, HostTensor> MakeInputs(const ir::Graph& graph, DType storage,
                                             const ir::Bindings& sizes, InputKind kind);

// Values of the scalar attributes of `graph`: `given`, else 0.5.
ScalarMap CompleteScalars(const ir::Graph& graph, const ScalarMap& given);

TensorMap Views(const std::map<std::string, HostTensor>& tensors);

}  // namespace tenon::fuse
