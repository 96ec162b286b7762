// Opens the MPI plugin.
#include <dlfcn.h>

#include <array>
#include <mutex>

#include "backend/comm/mpi/plugin.h"
#include "backend/comm/timeout.h"
#include "backend/comm/transport_group.h"
#include "base/env.h"
#include "base/error.h"

namespace tenon {
namespace {

// $TENON_MPI_LIBRARY, or the plugin beside the library that this code is part of.
std::string PluginPath() {
  if (std::string path = EnvValue("TENON_MPI_LIBRARY"); !path.empty()) return path;
  Dl_info own;
  TENON_ASSERT(dladdr(reinterpret_cast<void*>(&MakeMpiGroup), &own) != 0, "no file has this code");
  const std::string path = own.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "libtenon_mpi.so"
                                    : path.substr(0, slash + 1) + "libtenon_mpi.so";
}

TenonMpiGroup OpenPlugin() {
  static std::mutex mutex;
  static TenonMpiGroup group = nullptr;
  const std::lock_guard lock(mutex);
  if (group != nullptr) return group;
  // Global: Open MPI's own plugins look for its symbols there.
  void* plugin = dlopen(PluginPath().c_str(), RTLD_NOW | RTLD_GLOBAL);
  TENON_CHECK(plugin != nullptr,
              "MPI cannot be used ({}): the plugin is built where MPI's headers are (Debian: "
              "libopenmpi-dev), and needs MPI's library",
              dlerror());
  group = reinterpret_cast<TenonMpiGroup>(dlsym(plugin, "tenon_mpi_group"));
  TENON_CHECK(group != nullptr, "{} is not Tenon's MPI plugin", PluginPath());
  return group;
}

}  // namespace

std::shared_ptr<Communicator> MakeMpiGroup(int color) {
  TENON_CHECK(color >= 0, "the colour of a group must be at least 0, got {}", color);
  TenonTransport transport{};
  std::array<char, TENON_REASON_BYTES> reason{};
  const int failed = OpenPlugin()(color, CommTimeoutSeconds(), &transport, reason.data());
  TENON_CHECK(failed == 0, "MPI did not make a group: {}", reason.data());
  return GroupOf(&transport);
}

}  // namespace tenon
