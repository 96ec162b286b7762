def contextmanager(fn):
    return fn


class nullcontext:
    def __init__(self, value=None):
        self.value = value

    def __enter__(self):
        return self.value


def suppress(*exceptions):
    return None
