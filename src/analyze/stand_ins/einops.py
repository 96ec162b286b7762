"""rearrange as the views and the permutation that it is."""


def axes(text):
    """The axes of one side of a pattern, each a list of names; a bare "..." stays one."""
    found = []
    inside = None
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            inside = []
        elif token == ")":
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.append(token)
        else:
            found.append("..." if token == "..." else [token])
    return found


def spread(found, names):
    """With the axes that "..." stands for in its place."""
    result = []
    for group in found:
        if group == "...":
            result.extend([[name] for name in names])
        elif "..." in group:
            result.append(names)
        else:
            result.append(group)
    return result


def rearrange(x, pattern, **sizes):
    left, right = pattern.split("->")
    left = axes(left)
    hidden = ["..." + str(i) for i in range(len(x.shape) - len(left) + 1)]
    given, wanted = spread(left, hidden), spread(axes(right), hidden)
    known = {"1": 1}
    known.update(sizes)
    for group, size in zip(given, x.shape):
        for name in group:
            if name in known:
                size = size // known[name]
        for name in group:
            if name not in known:
                known[name] = size
    names = [name for group in given for name in group if name != "1"]
    order = [names.index(name) for group in wanted for name in group if name != "1"]
    y = x.reshape([known[name] for name in names])
    if order != list(range(len(order))):
        y = y.permute(order)
    shape = []
    for group in wanted:
        size = 1
        for name in group:
            size = size * known[name]
        shape.append(size)
    return y.reshape(shape)
