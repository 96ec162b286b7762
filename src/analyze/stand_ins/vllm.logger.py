class Logger:
    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def init_logger(name):
    return Logger()
