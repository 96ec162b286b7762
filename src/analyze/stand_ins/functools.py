def partial(func, *args, **kwargs):
    return __partial__(func, *args, **kwargs)


def partialmethod(func, *args, **kwargs):
    return lambda self, *a, **k: func(self, *args, *a, **kwargs, **k)


def wraps(wrapped, *args, **kwargs):
    return lambda wrapper: wrapper


def lru_cache(maxsize=None, typed=False):
    if callable(maxsize):
        return maxsize
    return lambda fn: fn


def cache(fn):
    return fn


def reduce(fn, items, initial=None):
    total = initial
    for item in items:
        total = item if total is None else fn(total, item)
    return total
