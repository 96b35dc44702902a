"""Value propagation over a grid: the compiled form against the plain one, and against shortest paths."""

import torch

from program_guided.models.propagation import NEIGHBOURS, OUTSIDE, spread, spread_plain

KINDS, HEADS = 5, 3


def tables(batch, side, seed):
    generator = torch.Generator().manual_seed(seed)

    def random(*shape):
        return (3 * torch.randn(*shape, generator=generator)).requires_grad_()

    kinds = torch.randint(0, KINDS, (batch, side * side), generator=generator, dtype=torch.int8)
    agent = torch.randint(0, side, (batch, 2), generator=generator, dtype=torch.int8)
    cost = (0.05 + torch.rand(batch, KINDS, HEADS, generator=generator)).requires_grad_()
    goals = random(batch, KINDS, HEADS), random(batch, side, HEADS), random(batch, side, HEADS)
    return kinds, agent, (*goals, cost)


def test_the_compiled_form_equals_the_plain_one_in_values_and_gradients():
    for side in (5, 8, 12):
        kinds, agent, given = tables(32, side, side)
        weights = torch.randn(32, len(NEIGHBOURS), HEADS, generator=torch.Generator().manual_seed(1))
        gradients = []
        for form in (spread, spread_plain):
            values = form(kinds, agent, *given)
            gradients.append((values.detach(), *torch.autograd.grad((values * weights).sum(), given)))
        for compiled, plain in zip(*gradients, strict=True):
            torch.testing.assert_close(compiled, plain, atol=1e-4, rtol=1e-4)


def test_the_best_neighbour_is_the_way_around_a_wall():
    side = 5
    kinds = torch.ones(1, side * side, dtype=torch.int8)
    kinds[0, [1 * side + 1, 2 * side + 1, 3 * side + 1, 4 * side + 1]] = 2  # a wall with a gap at the top
    kinds[0, 4 * side + 2] = 3  # the goal, behind it
    agent = torch.tensor([[4, 0]], dtype=torch.int8)
    goal = torch.tensor([[[9.0], [-9.0], [-9.0], [5.0], [-9.0]]])
    flat = torch.zeros(1, side, 1)
    cost = torch.tensor([[[0.1], [0.1], [9.0], [0.1], [9.0]]])
    values = spread(kinds, agent, goal, flat, flat, cost)[0, :, 0]
    assert int(values.argmax()) == 1, "up"
    torch.testing.assert_close(values[0], torch.tensor(5 - 0.1 * 10))


def test_cells_off_the_map_and_scores_that_are_not_numbers_lead_nowhere():
    kinds, agent, given = tables(8, 5, 0)
    values = spread(torch.zeros_like(kinds), agent, *given)
    assert bool((values == OUTSIDE).all())
    broken = [torch.full_like(table, torch.nan).requires_grad_() for table in given]
    for form in (spread, spread_plain):
        form(kinds, agent, *broken).sum().backward()
