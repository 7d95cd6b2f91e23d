"""A process that is killed at a chosen moment of what it does."""

import itertools
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from glassformer import atomic


def killed_at_line(number: int, action: Callable[[], object], file: str = atomic.__file__) -> bool:
    """Whether the process was killed before the n-th executed line of a source file; else it has ended."""
    child = os.fork()
    if not child:
        lines = itertools.count(1)

        def at_each_line(frame: FrameType, event: str, _: object) -> Any:
            if frame.f_code.co_filename != file:
                return None
            if event == "line" and next(lines) == number:
                os._exit(9)
            return at_each_line

        sys.settrace(at_each_line)
        action()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
