"""Open a model: a folder of ours, of an export or of another library, or an object that is there already.

Nothing in a folder is executed. What its tokens are is in the documents beside the weights.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

from glassformer.atomic import recover
from glassformer.automata import AnyMachine, formats
from glassformer.compiler.built import Built
from glassformer.errors import InputError
from glassformer.instruments.layers import layers_of
from glassformer.instruments.shortcut import Member
from glassformer.instruments.text_model import TextModel
from glassformer.interop import huggingface, weights
from glassformer.nn import Transformer, files
from glassformer.nn.translator import encoder_of
from glassformer.opening.opened import Opened, Vocabulary
from glassformer.training.evaluation import mistakes
from glassformer.training.objectives import SPECIAL, encoded, tokeniser_from
from glassformer.training.tasks import FlipFlopLanguage, StateTracking, WordTask, reads_text, task_from_json
from glassformer.training.trainer import model_of
from glassformer.training.transductions import Transduction

NAMES, SENTENCES = "names.json", "sentences.json"
"""Beside a model: the names of its tokens, which are also its answers; sentences that it knows, all of one length."""
TRAINING, MACHINE, TOKENISER = "training.json", "machine.json", "tokenizer.json"
"""Beside a model: how it was trained; what it was built for; how it cuts text into tokens."""
BESIDE: Final = (MACHINE, "certificate.json", TRAINING, NAMES)
"""Documents of ours that go with a model wherever it goes."""


def load(source: str | os.PathLike[str] | Built | nn.Module | Opened) -> Opened:
    """Open a model, whoever made it: the model, the names of its tokens and answers, and how a word becomes tokens.

    A folder: what `compile`, `train` (the run, or the model in it) or `export` (to hf or gpt2) wrote, or what
    transformers saved. An object: a built model, a Transformer, a translator, or one of transformers. A name on the
    hub, `owner/name`, unless there is a folder `owner` here.
    """
    if isinstance(source, Opened):
        return source
    if isinstance(source, Built):
        return _of_machine(lambda: source.model, source.machine, "Built")
    if isinstance(source, nn.Module):
        return _of_object(source)
    if not isinstance(source, str | os.PathLike):
        raise InputError("opening.not_a_model", kind=type(source).__name__)
    if not os.fspath(source):
        raise InputError("opening.not_a_model", kind="''")
    folder = Path(os.path.expanduser(source))
    files.check_name(folder)
    recover(folder)
    if not folder.exists():
        if isinstance(source, str) and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", source) and not folder.parent.exists():
            return _of_the_hub(source)
        raise InputError("opening.no_folder", folder=folder)
    if folder.is_dir() and huggingface.is_model(folder):
        return _of_an_export_or_transformers(folder)
    place = model_of(folder)
    model, documents = files.load(place)
    encoder_of(model, str(place))  # what is no Transformer is refused at once
    opened = _of_text(model, documents, place) or _of_documents(lambda: model, documents, place)
    return replace(opened or Opened(str(place), lambda: model), documents=documents)


def family_of(folders: Sequence[Path], words: int, seed: int = 0) -> list[Member]:
    """Models of one task for words of different lengths, with what each gets wrong on as many words of its length."""
    members: list[Member] = []
    first = load(folders[0]).words_task
    for folder in folders:
        opened = load(folder)
        task = opened.words_task
        if replace(task, length=first.length) != first:
            raise InputError("opening.another_task", folder=str(folder), first=str(folders[0]))
        wrong = mistakes(opened.model, task, opened.words(words, task.length, seed))
        members.append(Member(task.length, len(opened.model.config.blocks), int(wrong.sum())))
    return members


# -- by documents of ours ----------------------------------------------------------------------------------


def _of_documents(open_model: Callable[[], Any], documents: Mapping[str, str], place: Path) -> Opened | None:
    """A model by our documents beside it; None if its tokens are not in them."""
    if NAMES in documents:
        vocabulary = Vocabulary.of_names(files.parse_json(documents[NAMES], f"{place}/{NAMES}"))
        known = files.parse_json(documents.get(SENTENCES, "[]"), f"{place}/{SENTENCES}")
        sentences = torch.tensor([vocabulary.encode(sentence) for sentence in known]) if known else None
        return Opened(str(place), open_model, lambda: vocabulary, sentences=sentences)
    if TRAINING in documents:
        run = files.parse_json(documents[TRAINING], f"{place}/{TRAINING}")
        return None if reads_text(run) else _of_task(open_model, task_from_json(run, f"{place}/{TRAINING}"), place)
    if MACHINE in documents:
        machine = formats.loads_any(documents[MACHINE], "json", f"{place}/{MACHINE}")
        return _of_machine(open_model, machine, place)
    return None


def _of_machine(open_model: Callable[[], Any], machine: AnyMachine, place: Path | str) -> Opened:
    """A model that was built for a machine: its answers are all states."""
    opened = _of_task(open_model, StateTracking(machine, open_model().config.context - 1), place)
    return replace(opened, is_built=True, open_vocabulary=lambda: replace(opened.vocabulary, outputs=machine.states))


def _of_task(open_model: Callable[[], Any], task: WordTask | Transduction, place: Path | str) -> Opened:
    """A model that was made for a task."""
    if isinstance(task, StateTracking):

        def encode(word: str) -> list[int]:
            tokens: list[int] = task.answered(task.machine.one_word(word)[None]).tokens[0].tolist()
            return tokens

        vocabulary = Vocabulary(task.names, tuple(task.answers), encode)
    else:
        vocabulary = Vocabulary.of_names(task.names, list if isinstance(task, FlipFlopLanguage) else str.split)
    return Opened(str(place), open_model, lambda: vocabulary, task=task)


def _of_text(model: nn.Module, documents: Mapping[str, str], place: Path) -> Opened | None:
    """A model that reads text in tokens of ours."""
    if TOKENISER not in documents:
        return None
    tokeniser = tokeniser_from(documents[TOKENISER], f"{place}/{TOKENISER}")
    encoder = encoder_of(model, str(place))
    ending = -1 if encoder.config.causal else None  # what predicts the next token is asked before the end

    def shown(token: int) -> str:
        """A token as text; parts of letters, which are none alone, as the tokeniser writes them."""
        text: str = tokeniser.decode([token])
        return text if text and "\ufffd" not in text else str(tokeniser.id_to_token(token))

    def vocabulary() -> Vocabulary:
        names = tuple(map(shown, range(tokeniser.get_vocab_size())))
        return Vocabulary(names, names[: encoder.config.outputs], lambda text: encoded(tokeniser, [text])[0][:ending])

    def text_model() -> TextModel:
        return TextModel(
            name=place.name,
            layers=layers_of(encoder),
            encode=partial(encoded, tokeniser),
            longest=encoder.config.context,
            vocab=tokeniser.get_vocab_size(),
            special=frozenset(range(len(SPECIAL))),
            tokeniser=tokeniser.to_str(),
        )

    return Opened(str(place), lambda: model, vocabulary, text_model)


# -- of other libraries, and objects -----------------------------------------------------------------------


def _of_an_export_or_transformers(folder: Path) -> Opened:
    """A folder that transformers opens, with documents of ours beside or a tokeniser."""
    open_model = cache(partial(weights.load, folder))
    beside = [folder / name for name in (*BESIDE, SENTENCES) if (folder / name).is_file()]
    documents = {file.name: file.read_text() for file in beside}
    if found := _of_documents(open_model, documents, folder):
        vocabulary = _filled_up(found.vocabulary, found.model)
        return replace(found, open_vocabulary=lambda: vocabulary, documents=documents)
    huggingface.refuse_code(folder)
    return replace(_of_huggingface(open_model, folder), documents=documents)


def _of_the_hub(name: str) -> Opened:
    """A model by its name on the hub of Hugging Face."""
    try:
        model = weights.load(name)
    except InputError as error:
        raise InputError("opening.no_folder_nor_name", name=name, why=error.message) from None
    return _of_huggingface(lambda: model, name)


def _of_huggingface(open_model: Callable[[], Transformer], source: Path | str) -> Opened:
    """A model of transformers, with its own tokeniser."""

    def vocabulary() -> Vocabulary:
        tokeniser = huggingface.tokeniser(source)

        def encode(text: str) -> list[int]:
            try:
                ids: list[int] = tokeniser(text)["input_ids"]
            except Exception as error:  # of any kind, for characters that a tokeniser does not know
                why = huggingface.first_line(error)
                raise InputError("opening.cannot_read", place=str(source), text=text[:60], why=why) from None
            return ids

        names = tuple(tokeniser.decode([token]) for token in range(min(len(tokeniser), open_model().config.vocab)))
        return _labelled(_filled_up(Vocabulary(names, names, encode), open_model()), huggingface.settings(source))

    return Opened(str(source), open_model, vocabulary, partial(huggingface.text_model, source, open_model))


def _of_object(given: Any) -> Opened:
    """A model that is there already; its tokens have no names but their numbers."""
    if not isinstance(given, files.Model) and not hasattr(given, "config"):
        raise InputError("opening.not_a_model", kind=type(given).__name__)
    model = given if isinstance(given, files.Model) else weights.of_transformers(given)
    config = encoder_of(model, type(given).__name__).config
    vocabulary = Vocabulary.of_names(map(str, range(config.vocab)))
    vocabulary = replace(vocabulary, outputs=tuple(map(str, range(config.outputs))))
    if model is not given:
        vocabulary = _labelled(vocabulary, given.config.to_dict())
    return Opened(type(given).__name__, lambda: model, lambda: vocabulary)


def _labelled(vocabulary: Vocabulary, settings: Mapping[str, Any]) -> Vocabulary:
    """With the names of answers in a config of transformers; LABEL_0, LABEL_1, … are none."""
    given = {str(number): str(name) for number, name in (settings.get("id2label") or {}).items()}
    labels = {number: name for number, name in given.items() if not name.startswith("LABEL_")}
    return replace(vocabulary, outputs=tuple(labels.get(str(i), name) for i, name in enumerate(vocabulary.outputs)))


def _filled_up(vocabulary: Vocabulary, model: Transformer) -> Vocabulary:
    """With names for tokens that are no answers, and answers that are no tokens: a GPT-2 has as many of both."""

    def filled(names: tuple[str, ...], count: int) -> tuple[str, ...]:
        return (*names[:count], *(f"<unused {i}>" for i in range(len(names), count)))

    names, outputs = filled(vocabulary.names, model.config.vocab), filled(vocabulary.outputs, model.config.outputs)
    return replace(vocabulary, names=names, outputs=outputs)
