"""Moves unpacked results to their destination, as ``gpu run`` does (src/run/landing.ts).

The instance decides what it sends, so no link is followed on either side, and anything that could do harm here is left
out (device nodes, links that lead out of the results, set-user-ID bits).
"""

import errno
import os
import shutil
import stat
import uuid
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Iterator, List, Optional, Sequence

from .errors import GpuRentalError

#: Whether folders can be accessed through open handles, so that replacing one with a link in the meantime has no effect.
#: False on Windows.
HAS_HANDLES = {os.open, os.stat, os.rename, os.mkdir, os.unlink, os.readlink} <= os.supports_dir_fd
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
#: Maximum folder nesting, because a handle stays open for each folder on the path.
MAX_DEPTH = 256


class LandingFailed(GpuRentalError):
    """Results can't be moved to their destination."""


class Folder:
    """A folder that isn't reached through a link."""

    def __init__(self, path: str, fd: Optional[int]) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def open(cls, path: str) -> "Folder":
        return cls(path, os.open(path, OPEN_FLAGS) if HAS_HANDLES else None)

    @contextmanager
    def enter(self, name: str) -> Iterator["Folder"]:
        path = os.path.join(self.path, name)
        if self.fd is None:
            if not self.is_folder(name):
                raise NotADirectoryError(errno.ENOTDIR, "not a folder", path)
            yield Folder(path, None)
            return
        folder = Folder(path, os.open(name, OPEN_FLAGS, dir_fd=self.fd))
        try:
            yield folder
        finally:
            folder.close()

    @property
    def working_directory(self) -> str:
        """Returns the path to use as the working directory of a program that runs in this folder."""
        by_handle = f"/proc/self/fd/{self.fd}"
        return by_handle if self.fd is not None and os.path.isdir(by_handle) else self.path

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)

    def at(self, name: str) -> str:
        return name if self.fd is not None else os.path.join(self.path, name)

    def names(self) -> List[str]:
        return os.listdir(self.path if self.fd is None else self.fd)

    def stat(self, name: str) -> Optional[os.stat_result]:
        with suppress(FileNotFoundError):
            return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)
        return None

    def is_folder(self, name: str) -> bool:
        found = self.stat(name)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def is_link(self, name: str) -> bool:
        found = self.stat(name)
        return found is not None and stat.S_ISLNK(found.st_mode)

    def copy_from(self, source: "Folder", name: str) -> str:
        """Copies a file or a link into this folder under a new name, and returns that name."""
        copy = f".gpu-run-{uuid.uuid4()}"
        if source.is_link(name):
            os.symlink(os.readlink(source.at(name), dir_fd=source.fd), self.at(copy), dir_fd=self.fd)
            return copy
        mode = os.stat(source.at(name), dir_fd=source.fd, follow_symlinks=False).st_mode
        no_follow = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(source.at(name), os.O_RDONLY | no_follow, dir_fd=source.fd), "rb") as reading:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | no_follow
            with open(os.open(self.at(copy), flags, stat.S_IMODE(mode) & 0o777, dir_fd=self.fd), "wb") as writing:
                shutil.copyfileobj(reading, writing)
        return copy

    def replace(self, source: "Folder", name: str, target: str) -> None:
        os.replace(source.at(name), self.at(target), src_dir_fd=source.fd, dst_dir_fd=self.fd)


def check_destinations(paths: Sequence[str], into: str) -> None:
    """Raises ValueError for a destination that is a link or lies behind one, so that nothing is rented in that case."""
    for path in paths:
        parts = PurePosixPath(path).parts
        for count in range(1, len(parts) + 1):
            shown = "/".join(parts[:count])
            here = os.path.join(into, *parts[:count])
            if os.path.islink(here):
                raise ValueError(_is_link_here(shown))
            if count < len(parts) and os.path.exists(here) and not os.path.isdir(here):
                raise ValueError(f"{shown} is not a local folder")


def safe_place(path: str, id: str, into: str) -> str:
    """Returns a destination at which no existing file changes, because any client with a key of the account may have
    chosen the path."""
    first = PurePosixPath(path).parts[0]
    is_free = not first.startswith(".") and not os.path.lexists(os.path.join(into, first))
    return path if is_free else f"{id}/{path}"


