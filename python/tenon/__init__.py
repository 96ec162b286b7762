"""Tenon's operators on NumPy arrays and PyTorch tensors.

    import numpy as np, tenon
    y = tenon.ops.rms_norm(np.ones((2, 4096), np.float32), None)

`tenon.ops.<name>` takes the arguments of the operator's schema (`tenon.schema(name)`), positional
or by name, and returns what the schema says: arrays of the kind that came in. `out=` names arrays
to write to instead. An in-place form (its name ends in "_") writes into its arguments and returns
None. A refused call is a RuntimeError with the same sentence as in C++.

PyTorch tensors go through `torch.ops.tenon` (`import tenon.torch` registers it, and so does the
first call); NumPy arrays through the C ABI.
"""

from tenon._calls import names, prepare, schema, version
from tenon._functions import ops

__all__ = ["names", "ops", "prepare", "schema", "version"]
__version__ = version()
