// Bytes and floating-point operations of the operators, as polynomials in T.
#include "analyze/canon.h"
#include "base/dtype.h"

namespace tenon::analyze {
namespace {

std::optional<Dim> Bytes(const std::vector<TensorUse>& uses) {
  Dim total(0);
  for (const TensorUse& use : uses) {
    const auto dtype = ParseDType(use.dtype);
    if (!dtype) return std::nullopt;
    total = total + Product(use.shape) * Dim(ItemSize(*dtype));
  }
  return total;
}

int64_t Number(const Op& op, std::string_view key) {
  const Attr* attr = FindAttr(op, key);
  const auto* value = attr == nullptr ? nullptr : std::get_if<int64_t>(&attr->value);
  return value == nullptr ? 0 : *value;
}

Dim Elements(const std::vector<TensorUse>& uses) {
  Dim total(0);
  for (const TensorUse& use : uses) total = total + Product(use.shape);
  return total;
}

std::optional<Dim> Flops(const Op& op) {
  const bool product = op.op.ends_with("_proj") || op.op == "linear" || op.op == "router_gate" ||
                       op.op == "shared_expert_gate" || op.op == "matmul" || op.op == "bmm";
  if (product && !op.in.empty() && !op.in[0].shape.empty()) {
    return Product(op.out[0].shape) * op.in[0].shape.back() * Dim(2);
  }
  if (op.op == "fused_moe" && !op.in[0].shape.empty()) {
    const Dim tokens = op.in[0].shape[0];
    const Dim hidden = op.in[0].shape.back();
    // Gate and up, then down: three products of hidden x inter for each of k experts.
    return tokens * hidden * Dim(6 * Number(op, "k") * Number(op, "inter"));
  }
  // Depends on the length of the context, which the sequence does not have.
  if (op.op == "attention" || op.op == "linear_attention" || op.op == "mamba") return std::nullopt;
  if (op.aux || op.op == "all_reduce" || op.op == "all_gather" || op.op == "embedding") {
    return Dim(0);
  }
  return Elements(op.out);
}

}  // namespace

void CountBytes(std::vector<TracedOp>* ops) {
  for (TracedOp& traced : *ops) {
    Op& op = traced.op;
    if (op.op == "opaque") continue;
    op.flops = Flops(op);
    if (op.op == "split") {
      op.bytes_read = Dim(0);
      op.bytes_written = Dim(0);
      continue;
    }
    op.bytes_written = Bytes(op.out);
    op.bytes_read = Bytes(op.in);
    if (op.op == "embedding") {  // one row of the table per token
      op.bytes_read = *Bytes(op.out) + *Bytes({op.in[0]});
    }
    if (op.op == "rotary_embedding" && !op.in.empty() && op.in.back().param &&
        !op.in.back().shape.empty() && !op.in[0].shape.empty()) {
      // One row of the cosine and sine table per token, not the whole table.
      const std::vector<TensorUse> others(op.in.begin(), op.in.end() - 1);
      const Dim row = op.in.back().shape.back() * op.in[0].shape.back();
      const auto dtype = ParseDType(op.in.back().dtype);
      op.bytes_read = *Bytes(others) + row * Dim(dtype ? ItemSize(*dtype) : 2);
    }
  }
}

}  // namespace tenon::analyze
