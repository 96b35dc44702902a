"""What test files share."""

import pytest


@pytest.fixture(scope="module")
def one_thread():
    """So small a network is slower on several, and other tests may be running beside this one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
