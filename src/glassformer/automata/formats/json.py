"""Machines as JSON, the format of this library's own files.

    {"symbols": ["a", "b"], "states": ["even", "odd"], "delta": [[1, 0], [0, 1]],
     "start": "even", "outputs": ["yes", "no"]}

`delta[i][j]` is the number of the state that letter i leads to from state j. `start` is the name or the number of a
state (the first if not given); `outputs` has a label for each state: all true or false for a language, or all text
(the names of the states if not given).

A machine with infinitely many states is its kind and its numbers: {"kind": "brackets", "pairs": 2}.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from typing import Any

from glassformer.automata.formats.build import machine
from glassformer.automata.infinite import AnyMachine, InfiniteMachine, infinite_machine
from glassformer.automata.place import Source
from glassformer.automata.semiautomaton import Label
from glassformer.errors import InputError
from glassformer.messages import Message, listed, verbatim

REQUIRED = ("symbols", "states", "delta")
KEYS = (*REQUIRED, "start", "outputs")


def loads(text: str, name: str) -> AnyMachine:
    """The machine that a JSON text describes."""
    source = Source(text, name)
    data = _parsed(source)
    if isinstance(data, dict) and "kind" in data:
        return infinite_machine(data, name)
    data = _object(source, data)
    states, symbols = _names(source, data, "states"), _names(source, data, "symbols")
    delta = _delta(source, data["delta"], len(symbols), len(states))
    start = _start(source, data.get("start", 0), states)
    outputs = _outputs(source, data["outputs"], len(states)) if "outputs" in data else ()
    return machine(source, states, symbols, delta, start=start, outputs=outputs)


def dumps(machine: AnyMachine) -> str:
    """The JSON text of a machine: a key a line, and a row of the table a line."""
    if isinstance(machine, InfiniteMachine):
        return _text(machine.to_json()) + "\n"
    rows = ",\n".join(f"    {json.dumps(row)}" for row in machine.delta.tolist())
    parts = {
        "symbols": _text(machine.symbols),
        "states": _text(machine.states),
        "delta": f"[\n{rows}\n  ]",
        "start": _text(machine.states[machine.start]),
        "outputs": _text(machine.outputs),
    }
    return "{\n" + ",\n".join(f'  "{key}": {value}' for key, value in parts.items()) + "\n}\n"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(source: Source, data: Any) -> dict[str, Any]:
    """The object that the text holds, with the right keys."""
    if not isinstance(data, dict):
        raise source.wrong("formats.json_object", keys=listed(KEYS), value=_kind(data))
    for key in data:
        if key not in KEYS:
            if near := difflib.get_close_matches(key, KEYS, n=1):
                raise source.wrong("formats.json_near_key", key=key, near=near[0])
            raise source.wrong("formats.json_unknown_key", key=key, keys=listed(KEYS))
    for key in REQUIRED:
        if key not in data:
            raise source.wrong("formats.json_missing", key=key)
    return data


def _parsed(source: Source) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        for key, count in Counter(key for key, _ in items).items():
            if count > 1:
                raise source.wrong("formats.json_repeated", key=key, count=count)
        return dict(items)

    try:
        return json.loads(source.text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise source.mistake("formats.no_json", error.pos, why=error.msg) from None
    except RecursionError:
        raise source.wrong("formats.json_too_deep") from None
    except InputError:
        raise
    except ValueError:  # Python refuses to read numbers of thousands of digits
        raise source.wrong("formats.json_long_number") from None


def _names(source: Source, data: dict[str, Any], key: str) -> list[str]:
    names = data[key]
    if not isinstance(names, list):
        raise source.wrong("formats.json_names", key=key, value=_kind(names))
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise source.wrong("formats.json_name", place=f"{key}[{i}]", value=_kind(name))
    return names


def _delta(source: Source, delta: Any, symbols: int, states: int) -> list[list[int]]:
    if not isinstance(delta, list) or len(delta) != symbols:
        raise source.wrong("formats.json_delta", rows=symbols, value=_kind(delta))
    for i, row in enumerate(delta):
        if not isinstance(row, list) or len(row) != states:
            raise source.wrong("formats.json_row", place=f"delta[{i}]", states=states, value=_kind(row))
        for j, number in enumerate(row):
            if not _is_number(number) or not 0 <= number < states:
                place = f"delta[{i}][{j}]"
                raise source.wrong("formats.json_target", place=place, last=states - 1, value=_kind(number))
    return delta


def _start(source: Source, start: Any, states: list[str]) -> int:
    if isinstance(start, str) and start in states:
        return states.index(start)
    if _is_number(start) and (0 <= start < len(states) or not states):
        return int(start)
    raise source.wrong("formats.json_start", states=listed(states), value=_kind(start))


def _outputs(source: Source, outputs: Any, states: int) -> tuple[Label, ...]:
    if not isinstance(outputs, list) or len(outputs) != states:
        raise source.wrong("formats.json_outputs", states=states, value=_kind(outputs))
    for i, label in enumerate(outputs):
        if not isinstance(label, type(outputs[0])) or not isinstance(label, str | bool):
            raise source.wrong("formats.json_output", place=f"outputs[{i}]", value=_kind(label))
    return tuple(outputs)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(value: Any) -> Message:
    """What a value is, for a message."""
    if isinstance(value, list):
        return Message("formats.json_list", count=len(value))
    if isinstance(value, dict):
        return Message("formats.json_dictionary")
    shown = json.dumps(value)
    return verbatim(shown if len(shown) <= 40 else shown[:40] + "…")
