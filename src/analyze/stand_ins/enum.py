class Enum:
    pass


class StrEnum(str, Enum):
    pass


class IntEnum(int, Enum):
    pass


class Flag(Enum):
    pass


class IntFlag(int, Enum):
    pass


class EnumMeta:
    pass


def unique(cls):
    return cls
