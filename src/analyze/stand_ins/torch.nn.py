"""torch.nn: modules as containers, and the plain layers."""

import torch


class Module:
    training = False

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, *args, **kwargs):
        raise NotImplementedError("forward")

    def register_buffer(self, name, tensor, persistent=True):
        setattr(self, name, tensor)

    def register_parameter(self, name, param):
        setattr(self, name, param)

    def add_module(self, name, module):
        setattr(self, name, module)

    def register_module(self, name, module):
        setattr(self, name, module)

    @property
    def _modules(self):
        return __children__(self)

    def children(self):
        return list(__children__(self).values())

    def named_children(self):
        return list(__children__(self).items())

    def modules(self):
        found = [self]
        for child in self.children():
            found.extend(child.modules())
        return found

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        found = [(prefix, self)]
        for name, child in self.named_children():
            found.extend(child.named_modules(None, prefix + "." + name if prefix else name))
        return found

    def parameters(self, recurse=True):
        return []

    def named_parameters(self, prefix="", recurse=True):
        return []

    def named_buffers(self, prefix="", recurse=True):
        return []

    def buffers(self, recurse=True):
        return []

    def state_dict(self):
        return {}

    def get_submodule(self, target):
        module = self
        for name in target.split("."):
            module = getattr(module, name)
        return module

    def apply(self, fn):
        return self

    def to(self, *args, **kwargs):
        return self

    def eval(self):
        return self

    def train(self, mode=True):
        return self

    def requires_grad_(self, requires_grad=True):
        return self

    def half(self):
        return self

    def float(self):
        return self

    def cuda(self, device=None):
        return self


class ModuleList(Module):
    def __init__(self, modules=None):
        self.items_ = []
        for module in modules or []:
            self.append(module)

    def append(self, module):
        __adopt__(self, str(len(self.items_)), module)
        self.items_.append(module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        __adopt__(self, str(index), module)
        self.items_.insert(index, module)

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)

    def __getitem__(self, index):
        if isinstance(index, str):
            return self.items_[int(index)]
        return self.items_[index]

    def __setitem__(self, index, module):
        __adopt__(self, str(index), module)
        self.items_[index] = module

    def children(self):
        return list(self.items_)

    def named_children(self):
        return [(str(i), m) for i, m in enumerate(self.items_)]


class Sequential(ModuleList):
    def __init__(self, *args):
        if len(args) == 1 and isinstance(args[0], dict):
            args = list(args[0].values())
        ModuleList.__init__(self, args)

    def forward(self, x):
        for module in self.items_:
            x = module(x)
        return x


class ModuleDict(Module):
    def __init__(self, modules=None):
        self.items_ = {}
        for name, module in (modules or {}).items():
            self[name] = module

    def __setitem__(self, name, module):
        __adopt__(self, name, module)
        self.items_[name] = module

    def __getitem__(self, name):
        return self.items_[name]

    def __getattr__(self, name):
        if name != "items_" and name in self.items_:
            return self.items_[name]
        raise AttributeError(name)

    def __contains__(self, name):
        return name in self.items_

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)

    def keys(self):
        return self.items_.keys()

    def values(self):
        return self.items_.values()

    def items(self):
        return self.items_.items()

    def children(self):
        return list(self.items_.values())

    def named_children(self):
        return list(self.items_.items())


class Identity(Module):
    def forward(self, x, *args, **kwargs):
        return x


class Dropout(Identity):
    pass


def Parameter(data=None, requires_grad=True):
    return data


def Buffer(data=None, persistent=True):
    return data


class ParameterList(ModuleList):
    pass


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        self.in_features = in_features
        self.out_features = out_features
        self.weight = __param__([out_features, in_features], dtype)
        self.bias = __param__([out_features], dtype) if bias else None

    def forward(self, x):
        return __emit__(
            "linear",
            [x, self.weight, self.bias],
            shape=[*x.shape[:-1], self.out_features],
            axes=__name_of__(self),
            bias=self.bias is not None,
            parallel="replicated",
        )


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, **kwargs):
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.weight = __param__([num_embeddings, embedding_dim], None)

    def forward(self, ids):
        return __emit__(
            "embedding",
            [ids, self.weight],
            shape=[*ids.shape, self.embedding_dim],
            dtype=__option__("dtype"),
            vocab=self.num_embeddings,
            hidden=self.embedding_dim,
            parallel=False,
        )


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None,
                 dtype=None):
        shape = normalized_shape if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
        self.normalized_shape = shape
        self.eps = eps
        self.weight = __param__(shape, dtype) if elementwise_affine else None
        self.bias = __param__(shape, dtype) if elementwise_affine and bias else None

    def forward(self, x):
        return __emit__("layer_norm", [x, self.weight, self.bias], like=x, eps=self.eps,
                        bias=self.bias is not None)


class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        shape = normalized_shape if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
        self.eps = eps
        self.weight = __param__(shape, dtype) if elementwise_affine else None

    def forward(self, x):
        return __emit__("rms_norm", [x, self.weight], like=x, eps=self.eps,
                        has_weight=self.weight is not None, weight_offset=0)


class SiLU(Module):
    def forward(self, x):
        return torch.nn.functional.silu(x)


class GELU(Module):
    def __init__(self, approximate="none"):
        self.approximate = approximate

    def forward(self, x):
        return torch.nn.functional.gelu(x, self.approximate)


class ReLU(Module):
    def __init__(self, inplace=False):
        pass

    def forward(self, x):
        return torch.nn.functional.relu(x)


class Sigmoid(Module):
    def forward(self, x):
        return torch.sigmoid(x)


class Tanh(Module):
    def forward(self, x):
        return torch.tanh(x)


class Softmax(Module):
    def __init__(self, dim=None):
        self.dim = dim

    def forward(self, x):
        return torch.softmax(x, self.dim)
