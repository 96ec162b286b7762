"""AITER is off by default on every platform: its environment switches are."""


def is_aiter_found_and_supported():
    return False


class RocmAiterOps:
    def __getattr__(self, name):
        if name.startswith("is_"):
            return lambda *args, **kwargs: False
        raise AttributeError(name)


rocm_aiter_ops = RocmAiterOps()
IS_AITER_FOUND = False
