def is_available():
    return True


def is_initialized():
    """A model is built when its ranks have met."""
    return True
