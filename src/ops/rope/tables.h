// What the tables of rotary embeddings are computed with: functions of the host in float64, each
// rounded once.
#pragma once

#include <cstdint>
#include <string>

#include "ops/resolve.h"

namespace tenon::ops::rope {

// rotary_dim (even), base, and the result inv_freq [rotary_dim/2].
void DeclareRotaryDim(Contract& c);
void DeclareBase(Contract& c);
void DeclareInvFreq(Contract& c);

// base^(2i/rotary_dim): the period of pair i over 2 pi.
double Period(const Resolved& call, int64_t pair);

}  // namespace tenon::ops::rope
