// Python texts that stand in for packages whose source is not read (torch, itertools, ...) and for
// functions whose answer is known without running them (process groups, the platform). They are
// files of stand_ins/, named after the module, embedded while the library is built.
#pragma once

#include <string_view>

namespace tenon::analyze {

// The text for a dotted module name, or empty. A module of the analysed tree with a stand-in keeps
// its own names except those that the text defines.
std::string_view StandIn(std::string_view module);

}  // namespace tenon::analyze
