// Attributes that every call node of a lowered model carries beside the operator's own: written by
// analyze/lower, read by fuse. They start with `op_`, which no operator attribute does.
#pragma once

#include <string_view>

namespace tenon::ir::source_op {

inline constexpr std::string_view kIndex = "op_i";               // int: Op::i of the analysis
inline constexpr std::string_view kModule = "op_module";         // "self_attn.qkv_proj"
inline constexpr std::string_view kGroup = "op_group";           // shared_expert ...
inline constexpr std::string_view kInside = "op_inside";         // custom op around it
inline constexpr std::string_view kAux = "op_aux";               // bool: skipped for adjacency
inline constexpr std::string_view kBytesRead = "op_bytes_read";  // sizes, as text
inline constexpr std::string_view kBytesWritten = "op_bytes_written";
inline constexpr std::string_view kFlops = "op_flops";

// Calls that move nothing. How a value looks into another one when neither slice nor reshape can:
inline constexpr std::string_view kView = "view";
// The parts of a value, one result each:
inline constexpr std::string_view kSplit = "split";

}  // namespace tenon::ir::source_op
