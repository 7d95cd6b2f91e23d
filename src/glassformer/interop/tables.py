"""Columns as a table that other people's training code reads: Parquet, or a folder of Hugging Face's datasets."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from glassformer.atomic import write_atomically
from glassformer.errors import InputError, optional

Columns: TypeAlias = Mapping[str, Sequence[Any]]


def check_place(out: Path, splits: Collection[str]) -> None:
    """Refuse what cannot be written there, before there is anything to write."""
    _imported("pyarrow")
    if out.suffix.lower() == ".parquet":
        if len(splits) != 1:
            raise InputError("interop.one_table", tables=[*splits])
    elif out.suffix:
        raise InputError("interop.not_a_table", name=out.name)
    elif out.exists():
        raise InputError("interop.out_exists", out=str(out))


def write_tables(splits: Mapping[str, Columns], out: Path) -> None:
    """A file NAME.parquet of one split, or a folder that `datasets.load_from_disk` opens, all or nothing."""
    check_place(out, splits)
    tables = {name: _imported("pyarrow").table(dict(columns)) for name, columns in splits.items()}
    if out.suffix:
        file = io.BytesIO()
        out.parent.mkdir(parents=True, exist_ok=True)
        _imported("pyarrow.parquet").write_table(*tables.values(), file)
        return write_atomically(out, file.getvalue())
    datasets = _imported("datasets")
    datasets.disable_progress_bars()
    made = {name: datasets.Dataset(datasets.table.InMemoryTable(table)) for name, table in tables.items()}
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}") as place:
            datasets.DatasetDict(made).save_to_disk(f"{place}/made")
            Path(place, "made").rename(out)
    except OSError as error:
        raise InputError("common.cannot_write", path=str(out), why=error.strerror or str(error)) from None
    return None


def _imported(name: str) -> Any:
    return optional(name, "interop.needs_tables", name=name)