def land(draft: Folder, path: str, into: str, to: str) -> List[str]:
    """Moves `path` in the draft to `to` in the folder `into`. Returns the entries that were left out."""
    left_out: List[str] = []
    *before, name = PurePosixPath(path).parts
    *above, target = PurePosixPath(to).parts
    missing = f"{path} was not received as a file or folder"
    root = Folder.open(os.path.realpath(into))
    try:
        with _descend(draft, before, None, missing) as source:
            if not _clean(source, name, 0, path, left_out):
                raise LandingFailed(missing)
            with _descend(root, above, [], missing) as place:
                _move(source, name, place, target, to)
    except OSError as error:
        raise LandingFailed(f"{to} can't be written here: {error.strerror}") from error
    finally:
        root.close()
    return left_out


@contextmanager
def _descend(folder: Folder, names: Sequence[str], parents: Optional[List[str]], missing: str) -> Iterator[Folder]:
    """Opens the folder at the end of `names`.

    `parents` lists the names of the enclosing folders. With it, missing folders are created. If it is None, a missing
    folder raises LandingFailed with the message `missing`.
    """
    if not names:
        yield folder
        return
    name, *rest = names
    shown = None if parents is None else [*parents, name]
    if shown is not None and folder.stat(name) is None:
        os.mkdir(folder.at(name), dir_fd=folder.fd)
    if not folder.is_folder(name):
        raise LandingFailed(missing if shown is None else _why_no_folder(folder, name, "/".join(shown)))
    with folder.enter(name) as inner, _descend(inner, rest, shown, missing) as last:
        yield last


def _clean(folder: Folder, name: str, depth: int, shown: str, left_out: List[str]) -> bool:
    """Makes an entry in the draft harmless or removes it. Returns False if nothing of it remains."""
    found = folder.stat(name)
    if found is None:
        return False
    mode = found.st_mode
    if stat.S_ISDIR(mode):
        if depth >= MAX_DEPTH:
            raise LandingFailed(f"results can have at most {MAX_DEPTH} nested folders")
        os.chmod(folder.at(name), mode & 0o777 | 0o700, dir_fd=folder.fd)
        with folder.enter(name) as inner:
            for each in inner.names():
                _clean(inner, each, depth + 1, f"{shown}/{each}", left_out)
        return True
    if stat.S_ISREG(mode):
        # The same file may have another name outside the results, whose mode and later content would change as well.
        if found.st_nlink > 1:
            folder.replace(folder, folder.copy_from(folder, name), name)
        if found.st_nlink > 1 or stat.S_IMODE(mode) & ~0o777:
            os.chmod(folder.at(name), mode & 0o777, dir_fd=folder.fd)
        return True
    if stat.S_ISLNK(mode) and _stays_within(os.readlink(folder.at(name), dir_fd=folder.fd), depth):
        return True
    os.unlink(folder.at(name), dir_fd=folder.fd)
    left_out.append(shown)
    return False


def _stays_within(target: str, depth: int) -> bool:
    """Returns whether a link's target is certain to be within the results, regardless of their other links.

    It is if the target climbs only at its beginning, and no higher than the fetched folder, which has the depth 0.
    """
    if target.startswith("/") or (os.name == "nt" and (":" in target or "\\" in target)):
        return False
    parts = [part for part in target.split("/") if part not in ("", ".")]
    climbs = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
    return climbs < depth and ".." not in parts[climbs:]


def _move(source: Folder, name: str, place: Folder, target: str, shown: str) -> None:
    """Moves an entry and keeps any existing files that it doesn't contain."""
    comes_as_folder = source.is_folder(name)
    there = place.stat(target)
    if there is not None and comes_as_folder != stat.S_ISDIR(there.st_mode):
        is_folder = f"{shown} is a folder here, and a file on the instance"
        raise LandingFailed(_why_no_folder(place, target, shown) if comes_as_folder else is_folder)
    if (there is None or not comes_as_folder) and _move_whole(source, name, place, target):
        return
    with source.enter(name) as inner, place.enter(target) as folder:
        for each in inner.names():
            _move(inner, each, folder, each, f"{shown}/{each}")


def _move_whole(source: Folder, name: str, place: Folder, target: str) -> bool:
    """Moves an entry in one step. Returns False if a folder could only be created, because it moves to another file
    system. Its content must then be moved separately."""
    try:
        place.replace(source, name, target)
        return True
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    if source.is_folder(name):
        os.mkdir(place.at(target), dir_fd=place.fd)
        return False
    place.replace(place, place.copy_from(source, name), target)
    return True


def _why_no_folder(folder: Folder, name: str, shown: str) -> str:
    if folder.is_link(name):
        return _is_link_here(shown)
    return f"{shown} is a file here, and a folder on the instance"


def _is_link_here(shown: str) -> str:
    return f"{shown} is a link here, and results are not written through links; remove or rename it"
