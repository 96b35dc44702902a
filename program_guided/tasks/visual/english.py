"""Words of questions about pictures: phrases, synonyms and tags that an ontology gives.

lexicon = lexicon_of(find_ontology(Path("gqa")))
lexicon.word("motorbike").forms         ("motorbike", "motorbike", "motorcycle")
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from program_guided.language.sentences import Lexicon
from program_guided.language.syntax import Program
from program_guided.tasks.visual.concepts import RELATION_ANSWERS
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.ontology import BUILT_IN, Ontology, find_ontology
from program_guided.tasks.visual.oracle import answer_of, execute

__all__ = ["agreement_on", "lexicon_of", "scenes_to_compare"]

RELATION = "relation"
SCENES, GRAPHS = 100, "scene_graphs.json"
"""Scenes of the embedded world that programs are compared on, and the file with scene graphs of pictures."""


def scenes_to_compare(root: Path | None) -> tuple[list[Scene], Ontology]:
    """Scenes of the embedded world, and those of a folder of real questions."""
    from program_guided.tasks.visual.embedded.building import scenes_of
    from program_guided.tasks.visual.release.reading import read_scenes

    scenes = list(scenes_of("val", SCENES, seed=0))
    if root is not None and (root / GRAPHS).is_file():
        scenes += read_scenes(root / GRAPHS)
    return scenes, BUILT_IN if root is None else find_ontology(root)


def agreement_on(scenes: Sequence[Scene], ontology: Ontology) -> Callable[[Program, Program], bool | None]:
    """Whether two programs have the same answer on every scene where the second one has any; None if there is none."""

    def agree(one: Program, other: Program) -> bool | None:
        def answer(program: Program, scene: Scene) -> str | None:
            return answer_of(execute(program, scene, ontology))

        known = [(scene, true) for scene in scenes if (true := answer(other, scene)) is not None]
        return all(answer(one, scene) == true for scene, true in known) if known else None

    return agree


def lexicon_of(ontology: Ontology) -> Lexicon:
    """The lexicon of an ontology: its names, values and relations."""
    relations = {*ontology.meanings, *RELATION_ANSWERS}
    values = {value for each in ontology.values.values() for value in each}
    tags: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name, above in ontology.above.items():
        tags[name] |= dict.fromkeys(f"a {kind}" for kind in sorted(above) or ("thing",))
    for category in sorted(ontology.values):
        for value in sorted(ontology.values[category]):
            tags[value][category if not category.isdigit() else "attribute"] = None
    for relation in sorted(relations):
        tags[relation][RELATION] = None
    synonyms = {**ontology.value_synonyms, **ontology.synonyms}
    own = {*ontology.above, *values, *relations}
    plain = {word: name for word, name in synonyms.items() if word not in own}
    return Lexicon.of(sorted(own), dict(sorted(plain.items())), {word: tuple(each) for word, each in tags.items()})
