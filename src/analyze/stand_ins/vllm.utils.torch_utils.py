def is_torch_equal_or_newer(target):
    """The release that this vLLM is made for."""
    return True
