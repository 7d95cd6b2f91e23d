"""The command line, run in this process."""

import json
from typing import Any

import pytest

from glassformer.__main__ import main


class Shell:
    """Runs `glassformer …` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        self.monkeypatch.setattr("sys.argv", ["glassformer", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = self.capsys.readouterr()
        assert (stop.value.code or 0) == code, captured.err
        return captured.out, captured.err

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code)[0])
