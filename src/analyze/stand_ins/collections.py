def defaultdict(factory=None, *args):
    return __defaultdict__(factory)


def OrderedDict(*args, **kwargs):
    return dict(*args, **kwargs)


def deque(items=(), maxlen=None):
    return list(items)


def namedtuple(name, fields, **kwargs):
    names = fields.replace(",", " ").split() if isinstance(fields, str) else list(fields)

    class Record:
        def __init__(self, *args, **kwargs):
            for key, value in zip(names, args):
                setattr(self, key, value)
            for key, value in kwargs.items():
                setattr(self, key, value)

        def __iter__(self):
            return iter([getattr(self, key) for key in names])

    return Record
