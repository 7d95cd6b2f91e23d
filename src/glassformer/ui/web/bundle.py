"""The views as one script, for pages that cannot load modules: reports opened from disk, and notebooks.

Each module becomes a function that gives what it exports; an import becomes names taken from another's. The modules are
written so that no more than this is needed: named imports from ./NAME.js, one to a line, and exports where things are
declared.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from glassformer.messages import LANGUAGES, Message

VIEWS: Final = Path(__file__).parent / "views"
IMPORT: Final = re.compile(r'^import \{ ([^}]+) \} from "\./([\w.]+)\.js";\n', re.MULTILINE)
EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


@cache
def noscript() -> str:
    """What stands where scripts are not allowed, in all languages, for nobody can choose one there."""
    said = (Message("page.drawn_by_script").in_language(language) for language in LANGUAGES)
    return f"<noscript>{' / '.join(said)}</noscript>"


@cache
def script(entry: str) -> str:
    """The module and all that it imports, in one text; what the module exports is `glassformer`."""
    written: dict[str, str] = {}
    _add(entry, written)
    return "\n".join([*written.values(), f"const glassformer = {_called(entry)};"])


@cache
def module(entry: str) -> str:
    """The same as a module for anywidget, which renders by what it exports."""
    return f"{script(entry)}\nexport default {{ render: glassformer.render }};\n"


@cache
def style() -> str:
    """The one sheet."""
    return (VIEWS / "style.css").read_text()


def _add(name: str, written: dict[str, str]) -> None:
    if name in written:
        return
    text = (VIEWS / f"{name}.js").read_text()
    for _, other in IMPORT.findall(text):
        _add(other, written)
    names = EXPORT.findall(text)
    text = IMPORT.sub(lambda found: f"const {{ {found[1]} }} = {_called(found[2])};\n", text)
    text = re.sub(r"^export default .*;\n", "", EXPORT.sub("", text), flags=re.MULTILINE)
    written[name] = f"const {_called(name)} = (() => {{\n{text}return {{ {', '.join(names)} }};\n}})();"


def _called(name: str) -> str:
    return f"of_{name.replace('.', '_')}"
