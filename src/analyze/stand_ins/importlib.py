def import_module(name, package=None):
    return __import_module__(name)
