from dataclasses import replace


def config(cls=None, **kwargs):
    if cls is not None:
        return cls
    return lambda decorated: decorated


def getattr_iter(object, names, default=None, **kwargs):
    for name in names:
        if hasattr(object, name):
            return getattr(object, name)
    return default
