"""A short form of `make soak`: long commands killed at a rename and at a random moment, resumed to the same bytes."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "soak" / "kills.py"


@pytest.mark.parametrize("command", ["index", "extract", "train reward", "train visual"])
def test_a_killed_command_goes_on_to_the_same_bytes(command, tmp_path):
    if command == "extract":
        pytest.importorskip("efficientnet_lite_pytorch")
    found = subprocess.run(
        [sys.executable, SCRIPT, "--count", "1", "--only", command], cwd=tmp_path, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "killed   2 times, 0 differ" in found.stdout
