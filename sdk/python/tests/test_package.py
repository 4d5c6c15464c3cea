"""Tests the package's requirements and supported Python versions."""

import ast
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gpu_rental"


class ThePackage(unittest.TestCase):
    def test_is_written_in_python_3_9(self) -> None:
        files = sorted(ROOT.glob("gpu_rental/*.py")) + sorted(ROOT.glob("tests/*.py"))
        self.assertGreater(len(files), 9)
        for path in files:
            ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))

    def test_imports_the_standard_library_only(self) -> None:
        known = getattr(sys, "stdlib_module_names", None)
        if known is None:
            self.skipTest("needs Python 3.10 for the list of the standard library")
        for path in PACKAGE.glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module or ""]
                for name in names:
                    extra = ["cryptography"] if path.name == "verify.py" else []
                    self.assertIn(name.split(".")[0], [*known, *extra], path.name)

    def test_is_typed_whole_and_exports_what_it_says(self) -> None:
        import gpu_rental

        self.assertTrue((PACKAGE / "py.typed").is_file())
        self.assertEqual(sorted(gpu_rental.__all__), gpu_rental.__all__)
        for name in gpu_rental.__all__:
            self.assertTrue(hasattr(gpu_rental, name), name)

    def test_runs_with_nothing_but_its_folder_and_warns_of_nothing(self) -> None:
        script = "import gpu_rental; print(gpu_rental.Client('k'), gpu_rental.__version__)"
        command = [sys.executable, "-S", "-B", "-X", "dev", "-W", "error", "-c", script]
        run = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout, "Client(base_url='http://127.0.0.1:4000/v1') 1.0.0\n")

    @unittest.skipUnless(importlib.util.find_spec("ensurepip"), "needs ensurepip: on Debian, python3-venv")
    def test_installs_with_what_venv_brings_and_no_index(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            venv.create(directory, with_pip=True)
            python = Path(directory, "Scripts" if os.name == "nt" else "bin", "python")
            pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--quiet"]
            script = "import gpu_rental, importlib.metadata as m; print(gpu_rental.__file__, m.version('gpu-rental-client'))"
            extra = "import importlib.metadata as m; print(*m.requires('gpu-rental-client'))"
            subprocess.run([*pip, str(ROOT)], check=True, cwd=directory, capture_output=True)
            run = subprocess.run([str(python), "-c", script], cwd=directory, capture_output=True, text=True)
            self.assertEqual(run.stderr, "")
            path, version = run.stdout.split()
            self.assertIn("site-packages", path)
            self.assertEqual(version, "1.0.0")
            requires = subprocess.run([str(python), "-c", extra], cwd=directory, capture_output=True, text=True).stdout
            self.assertEqual(requires, 'cryptography>=40; extra == "verify"\n')
            installed = {entry.name for entry in Path(path).parent.glob("*.*")}
            self.assertEqual(installed, {entry.name for entry in PACKAGE.glob("*.*")})
