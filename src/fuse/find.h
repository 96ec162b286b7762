// The whole of matching: a model's layers in, ranked findings out.
#pragma once

#include "backend/profile.h"
#include "fuse/model.h"
#include "fuse/opportunity.h"

namespace tenon::fuse {

// Every scene is evaluated for every layer variant. Proposals (open, optin) come first, by
// predicted time saved; then what is fused, what gains nothing, what is blocked, and scenes that do
// not occur.
Findings FindFusions(const Model& model, const backend::DeviceProfile& profile);

}  // namespace tenon::fuse
