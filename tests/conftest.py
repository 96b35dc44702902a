"""Fixtures and checks that test files share: the axes of readers' tensors are checked in all tests."""

import pytest
from jaxtyping import install_import_hook

install_import_hook("program_guided.models.readers", "beartype.beartype")


@pytest.fixture(scope="module")
def one_thread():
    """One thread: small networks are slower on several, and other tests may be running beside this one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
