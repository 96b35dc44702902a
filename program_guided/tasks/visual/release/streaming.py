"""Streams the records of a large JSON object: the release's files are too large for `json.load`.

Departures from the paper: it does not describe files.

    for key, record in stream_records(Path("train_all_questions_0.json")): ...

    with open_records(path) as reader:        resume with open_records(path, reader.position())
        key, record = next(reader.records())
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from program_guided.errors import DataError, quote
from program_guided.files import refuse_constant

__all__ = ["RecordReader", "open_records", "stream_records"]

FIRST_READ = 1 << 20
MAX_RECORD = 1 << 26
"""Maximum number of characters of a record."""
SPACE = " \t\r\n"


def stream_records(path: Path) -> Iterator[tuple[str, Any]]:
    """The records of a JSON object, in the file's order."""
    with open_records(path) as reader:
        yield from reader.records()


@contextmanager
def open_records(path: Path, start: int = 0) -> Iterator[RecordReader]:
    """Open a reader of the records from the `position` of an earlier reader on; 0 for all."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            file.seek(start)
            yield RecordReader(path, file, start)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); is the path right?") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not UTF-8 text") from None


class RecordReader:
    """Reads records through a window that moves over the file."""

    def __init__(self, path: Path, file: TextIO, start: int = 0) -> None:
        self._path = path
        self._file = file
        self._start = start
        self._passed = start
        self._window = ""
        self._position = 0
        self._last_key: str | None = None
        self._decoder = json.JSONDecoder(parse_constant=refuse_constant)

    def position(self) -> int:
        """Offset in bytes of the end of the last record."""
        return self._passed + _byte_count(self._window[: self._position])

    @property
    def read_so_far(self) -> int:
        """Approximate number of bytes read since the start, computed without encoding."""
        return self._passed - self._start + self._position

    def records(self) -> Iterator[tuple[str, Any]]:
        """(key, record), in the file's order."""
        if not self._start:
            self._expect("{")
        if self._peek() == "}":
            self._expect("}")
        else:
            if self._start:
                self._expect(",")
            yield from self._pairs()
        if self._peek():
            raise self._damaged("expected the end of the file")

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        while True:
            key = self._value()
            if not isinstance(key, str):
                raise self._damaged("expected a key in quotes")
            self._expect(":")
            value = self._value()
            self._last_key = key
            yield key, value
            if self._peek() == "}":
                self._expect("}")
                return
            self._expect(",")

    def _more(self, size: int) -> bool:
        data = self._file.read(size)
        self._passed += _byte_count(self._window[: self._position])
        self._window = self._window[self._position :] + data
        self._position = 0
        return bool(data)

    def _peek(self) -> str:
        """The next character that is no whitespace; "" at the end."""
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
        """The next value; the window grows until the value is complete."""
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
            except ValueError as error:  # a number of thousands of digits, or not a number
                raise self._damaged(str(error)) from None
            except RecursionError:
                raise self._damaged("it is nested too deeply") from None
            if len(self._window) - self._position > MAX_RECORD:
                raise self._damaged(reason)
            if not self._more(size):
                raise self._truncated(reason)
            size *= 2

    def _last(self) -> str:
        if self._last_key is not None:
            return f"record {quote(self._last_key)}"
        return f"byte {self._start:,}" if self._start else "its beginning"

    def _damaged(self, reason: str) -> DataError:
        return DataError(f"{self._path}: expected a JSON object of records; error after {self._last()}: {reason}")

    def _truncated(self, reason: str = "the file ends") -> DataError:
        return DataError(f"{self._path}: is cut off or damaged after {self._last()} ({reason}); fetch it again")


def _byte_count(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))
