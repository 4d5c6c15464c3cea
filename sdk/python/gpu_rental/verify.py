"""Verifies bills from the gateway without trusting it: python -m gpu_rental.verify FILE… (see docs/proofs.md)."""

import hashlib
import json
import sys
from collections import Counter
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

from . import proof_records, proofs
from .proofs import Fault, Gap, Json, amount, canonical, count, digest, instant, match, need, sha, shape, tag

MEMBERS = {
    "keys": "keys", "roots": "roots", "consistency": "first second path",
    "root": "number at size root previous key signature", "inclusion": "pseudonym number head index path root",
    "statement": "service account pseudonym period issuedAt opening closing chain links open lines log key signature",
}
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
Located = List[Tuple[str, Json]]


class Verifier:
    """Collects documents and then checks them, alone and against each other."""

    def __init__(self) -> None:
        self.faults, self.gaps = [], []  # type: List[str], List[str]
        self.keys: Dict[str, Json] = {}
        self.documents: Dict[str, Located] = {kind: [] for kind in MEMBERS}

    @contextmanager
    def checking(self, where: str) -> Iterator[None]:
        try:
            yield
        except Gap as gap:
            self.gaps.append(f"{where}: {gap}")
        except Fault as fault:
            self.faults.append(f"{where}: {fault}")
        except MALFORMED as error:
            self.faults.append(f"{where}: malformed ({type(error).__name__}: {error})")

    def read(self, name: str) -> None:
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            return self.gaps.append(f"{name}: can't be read ({error})")
        parts = [(name, text)]
        with suppress(Fault, *MALFORMED):
            try:
                proofs.parse(text)
            except json.JSONDecodeError:
                parts = [(f"{name}:{number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        for where, part in parts or [(name, "")]:
            with self.checking(where):
                try:
                    self.add(where, proofs.parse(part))
                except json.JSONDecodeError as error:
                    raise Gap(f"isn't JSON, or is truncated ({error})") from None

    def add(self, where: str, document: Json, want: str = "") -> Json:
        kind = match(f"gpu-rental/({want or '|'.join(MEMBERS)})/v1", document["type"]).split("/")[1]
        self.documents[kind].append((where, shape(document, f"type {MEMBERS[kind]}")))
        if kind == "roots":
            numbers = [self.add(f"{where} root {root['number']}", root, "root")["number"] for root in document["roots"]]
            need(numbers == sorted(numbers), "the roots aren't in order, oldest first")
        elif kind == "inclusion":
            self.add(f"{where} root", document["root"], "root")
        elif kind == "statement" and document["log"] is not None:
            self.add(f"{where} log", document["log"], "inclusion")
        return document

    def run(self) -> int:
        checks = {"keys": self.key_list, "statement": self.statement, "inclusion": self.inclusion, "root": self.root}
        for kind, check in {**checks, "consistency": self.consistency}.items():
            for where, document in self.documents[kind]:
                with self.checking(where):
                    check(where, document)
        for kind, compare in (("statement", proof_records.two_statements), ("root", proof_records.two_roots)):
            for (where, one), (other, two) in combinations(self.documents[kind], 2):
                with self.checking(f"{where} and {other}"):
                    compare(one, two)
        return 1 if self.faults else 2 if self.gaps else 0

    def key_list(self, where: str, document: Json) -> None:
        before: Json = {}
        for key in document["keys"]:
            with self.checking(f"{where} key {key['id']}"):
                shape(key, "id algorithm publicKey from until previous endorsement")
                need(key["algorithm"] == "Ed25519", "the algorithm must be Ed25519")
                need(key["id"] == digest(proofs.binary(key["publicKey"]))[:16], "the id isn't that of the public key")
                need(key["until"] is None or instant(key["until"]) >= instant(key["from"]), "until is before from")
                need(key["previous"] == before.get("id"), "previous isn't the id of the key before it")
                need(not before or before["until"] == key["from"], "from isn't the until of the key before it")
                need(key["id"] not in [each["id"] for each in document["keys"] if each is not key], "the id repeats")
                known = self.keys.get(key["id"], key)
                need({**known, "until": 0} == {**key, "until": 0}, "the key differs between two documents")
                need(None in (known["until"], key["until"]) or known == key, "until differs between two documents")
                self.keys[key["id"]] = key if known["until"] is None else known
                need((key["endorsement"] is None) == (not before), "only the first key has no endorsement")
                if before:
                    signed = {name: key[name] for name in ("from", "id", "previous", "publicKey")}
                    proofs.check_signature(before["publicKey"], key["endorsement"], tag("key", signed))
            before = key
        need(not before or before["until"] is None, "the newest key's until must be null")

    def signature(self, document: Json, kind: str, at: str) -> None:
        if not self.keys:
            raise Gap("no keys were given for its signature")
        if document["key"] not in self.keys:
            raise Gap(f"key {document['key']} of its signature was never published")
        key = self.keys[document["key"]]
        inside = instant(key["from"]) <= instant(at) and (key["until"] is None or instant(at) < instant(key["until"]))
        need(inside, f"{at} is outside the period of key {key['id']}")
        content = {name: value for name, value in document.items() if name != "signature"}
        proofs.check_signature(key["publicKey"], document["signature"], tag(kind, content))

    def statement(self, where: str, document: Json) -> None:
        period, links = shape(document["period"], "from to"), document["links"]
        shape(document["chain"], "from to")
        start, end, issued = period["from"], period["to"], document["issuedAt"]
        sha(document["pseudonym"])
        with self.checking(f"{where} period"):
            month = proofs.month_end(start)
            need(start[8:] == "01T00:00:00Z" and instant(start) <= instant(end), "doesn't start with a month")
            need(end == month and instant(issued) >= instant(end) or end == issued and instant(end) < instant(month),
                 "to must be the end of the month, or issuedAt")
        records = [(link["number"], link["record"]) for link in links] + [(None, record) for record in document["open"]]
        ids = Counter(record["id"] for _, record in records)
        for number, record in records:
            with self.checking(f"{where} record {record['id']}"):
                need(ids[record["id"]] == 1, "the id repeats")
                need(record["account"] == document["account"], "belongs to another account")
                proof_records.check_record(record, number is None)
        with self.checking(f"{where} lines"):
            due = [line for number, record in records for line in proof_records.line_of(number, record, start, end)]
            wrong = Counter(canonical(line) for line in document["lines"])
            wrong.subtract(canonical(line) for line in due)
            for line, times in wrong.items():
                if times:
                    value, text = json.loads(line), "not due" if times > 0 else "missing"
                    self.faults.append(f"{where} line {value['id']}: {text}, {times * amount(value['units'])} units")
        with self.checking(f"{where} sum"):
            change = sum(amount(line["units"]) for line in document["lines"])
            rest = amount(document["closing"]) - amount(document["opening"]) - change
            need(rest == 0, f"closing differs from opening + lines by {rest} units")
        with self.checking(f"{where} chain"):
            leaf, hashes = document["log"], proof_records.hashes_of(document)
            if leaf is not None:
                need(leaf["pseudonym"] == document["pseudonym"], "the leaf has another pseudonym")
                need(hashes.get(leaf["number"]) == leaf["head"], "the leaf isn't a hash of this chain")
        self.signature(document, "statement", issued)

    def inclusion(self, where: str, document: Json) -> None:
        leaf = {name: document[name] for name in ("head", "number", "pseudonym")}
        sha(leaf["head"]), sha(leaf["pseudonym"]), count(leaf["number"])
        index, size = count(document["index"]), count(document["root"]["size"])
        need(index < size, f"index {index} isn't in a tree of {size} leaves")
        start = hashlib.sha256(b"\x00" + tag("leaf", leaf)).digest()
        root = proofs.root_of(start, index, size, [sha(step) for step in document["path"]])
        need(root == sha(document["root"]["root"]), "the path doesn't lead to the root")
        for other, statement in self.documents["statement"]:
            if statement["pseudonym"] == leaf["pseudonym"]:
                head = proof_records.hashes_of(statement).get(leaf["number"], leaf["head"])
                need(head == leaf["head"], f"the leaf isn't hash {leaf['number']} of {other}")

    def root(self, where: str, root: Json) -> None:
        sha(root["root"])
        need(count(root["number"]) >= 1 and count(root["size"]) >= 1, "number and size begin at 1")
        need((root["previous"] is None) == (root["number"] == 1), "only root 1 has no previous root")
        self.signature(root, "root", root["at"])

    def consistency(self, where: str, document: Json) -> None:
        first, second = count(document["first"]), count(document["second"])
        need(first <= second, "first must not exceed second")
        path = [sha(step) for step in document["path"]]
        if first == 0:
            return need(not path, "the path from size 0 must be empty")
        known = {root["size"]: sha(root["root"]) for _, root in self.documents["root"]}
        for size in (first, second):
            if size not in known:
                raise Gap(f"no root of size {size} was given")
        both = proofs.roots_of(known[first], first, second, path)
        need(both == (known[first], known[second]), "the path doesn't lead from root to root")


def main(files: List[str]) -> int:
    if not files or not proofs.HAS_SIGNATURES:
        print("Usage: python -m gpu_rental.verify FILE…; install gpu-rental-client[verify]", file=sys.stderr)
        return 2
    verifier = Verifier()
    for name in files:
        verifier.read(name)
    code = verifier.run()
    print("\n".join([*verifier.faults, *(f"{gap} (not checked)" for gap in verifier.gaps)] or ["everything verifies"]))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
