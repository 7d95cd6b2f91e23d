"""Types and shapes are checked at every call while the tests run: beartype on the package's functions and data classes.

Where arrays are spoken of, sizes of one name must agree in all arguments and in the result: jaxtyping remembers them
for the time of the call. Only such calls pay for it, and a function is made ready when it is first called. (jaxtyping's
own import hook makes all ready at once and binds the arguments of every call, which takes most functions longer than
what they do.)
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType
from typing import Any, TypeVar

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, jaxtyped

Checkable = TypeVar("Checkable", bound=Callable[..., Any])

SETTINGS = BeartypeConf(is_pep484_tower=True, violation_type=TypeError)  # the tower: an int may stand for a float
off = False
"""Whether all checks are off, for a while."""


def checked(made: Checkable) -> Checkable:
    """The same function, or data class, looking at what it is given and at what it returns."""
    if isinstance(made, type):
        if dataclasses.is_dataclass(made) and "__init__" in vars(made):
            made.__init__ = _checked(made.__init__)  # type: ignore[method-assign]
        return made
    if isinstance(made, (classmethod, staticmethod)):
        return type(made)(_checked(made.__func__))
    return _checked(made) if inspect.isfunction(made) else made


def _checked(function: Callable[..., Any]) -> Any:
    looking: Callable[..., Any] | None = None

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal looking
        if off:
            return function(*args, **kwargs)
        looking = looking or _looking(function)  # now, when all types that it names are there
        return looking(*args, **kwargs)

    return call


def _looking(function: Callable[..., Any]) -> Callable[..., Any]:
    hints = {name: _evaluated(hint, function.__globals__) for name, hint in function.__annotations__.items()}
    function.__annotations__ = hints
    of_arrays = any(map(_is_of_arrays, hints.values()))
    if of_arrays and inspect.isgeneratorfunction(function):  # beartype would look when the first value is asked for
        return jaxtyped(function, typechecker=beartype(conf=SETTINGS))
    looking = beartype(conf=SETTINGS)(function)
    if not of_arrays:
        return looking

    def remembering(*args: Any, **kwargs: Any) -> Any:
        with jaxtyped("context"):
            return looking(*args, **kwargs)

    return remembering


def _evaluated(hint: Any, names: dict[str, Any]) -> Any:
    try:
        return eval(hint, names) if isinstance(hint, str) else hint  # noqa: S307 (the package's own annotations)
    except NameError:  # it is imported for the static checker alone
        return Any


def _is_of_arrays(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return True
    return any(map(_is_of_arrays, typing.get_args(hint)))


class _Decorator(ast.NodeVisitor):
    """Puts `checked` below all other decorators of functions, and above those of classes; not inside of functions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        node.decorator_list.append(_named(node))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Left alone, with what is inside."""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        node.decorator_list.insert(0, _named(node))
        self.generic_visit(node)


def _named(node: ast.stmt) -> ast.expr:
    (expression,) = ast.parse(f"__import__({__name__!r}).checked").body
    assert isinstance(expression, ast.Expr)
    for part in ast.walk(expression):
        ast.copy_location(part, node)
    return expression.value


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Always from the source: what Python keeps of it is without checks."""
        source = importlib.util.decode_source(self.get_data(self.path))
        tree = ast.parse(source, self.path)
        _Decorator().visit(tree)
        return compile(tree, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != self.package:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install(package: str) -> None:
    """Check whatever is imported of this package from now on."""
    sys.meta_path.insert(0, _Finder(package))
