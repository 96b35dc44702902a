"""A hook of MkDocs: pages of the site that stand outside of docs/, and the files that pages link to.

Documents link to each other and to code by paths in the repository, so that they can be read there. In the site such a
link leads to the page that was made of the document, or to a copy of the file under `files/`.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    **{
        f"program_guided/weights/{name}/README.md": f"models/{name}.md"
        for name in ("minecraft", "minecraft-reward", "visual", "detector")
    },
}
"""Path in the repository -> page of the site."""
SHIM = re.compile(r'<script src="[^"]*/iframe-worker/shim"></script>')
"""A script that the theme adds so that search works without a server; `worker.js` does the same, within the site."""
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages, and the files that any page links to."""
    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    for page in files.documentation_pages():
        for target in _targets(page):
            if target.startswith("files/") and target not in files.src_uris:
                files.append(File.generated(config, target, abs_src_path=str(ROOT / target.removeprefix("files/"))))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Let links lead to pages of the site, or to the copies of files."""
    folder = posixpath.dirname(page.file.src_uri)

    def changed(found: re.Match[str]) -> str:
        return f"{found[1]}{posixpath.relpath(_target(page.file, found[2]), folder or '.')}{found[3]}"

    return LINK.sub(changed, markdown)


def on_post_build(config: Any) -> None:
    """Let no page request anything from another host."""
    worker = Path(__file__).with_name("worker.js").read_text("utf-8")
    for path in Path(config.site_dir).rglob("*.html"):
        path.write_text(SHIM.sub(lambda found: f"<script>{worker}</script>", path.read_text("utf-8")), "utf-8")


def _targets(page: File) -> list[str]:
    return [_target(page, found[2]) for found in LINK.finditer(page.content_string)]


def _target(page: File, link: str) -> str:
    """A link of a page, as a path in the site."""
    repository = {uri: path for path, uri in PAGES.items()}
    here = repository.get(page.src_uri, f"docs/{page.src_uri}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(here), link))
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else f"files/{path}"
