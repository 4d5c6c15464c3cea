"""Builds the package with Python only, so that pip needs no setuptools, wheel or package index (PEP 517, PEP 660)."""

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "gpu_rental"
SOURCES = ("LICENSE", "README.md", "build_backend.py", "pyproject.toml")
#: The earliest date that a zip file can contain. A fixed date makes builds reproducible.
DATE = (1980, 1, 1, 0, 0, 0)
WHEEL = "Wheel-Version: 1.0\nGenerator: build_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(wheel_directory, _package())


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(wheel_directory, [("gpu_rental.pth", f"{ROOT}\n".encode())])


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    stem, metadata = _metadata()
    sources = [(name, (ROOT / name).read_bytes()) for name in SOURCES]
    with tarfile.open(Path(sdist_directory, f"{stem}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, data in [("PKG-INFO", metadata), *sources, *_package()]:
            member = tarfile.TarInfo(f"{stem}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return f"{stem}.tar.gz"


def _package() -> List[Tuple[str, bytes]]:
    paths = sorted(PACKAGE.glob("*.py")) + [PACKAGE / "py.typed"]
    return [(f"gpu_rental/{path.name}", path.read_bytes()) for path in paths]


def _write_wheel(directory: str, files: List[Tuple[str, bytes]]) -> str:
    stem, metadata = _metadata()
    info = f"{stem}.dist-info"
    license = (ROOT / "LICENSE").read_bytes()
    content = [*files, (f"{info}/LICENSE", license), (f"{info}/METADATA", metadata), (f"{info}/WHEEL", WHEEL.encode())]
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in content)
    content.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    with zipfile.ZipFile(Path(directory, f"{stem}-py3-none-any.whl"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content:
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return f"{stem}-py3-none-any.whl"


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _metadata() -> Tuple[str, bytes]:
    """Returns the prefix of file names and the package's metadata, from pyproject.toml."""
    project = _project()
    [version] = re.findall(r'^VERSION = "(.+)"$', (PACKAGE / "version.py").read_text(encoding="utf-8"), re.M)
    fields = [
        ("Metadata-Version", "2.1"),
        ("Name", project["name"]),
        ("Version", version),
        ("Summary", project["description"]),
        ("License", project["license"]),
        ("License-File", "LICENSE"),
        ("Requires-Python", project["requires-python"]),
        *[("Classifier", classifier) for classifier in project["classifiers"].split("\n")],
        ("Provides-Extra", "verify"),
        ("Requires-Dist", f'{project["verify"]}; extra == "verify"'),
        ("Description-Content-Type", "text/markdown"),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    readme = (ROOT / project["readme"]).read_text(encoding="utf-8")
    return f"{project['name'].replace('-', '_')}-{version}", f"{head}\n{readme}".encode()


def _project() -> Dict[str, str]:
    """Returns the [project] table, and the extra `verify`. Python has no TOML parser before 3.11, so each value must be on its own line."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    [table] = re.findall(r"^\[project\]\n(.*?)\n\[", text, re.M | re.S)
    [verify] = re.findall(r'^verify = \["(.*)"\]$', text, re.M)
    values = dict(re.findall(r'^([a-z-]+) = "(.*)"$', table, re.M))
    return {**values, "verify": verify, "classifiers": "\n".join(re.findall(r'^  "(.*)",$', table, re.M))}
