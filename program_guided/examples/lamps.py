"""A small world with lamps: a task in one file, to be learned from a planner or from reward alone.

proto train examples/lamps.py
proto train examples/lamps.py --target reward
"""

import random
from types import SimpleNamespace as Room
from typing import Any, Literal

from program_guided import WorldTask, behaviour, condition, readers

Lamp = Literal["red", "green", "blue"]
LAMPS = ("red", "green", "blue")
FLOOR, WALL, OFF, LIT = 1, 2, 3, 6  # kinds of cells; OFF + 1 is the green lamp, LIT + 1 the green lamp when it is lit
MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
SIDE = 6


class Lamps(WorldTask):
    """An agent that walks to lamps and switches them."""

    name, version, actions, limit = "lamps", 1, (*MOVES, "press"), 60
    reader = readers.Grid(kinds=8, side=SIDE)

    def draw(self, random: random.Random) -> Room:
        places = random.sample([(row, column) for row in range(SIDE) for column in range(SIDE)], 9)
        room = Room(map=[[FLOOR] * SIDE for _ in range(SIDE)], agent=places[-1], switched="")
        kinds = [random.choice((OFF, LIT)) + lamp for lamp in range(3)] + [WALL] * 5
        for (row, column), kind in zip(places[:-1], kinds, strict=True):
            room.map[row][column] = kind
        return room

    def encode(self, room: Room) -> dict[str, Any]:
        return {"map": room.map, "agent": room.agent}

    def act(self, room: Room, action: str) -> None:
        (row, column), room.switched = room.agent, ""
        kind = room.map[row][column]
        if action == "press" and kind >= OFF:
            room.map[row][column] = kind + 3 if kind < LIT else kind - 3
            room.switched = LAMPS[(kind - OFF) % 3]
        elif action in MOVES and (beside := self.beside(room, room.agent, action)):
            room.agent = beside

    def beside(self, room: Room, cell: tuple[int, int], move: str) -> tuple[int, int] | None:
        row, column = cell[0] + MOVES[move][0], cell[1] + MOVES[move][1]
        inside = 0 <= row < SIDE and 0 <= column < SIDE
        return (row, column) if inside and room.map[row][column] != WALL else None

    def find(self, room: Room, lamp: str) -> tuple[int, int]:
        kinds = (OFF + LAMPS.index(lamp), LIT + LAMPS.index(lamp))
        return next((r, c) for r in range(SIDE) for c in range(SIDE) if room.map[r][c] in kinds)

    def best(self, room: Room, routine: str, lamp: str) -> list[str]:
        goal = self.find(room, lamp)
        distance, queue = {goal: 0}, [goal]
        for cell in queue:
            for near in filter(None, (self.beside(room, cell, move) for move in MOVES)):
                if near not in distance:
                    distance[near] = distance[cell] + 1
                    queue.append(near)
        ways = {move: distance.get(self.beside(room, room.agent, move), 99) for move in MOVES}
        return ["press"] if room.agent == goal else [move for move in MOVES if ways[move] == min(ways.values())]

    @behaviour
    def visit(self, room: Room, lamp: Lamp) -> bool:
        return room.agent == self.find(room, lamp)

    @behaviour
    def switch(self, room: Room, lamp: Lamp) -> bool:
        return room.switched == lamp

    @condition
    def lit(self, room: Room, lamp: Lamp) -> bool:
        row, column = self.find(room, lamp)
        return room.map[row][column] >= LIT
