"""Text from the usual files."""

import json
from pathlib import Path

import datasets
import pytest

from glassformer.errors import InputError
from glassformer.training import corpora
from places import DATA

SAMPLE = DATA / "sentences.tsv"


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_sample_is_parallel() -> None:
    corpus = corpora.load(SAMPLE, parallel=True)
    assert len(corpus.sentences) == len(corpus.translations or ()) == 300


def test_plain_text_is_a_sentence_a_line_each_kept_once(tmp_path: Path) -> None:
    corpus = corpora.load(written(tmp_path, "a.txt", "\ufeffone  two\r\n\nthree\none two\n"))
    assert (corpus.sentences, corpus.translations) == (("one two", "three"), None)


@pytest.mark.parametrize(
    "row",
    [
        {"source": "a b", "target": "c"},
        {"text": "a b", "target": "c"},
        {"translation": {"en": "a b", "de": "c"}},
    ],
)
def test_json_lines_and_data_sets_have_the_usual_keys(tmp_path: Path, row: dict[str, object]) -> None:
    path = written(tmp_path, "a.jsonl", json.dumps(row) + "\n\n")
    assert list(corpora.read(path)) == [("a b", "c")]
    datasets.Dataset.from_list([row]).save_to_disk(str(tmp_path / "one"))
    assert list(corpora.read(tmp_path / "one")) == [("a b", "c")]
    datasets.DatasetDict({"train": datasets.Dataset.from_list([row, row])}).save_to_disk(str(tmp_path / "two"))
    assert list(corpora.read(tmp_path / "two")) == [("a b", "c")] * 2


def test_translated_messages_of_a_po_file_are_pairs(tmp_path: Path) -> None:
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    text += 'msgid "one "\n"two"\nmsgstr "eins zwei"\n\nmsgid "open"\nmsgstr ""\n'
    assert list(corpora.read(written(tmp_path, "a.po", text))) == [("one two", "eins zwei")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "a\tb\tc\n", "line 1: 3 columns"),
        ("a.jsonl", '{"text": "a"}\n{"tex\n', "line 2, is not JSON"),
        ("a.jsonl", '{"words": "a"}\n', "line 1: the keys are text.*not words"),
        ("a.jsonl", "[1]\n", "not list"),
        ("a.jsonl", '{"text": null}\n', "line 1: the value of text is no string"),
        ("a.jsonl", '{"source": "a", "target": 1}\n', "line 1: the value of target is no string"),
        ("a.jsonl", '{"translation": {"en": 1, "de": "a"}}\n', "line 1: the value of en is no string"),
        ("a.txt", "\n \n", "holds no sentences"),
        ("a.pdf", "x", r"a corpus is a \.txt"),
    ],
)
def test_what_is_no_corpus_is_refused_with_its_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        corpora.load(written(tmp_path, name, text))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(InputError, match="not UTF-8 text"):
        corpora.load(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"no corpus .*nothing\.txt"):
        corpora.load(tmp_path / "nothing.txt")
    with pytest.raises(InputError, match="no text was named: give a file"):
        corpora.load("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="not a folder that `datasets` saved"):
        corpora.load(tmp_path / "folder")
    with pytest.raises(InputError, match="holds no translated sentences"):
        corpora.load(written(tmp_path, "b.txt", "one\n"), parallel=True)
