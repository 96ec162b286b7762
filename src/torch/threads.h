// Tenon's rows on PyTorch's threads.
#pragma once

namespace tenon::torch {

// From here on torch.set_num_threads decides how many threads a CPU operator takes.
void UseTorchThreads();

}  // namespace tenon::torch
