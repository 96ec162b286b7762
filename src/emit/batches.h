// Short rows (heads, groups) of a nest, several at a time.
#pragma once

#include "emit/plan.h"

namespace tenon::emit {

// Fills Nest::second_part. A short row's statistic is a chain of some 100 cycles, which the loads
// of the next row do not hide where its arithmetic fills the window of the core. Then the loops
// that reduce run over kRowBatch rows before those that need the results. Zen 5, one thread, 64
// rows of silu_and_mul_per_block_quant, 12288 wide: f32 330 -> 236 us, bf16 426 -> 333.
void ChooseBatch(Nest& nest);

}  // namespace tenon::emit
