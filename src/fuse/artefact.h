// The folder that `tenon fuse` leaves: everything to read, trust and call the new operator.
#pragma once

#include <filesystem>
#include <vector>

#include "fuse/body.h"
#include "fuse/kernel.h"

namespace tenon::fuse {

struct FuseResult;

struct ArtefactParts {
  const ir::Graph* body = nullptr;  // calls kept
  const ir::Graph* flat = nullptr;  // primitive nodes
  const Kernel* fused = nullptr;
  const std::vector<ViewOutput>* views = nullptr;
  const FuseResult* result = nullptr;
};

// Writes <output>/<name>-<hash>/ aside and renames it; returns its path. In it: <name>.cc,
// kernel.so, plan.txt, graph.ir, check.json, timing.json, interface.py.
std::filesystem::path WriteArtefact(const ArtefactParts& parts,
                                    const std::filesystem::path& output);

// UsageError when nothing can be written in `output`: said before anything is compiled.
void CheckWritable(const std::filesystem::path& output);

// The Python module that calls kernel.so through ctypes.
std::string InterfacePy(const ArtefactParts& parts);

}  // namespace tenon::fuse
