"""Tests the verifier with documents that this file builds from docs/proofs.md."""

import base64
import contextlib
import copy
import hashlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from gpu_rental import verify

try:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
except ImportError:
    Ed25519PrivateKey = None  # type: ignore[assignment,misc]

Json = Dict[str, Any]
PSEUDONYM = "5" * 64
ACCOUNT = "acc-1"


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def tag(name: str, value: Any) -> bytes:
    return f"{name}\n".encode() + canonical(value)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tree(leaves: List[bytes]) -> bytes:
    """MTH of RFC 9162, 2.1.1, of leaf hashes."""
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + tree(leaves[:half]) + tree(leaves[half:])).digest()


def path_of(index: int, leaves: List[bytes]) -> List[bytes]:
    """PATH of RFC 9162, 2.1.3.1."""
    if len(leaves) == 1:
        return []
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if index < half:
        return path_of(index, leaves[:half]) + [tree(leaves[half:])]
    return path_of(index - half, leaves[half:]) + [tree(leaves[:half])]


def proof(first: int, leaves: List[bytes], whole: bool = True) -> List[bytes]:
    """SUBPROOF of RFC 9162, 2.1.4.1."""
    if first == len(leaves):
        return [] if whole else [tree(leaves)]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if first <= half:
        return proof(first, leaves[:half], whole) + [tree(leaves[half:])]
    return proof(first - half, leaves[half:], False) + [tree(leaves[:half])]


class Service:
    """A service with two keys, three log roots and one account."""

    def __init__(self) -> None:
        self.private = [Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()]
        raw = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        public = [key.public_key().public_bytes(*raw) for key in self.private]
        self.ids = [digest(key)[:16] for key in public]
        times = ["2026-01-01T00:00:00Z", "2026-12-05T00:00:00Z", None]
        keys: List[Json] = []
        for number, key in enumerate(public):
            signed = {"id": self.ids[number], "publicKey": base64.b64encode(key).decode(), "from": times[number]}
            signed["previous"] = self.ids[0] if number else None
            endorsement = self.sign(0, "gpu-rental/key/v1", signed) if number else None
            keys.append({**signed, "algorithm": "Ed25519", "until": times[number + 1], "endorsement": endorsement})
        self.keys: Json = {"type": "gpu-rental/keys/v1", "keys": keys}
        self.hashes = [digest(tag("gpu-rental/chain/v1", {"account": ACCOUNT, "pseudonym": PSEUDONYM}))]
        self.links: List[Json] = []
        for record in RECORDS:
            number = len(self.hashes)
            link = {"number": number, "previous": self.hashes[-1], "record": record}
            self.hashes.append(digest(tag("gpu-rental/link/v1", link)))
            self.links.append({"number": number, "hash": self.hashes[-1], "record": record})
        leaf = {"head": self.hashes[5], "number": 5, "pseudonym": PSEUDONYM}
        self.leaf = leaf
        others = [hashlib.sha256(bytes([n])).digest() for n in range(6)]
        self.leaves = others[:2] + [hashlib.sha256(b"\0" + tag("gpu-rental/leaf/v1", leaf)).digest()] + others[2:]
        self.roots: List[Json] = []
        for number, (size, at) in enumerate(((3, "2026-12-01T01:00:00Z"), (4, "2026-12-01T02:00:00Z"), (7, "2026-12-06T00:00:00Z")), 1):
            root = {"type": "gpu-rental/root/v1", "number": number, "at": at, "size": size, "root": tree(self.leaves[:size]).hex()}
            root["previous"] = digest(canonical(self.roots[-1])) if self.roots else None
            self.roots.append(self.signed(root, 1 if number == 3 else 0))

    def sign(self, key: int, kind: str, value: Json) -> str:
        return base64.b64encode(self.private[key].sign(tag(kind, value))).decode()

    def signed(self, document: Json, key: int = 0) -> Json:
        document = {name: value for name, value in copy.deepcopy(document).items() if name != "signature"}
        document["key"] = self.ids[key]
        return {**document, "signature": self.sign(key, document["type"], document)}

    def inclusion(self, root: int = 1) -> Json:
        size = self.roots[root]["size"]
        path = [step.hex() for step in path_of(2, self.leaves[:size])]
        return {"type": "gpu-rental/inclusion/v1", **self.leaf, "index": 2, "path": path, "root": self.roots[root]}

    def consistency(self, first: int, second: int) -> Json:
        path = [step.hex() for step in proof(first, self.leaves[:second])] if first else []
        return {"type": "gpu-rental/consistency/v1", "first": first, "second": second, "path": path}

    def statement(self, month: str = "11") -> Json:
        november = month == "11"
        start, end = ("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z") if november else ("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z")
        links = self.links[:5] if november else self.links[5:]
        chain_from = 0 if november else 5
        rows = NOVEMBER if november else DECEMBER
        names = ("id", "kind", "instance", "volume", "number", "mode", "rate", "seconds", "from", "to", "units")
        return self.signed({
            "type": "gpu-rental/statement/v1", "service": None, "account": ACCOUNT, "pseudonym": PSEUDONYM,
            "period": {"from": start, "to": end}, "issuedAt": "2026-12-02T00:00:00Z" if november else "2027-01-02T00:00:00Z",
            "opening": "0" if november else "35999992480", "closing": "35999992480" if november else "35999992420",
            "chain": {"from": {"number": chain_from, "hash": self.hashes[chain_from]},
                      "to": {"number": links[-1]["number"], "hash": links[-1]["hash"]}},
            "links": links, "open": [OPEN] if november else [],
            "lines": [dict(zip(names, row)) for row in rows], "log": self.inclusion() if november else None,
        }, 0 if november else 1)


