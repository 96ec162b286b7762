pi = 3.141592653589793
inf = float("inf")


def sqrt(x):
    return x**0.5


def prod(items):
    total = 1
    for item in items:
        total = total * item
    return total


def ceil(x):
    return -int(-x // 1)


def floor(x):
    return int(x // 1)


def log(x, base=2.718281828459045):
    return __log__(x) / __log__(base)


def log2(x):
    return __log__(x) / __log__(2)


def isqrt(x):
    return int(x**0.5)


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def isclose(a, b, rel_tol=1e-9, abs_tol=0.0):
    return abs(a - b) <= rel_tol * max(abs(a), abs(b))
