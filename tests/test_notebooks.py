"""The notebooks run, cell by cell, and are committed without outputs."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
EXPECTED = {
    "first_steps": {"text/html", "image/png"},
    "your_own_task": {"text/html"},
    "learn_from_reward": {"text/html"},
}
"""Kinds of output that a notebook shows."""


def test_there_are_three_without_outputs():
    assert [path.stem for path in NOTEBOOKS] == ["first_steps", "learn_from_reward", "your_own_task"]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")], path.name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # of the libraries that run it
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    reason = "needs the packages nbclient and ipykernel: pip install -c constraints.txt nbclient ipykernel"
    nbclient, _ = (pytest.importorskip(name, reason=reason) for name in ("nbclient", "ipykernel"))
    nbformat = pytest.importorskip("nbformat", reason=reason)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(path.parents[1]))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # of proto
    notebook = nbformat.read(shutil.copy(path, tmp_path), as_version=4)
    notebook.metadata.kernelspec.name = "python3"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", ())}
    assert EXPECTED[path.stem] <= shown
    assert not failed(notebook)


def failed(notebook):
    """Outputs of commands that did not end well."""
    commands = [cell for cell in notebook.cells if cell.source.startswith("!")]
    texts = [output.get("text", "") for cell in commands for output in cell.outputs]
    return [text for text in texts if "error:" in text or "Traceback" in text]
