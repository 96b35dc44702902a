"""A short form of `make soak`: a node of a Ray cluster is killed in the middle of an experiment."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "soak" / "cluster.py"


def test_a_node_that_is_killed_loses_nothing_and_nothing_is_run_twice(tmp_path):
    pytest.importorskip("ray", reason="needs the extra `cluster`: pip install 'program_guided[cluster]'")
    found = subprocess.run(
        [sys.executable, SCRIPT, "--count", "1"], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "after a checkpoint: good" in found.stdout


def test_without_ray_the_error_says_how_to_install_it(monkeypatch):
    from program_guided.errors import DataError
    from program_guided.experiments.pools import connected

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DataError, match=r"pip install 'program_guided\[cluster\]'"):
        connected(None)
