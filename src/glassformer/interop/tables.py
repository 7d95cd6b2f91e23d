"""Columns as a table that other people's training code reads: Parquet, or a folder of Hugging Face's datasets."""

from __future__ import annotations

import importlib
import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from glassformer.atomic import write_atomically
from glassformer.errors import InputError

Columns: TypeAlias = Mapping[str, Sequence[Any]]


def write_tables(splits: Mapping[str, Columns], out: Path) -> None:
    """A file NAME.parquet of one split, or a folder that `datasets.load_from_disk` opens, all or nothing."""
    pyarrow = _imported("pyarrow")
    tables = {name: pyarrow.table(dict(columns)) for name, columns in splits.items()}
    if out.suffix == ".parquet":
        if len(tables) != 1:
            raise InputError(f"a Parquet file holds one table, and these are {', '.join(tables)}: give a folder")
        file = io.BytesIO()
        _imported("pyarrow.parquet").write_table(*tables.values(), file)
        return write_atomically(out, file.getvalue())
    if out.exists():
        raise InputError(f"{out} exists: choose another name, or remove it first")
    datasets, unfinished = _imported("datasets"), out.with_name(f"{out.name}.unfinished")
    datasets.disable_progress_bars()
    made = {name: datasets.Dataset(datasets.table.InMemoryTable(table)) for name, table in tables.items()}
    try:
        datasets.DatasetDict(made).save_to_disk(str(unfinished))
        unfinished.rename(out)
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return None


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"tables are written by `{name}`: pip install 'glassformer[hf]'") from None
