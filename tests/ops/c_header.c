/* The header is C, and a DLTensor's bytes are where DLPack has them. */
#include <stddef.h>

#include "tenon/c.h"

_Static_assert(offsetof(TenonTensor, device_type) == 8, "DLTensor.device");
_Static_assert(offsetof(TenonTensor, rank) == 16, "DLTensor.ndim");
_Static_assert(offsetof(TenonTensor, dtype_code) == 20, "DLTensor.dtype");
_Static_assert(offsetof(TenonTensor, sizes) == 24, "DLTensor.shape");
_Static_assert(offsetof(TenonTensor, strides) == 32, "DLTensor.strides");
_Static_assert(offsetof(TenonTensor, byte_offset) == 40, "DLTensor.byte_offset");

const TenonOp* find_from_c(const char* name) { return tenon_find(name); }
