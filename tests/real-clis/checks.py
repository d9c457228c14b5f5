"""What a check is: a function with a name that people read, which returns if all is well."""


class Failed(Exception):
    """Something is not as it should be."""


class NotOffered(Exception):
    """This CLI cannot do it, or has no need to."""


def check(name):
    def named(function):
        function.title = name
        return function

    return named


def expect(holds, what):
    if not holds:
        raise Failed(what)
