// Where the model's classes are, and which class is what.
#pragma once

#include <string>

#include "analyze/session.h"

namespace tenon::analyze {

// Fills result.model and result.locations from the main class and the traced layers.
void FindLocations(Session& s);

// Whether a class on the way to the layers is decorated for compilation.
bool IsCompiled(const Session& s);

std::string AttrText(const Attr& attr);

}  // namespace tenon::analyze
