"""Fields with a check: only the default value matters."""


def field(default=None, **kwargs):
    return default


def interval(**kwargs):
    return field


def is_divisible_by(number):
    return field


positive_int_field = field
activation_fn_key = field
