"""Parses a file by a grammar of Lark, and says in plain words where it does not follow the grammar."""

from __future__ import annotations

from collections.abc import Mapping

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from glassformer.automata.place import Source


def parse(parser: Lark, source: Source, hints: Mapping[str, str]) -> Tree[Token]:
    """The tree of a text. `hints` tells what to say about a text that starts so where it does not belong."""
    try:
        return parser.parse(source.text)
    except UnexpectedInput as error:
        at = _place(error, source.text)
    rest = source.text[at : at + 40].strip().lower()
    sentences = [sentence for start, sentence in hints.items() if rest.startswith(start)]
    raise source.mistake((*sentences, "this does not belong here")[0] if rest else "the text ends too early", at)


def _place(error: UnexpectedInput, text: str) -> int:
    """Where the parser stopped; the end of the text if it wanted more."""
    token = getattr(error, "token", None)
    if isinstance(token, Token) and token.type == "$END":
        return len(text.rstrip())
    return error.pos_in_stream if isinstance(error.pos_in_stream, int) else len(text)


def subtrees(tree: Tree[Token], kind: str) -> list[Tree[Token]]:
    """The children of a tree that are trees of one kind."""
    return [child for child in tree.children if isinstance(child, Tree) and child.data == kind]


def tokens(tree: Tree[Token], *kinds: str) -> list[Token]:
    """The children of a tree that are tokens of some kinds."""
    return [child for child in tree.children if isinstance(child, Token) and child.type in kinds]


def place(tree: Tree[Token] | Token) -> int:
    """Where a part of the text begins: the place of its first token, or 0 if it has none."""
    while isinstance(tree, Tree):
        if not tree.children:
            return 0
        tree = tree.children[0]
    return tree.start_pos or 0
