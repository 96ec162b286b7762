"""torch: what is neither a dtype nor a row of functions.def."""


class device:
    def __init__(self, type="cpu", index=None):
        self.type = type
        self.index = index


device_of_tensors = device("cuda" if __option__("platform") in ("cuda", "rocm") else "cpu")


def get_default_dtype():
    return __option__("dtype")


class Size(tuple):
    pass


def compile(fn=None, **kwargs):
    if fn is not None:
        return __compiled__(fn)
    return __compiled__


class no_grad:
    def __call__(self, fn):
        return fn


class inference_mode:
    def __init__(self, mode=True):
        pass

    def __call__(self, fn):
        return fn
