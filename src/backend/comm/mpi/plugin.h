// What libtenon calls in the MPI plugin, libtenon_mpi.so.
#pragma once

#include "tenon/c.h"

extern "C" {

// Starts MPI when nobody has, and describes a group of the processes that call this with the same
// colour, in the order of MPI_COMM_WORLD; all processes have to call it, within the seconds given.
// Returns 0; or another number, with the reason in `reason`, which has TENON_REASON_BYTES.
TENON_API int tenon_mpi_group(int32_t color, double timeout_s, TenonTransport* transport,
                              char* reason);

using TenonMpiGroup = decltype(tenon_mpi_group)*;
}
