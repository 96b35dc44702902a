"""Keeps the project's prose and names in the field's vocabulary: lists words that have a better one (docs/glossary.md).

python tools/words.py
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTEAD = {
    r"carr(?:y|ied|ies|ying) out": "execute",
    r"told|tells (?:it|them|how|what|apart)|is told": "given, says, distinguishes",
    r"heard|hears": "parent results",
    r"by heart": "overfit",
    r"fore(?:told|tell|tells)": "predict",
    r"lived through": "rollout",
    r"surprises?": "temporal-difference error",
    r"reluctan(?:t|tly|ce)": "repetition penalty",
    r"testimony": "weak labels",
    r"recollections?": "answer prior",
    r"alike": "similar, equal",
    r"which is usual": "default",
    r"by the way": "in passing",
    r"so many (?:of|times|steps|updates|programs|questions)": "count, number of",
    r"most_(?!common|frequent)[a-z]+": "max_...",
    r"is said to be": "is",
    r'"""(?:What|How|Of|So)\b': "a noun or a verb at the beginning of a docstring",
    r"--(?:rate|worlds \d|average|ratio|trace|reluctance)\b": "--learning-rate, --num-envs, --ema, --clip-coef, ...",
}
"""Pattern -> what to write instead."""
PATTERN = re.compile("|".join(rf"(?<![A-Za-z_])(?:{pattern})(?![A-Za-z])" for pattern in INSTEAD), re.IGNORECASE)
ALLOWED = ("tools/words.py", "docs/glossary.md")
SKIPPED = ("results/",)
ENDINGS = (".py", ".md", ".toml", ".lark", "Makefile")


def found(path: Path) -> list[str]:
    """The lines of a file that use such a word."""
    lines = path.read_text("utf-8").splitlines()
    hits = ((number, match) for number, line in enumerate(lines, 1) for match in PATTERN.finditer(line))
    return [f"{path.relative_to(ROOT)}:{number}: {match[0]!r}: write {_instead(match[0])}" for number, match in hits]


def _instead(word: str) -> str:
    return next(better for pattern, better in INSTEAD.items() if re.fullmatch(pattern, word, re.IGNORECASE))


def main() -> int:
    """1 if any file uses such a word."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    names = [name for name in tracked if name.endswith(ENDINGS) and not name.startswith(SKIPPED)]
    hits = [hit for name in names if name not in ALLOWED and (ROOT / name).is_file() for hit in found(ROOT / name)]
    print("\n".join(hits) if hits else "words: all in the field's vocabulary")
    return int(bool(hits))


if __name__ == "__main__":
    sys.exit(main())
