"""Words of questions about pictures: phrases, synonyms and tags that an ontology gives.

lexicon = lexicon_of(find_ontology(Path("gqa")))
lexicon.word("motorbike").forms         ("motorbike", "motorbike", "motorcycle")
"""

from __future__ import annotations

from collections import defaultdict

from program_guided.language.sentences import Lexicon
from program_guided.tasks.visual.concepts import RELATION_ANSWERS
from program_guided.tasks.visual.ontology import Ontology

__all__ = ["lexicon_of"]

RELATION = "relation"


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
