def support_torch_compile(cls=None, **kwargs):
    if cls is not None:
        return cls
    return lambda decorated: decorated


def ignore_torch_compile(cls):
    return cls
