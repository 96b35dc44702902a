"""Models without a pointer: the base of the paper's rivals that read the whole program, `transformer` and `tree_rnn`.

They get no routine table and no pointer, but the program's tokens (language/tokens.py), the state of the world, and
which actions are allowed now (so they see that an answer is due). How far they are they must remember: a row of Z, one
for the whole episode, is their memory, and gradients flow through it (`unroll`). In every step the memory and the state
attend to the encoded program, and a recurrent cell reads what was found.

    rows = model(step)                              # one step: (batch, 1, d)
    rows = model.unroll(step, begun, length)        # steps one after another: (length * batch, d)

Encodings of programs are kept while the weights stay the same, so acting costs no encoding of known programs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, relu

from program_guided.language.tokens import SYMBOLS
from program_guided.models.attention import Watch
from program_guided.models.config import VALUE, RecurrentConfig
from program_guided.models.maps import MapReader, StateEncoder
from program_guided.models.model import Model, Sizes, Step
from program_guided.models.readers.config import ReaderConfig

__all__ = ["Recurrent"]


class Recurrent(Model):
    """Base class; a model encodes programs and moves its memory."""

    recurrent = True

    def __init__(
        self, name: str, config: RecurrentConfig, sizes: Sizes, reader: ReaderConfig, memory: int, heads: int
    ) -> None:
        """`memory`: width of the memory; `heads` of the attention to the program."""
        maps = MapReader(reader, name)
        super().__init__(sizes, maps, memory, config.hidden)
        width = config.width
        actions = sum(size for kind, size in sizes.results if size is not None and kind != VALUE)
        self.tokens = nn.Embedding(len(sizes.vocabulary) + len(SYMBOLS), width, padding_idx=0)
        self.state = StateEncoder(maps)
        self.join = nn.Linear(StateEncoder.width + actions, width)
        self.attention = ProgramAttention(width, memory, heads)
        self._encoded: list[Encoded] = []
        self._place: dict[bytes, tuple[int, int]] = {}
        """By the tokens of a program, the number of its batch in `_encoded`, and its row there."""
        self._weights: tuple[bool, int] = (False, -1)

    def word_axes(self) -> dict[str, tuple[int, ...]]:
        return {**super().word_axes(), "tokens.weight": (0,)}

    @abstractmethod
    def encode_programs(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """(programs, tokens) -> vectors (programs, parts, width), and a mask of the parts (programs, parts)."""

    @abstractmethod
    def move(self, found: Tensor, state: Tensor, memory: Tensor) -> Tensor:
        """The memory (batch, d) after a step: what was found in the program (batch, width) and the state (batch,
        width)."""

    def forward(self, step: Step, watch: Watch | None = None) -> Tensor:
        if not len(step.results):
            return step.results
        parts, exists, of = self._programs(step)
        return self._step(parts.index_select(0, of), exists[of], self._state(step), step.results[:, 0])[:, None]

    def unroll(self, step: Step, begun: Tensor, length: int) -> Tensor:
        """Memories (length * batch, d) of steps one after another, (length * batch) in all; the first memory is given,
        and it is empty where an episode has `begun`."""
        parts, exists, of = self._programs(step)
        memory, memories = step.results[: len(begun) // length, 0], []
        states, programs, new = (each.view(length, len(memory), -1) for each in (self._state(step), of, begun))
        for state, program, empty in zip(states, programs, new, strict=True):
            memory = memory.masked_fill(empty, 0.0)
            memory = self._step(parts.index_select(0, program[:, 0]), exists[program[:, 0]], state, memory)
            memories.append(memory)
        return torch.cat(memories)

    def _step(self, parts: Tensor, exists: Tensor, state: Tensor, memory: Tensor) -> Tensor:
        return self.move(self.attention(parts, exists, state, memory), state, memory)

    def _state(self, step: Step) -> Tensor:
        assert step.allowed is not None
        maps = step.specification
        seen = self.state(self.reader.planes(maps), maps.inventory)
        return relu(self.join(torch.cat([seen, step.allowed.float()], dim=1)))

    def _programs(self, step: Step) -> tuple[Tensor, Tensor, Tensor]:
        """Keys and values of the parts of the different programs (programs, heads, parts, 2 * width / heads), a mask of
        the parts (programs, parts), and the program of each row (batch,)."""
        assert step.tokens is not None
        rows = [row.tobytes() for row in step.tokens.cpu().numpy()]
        different = {row: number for number, row in reversed(list(enumerate(rows)))}
        self._forget_if_learned()
        missing = {row: number for row, number in different.items() if row not in self._place}
        if missing:
            self._encode(step.tokens[list(missing.values())], list(missing))
        places = sorted((*self._place[row], row) for row in different)
        number_of = {row: number for number, (_, _, row) in enumerate(places)}
        batches = [[row for at, row, _ in places if at == batch] for batch in range(len(self._encoded))]
        parts, exists = _together([self._encoded[batch].rows(chosen) for batch, chosen in enumerate(batches) if chosen])
        return parts, exists, torch.tensor([number_of[row] for row in rows], device=parts.device)

    def _encode(self, tokens: Tensor, names: list[bytes]) -> None:
        longest = int((tokens != 0).any(dim=0).nonzero().max()) + 1
        vectors, exists = self.encode_programs(tokens[:, :longest].long())
        self._place |= {name: (len(self._encoded), row) for row, name in enumerate(names)}
        self._encoded.append(Encoded(self.attention.project(vectors).transpose(1, 2), exists))

    def _forget_if_learned(self) -> None:
        """Encodings are those of the present weights, with gradients if these are wanted."""
        weights = (torch.is_grad_enabled(), sum(each._version for each in self.parameters()))
        if weights != self._weights:
            self._encoded, self._place, self._weights = [], {}, weights

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encoded": [], "_place": {}}


class Encoded(NamedTuple):
    """Programs that were encoded together."""

    parts: Tensor
    """(programs, heads, parts, 2 * width / heads) keys and values"""
    exists: Tensor
    """(programs, parts)"""

    def rows(self, chosen: list[int]) -> Encoded:
        """These programs only."""
        if chosen == list(range(len(self.parts))):
            return self
        numbers = torch.tensor(chosen, device=self.parts.device)
        return Encoded(self.parts.index_select(0, numbers), self.exists[numbers])


def _together(batches: list[Encoded]) -> Encoded:
    """One batch, with as many parts as the longest program has."""
    longest = max(each.exists.shape[1] for each in batches)
    padded = [
        Encoded(pad(parts, (0, 0, 0, longest - exists.shape[1])), pad(exists, (0, longest - exists.shape[1])))
        for parts, exists in batches
    ]
    return Encoded(torch.cat([each.parts for each in padded]), torch.cat([each.exists for each in padded]))


class ProgramAttention(nn.Module):
    """Attention of a memory and a state to the parts of a program."""

    def __init__(self, width: int, memory: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.query = nn.Linear(width + memory, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.output = nn.Linear(width, width)

    def project(self, parts: Tensor) -> Tensor:
        """Keys and values (programs, parts, heads, 2 * width / heads)."""
        return self.key_value(parts).unflatten(2, (self.heads, -1))

    def forward(self, parts: Tensor, exists: Tensor, state: Tensor, memory: Tensor) -> Tensor:
        """parts (batch, heads, parts, 2 * width / heads), exists (batch, parts) -> (batch, width)"""
        keys, values = parts.chunk(2, dim=3)
        query = self.query(torch.cat([state, memory], dim=1)).view(len(parts), self.heads, -1, 1)
        scores = (keys @ query)[..., 0] * keys.shape[3] ** -0.5
        weights = scores.masked_fill(~exists[:, None], -torch.inf).softmax(dim=2)
        found = weights[:, :, None] @ values
        output: Tensor = self.output(found.reshape(len(parts), self.width))
        return output
