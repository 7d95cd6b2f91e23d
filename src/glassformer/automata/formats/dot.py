"""Machines as DOT, the language of Graphviz: states are nodes, letters are the labels of edges.

- An edge's label is a letter, or several with commas between them. A backslash takes the meaning from a comma, a
  blank at either end, a quote or a backslash; `\\n` is a line break. So it is in the names of states, too.
- The start is where an edge without a label comes from a node that is called "" or "__start", or that cannot be
  seen (shape none, point, plain or plaintext, or style invis). Without one it is the first node of the file.
- Accepting states have shape=doublecircle. Other labels stand in the attribute `output` of every node. If there is
  neither, and the graph does not say language=true, the labels are the names of the states.
- The attribute `letters` of the graph, if there, lists all letters in their order; else it is that of the edges.

Defaults for nodes and edges hold for what comes after them, as in Graphviz. Subgraphs, undirected edges and
HTML-like names are refused; all other attributes are ignored.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from glassformer.automata.formats.build import Edge, machine, table
from glassformer.automata.place import Source
from glassformer.automata.semiautomaton import Label, Machine

GRAMMAR = r"""
start: STRICT? DIGRAPH _name? "{" (_statement ";"?)* "}"
_statement: defaults | assignment | path
defaults: KEYWORD attributes
assignment: _name "=" _name
path: node ("->" node)* attributes
node: _name (":" _name (":" _name)?)?
attributes: ("[" (attribute (","|";")?)* "]")*
attribute: _name ("=" _name)?
_name: BARE | NUMBER | QUOTED

STRICT: /strict\b/i
DIGRAPH: /digraph\b/i
KEYWORD: /(node|edge|graph)\b/i
BARE: /(?!(strict|digraph|graph|subgraph|node|edge)\b)[a-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*/i
NUMBER: /-?(\.[0-9]+|[0-9]+(\.[0-9]*)?)/
QUOTED: /"([^"\\]|\\.)*"/s

