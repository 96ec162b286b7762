TYPE_CHECKING = False


def cast(type, value):
    return value


def overload(fn):
    return fn


def runtime_checkable(cls):
    return cls


def final(cls):
    return cls


def TypeVar(name, *args, **kwargs):
    return None


def NewType(name, base):
    return base


class LiteralType:
    def __init__(self, values):
        self.__args__ = values


class LiteralForm:
    def __getitem__(self, values):
        return LiteralType(values if isinstance(values, tuple) else (values,))


Literal = LiteralForm()


def get_args(type):
    return getattr(type, "__args__", ())
