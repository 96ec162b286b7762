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


def fields(instance):
    return []


def is_dataclass(instance):
    return True
