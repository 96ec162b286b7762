#include "ops/linear/product.h"
#include "ops/registry.h"

namespace tenon::ops::linear {

Contract qkv_linear() {
  Contract c("linear", "qkv_linear");
  c.Doc("q, k, v = x weight^T + bias, split by columns, each contiguous");
  const std::string rows =
      "num_heads*head_size + num_kv_heads*head_size + num_kv_heads*v_head_size";
  c.In("x", ir::Elem::Storage(), "..., hidden").MayBeEmpty();
  DeclareWeight(c, "weight", "rows=" + rows + ", hidden");
  c.OptionalIn("bias", ir::Elem::Param(), "rows=" + rows, -0.0);
  c.Int("num_heads").Positive();
  c.Int("num_kv_heads").Positive();
  c.Int("head_size").Positive();
  c.OptionalInt("v_head_size", "head_size").Positive();
  c.Out("q", ir::Elem::Storage(), "..., q=num_heads*head_size");
  c.Out("k", ir::Elem::Storage(), "..., k=num_kv_heads*head_size");
  c.Out("v", ir::Elem::Storage(), "..., v=num_kv_heads*v_head_size");
  c.Structural();
  c.Body([](ops::Body& b) {
    const ir::Value sums = Project(b, b.In("x"), "weight", "bias", "hidden");
    const auto part = [&](const char* name, const char* offset, const char* size) {
      const ir::Axis axis{name, *ir::Dim::Parse(size)};
      b.Out(name, Round(Slice(sums, "rows", *ir::Dim::Parse(offset), axis), ir::Elem::Storage()));
    };
    part("q", "0", "num_heads*head_size");
    part("k", "num_heads*head_size", "num_kv_heads*head_size");
    part("v", "num_heads*head_size + num_kv_heads*head_size", "num_kv_heads*v_head_size");
  });
  return c;
}

}  // namespace tenon::ops::linear