%ignore /[ \t\r\n\f\v]+/
%ignore /\/\/[^\n]*/
%ignore /\/\*.*?\*\//s
%ignore /^#[^\n]*/m
"""

HINTS = {
    "subgraph": "formats.dot_subgraph",
    "{": "formats.dot_subgraph",
    "graph": "formats.dot_undirected_graph",
    "--": "formats.dot_undirected_edge",
    "<": "formats.dot_html",
    "+": "formats.dot_joined",
    '"': "formats.dot_quote",
}
"""The message for a text that starts so where it does not belong."""

UNIT = re.compile(r"\\\r?\n|\\.|.", re.DOTALL)  # a character, with the backslash before it
NAMES = ("BARE", "NUMBER", "QUOTED")
UNSEEN = {"none", "point", "plain", "plaintext"}

Attributes: TypeAlias = dict[str, str]  # values as they stand in the file, with their backslashes


@dataclass(frozen=True)
class Arrow:
    """An edge as it stands in the file."""

    source: str
    target: str
    label: str
    at: int


@functools.cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr")


def loads(text: str, name: str) -> Machine:
    """The machine that a DOT text describes."""
    source = Source(text, name)
    graph = Graph(_parsed(source))
    start = graph.take_start(source)
    states = list(graph.nodes)
    if not states:
        raise source.wrong("formats.dot_no_states")
    edges = [edge for arrow in graph.arrows for edge in _edges(source, arrow)]
    symbols = _symbols(source, graph.attributes["graph"], edges)
    delta = table(source, states, symbols, edges)
    first = 0 if start is None else states.index(start)
    return machine(source, states, symbols, delta, start=first, outputs=_outputs(source, graph))


def dumps(machine: Machine) -> str:
    """The DOT text of a machine, drawn from left to right with one arrow from a state to another."""
    lines = [
        "digraph {",
        "  rankdir=LR",
        f"  letters={_label(machine.symbols)}",
        *(["  language=true"] if machine.is_language else []),
        "  node [shape=circle]",
        '  "" [shape=none, label="", width=0, height=0]',
        *(f"  {_node(name, label)}" for name, label in zip(machine.states, machine.outputs, strict=True)),
        f'  "" -> {_quoted(machine.states[machine.start])}',
        *(f"  {arrow}" for state in range(len(machine.states)) for arrow in _arrows(machine, state)),
        "}",
    ]
    return "\n".join(lines) + "\n"


# -- writing -----------------------------------------------------------------------------------------------


def _node(name: str, label: Label) -> str:
    if isinstance(label, bool):
        return _quoted(name) + (" [shape=doublecircle]" if label else "")
    shown = "" if label == name else f", label={_quoted(f'{name}{chr(10)}{label}')}"
    return f"{_quoted(name)} [output={_quoted(label)}{shown}]"


def _arrows(machine: Machine, state: int) -> list[str]:
    """The arrows from a state; letters that lead to the same state share one."""
    letters: dict[int, list[str]] = {}
    for symbol, target in zip(machine.symbols, machine.delta[:, state].tolist(), strict=True):
        letters.setdefault(target, []).append(symbol)
    name = _quoted(machine.states[state])
    return [f"{name} -> {_quoted(machine.states[q])} [label={_label(some)}]" for q, some in letters.items()]


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _label(letters: Sequence[str]) -> str:
    return '"' + ",".join(map(_escaped, letters)) + '"'


def _escaped(letter: str) -> str:
    """A letter inside a label: backslashes before commas, quotes, backslashes, and blanks at either end."""
    last = len(letter) - 1
    special = [x in ',"\\' or (x.isspace() and i in (0, last)) for i, x in enumerate(letter)]
    return "".join("\\n" if x == "\n" else "\\" * mark + x for x, mark in zip(letter, special, strict=True))


# -- reading -----------------------------------------------------------------------------------------------


def _parsed(source: Source) -> Tree[Token]:
    """The tree of a text by the grammar."""
    try:
        return _parser().parse(source.text)
    except UnexpectedInput as error:
        token = getattr(error, "token", None)
        ends_early = isinstance(token, Token) and token.type == "$END"
        place = None if ends_early else error.pos_in_stream
        at = place if isinstance(place, int) else len(source.text.rstrip())
    rest = source.text[at : at + 40].strip().lower()
    hints = [hint for start, hint in HINTS.items() if rest.startswith(start)]
    raise source.mistake((*hints, "formats.does_not_belong")[0] if rest else "formats.ends_early", at)


def _subtrees(tree: Tree[Token], kind: str) -> list[Tree[Token]]:
    """The children of a tree that are trees of one kind."""
    return [child for child in tree.children if isinstance(child, Tree) and child.data == kind]


def _tokens(tree: Tree[Token], *kinds: str) -> list[Token]:
    """The children of a tree that are tokens of some kinds."""
    return [child for child in tree.children if isinstance(child, Token) and child.type in kinds]


class Graph:
    """The nodes, the arrows and the attributes of the graph, with defaults filled in."""

    def __init__(self, tree: Tree[Token]) -> None:
        self.nodes: dict[str, Attributes] = {}
        self.arrows: list[Arrow] = []
        self.attributes: dict[str, Attributes] = {"graph": {}, "node": {}, "edge": {}}
        read = {"defaults": self._defaults, "assignment": self._assignment, "path": self._path}
        for statement in tree.children:
            if isinstance(statement, Tree):
                read[statement.data](statement)

    def take_start(self, source: Source) -> str | None:
        """The state that the start arrow points at; the arrow and its node are taken out."""
        targets = {arrow.target for arrow in self.arrows}
        labelled = {arrow.source for arrow in self.arrows if arrow.label}
        markers = {name for name in self.nodes if self._is_unseen(name)} - targets - labelled
        starts = [arrow for arrow in self.arrows if arrow.source in markers]
        if len(starts) > 1:
            raise source.mistake("formats.dot_second_start", starts[1].at)
        self.arrows = [arrow for arrow in self.arrows if arrow.source not in markers]
        self.nodes = {name: attributes for name, attributes in self.nodes.items() if name not in markers}
        return starts[0].target if starts else None

    def _is_unseen(self, name: str) -> bool:
        attributes = self.nodes[name]
        shape, style = attributes.get("shape"), attributes.get("style", "")
        return name in ("", "__start") or shape in UNSEEN or "invis" in style

    def _defaults(self, tree: Tree[Token]) -> None:
        keyword = _tokens(tree, "KEYWORD")[0].lower()
        self.attributes[keyword].update(_attributes(tree))

    def _assignment(self, tree: Tree[Token]) -> None:
        key, value = _tokens(tree, *NAMES)
        self.attributes["graph"][_plain(_raw(key))] = _raw(value)

    def _path(self, tree: Tree[Token]) -> None:
        attributes = _attributes(tree)
        nodes = [_tokens(node, *NAMES)[0] for node in _subtrees(tree, "node")]
        names = [_plain(_raw(node)) for node in nodes]
        for name in names:
            self.nodes.setdefault(name, dict(self.attributes["node"]))
        if len(names) == 1:
            self.nodes[names[0]].update(attributes)
        label = (self.attributes["edge"] | attributes).get("label", "")
        for i, (source, target) in enumerate(itertools.pairwise(names)):
            self.arrows.append(Arrow(source, target, label, nodes[i].start_pos or 0))


def _attributes(tree: Tree[Token]) -> Attributes:
    """The attributes of a statement; one without a value is true."""
    found: Attributes = {}
    for attribute in _subtrees(_subtrees(tree, "attributes")[0], "attribute"):
        key, *value = _tokens(attribute, *NAMES)
        found[_plain(_raw(key))] = _raw(value[0]) if value else "true"
    return found


def _edges(source: Source, arrow: Arrow) -> list[Edge]:
    """The edges that an arrow stands for, one for each letter of its label."""
    letters = _letters(arrow.label)
    if "" in letters:
        raise source.mistake("formats.dot_no_letter", arrow.at, source=arrow.source, target=arrow.target)
    return [Edge(arrow.source, letter, arrow.target, arrow.at) for letter in letters]


def _symbols(source: Source, graph: Attributes, edges: Sequence[Edge]) -> list[str]:
    """All letters, in the order that the graph gives or else in that of the edges."""
    if "letters" not in graph:
        return list(dict.fromkeys(edge.letter for edge in edges))
    symbols = _letters(graph["letters"])
    known = set(symbols)
    for edge in edges:
        if edge.letter not in known:
            raise source.mistake("formats.dot_letter_unknown", edge.at, letter=edge.letter)
    return symbols


def _outputs(source: Source, graph: Graph) -> tuple[Label, ...]:
    nodes = graph.nodes
    if any("output" in attributes for attributes in nodes.values()):
        for name, attributes in nodes.items():
            if "output" not in attributes:
                raise source.wrong("formats.dot_no_output", state=name)
        return tuple(_plain(attributes["output"]) for attributes in nodes.values())
    accepting = tuple(attributes.get("shape") == "doublecircle" for attributes in nodes.values())
    is_language = any(accepting) or graph.attributes["graph"].get("language") == "true"
    return accepting if is_language else tuple(nodes)


def _raw(name: Token) -> str:
    return name[1:-1] if name.type == "QUOTED" else str(name)


def _plain(raw: str) -> str:
    """A text without its backslashes."""
    return "".join(map(_meaning, UNIT.findall(raw)))


def _letters(raw: str) -> list[str]:
    """The letters of a label."""
    letters: list[str] = []
    units: list[str] = []
    for unit in UNIT.findall(raw + ","):
        if unit == ",":
            letters.append(_trimmed(units))
            units = []
        else:
            units.append(unit)
    return letters


def _trimmed(units: list[str]) -> str:
    """A letter without the blanks around it; those after a backslash belong to it."""
    solid = [i for i, unit in enumerate(units) if not unit.isspace()]
    return "".join(map(_meaning, units[solid[0] : solid[-1] + 1])) if solid else ""


def _meaning(unit: str) -> str:
    """What a character with or without a backslash stands for."""
    if len(unit) == 1:
        return unit
    return {"n": "\n", "l": "\n", "r": "\n", "\n": "", "\r\n": ""}.get(unit[1:], unit[1:])
