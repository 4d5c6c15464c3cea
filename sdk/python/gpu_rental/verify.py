"""Verifies bills from the gateway without trusting it: python -m gpu_rental.verify FILE… (see docs/proofs.md)."""

import calendar
import hashlib
import json
import re
import sys
import time
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:  # Only the extra "verify" installs it.
    Ed25519PublicKey = None  # type: ignore[assignment,misc]

Json = dict[str, Any]
ENTRY = "account:name id:name instance:text? volume:text?"
GPUS = "mode:text gpu:text numGpus:count"
USAGE = {"GPU_USAGE": f"{GPUS} sizeGb:null", "DISK_USAGE": f"{GPUS} sizeGb:count",
         "VOLUME_USAGE": "mode:null gpu:null numGpus:null sizeGb:count"}
CREDITS = ("CREDIT", "ADJUSTMENT", "SERVICE_CREDIT")
#: The members of each kind of object and their forms: "?" permits null, "[]" is an array, "=" precedes the only value,
#: and "-" depends on `kind`.
SHAPES = {
    "keys": "type:=gpu-rental/keys/v1 keys:signing-key[]",
    "signing-key": "id:id algorithm:=Ed25519 publicKey:key from:instant until:instant? previous:id? endorsement:signature?",
    "roots": "type:=gpu-rental/roots/v1 roots:root[]",
    "root": "type:=gpu-rental/root/v1 number:number at:instant size:count root:hash previous:hash? key:id signature:signature",
    "inclusion": "type:=gpu-rental/inclusion/v1 pseudonym:hash number:number head:hash index:count path:hash[] root:root",
    "consistency": "type:=gpu-rental/consistency/v1 first:count second:count path:hash[]",
    "statement": "type:=gpu-rental/statement/v1 service:text? account:name pseudonym:hash period:period issuedAt:instant"
                 " opening:amount closing:amount chain:chain links:link[] open:open[] lines:line[] log:inclusion?"
                 " key:id signature:signature",
    "period": "from:instant to:instant",
    "chain": "from:end to:end",
    "end": "number:count hash:hash",
    "link": "number:number hash:hash record:record",
    "record": f"{ENTRY} kind:kind at:instant units:amount reference:text? note:text? charge:charge-",
    "open": f"{ENTRY} kind:usage at:null units:null reference:null note:null charge:open-",
    "line": "id:name kind:kind instance:text? volume:text? number:number? mode:text? rate:rate? seconds:count?"
            " from:instant to:instant units:amount",
    **{f"charge-{kind}": f"rate:rate seconds:count startedAt:null endedAt:null {GPUS} sizeGb:null"
       for kind in ("EARLY_EXIT", "PREEMPTION_MINIMUM")},
    **{f"charge-{kind}": f"rate:rate seconds:count startedAt:instant endedAt:instant {rest}" for kind, rest in USAGE.items()},
    **{f"open-{kind}": f"rate:rate seconds:null startedAt:instant endedAt:null {rest}" for kind, rest in USAGE.items()},
}
MEMBERS = {form: dict(member.split(":") for member in shape.split()) for form, shape in SHAPES.items()}
FORMS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "text": lambda value: isinstance(value, str),
    "name": lambda value: isinstance(value, str) and value != "",
    "kind": lambda value: value in CREDITS or f"charge-{value}" in SHAPES,
    "usage": lambda value: value in USAGE,
    "count": lambda value: type(value) is int and value >= 0,
    "number": lambda value: type(value) is int and value >= 1,
    "id": lambda value: re.fullmatch("[0-9a-f]{16}", value) is not None,
    "hash": lambda value: re.fullmatch("[0-9a-f]{64}", value) is not None,
    "amount": lambda value: re.fullmatch("0|-?[1-9][0-9]{0,29}", value) is not None,
    "rate": lambda value: re.fullmatch("0|[1-9][0-9]{0,29}", value) is not None,
    "instant": lambda value: time.strftime(INSTANT, time.gmtime(seconds(value))) == value,
    "key": lambda value: len(b64decode(value)) == 32 and FORMS["base64"](value),
    "signature": lambda value: len(b64decode(value)) == 64 and FORMS["base64"](value),
    "base64": lambda value: b64encode(b64decode(value)).decode() == value,
}
#: Points of small order (y coordinates), for which a signature can fit any document.
SMALL = (0, 1, 2**255 - 20, Y8 := 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7, 2**255 - 19 - Y8)
#: Maximum depth of nested arrays and objects that is read.
MAX_DEPTH = 16
INSTANT = "%Y-%m-%dT%H:%M:%SZ"
MONTH = "-01T00:00:00Z"
KINDS = {f"gpu-rental/{kind}/v1": kind for kind in ("keys", "statement", "inclusion", "roots", "root", "consistency")}


