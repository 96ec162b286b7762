class LazyLoader:
    def __init__(self, local_name, parent_module_globals, name):
        self.module_name = name

    def __getattr__(self, item):
        return getattr(__import_module__(self.module_name), item)
