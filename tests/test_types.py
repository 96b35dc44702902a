"""The Python of the documents keeps strict types, as a user's code would."""

import re
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parent.parent
TYPES = {
    "": "MinecraftExecutor",
    "'minecraft-reward'": "MinecraftExecutor",
    "'visual'": "Reasoner",
    "'out/a'": "TrainedExecutor",
}
"""The type of an executor, by what is loaded."""


def blocks(name):
    """The Python of a document, one module for each block."""
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)


def checked(folder, sources):
    """mypy's messages about these modules; the cache is that of `make check`."""
    for number, source in enumerate(sources):
        (folder / f"block_{number}.py").write_text(source, "utf-8")
    files = [str(folder / f"block_{number}.py") for number in range(len(sources))]
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    shown, problems, code = api.run([*settings, "--strict", *files])
    return code, shown + problems


def test_the_python_of_the_documents_passes_strict_mypy(tmp_path):
    """One run for all, beside a block with a mistake and one that asks for types: mypy takes a while to begin."""
    wrong = "import program_guided\n\nprogram_guided.load('visual').run('exist(a)').outcome\n"
    asked = "".join(f"reveal_type(program_guided.load({name}))\n" for name in TYPES)
    sources = [*blocks("README.md"), *blocks("docs/environments.md")]
    assert len(sources) >= 4
    code, shown = checked(tmp_path, [*sources, wrong, f"import program_guided\n\n{asked}"])
    errors = re.findall(r"error: (.*)", shown)
    assert errors == ['"Reasoning" has no attribute "outcome"  [attr-defined]'], shown
    assert re.findall(r'Revealed type is ".*\.(\w+)"', shown) == list(TYPES.values())
    assert code == 1
