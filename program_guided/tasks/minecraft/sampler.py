"""The distribution of programs of the world, and the shapes of the splits.

Excluded from sampling (not from the language): conditions that are the same in every world (`is_there[merchant]`,
`is_there[flat]`, `agent[river]`), and counts of flat and of river cells.
"""

from __future__ import annotations

from random import Random

from program_guided.language.sampler import OPEN, Shape, between, pick
from program_guided.language.syntax import Argument, Call
from program_guided.tasks.minecraft.domain import COMPARATORS, DOMAIN, OBJECTS
from program_guided.tasks.minecraft.world.rules import MERCHANTS

__all__ = ["MAX_COUNTED", "SHAPES", "DataFlowVocabulary", "MinecraftVocabulary"]

BEHAVIOURS = ("mine", "mine", "mine", "goto", "goto", "place", "place", "sell", "sell", "build_bridge")
"""Drawn uniformly; the weight of an operation is its number of occurrences here."""
PRESENT_OR_NOT = (*OBJECTS, "river", "river", "river", "bridge", "bridge", "wall", "wall")
COUNTED = (*OBJECTS, *OBJECTS, "merchant", "wall")
MAX_COUNTED = 4
"""Largest number of a condition, and of objects of a kind in a world."""
COUNTING = 0.35
"""With data flow: the share of statements that count."""
CHANGING = 0.7
"""With data flow: the share of behaviours about something that was counted before."""
PLAIN = 0.2
"""With data flow: the share of conditions, and of second numbers, that take no result."""

SHAPES = {
    "train": Shape(routines=(2, 16), depth=2, control=0.6),
    "test": Shape(routines=(2, 16), depth=2, control=0.6),
    "longer": Shape(routines=(16, 28), depth=3),
    "complex": Shape(routines=(10, 26), depth=3, control=0.6),
    "test-complex": Shape(routines=(12, 24), depth=3, control=0.5),
    "data-flow-train": Shape(routines=(4, 14), depth=2, control=0.5, named_only=True),
    "data-flow": Shape(routines=(4, 14), depth=2, control=0.5, named_only=True),
}


class MinecraftVocabulary:
    """Draws calls; coordinates stay within `extent`, numbers of conditions between two bounds."""

    domain = DOMAIN

    def __init__(self, extent: int, numbers: tuple[int, int] = (0, MAX_COUNTED)) -> None:
        self.extent, self.numbers = extent, numbers

    def behaviour(self, random: Random) -> Call:
        operation = pick(random, BEHAVIOURS)
        return self._behaviour(random, operation, pick(random, OBJECTS))

    def condition(self, random: Random) -> Call:
        operation = pick(random, ("is_there", "agent", "env"))
        if operation == "is_there":
            return Call("is_there", (pick(random, PRESENT_OR_NOT),))
        thing = pick(random, OBJECTS if operation == "agent" else COUNTED)
        low, high = MERCHANTS if thing == "merchant" else self.numbers
        comparison = pick(random, COMPARATORS)
        return Call(operation, (thing, comparison, _undecided(random, comparison, low, high)))

    def repetition(self, random: Random) -> tuple[Call, Call]:
        thing, way = pick(random, OBJECTS), between(random, 0, 4)
        if way == 0:
            return Call("is_there", (thing,)), Call("mine", (thing,))
        if way in (1, 2):
            comparison = pick(random, ("<", "<="))
            number = between(random, 1, MAX_COUNTED - 1)
            return Call("agent", (thing, comparison, number)), Call("mine", (thing,))
        comparison = pick(random, (">", ">="))
        number = between(random, 0, 2) + (comparison == ">=")
        if way == 3:
            return Call("env", (thing, comparison, number)), Call("mine", (thing,))
        ending = self._behaviour(random, pick(random, ("sell", "place")), thing)
        return Call("agent", (thing, comparison, number)), ending

    def _behaviour(self, random: Random, operation: str, thing: str) -> Call:
        where = (between(random, 1, self.extent), between(random, 1, self.extent))
        words = {"goto": where, "place": (thing, *where), "build_bridge": ()}
        return Call(operation, words.get(operation, (thing,)))


class DataFlowVocabulary(MinecraftVocabulary):
    """Draws the calls of one program, some of which take results. Behaviours are often about what was counted before,
    so that it changes."""

    def __init__(self, extent: int) -> None:
        super().__init__(extent)
        self._counted: list[str] = []

    def behaviour(self, random: Random) -> Call:
        if random.random() < COUNTING:
            return self._count(random)
        if self._counted and random.random() < CHANGING:
            return self._behaviour(random, pick(random, ("mine", "mine", "sell", "place")), pick(random, self._counted))
        return super().behaviour(random)

    def condition(self, random: Random) -> Call:
        if random.random() < PLAIN:
            return super().condition(random)
        return Call(pick(random, ("greater", "less", "equal")), (OPEN, self._number(random)))

    def repetition(self, random: Random) -> tuple[Call, Call]:
        if random.random() < PLAIN:
            return super().repetition(random)
        thing, way = pick(random, OBJECTS), between(random, 0, 2)
        counted = Call("count" if way == 0 else "carried", (thing,))
        if way == 1:
            return Call("less", (counted, self._number(random))), Call("mine", (thing,))
        ending = Call("mine", (thing,)) if way == 0 else self._behaviour(random, pick(random, ("sell", "place")), thing)
        return Call("greater", (counted, self._number(random))), ending

    def _count(self, random: Random) -> Call:
        self._counted.append(pick(random, OBJECTS))
        return Call(pick(random, ("count", "carried")), (self._counted[-1],))

    @staticmethod
    def _number(random: Random) -> Argument:
        return between(random, 0, MAX_COUNTED) if random.random() < PLAIN else OPEN


def _undecided(random: Random, comparison: str, low: int, high: int) -> int:
    """A number for which the comparison can come out either way."""
    return {
        ">": between(random, low, high - 1),
        ">=": between(random, low + 1, high),
        "==": between(random, low, high),
        "<": between(random, low + 1, high),
        "<=": between(random, low, high - 1),
    }[comparison]