def misfits(value: Any, form: str, where: str) -> Iterator[str]:
    """Yields what in a value, or in its members, doesn't have the form."""
    members = MEMBERS.get(form, {})
    if members and isinstance(value, dict):
        for name in sorted(members.keys() ^ value.keys()):
            yield f"{where}: member {name} is {'missing' if name in members else 'unknown'}"
        for name, child in members.items():
            if child[-1] == "-":
                child += str(value.get("kind"))
                child = child if child in MEMBERS else "null"
            yield from misfits(value[name], child, f"{where}.{name}") if name in value else ()
    elif form[-2:] == "[]" and isinstance(value, list):
        for number, item in enumerate(value):
            yield from misfits(item, form[:-2], f"{where}[{number}]")
    elif form[-1] == "?":
        yield from () if value is None else misfits(value, form[:-1], where)
    else:
        try:
            fits = value == form[1:] if form[0] == "=" else FORMS[form](value)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            yield f"{where}: {value!r} isn't of the form {form}"


def seconds(instant: str) -> int:
    return calendar.timegm(time.strptime(instant, INSTANT))


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def tag(name: str, value: Any) -> bytes:
    return f"gpu-rental/{name}/v1\n".encode() + canonical(value)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def node(left: str, right: str) -> str:
    return digest(b"\x01" + bytes.fromhex(left + right)) if left and right else ""