def record(id: str, kind: str, at: Any, units: Any, charge: Any = None, **members: Any) -> Json:
    empty = {"instance": None, "volume": None, "reference": None, "note": None}
    return {"account": ACCOUNT, "id": id, "kind": kind, "at": at, "units": units, "charge": charge, **empty, **members}


def charge(rate: str, seconds: Any, start: Any = None, end: Any = None, **members: Any) -> Json:
    gpu = {"mode": "ON_DEMAND", "gpu": "rtx-4090", "numGpus": 1, "sizeGb": None}
    return {"rate": rate, "seconds": seconds, "startedAt": start, "endedAt": end, **gpu, **members}


NULL_GPU = {"mode": None, "gpu": None, "numGpus": None}
DISK = charge("2", None, "2026-11-30T23:59:00Z", sizeGb=10)
OPEN = record("i-1/disk/1", "DISK_USAGE", None, None, DISK, instance="i-1")
RECORDS = [
    record("c-1", "CREDIT", "2026-11-01T00:00:00Z", "36000000000", note="Zahlung über \"10\""),
    record("i-1/gpu/1", "GPU_USAGE", "2026-11-02T00:01:00Z", "-6000",
           charge("100", 60, "2026-11-02T00:00:00Z", "2026-11-02T00:01:00Z"), instance="i-1"),
    record("i-1/early", "EARLY_EXIT", "2026-11-02T00:01:00Z", "-1200", charge("20", 60), instance="i-1"),
    record("v-1/1", "VOLUME_USAGE", "2026-11-03T00:01:00Z", "-300",
           charge("5", 60, "2026-11-03T00:00:00Z", "2026-11-03T00:01:00Z", sizeGb=9, **NULL_GPU), volume="v-1"),
    record("s-1", "SERVICE_CREDIT", "2026-11-03T00:01:00Z", "100", instance="i-1"),
    record("i-1/disk/1", "DISK_USAGE", "2026-12-01T00:00:30Z", "-180",
           {**DISK, "seconds": 90, "endedAt": "2026-12-01T00:00:30Z"}, instance="i-1"),
]
NOVEMBER: List[Tuple[Any, ...]] = [
    ("s-1", "SERVICE_CREDIT", "i-1", None, 5, None, None, None, "2026-11-03T00:01:00Z", "2026-11-03T00:01:00Z", "100"),
    ("c-1", "CREDIT", None, None, 1, None, None, None, "2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z", "36000000000"),
    ("i-1/gpu/1", "GPU_USAGE", "i-1", None, 2, "ON_DEMAND", "100", 60, "2026-11-02T00:00:00Z", "2026-11-02T00:01:00Z", "-6000"),
    ("i-1/early", "EARLY_EXIT", "i-1", None, 3, "ON_DEMAND", "20", 60, "2026-11-02T00:01:00Z", "2026-11-02T00:01:00Z", "-1200"),
    ("v-1/1", "VOLUME_USAGE", None, "v-1", 4, None, "5", 60, "2026-11-03T00:00:00Z", "2026-11-03T00:01:00Z", "-300"),
    ("i-1/disk/1", "DISK_USAGE", "i-1", None, None, "ON_DEMAND", "2", 60, "2026-11-30T23:59:00Z", "2026-12-01T00:00:00Z", "-120"),
]
DECEMBER: List[Tuple[Any, ...]] = [
    ("i-1/disk/1", "DISK_USAGE", "i-1", None, 6, "ON_DEMAND", "2", 30, "2026-12-01T00:00:00Z", "2026-12-01T00:00:30Z", "-60"),
]


