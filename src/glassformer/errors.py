"""The one error that means "your input is wrong": its message says what, where, and what to do."""


class InputError(ValueError):
    """Something the user gave cannot be used as it is; the command line prints it and exits with 2."""
