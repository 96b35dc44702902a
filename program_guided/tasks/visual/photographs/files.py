"""Folders of pictures; a picture's id is its file name without the suffix.

find_pictures(Path("pictures"))["holiday"]        picture_path(Path("pictures"), "holiday")
read_picture(Path("pictures/holiday.jpg")).size
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError

from program_guided.errors import DataError, quote

__all__ = ["find_pictures", "picture_path", "read_picture"]

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")


def find_pictures(folder: Path) -> dict[str, Path]:
    """The pictures of a folder by id, sorted."""
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder of pictures; is the path right?")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            if path.stem in found:
                raise DataError(f"{path}: has the same name as {found[path.stem].name}; rename one of them")
            found[path.stem] = path
    if not found:
        raise DataError(f"{folder}: there are no pictures ({', '.join(SUFFIXES)})")
    return found


def picture_path(folder: Path, image_id: str) -> Path:
    """The picture of an id; the folder, which may hold a hundred thousand others, is not listed."""
    for suffix in SUFFIXES:
        for path in (folder / f"{image_id}{suffix}", folder / f"{image_id}{suffix.upper()}"):
            if path.is_file():
                return path
    raise DataError(f"{folder}: there is no picture {quote(image_id)} ({', '.join(SUFFIXES)})")


def read_picture(path: Path) -> Image.Image:
    """A picture in red, green and blue, turned as its camera was."""
    try:
        with Image.open(path) as opened:
            return ImageOps.exif_transpose(opened).convert("RGB")
    except UnidentifiedImageError:  # its text would name the file again
        raise DataError(f"{path}: is not a readable picture (its format is unknown)") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: is not a readable picture ({error})") from None
