"""How often a window doubles."""


def doubling(length: int) -> int:
    """⌈log₂ T⌉, and one for a single letter: every layer doubles the window (Theorem 1)."""
    return max(1, (length - 1).bit_length())
