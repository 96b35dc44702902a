"""A lower bound is a version that was tried: by `make lowest` (what users install), or daily (developers' tools)."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OF_USERS = ("visual", "wandb")


def pins(name):
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return {plain(line.split("==")[0]): line.split("==")[1] for line in lines if line and not line.startswith("#")}


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def bounds(requirements):
    """Each requirement is a name, extras of it perhaps, and a lower bound; nothing else."""
    parts = [re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", each) for each in requirements]
    assert all(parts), requirements
    return {plain(part[1]): part[2] for part in parts}


@pytest.mark.parametrize("extra", ["", *OF_USERS])
def test_lower_bounds_of_users_are_what_make_lowest_installs(extra):
    tried = pins("lowest.txt")
    given = bounds(EXTRAS[extra] if extra else PROJECT["dependencies"])
    assert given == {name: tried.get(name) for name in given}


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - set(OF_USERS)))
def test_lower_bounds_of_tools_are_the_versions_in_use(extra):
    tried, given = pins("constraints.txt"), bounds(EXTRAS[extra])
    assert given == {name: tried.get(name) for name in given}


def test_make_lowest_installs_the_extras_of_users():
    assert f'".[{",".join(OF_USERS)}]"' in (ROOT / "Makefile").read_text("utf-8")
