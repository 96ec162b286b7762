def find_spec(name, package=None):
    return name if __exists__(name) else None
