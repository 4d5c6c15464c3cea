"""Tests results from a hostile instance, and existing files at their destination."""

import os
import stat
import tempfile
import unittest
from pathlib import Path
from typing import List

from gpu_rental.client import Client
from gpu_rental.landing import Folder, LandingFailed, check_destinations, land, safe_place
from gpu_rental.run import RunFailed, _terms_of, checked_out


class ALanding(unittest.TestCase):
    def setUp(self) -> None:
        base = tempfile.TemporaryDirectory()
        self.addCleanup(base.cleanup)
        self.elsewhere, self.draft, self.into = (Path(base.name, name) for name in ("elsewhere", "draft", "into"))
        for folder in (self.elsewhere, self.draft, self.into):
            folder.mkdir()
        (self.elsewhere / "keys").write_text("mine")

    def land(self, path: str, to: str = "") -> List[str]:
        draft = Folder.open(str(self.draft))
        try:
            return land(draft, path, str(self.into), to or path)
        finally:
            draft.close()

    def test_leaves_out_links_that_lead_away_and_keeps_the_others(self) -> None:
        deep = self.draft / "results/a/b"
        deep.mkdir(parents=True)
        targets = {"results/away": str(self.elsewhere), "results/up": "..", "results/a/b/ok": "../../x", "results/later": "x"}
        targets.update({"results/a/top": "..", "results/tricky": "a/b/../../../keys", "results/a/b/out": "../../../keys"})
        for name, target in targets.items():
            (self.draft / name).symlink_to(target)
        os.mkfifo(self.draft / "results/pipe")
        left_out = self.land("results")
        self.assertEqual(sorted(left_out), [f"results/{each}" for each in ("a/b/out", "away", "pipe", "tricky", "up")])
        self.assertEqual(os.readlink(self.into / "results/a/b/ok"), "../../x")

    def test_never_writes_through_a_link(self) -> None:
        (self.into / "results").mkdir()
        (self.into / "results/sub").symlink_to(self.elsewhere)
        (self.draft / "results/sub").mkdir(parents=True)
        (self.draft / "results/sub/keys").write_text("evil")
        with self.assertRaisesRegex(LandingFailed, "results/sub is a link here"):
            self.land("results")
        (self.into / "results/file").symlink_to(self.elsewhere / "keys")
        (self.draft / "file").write_text("new")
        self.land("file", "results/file")
        self.assertEqual((self.into / "results/file").read_text(), "new")
        with self.assertRaisesRegex(LandingFailed, "results/sub is a link here"):
            self.land("results", "results/sub/deeper")
        self.assertEqual((self.elsewhere / "keys").read_text(), "mine")
        self.assertEqual(os.listdir(self.elsewhere), ["keys"])

    def test_moves_nothing_from_behind_a_link(self) -> None:
        (self.elsewhere / "b").mkdir()
        (self.draft / "a").symlink_to(self.elsewhere)
        (self.draft / "link").symlink_to("keys")
        for path in ("a/b", "link", "none"):
            with self.assertRaisesRegex(LandingFailed, "was not received"):
                self.land(path)
        self.assertTrue((self.elsewhere / "b").is_dir())

    def test_strips_special_bits_and_shares_no_file(self) -> None:
        (self.draft / "results").mkdir()
        (self.draft / "results").chmod(0o3755)
        (self.draft / "results/program").write_text("x")
        (self.draft / "results/program").chmod(0o6755)
        (self.elsewhere / "keys").chmod(0o600)
        os.link(self.elsewhere / "keys", self.draft / "results/shared")
        self.land("results")
        modes = [stat.S_IMODE((self.into / name).stat().st_mode) for name in ("results", "results/program")]
        self.assertEqual(modes, [0o755, 0o755])
        self.assertEqual((self.into / "results/shared").stat().st_nlink, 1)
        self.assertEqual((self.elsewhere / "keys").stat().st_nlink, 1)

    def test_keeps_files_that_are_not_sent_and_replaces_the_others(self) -> None:
        for folder, text in ((self.into, "old"), (self.draft, "new")):
            (folder / "results/sub").mkdir(parents=True)
            (folder / "results/sub/both").write_text(text)
        (self.into / "results/kept").write_text("kept")
        self.assertEqual(self.land("results"), [])
        self.assertEqual((self.into / "results/sub/both").read_text(), "new")
        self.assertEqual((self.into / "results/kept").read_text(), "kept")

    def test_checks_paths_where_they_are_read(self) -> None:
        for path in ("../stash/a", "/etc/passwd", "a/../../b", "a\0b", "", "."):
            with self.subTest(path), self.assertRaises(ValueError):
                checked_out([path])
        with self.assertRaisesRegex(RunFailed, "stash"):
            _terms_of('{"out": ["../stash/a"], "keep": false}', "i-31f72534")
        (self.into / "link").symlink_to(self.elsewhere)
        for wanted in ("link", "link/keys"):
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, "link is a link here"):
                check_destinations([wanted], str(self.into))
        with self.assertRaisesRegex(ValueError, "link is a link here"):
            Client("gpu_live_x").run(["true"], out=["link/keys"], into=str(self.into))

    def test_attaching_changes_nothing_that_exists(self) -> None:
        (self.into / "results").mkdir()
        places = [safe_place(path, "i-31f72534", str(self.into)) for path in ("new/a", "results/a", ".ssh/authorized_keys")]
        self.assertEqual(places, ["new/a", "i-31f72534/results/a", "i-31f72534/.ssh/authorized_keys"])
