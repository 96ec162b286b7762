// What the tables of rotary embeddings are computed with: functions of the host in float64, each
// rounded once.
#pragma once

#include <cstdint>
#include <string>

#include "ops/resolve.h"

namespace tenon::ops::rope {

inline double Real(const Resolved& call, const std::string& name) {
  return std::get<double>(call.attributes.at(name));
}
inline int64_t Integer(const Resolved& call, const std::string& name) {
  return std::get<int64_t>(call.attributes.at(name));
}

// rotary_dim (even), base, and the result inv_freq [rotary_dim/2].
void DeclareRotaryDim(Contract& c);
void DeclareBase(Contract& c);
void DeclareInvFreq(Contract& c);

// base^(2i/rotary_dim): the period of pair i over 2 pi.
double Period(const Resolved& call, int64_t pair);

}  // namespace tenon::ops::rope
