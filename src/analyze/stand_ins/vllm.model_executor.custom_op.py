import torch


class PluggableLayer(torch.nn.Module):
    @classmethod
    def register(cls, name):
        def decorator(layer):
            layer.name = name
            return layer

        return decorator

    @classmethod
    def register_oot(cls, layer=None, name=None):
        return layer if layer is not None else (lambda decorated: decorated)


class CustomOp(torch.nn.Module):
    @classmethod
    def register(cls, name, **kwargs):
        def decorator(op):
            op.name = name
            return op

        return decorator

    @classmethod
    def register_oot(cls, op=None, name=None):
        return op if op is not None else (lambda decorated: decorated)

    @classmethod
    def enabled(cls):
        return True

    @classmethod
    def default_on(cls):
        return True

    def forward(self, *args, **kwargs):
        platform = __option__("platform")
        method = {"cuda": "forward_cuda", "rocm": "forward_hip", "xpu": "forward_xpu",
                  "cpu": "forward_cpu", "ascend": "forward_oot"}[platform]
        return getattr(self, method)(*args, **kwargs)

    def forward_native(self, *args, **kwargs):
        raise NotImplementedError

    def forward_cuda(self, *args, **kwargs):
        return self.forward_native(*args, **kwargs)

    def forward_hip(self, *args, **kwargs):
        return self.forward_cuda(*args, **kwargs)

    def forward_xpu(self, *args, **kwargs):
        return self.forward_native(*args, **kwargs)

    def forward_cpu(self, *args, **kwargs):
        return self.forward_native(*args, **kwargs)

    def forward_oot(self, *args, **kwargs):
        return self.forward_native(*args, **kwargs)
