def try_get_generation_config(*args, **kwargs):
    """A file of the model's repository: none is at hand."""
    return None
