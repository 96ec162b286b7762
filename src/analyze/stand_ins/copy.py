def copy(value):
    return __copy__(value)


def deepcopy(value, memo=None):
    return __deepcopy__(value)
