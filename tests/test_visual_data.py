"""Real GQA data for the visual tests."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

__all__ = ["real_folder", "real_json"]


def real_folder() -> Path:
    """The folder of real GQA data; the test is skipped where there is none."""
    beside = Path(__file__).parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("PROGRAM_GUIDED_DATA", beside)) / "gqa"
    if not folder.is_dir():
        pytest.skip(f"no real GQA data in {folder}; set PROGRAM_GUIDED_DATA to the folder that holds gqa/")
    return folder


def real_json(name: str) -> dict[str, Any]:
    return json.loads((real_folder() / name).read_text("utf-8"))


def test_the_real_data_is_complete_if_available():
    sizes = {"train_questions.json": 9_644, "dev_questions.json": 1_418, "scene_graphs.json": 75}
    assert {name: len(real_json(name)) for name in sizes} == sizes
