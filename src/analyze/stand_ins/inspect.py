"""Signatures of functions whose source is read."""


class Parameter:
    empty = Ellipsis
    POSITIONAL_ONLY = "positional_only"
    POSITIONAL_OR_KEYWORD = "positional"
    KEYWORD_ONLY = "keyword"
    VAR_POSITIONAL = "star"
    VAR_KEYWORD = "double_star"

    def __init__(self, name, kind, default):
        self.name = name
        self.kind = kind
        self.default = default


class Signature:
    def __init__(self, parameters):
        self.parameters = {name: Parameter(name, kind, default) for name, kind, default in parameters}


def signature(fn):
    return Signature(__parameters__(fn) or [("args", "star", ...), ("kwargs", "double_star", ...)])


def isclass(value):
    return isinstance(value, type)


def isfunction(value):
    return callable(value) and not isinstance(value, type)


def iscoroutinefunction(value):
    return False
