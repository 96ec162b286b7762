def islice(items, *bounds):
    items = list(items)
    if len(bounds) == 1:
        return iter(items[: bounds[0]])
    return iter(items[slice(*bounds)])


def chain(*groups):
    return iter([item for group in groups for item in group])


def repeat(item, times=1):
    return iter([item] * times)


def accumulate(items):
    total = []
    for item in items:
        total.append(item if not total else total[-1] + item)
    return iter(total)


def product(*groups):
    rows = [()]
    for group in groups:
        rows = [(*row, item) for row in rows for item in group]
    return iter(rows)


def pairwise(items):
    items = list(items)
    return iter(zip(items, items[1:]))


def zip_longest(*groups, fillvalue=None):
    groups = [list(group) for group in groups]
    longest = max([len(group) for group in groups])
    return iter(zip(*[group + [fillvalue] * (longest - len(group)) for group in groups]))