def verified(*texts: Any) -> Tuple[int, str]:
    """Returns the exit code and output for files with these documents or texts."""
    with tempfile.TemporaryDirectory() as directory:
        names = []
        for number, text in enumerate(texts):
            path = Path(directory, f"{number}.json")
            path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
            names.append(str(path))
        with contextlib.redirect_stdout(io.StringIO()) as output:
            code = verify.main(names)
        return code, output.getvalue()


def places(value: Any, path: Tuple[Any, ...] = ()) -> Iterator[Tuple[Any, ...]]:
    """Yields the path of each scalar and of each container in a document."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield from places(child, (*path, name))


def tampered(document: Json, path: Tuple[Any, ...]) -> Json:
    """Returns the document with another value of the same form at the path; containers lose a member."""
    changed = copy.deepcopy(document)
    parent: Any = changed
    for name in path[:-1]:
        parent = parent[name]
    value = parent[path[-1]]
    if value is None:
        parent[path[-1]] = "x"
    elif isinstance(value, (dict, list)):
        parent[path[-1]] = dict(list(value.items())[1:]) if isinstance(value, dict) else value[1:] or ["x"]
    elif isinstance(value, int):
        parent[path[-1]] = value + 1
    else:
        at = len(value.rstrip("Z=")) - 1
        parent[path[-1]] = value[:at] + ("1" if value[at] == "0" else "0") + value[at + 1:]
    return changed


@unittest.skipIf(Ed25519PrivateKey is None, "needs the package cryptography")
class TheVerifier(unittest.TestCase):
    def setUp(self) -> None:
        self.service = service = Service()
        self.rest: Json = {"type": "gpu-rental/roots/v1", "roots": service.roots}
        self.all: List[Json] = [service.statement(), service.statement("12"), self.rest, service.inclusion(2), service.inclusion(0),
                                *[service.consistency(*sizes) for sizes in ((3, 4), (3, 7), (4, 7), (4, 4), (0, 7))]]

    def test_accepts_documents_in_any_order_and_as_lines(self) -> None:
        self.assertEqual(verified(*self.all, self.service.keys), (0, "everything verifies\n"))
        lines = "\n".join(json.dumps(each) for each in [*self.all, self.service.keys])
        self.assertEqual(verified(lines), (0, "everything verifies\n"))

    def test_accepts_every_path_of_small_trees(self) -> None:
        leaves = [hashlib.sha256(bytes([n])).digest() for n in range(17)]
        for size in range(1, 18):
            for index in range(size):
                old, root = tree(leaves[: index + 1]).hex(), tree(leaves[:size]).hex()
                path = [step.hex() for step in path_of(index, leaves[:size])]
                self.assertEqual(verify.roots_of(reversed(path), index, size, leaf=leaves[index].hex())[1], root)
                path = [step.hex() for step in proof(index + 1, leaves[:size])]
                self.assertEqual(verify.roots_of(reversed(path), index, size, old=old), (old, root))

    def test_detects_a_change_of_any_member_by_the_signatures(self) -> None:
        for document in [self.service.statement(), self.service.statement("12"), self.service.roots[2], self.service.inclusion(2)]:
            for path in places(document):
                code, output = verified(tampered(document, path), self.service.keys)
                self.assertNotEqual(code, 0, (path, output))
        for path in places(self.service.keys):
            if path == ("keys", 0, "from"):  # No signature covers the start of the first key.
                continue
            code, output = verified(tampered(self.service.keys, path), *self.all)
            self.assertNotEqual(code, 0, (path, output))

    def test_detects_a_change_of_a_charge_or_sum_that_is_signed_again(self) -> None:
        free = {("type",), ("service",), ("key",), ("signature",), ("issuedAt",)}
        for path in places(self.service.statement()):
            # Only the entry that ends the usage, or the signature, protects what its lines don't show.
            if path in free or path[0] == "log" or (path[0] == "open" and path[-1] in ("gpu", "numGpus", "sizeGb")):
                continue
            code, output = verified(self.service.signed(tampered(self.service.statement(), path)), self.service.keys)
            self.assertEqual(code, 1, (path, output))

    def test_detects_a_false_path_or_leaf(self) -> None:
        for document in (self.service.inclusion(2), self.service.consistency(3, 7)):
            for path in places(document):
                if path[0] not in ("root", "type"):
                    self.assertNotEqual(verified(tampered(document, path), self.rest, self.service.keys)[0], 0, path)

    def test_names_the_fault_and_its_amount(self) -> None:
        statement = self.service.statement()
        statement["lines"][2]["units"] = "-6001"
        statement["closing"] = "35999992470"
        code, output = verified(self.service.signed(statement), self.service.keys)
        self.assertEqual(code, 1)
        self.assertIn("0.json line i-1/gpu/1: not due, -6001 units", output)
        self.assertIn("0.json line i-1/gpu/1: missing, 6000 units", output)
        self.assertIn("0.json sum: closing differs from opening + lines by -9 units", output)

    def test_compares_statements(self) -> None:
        later = self.service.statement("12")
        later["opening"], later["closing"] = "35999992479", "35999992419"
        code, output = verified(self.service.statement(), self.service.signed(later, 1), self.service.keys)
        self.assertEqual(code, 1)
        self.assertIn("the balance of acc-1 at 2026-12-01T00:00:00Z differs from", output)
        self.assertIn(" by -1 units", output)
        other = self.service.statement()
        other["pseudonym"] = "6" * 64
        self.assertIn("the pseudonym of acc-1 differs", verified(self.service.signed(other), self.service.statement())[1])
        for name, value in (("rate", "3"), ("startedAt", "2026-11-30T23:58:00Z")):
            earlier = self.service.statement()
            earlier["open"][0]["charge"][name] = value
            self.assertIn("usage i-1/disk/1 of acc-1 differs", verified(earlier, self.service.statement("12"))[1])

    def test_accepts_open_usage_that_ended_up_to_60_seconds_early(self) -> None:
        for end, text in (("2026-11-30T23:59:00Z", None), ("2026-11-30T23:58:59Z", "had ended 61 seconds before the end")):
            later = self.service.statement("12")
            later["links"][0]["record"]["charge"]["endedAt"] = later["links"][0]["record"]["at"] = end
            output = verified(self.service.statement(), later)[1]
            self.assertEqual("had ended" in output, text is not None, output)
            self.assertIn(text or "", output)

    def test_compares_roots(self) -> None:
        for name, value, text in (("root", "7" * 64, "root 2 differs"), ("at", "2026-12-01T00:00:00Z", "is smaller or earlier"),
                                  ("size", 2, "is smaller or earlier"), ("previous", "7" * 64, "the hash of root 1 differs")):
            second = self.service.signed({**self.service.roots[1], name: value})
            roots = [self.service.roots[0], second] if name != "root" else [self.service.roots[1], second]
            code, output = verified({**self.rest, "roots": roots}, self.service.keys)
            self.assertEqual(code, 1)
            self.assertIn(text, output)

    def test_refuses_a_root_that_is_listed_twice_or_out_of_order(self) -> None:
        one, two, three = self.service.roots
        for roots in ([one, two, two, three], [two, one, three]):
            code, output = verified({**self.rest, "roots": roots}, self.service.keys)
            self.assertEqual(code, 1)
            self.assertIn("0.json: the roots aren't in order, or one is listed twice", output)
        self.assertEqual(verified(self.rest, two, self.service.keys)[0], 0)

    def test_refuses_a_root_with_the_previous_of_another_number(self) -> None:
        two = self.service.roots[1]
        later = self.service.signed({**two, "number": 261})
        for roots in (self.service.roots[:1], [two]):
            code, output = verified({**self.rest, "roots": roots}, later, self.service.keys)
            self.assertEqual(code, 1)
            self.assertIn(f"the number of the root with hash {two['previous']} differs", output)

    def test_accepts_a_root_of_no_leaves(self) -> None:
        empty: Json = {"type": "gpu-rental/root/v1", "number": 1, "at": "2026-12-01T00:00:00Z", "size": 0, "previous": None}
        for root, code in ((digest(b""), 0), (digest(b"x"), 1)):
            self.assertEqual(verified(self.service.signed({**empty, "root": root}), self.service.keys)[0], code)

    def test_refuses_keys_that_can_not_be_relied_on(self) -> None:
        root = {**self.service.roots[0], "signature": base64.b64encode(b"\1" + bytes(63)).decode()}
        for public, text in ((bytes(31), "isn't of the form key"), (b"\1" + bytes(31), "the signature does not verify")):
            name = digest(public)[:16]
            key = {**self.service.keys["keys"][0], "publicKey": base64.b64encode(public).decode(), "id": name, "until": None}
            code, output = verified({"type": "gpu-rental/keys/v1", "keys": [key]}, {**root, "key": name})
            self.assertEqual(code, 1)
            self.assertIn(text, output)
        for name, code in (("x", 1), ("A" * 16, 1), ("a" * 16, 2)):
            self.assertEqual(verified({**root, "key": name}, self.service.keys)[0], code)

    def test_compares_lists_of_keys(self) -> None:
        first, second = self.service.keys["keys"]
        for keys, code in (([{**first, "until": None}], 0), ([first], 1), ([{**first, "until": None, "from": "2025-01-01T00:00:00Z"}], 1),
                           ([{**second, "previous": None, "endorsement": None}], 1)):
            self.assertEqual(verified(self.service.keys, {**self.service.keys, "keys": keys})[0], code, keys)

    def test_reports_what_it_can_not_check_with_2(self) -> None:
        keys = {**self.service.keys, "keys": [{**self.service.keys["keys"][0], "until": None}]}
        for texts in ([self.service.statement()], [self.service.statement("12"), keys], ["{"], [""], ["null x"], ["null"], ["[]"], ["{}"],
                      ['{"type": null}'], ['{"type": "gpu-rental/other/v1"}'], ["[" * 100_000],
                      [self.service.consistency(3, 7), self.service.keys], [self.service.consistency(4, 4)]):
            code, output = verified(*texts)
            self.assertEqual(code, 2, output)
            self.assertIn("(not checked)", output)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(verify.main(["/does/not/exist"]), 2)
        self.assertEqual(verified("{", {**self.service.keys, "keys": [{}]})[0], 1)

    def test_refuses_a_path_that_lacks_a_hash(self) -> None:
        first = digest(b"\0" + tag("gpu-rental/leaf/v1", self.service.leaf))
        root = {**self.service.roots[0], "size": 2, "root": digest(b"\1" + bytes.fromhex(first))}
        document = {**self.service.inclusion(), "index": 0, "path": [], "root": self.service.signed(root)}
        self.assertEqual(verified(self.service.keys, document)[0], 1)

    def test_refuses_a_leaf_for_hash_0(self) -> None:
        leaf = {**self.service.leaf, "number": 0}
        root = {**self.service.roots[0], "size": 1, "root": digest(b"\0" + tag("gpu-rental/leaf/v1", leaf))}
        document = {**self.service.inclusion(), **leaf, "index": 0, "path": [], "root": self.service.signed(root)}
        self.assertEqual(verified(self.service.keys, document)[0], 1)

    def test_refuses_an_open_record_outside_the_period(self) -> None:
        statement = self.service.statement()
        late = {**copy.deepcopy(OPEN), "id": "late"}
        late["charge"]["startedAt"] = "2027-01-01T00:00:00Z"
        statement["open"].append(late)
        self.assertEqual(verified(self.service.keys, self.service.signed(statement))[0], 1)

    def test_limits_amounts_and_ids(self) -> None:
        statement = self.service.statement()
        long = {"opening": str(10**30 + int(statement["opening"])), "closing": str(10**30 + int(statement["closing"]))}
        self.assertEqual(verified(self.service.keys, self.service.signed({**statement, **long}))[0], 1)
        self.assertIn("isn't of the form name", verified({**statement, "account": ""})[1])

    def test_reads_no_part_of_a_text_that_is_not_json(self) -> None:
        deep = '{"type": "gpu-rental/keys/v1", "keys": ' + "[" * 30 + "]" * 30 + "}"
        for text in ('{"a": 1.5,', "1.5\n2", deep):
            self.assertEqual(verified(text)[0], 2, text)
        long = '{"type": "gpu-rental/consistency/v1",\n"first": ' + "9" * 5_000 + ',\n"second": 1, "path": []}'
        self.assertEqual(verified(long)[0], 1)
        self.assertEqual(verified({**self.service.roots[0], "signature": "AAAA"})[0], 1)

    def test_prints_no_control_characters(self) -> None:
        record = {**RECORDS[0], "id": "x\n\x1b[2Jeverything verifies"}
        statement = self.service.statement()
        statement["links"][0]["record"] = record
        output = verified(self.service.keys, statement)[1]
        self.assertNotIn("\x1b", output)
        self.assertNotIn("\neverything verifies", output)
        self.assertIn("\\n\\x1b[2J", output)

    def test_parses_strictly(self) -> None:
        for text in ('{"type": 1, "type": 2}', '{"type": 1.5}', '{"type": -0}', '{"type": "\\ud800"}',
                     '{"type": "gpu-rental/keys/v1"}', '{"type": "gpu-rental/keys/v1", "keys": 1}'):
            self.assertEqual(verified(text)[0], 1, text)
        proof = '{"type": "gpu-rental/consistency/v1", "first": 0, "second": %s, "path": []}'
        for number, code in (("7", 0), ("7.0", 1), ("7e0", 1), ("true", 1), ("9007199254740992", 1), ("9" * 5_000, 1),
                             ("-1", 1), ("-0", 1), ("NaN", 2)):
            self.assertEqual(verified(proof % number, self.rest, self.service.keys)[0], code, number[:40])
        self.assertEqual(verified((proof % 7).replace("[]", '"hash[]"'), self.rest, self.service.keys)[0], 1)
        keys = json.dumps(self.service.keys)
        self.assertEqual(verified(keys[:-1] + ', "keys": []}')[0], 1)
        self.assertEqual(verified(keys[:-1] + ', "more": []}')[0], 1)
