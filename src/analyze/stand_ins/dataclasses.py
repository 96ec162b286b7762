class DefaultFactory:
    def __init__(self, factory):
        self.factory = factory

    def make(self):
        return self.factory()


def field(default=None, default_factory=None, **kwargs):
    return default if default_factory is None else DefaultFactory(default_factory)


def replace(instance, **changes):
    copy = __copy__(instance)
    for key, value in changes.items():
        setattr(copy, key, value)
    return copy


class Field:
    def __init__(self, name, default):
        self.name = name
        self.default = default
        self.init = True


def fields(instance):
    cls = instance if isinstance(instance, type) else type(instance)
    return [Field(name, default) for name, default in __fields__(cls).items()]


def is_dataclass(instance):
    return True
