"""Picture files: read by path, or by id from a folder.

Photograph(640, 480, read_photograph(Path("images"), "2386621"))
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from program_guided.errors import DataError, quote

__all__ = ["open_picture", "read_photograph"]


def read_photograph(folder: Path, image_id: str) -> Image.Image:
    """Read the picture of an id from a folder of pictures."""
    from program_guided.tasks.visual.photographs.extraction import SUFFIXES

    paths = [folder / f"{image_id}{suffix}" for suffix in SUFFIXES]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise DataError(f"{folder}: there is no picture {quote(image_id)} ({', '.join(SUFFIXES)})")
    return open_picture(path)


def open_picture(path: Path) -> Image.Image:
    """Read a picture file, upright."""
    try:
        with Image.open(path) as opened:
            return ImageOps.exif_transpose(opened).convert("RGB")
    except UnidentifiedImageError:  # its text would name the file again
        raise DataError(f"{path}: is not a readable picture (its format is unknown)") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: is not a readable picture ({error})") from None
