"""One large JSON object, record by record: the release's files hold millions, and Python's own reader wants them whole.

Departures from the paper: it says nothing of files.

    for key, record in stream_records(Path("train_all_questions_0.json")): ...
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from program_guided.errors import DataError, quote

__all__ = ["stream_records"]

FIRST_READ = 1 << 20
LARGEST_RECORD = 1 << 26
"""Characters; what is not understood by then is no record."""
SPACE = " \t\r\n"


def stream_records(path: Path) -> Iterator[tuple[str, Any]]:
    """The records of a JSON object, in the file's order."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from _Reader(path, file).records()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); is the path right?") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not UTF-8 text") from None


class _Reader:
    """A window on the file that moves forward."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path = path
        self._file = file
        self._window = ""
        self._position = 0
        self._last = "its beginning"
        self._decoder = json.JSONDecoder()

    def records(self) -> Iterator[tuple[str, Any]]:
        self._expect("{")
        if self._peek() == "}":
            self._expect("}")
        else:
            yield from self._pairs()
        if self._peek():
            raise self._damaged("something follows the end")

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        while True:
            key = self._value()
            if not isinstance(key, str):
                raise self._damaged("expected a key in quotes")
            self._expect(":")
            value = self._value()
            self._last = f"record {quote(key)}"
            yield key, value
            if self._peek() == "}":
                self._expect("}")
                return
            self._expect(",")

    def _more(self, size: int) -> bool:
        data = self._file.read(size)
        self._window = self._window[self._position :] + data
        self._position = 0
        return bool(data)

    def _peek(self) -> str:
        """The next character that is no space; nothing at the end."""
        while True:
            while self._position < len(self._window) and self._window[self._position] in SPACE:
                self._position += 1
            if self._position < len(self._window):
                return self._window[self._position]
            if not self._more(FIRST_READ):
                return ""

    def _expect(self, character: str) -> None:
        found = self._peek()
        if not found:
            raise self._truncated()
        if found != character:
            raise self._damaged(f"expected '{character}', not '{found}'")
        self._position += 1

    def _value(self) -> Any:
        """The next value, read on as long as it is not whole."""
        if not self._peek():
            raise self._truncated()
        size = FIRST_READ
        while True:
            try:
                value, end = self._decoder.raw_decode(self._window, self._position)
                if end < len(self._window):
                    self._position = end
                    return value
                reason = "expected a comma or the end"
            except json.JSONDecodeError as error:
                reason = error.msg
            if len(self._window) - self._position > LARGEST_RECORD:
                raise self._damaged(reason)
            if not self._more(size):
                raise self._truncated(reason)
            size *= 2

    def _damaged(self, reason: str) -> DataError:
        return DataError(f"{self._path}: is not the JSON of records that was expected, after {self._last}: {reason}")

    def _truncated(self, reason: str = "the file ends") -> DataError:
        return DataError(f"{self._path}: is cut off or damaged after {self._last} ({reason}); fetch it again")
