#include "ops/registry.h"

namespace tenon::ops::embedding {

Contract lm_head_logits() {
  Contract c("embedding", "lm_head_logits");
  c.Doc(
      "logits of the words, whose rows of weight are spread over the ranks; all_gather: ranks have "
      "the same tokens; all_to_all: tokens of their own; none: only this rank's words");
  c.In("hidden_states", ir::Elem::Storage(), "rows, hidden").MayBeEmpty();
  c.In("weight", ir::Elem::Storage(), "words, hidden");
  c.OptionalIn("bias", ir::Elem::Param(), "words", 0);
  c.Int("org_vocab_size").Positive();
  c.String("mode", std::nullopt, {"all_gather", "all_to_all", "none"}).Sizes("whole", {1, 1, 0});
  c.Int("world_size").Positive();
  c.Text("group_name");
  c.Require("org_vocab_size", Compare::kLe, "words*world_size",
            "org_vocab_size must not exceed the rows of weight of all ranks");
  c.Out("logits", ir::Elem::Storage(), "rows, whole*org_vocab_size + (1 - whole)*words");
  c.Composition();
  return c;
}

}  // namespace tenon::ops::embedding