def is_signed(public: str, signature: str, data: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(b64decode(public)).verify(b64decode(signature), data)
    except (InvalidSignature, ValueError):
        return False
    return int.from_bytes(b64decode(public), "little") % 2**255 % (2**255 - 19) not in SMALL


def roots_of(path: Iterator[str], last: int, size: int, leaf: str = "", old: str = "") -> tuple[str, str]:
    """Follows a path, last hash first, by the recursion that defines it (RFC 9162, 2.1.3.1 and 2.1.4.1). Returns the roots
    of the trees with `last` + 1 (only of a consistency proof) and `size` leaves. An inclusion path starts from the hash
    of leaf `last`, and a consistency proof from the old root. A missing hash is empty, and so are the roots that it leads to."""
    if last == size - 1 and (size == 1 or not leaf):
        root = leaf or old or next(path, "")
        return root, root
    half, other = 1 << (size - 1).bit_length() - 1, next(path, "")
    if last < half:
        before, after = roots_of(path, last, half, leaf, old)
        return before, node(after, other)
    before, after = roots_of(path, last - half, size - half, leaf)
    return node(other, before), node(other, after)


def line_of(number: Any, record: Json, start: str, end: str) -> Iterator[Json]:
    """Yields the record's line in the period, if it has one."""
    charge = record["charge"] or {"mode": None, "rate": None, "seconds": None}
    line = {name: record[name] for name in ("id", "kind", "instance", "volume", "units")}
    line.update(number=number, mode=charge["mode"], rate=charge["rate"], seconds=charge["seconds"])
    line.update({"from": record["at"], "to": record["at"]})
    if record["kind"] in USAGE:
        first, last = max(charge["startedAt"], start), min(charge["endedAt"] or end, end)
        length = seconds(last) - seconds(first)
        line.update({"from": first, "to": last, "seconds": length, "units": str(-int(charge["rate"]) * length)})
    if line["seconds"] > 0 if record["kind"] in USAGE else start <= record["at"] < end:
        yield line


def members_of(pairs: list[tuple[str, Any]]) -> Json:
    if len(dict(pairs)) < len(pairs):
        raise KeyError("a name repeats within an object")
    return dict(pairs)


def integer(text: str) -> int:
    if not re.fullmatch("0|-?[1-9][0-9]{0,15}", text) or abs(int(text)) >= 2**53:
        raise KeyError(f"{text} isn't an integer below 2^53")
    return int(text)


def depth_of(value: Any) -> int:
    children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return 1 + max(map(depth_of, children)) if children else 0


class Verifier:
    """Collects documents, and then checks each of them and what they state in common."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.gaps: list[str] = []
        self.keys: dict[str, Json] = {}
        self.documents: dict[str, list[tuple[str, Json]]] = {kind: [] for kind in KINDS.values()}
        self.stated: dict[str, tuple[str, Any]] = {}
        self.opened: list[tuple[str, str, str]] = []
        self.ended: dict[str, str] = {}

    def need(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)

    def agree(self, where: str, subject: str, value: Any) -> None:
        """Reports a value that differs from what an earlier document states."""
        other, known = self.stated.setdefault(subject, (where, value))
        by = f" by {value - known} units" if isinstance(value, int) else ""
        self.need(value == known, f"{where}: {subject} differs from {other}{by}")

    def read(self, name: str, text: str) -> None:
        """Reads a file, which holds one document or one per line."""
        parts = [(name, text)]
        # NaN isn't JSON, and no integer either.
        loose: Any = {"parse_int": str, "parse_constant": int}
        numbers: Any = {"parse_int": integer, "parse_float": integer, "parse_constant": int}
        try:
            json.loads(text, **loose)
        except (ValueError, RecursionError):
            if re.search(r"^[ \t]*[{[].*[}\]][ \t\r]*$", text, re.MULTILINE):
                parts = [(f"{name}:{n}", line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        for where, part in parts:
            try:
                if depth_of(json.loads(part, **loose)) > MAX_DEPTH:
                    raise RecursionError(f"more than {MAX_DEPTH} nested levels")
                document = json.loads(part, object_pairs_hook=members_of, **numbers)
                canonical(document)
                self.add(where, document)
            except KeyError as error:
                self.faults.append(f"{where}: {error.args[0]}")
            except UnicodeEncodeError:
                self.faults.append(f"{where}: a text contains half of a surrogate pair")
            except (ValueError, RecursionError) as error:
                self.gaps.append(f"{where}: isn't JSON, or is truncated ({error})")

    def add(self, where: str, document: Any) -> None:
        """Adds a document and those that it contains."""
        kind = KINDS.get(str(document.get("type"))) if isinstance(document, dict) else None
        if kind is None:
            return self.gaps.append(f"{where}: its type isn't known")
        faults = list(misfits(document, kind, where))
        self.faults += faults
        if not faults:
            self.documents[kind].append((where, document))
            parts = [(f"root {root['number']}", root) for root in document.get("roots", [])]
            parts += [(name, document[name]) for name in ("log", "root") if isinstance(document.get(name), dict)]
            for name, part in parts:
                self.add(f"{where} {name}", part)

    def run(self) -> int:
        for kind in KINDS.values():
            for where, document in self.documents[kind]:
                getattr(self, f"check_{kind}")(where, document)
        roots = sorted((root["number"], root["size"], root["at"], where) for where, root in self.documents["root"])
        for (_, size, at, where), (_, next_size, next_at, other) in zip(roots, roots[1:]):
            self.need(size <= next_size and at <= next_at, f"{other}: is smaller or earlier than {where}")
        for usage, to, where in self.opened:
            early = seconds(to) - seconds(self.ended.get(usage, to))
            self.need(early <= 60, f"{where}: {usage} had ended {early} seconds before the end of the period")
        return 1 if self.faults else 2 if self.gaps else 0

    def check_keys(self, where: str, document: Json) -> None:
        keys, before = document["keys"], {}  # type: list[Json], Json
        longest = max((other["keys"] for _, other in self.documents["keys"]), key=len)
        self.keys = {key["id"]: key for key in longest}
        self.need(len({key["id"] for key in keys}) == len(keys), f"{where}: the id of a key repeats")
        for key, known in zip(keys, longest):
            place, until = f"{where} key {key['id']}", key["until"]
            self.need(key["id"] == digest(b64decode(key["publicKey"]))[:16], f"{place}: the id isn't that of the public key")
            follows = key["previous"] == before.get("id") and key["from"] == before.get("until", key["from"])
            self.need(follows, f"{place}: previous and from aren't the id and until of the key before it")
            self.need((until is None) == (key is keys[-1]), f"{place}: until must be null only for the newest key")
            self.need(until is None or until >= key["from"], f"{place}: until is before from")
            same = {**known, "until": until} == key and until in (None, known["until"])
            self.need(same, f"{place}: differs from the longest list of keys")
            signed = {name: key[name] for name in ("from", "id", "previous", "publicKey")}
            endorsed = is_signed(before["publicKey"], key["endorsement"] or "", tag("key", signed)) if before else not key["endorsement"]
            self.need(endorsed, f"{place}: the key before it doesn't endorse it")
            before = key

    def check_signature(self, where: str, document: Json, at: str) -> None:
        key = self.keys.get(document["key"])
        if key is None:
            return self.gaps.append(f"{where}: key {document['key']} of its signature isn't in the keys given")
        within = key["from"] <= at and (key["until"] is None or at < key["until"])
        self.need(within, f"{where}: {at} is outside the period of key {key['id']}")
        content = tag(KINDS[document["type"]], {name: value for name, value in document.items() if name != "signature"})
        self.need(is_signed(key["publicKey"], document["signature"], content), f"{where}: the signature does not verify")

    def check_statement(self, where: str, document: Json) -> None:
        account, chain, issued = document["account"], f"chain {document['pseudonym']}", document["issuedAt"]
        start, end = document["period"]["from"], document["period"]["to"]
        is_past = end[7:] == MONTH and start < end <= issued and seconds(end) - seconds(start) <= 31 * 86_400
        is_month = start[7:] == MONTH and (is_past or end == issued and end[:7] == start[:7])
        self.need(is_month, f"{where} period: isn't a month, or the current one until issuedAt")
        records = [(link["number"], link["record"]) for link in document["links"]] + [(None, each) for each in document["open"]]
        for name, times in Counter(record["id"] for _, record in records).items():
            self.need(times == 1, f"{where} record {name}: the id repeats")
        wrong = Counter(canonical(line) for line in document["lines"])
        for number, record in records:
            self.check_record(f"{where} record {record['id']}", record, account, end)
            if number is None:
                due = [*line_of(number, record, start, end)]
                self.need(due != [], f"{where} record {record['id']}: is open without a second in the period")
            wrong.subtract(canonical(line) for line in line_of(number, record, start, end))
        for line, times in ((json.loads(text), times) for text, times in wrong.items() if times):
            text = "not due" if times > 0 else "missing"
            self.faults.append(f"{where} line {line['id']}: {text}, {times * int(line['units'])} units")
        rest = int(document["closing"]) - int(document["opening"]) - sum(int(line["units"]) for line in document["lines"])
        self.need(rest == 0, f"{where} sum: closing differs from opening + lines by {rest} units")
        self.agree(where, f"the balance of {account} at {start}", int(document["opening"]))
        if end[7:] == MONTH:
            self.agree(where, f"the balance of {account} at {end}", int(document["closing"]))
        self.agree(where, f"the pseudonym of {account}", document["pseudonym"])
        self.agree(where, f"the account of {chain}", account)
        self.check_chain(where, document, chain)
        self.check_signature(where, document, issued)

    def check_record(self, where: str, record: Json, account: str, end: str) -> None:
        charge, usage = record["charge"], f"usage {record['id']} of {record['account']}"
        self.need(record["account"] == account, f"{where}: belongs to another account")
        if charge and record["at"]:
            excess = int(record["units"]) + int(charge["rate"]) * charge["seconds"]
            self.need(excess == 0, f"{where}: units differ from -(rate × seconds) by {excess}")
        if record["kind"] not in USAGE:
            return
        stem = {name: record[name] for name in ("kind", "instance", "volume")}
        self.agree(where, usage, {**charge, **stem, "endedAt": None, "seconds": None})
        if record["at"] is None:
            return self.opened.append((usage, end, where))
        excess = charge["seconds"] - (seconds(charge["endedAt"]) - seconds(charge["startedAt"]))
        self.need(excess == 0, f"{where}: seconds differ from the interval by {excess}")
        self.need(record["at"] == charge["endedAt"], f"{where}: at isn't the end of the usage")
        self.ended[usage] = record["at"]

    def check_chain(self, where: str, document: Json, chain: str) -> None:
        first = before = document["chain"]["from"]
        start = digest(tag("chain", {name: document[name] for name in ("account", "pseudonym")}))
        self.need(first["number"] > 0 or first["hash"] == start, f"{where} chain: hash 0 isn't that of the account")
        self.agree(where, f"hash {first['number']} of {chain}", first["hash"])
        for link in document["links"]:
            number = link["number"]
            self.need(number == before["number"] + 1, f"{where} chain: link {number} doesn't follow link {before['number']}")
            linked = digest(tag("link", {"number": number, "previous": before["hash"], "record": link["record"]}))
            self.need(link["hash"] == linked, f"{where} chain: hash {number} isn't that of its record")
            self.agree(where, f"hash {number} of {chain}", link["hash"])
            before = link
        last = {name: before[name] for name in ("number", "hash")}
        self.need(document["chain"]["to"] == last, f"{where} chain: it doesn't end with its last link")
        leaf = document["log"] or {**document, **last}
        within = leaf["pseudonym"] == document["pseudonym"] and first["number"] <= leaf["number"] <= last["number"]
        self.need(within, f"{where} log: the leaf isn't in this part of the chain")

    def check_inclusion(self, where: str, document: Json) -> None:
        leaf, root = {name: document[name] for name in ("head", "number", "pseudonym")}, document["root"]
        self.agree(where, f"hash {leaf['number']} of chain {leaf['pseudonym']}", leaf["head"])
        start, path = digest(b"\0" + tag("leaf", leaf)), reversed(document["path"])
        leads = document["index"] < root["size"] and roots_of(path, document["index"], root["size"], leaf=start)[1] == root["root"]
        self.need(leads and not [*path], f"{where}: the path doesn't lead to the root")

    def check_roots(self, where: str, document: Json) -> None:
        numbers = [root["number"] for root in document["roots"]]
        self.need(numbers == sorted(set(numbers)), f"{where}: the roots aren't in order, or one is listed twice")

    def check_root(self, where: str, root: Json) -> None:
        number, size = root["number"], root["size"]
        self.need(number > 0 and (number == 1) == (root["previous"] is None), f"{where}: only root 1 has no previous root")
        self.need(size > 0 or root["root"] == digest(b""), f"{where}: the root isn't that of no leaves")
        self.agree(where, f"root {number}", root["root"])
        self.agree(where, f"the root of size {size}", root["root"])
        for other, value in ((number, digest(canonical(root))), (number - 1, root["previous"])):
            if value is not None:
                self.agree(where, f"the hash of root {other}", value)
                self.agree(where, f"the number of the root with hash {value}", str(other))
        self.check_signature(where, root, root["at"])

    def check_consistency(self, where: str, document: Json) -> None:
        first, second, path = document["first"], document["second"], reversed(document["path"])
        roots = {0: digest(b""), **{root["size"]: root["root"] for _, root in self.documents["root"]}}
        is_path = 0 < first < second
        self.need(first <= second and (is_path or not document["path"]), f"{where}: needs no path, or second is before first")
        missing = [size for size in (first, second) if size not in roots]
        if missing:
            self.gaps.append(f"{where}: no root of size {missing[0]} was given")
        elif is_path:
            both = roots_of(path, first - 1, second, old=roots[first])
            self.need(both == (roots[first], roots[second]) and not [*path], f"{where}: the path doesn't lead from root to root")


def main(files: list[str]) -> int:
    if Ed25519PublicKey is None or not files:
        print("Usage: python -m gpu_rental.verify FILE…; install gpu-rental-client[verify]", file=sys.stderr)
        return 2
    verifier = Verifier()
    for name in files:
        try:
            verifier.read(name, Path(name).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeError) as error:
            verifier.gaps.append(f"{name}: can't be read ({error})")
    code = verifier.run()
    for line in [*verifier.faults, *(f"{gap} (not checked)" for gap in verifier.gaps)] or ["everything verifies"]:
        # Names in a document must not control the terminal, or look like another line.
        print("".join(char if char.isprintable() else ascii(char)[1:-1] for char in line))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
