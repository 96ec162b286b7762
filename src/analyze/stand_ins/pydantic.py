from dataclasses import DefaultFactory


def Field(default=None, default_factory=None, **kwargs):
    return default if default_factory is None else DefaultFactory(default_factory)
