"""Encodings, signatures and Merkle paths of the proofs that docs/proofs.md defines."""

import base64
import hashlib
import json
import re
from datetime import datetime
from typing import Any, Dict, List, Sequence, Tuple

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:  # Only the extra "verify" installs it.
    Ed25519PublicKey = None  # type: ignore[assignment,misc]

HAS_SIGNATURES = Ed25519PublicKey is not None
Json = Dict[str, Any]


class Fault(Exception):
    """Something that does not verify."""


class Gap(Exception):
    """Something that can't be checked."""


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def tag(name: str, value: Any) -> bytes:
    return f"gpu-rental/{name}/v1\n".encode() + canonical(value)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def need(holds: bool, message: str) -> None:
    if not holds:
        raise Fault(message)


def shape(value: Json, members: str) -> Json:
    wrong = set(value) ^ set(members.split())
    need(not wrong, f"missing or unknown members: {', '.join(sorted(wrong))}")
    return value


def match(pattern: str, value: Any) -> str:
    need(isinstance(value, str) and re.fullmatch(pattern, value) is not None, f"{value!r} has the wrong form")
    return str(value)


def amount(value: Any) -> int:
    return int(match("0|-?[1-9][0-9]{0,40}", value))


def count(value: Any) -> int:
    need(type(value) is int and value >= 0, f"{value!r} must be a whole number, at least 0")
    return int(value)


def sha(value: Any) -> bytes:
    return bytes.fromhex(match("[0-9a-f]{64}", value))


def instant(value: Any) -> datetime:
    return datetime.strptime(match("[0-9]{4}-[0-9]{2}-[0-9]{2}T([0-9]{2}:){2}[0-9]{2}Z", value), "%Y-%m-%dT%H:%M:%SZ")


def seconds(start: str, end: str) -> int:
    return int((instant(end) - instant(start)).total_seconds())


def binary(value: Any) -> bytes:
    data = base64.b64decode(match("[A-Za-z0-9+/]+=*", value))
    need(base64.b64encode(data).decode() == value, f"{value!r} isn't base64 with padding")
    return data


def check_signature(public: str, signature: Any, data: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(binary(public)).verify(binary(signature), data)
    except InvalidSignature:
        raise Fault("the signature does not verify") from None


def inner(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Returns the root that an inclusion path leads to, by the recursion that defines the path (RFC 9162, 2.1.3.1)."""
    if size == 1:
        need(not path, "the path is too long")
        return leaf
    half = 1 << (size - 1).bit_length() - 1
    if index < half:
        return inner(root_of(leaf, index, half, path[:-1]), path[-1])
    return inner(path[-1], root_of(leaf, index - half, size - half, path[:-1]))


def roots_of(old: bytes, first: int, second: int, path: Sequence[bytes], whole: bool = True) -> Tuple[bytes, bytes]:
    """Returns both roots that a consistency path leads to, by the recursion that defines it (RFC 9162, 2.1.4.1)."""
    if first == second:
        need(len(path) == (0 if whole else 1), "the path has the wrong length")
        return (old, old) if whole else (path[0], path[0])
    half = 1 << (second - 1).bit_length() - 1
    if first <= half:
        before, after = roots_of(old, first, half, path[:-1], whole)
        return before, inner(after, path[-1])
    before, after = roots_of(old, first - half, second - half, path[:-1], False)
    return inner(path[-1], before), inner(path[-1], after)


def strict(pairs: List[Tuple[str, Any]]) -> Json:
    need(len(dict(pairs)) == len(pairs), "a member occurs twice")
    return dict(pairs)


def integer(text: str) -> int:
    fits = re.fullmatch("-?[0-9]{1,16}", text) is not None and abs(int(text)) < 2**53
    need(fits, f"{text} must be an integer below 2^53")
    return int(text)


def parse(text: str) -> Json:
    numbers = {"parse_int": integer, "parse_float": integer, "parse_constant": integer}
    return json.loads(text, object_pairs_hook=strict, **numbers)  # type: ignore[no-any-return,arg-type]


def month_end(start: str) -> str:
    year, month = int(start[:4]), int(start[5:7])
    return f"{year + month // 12:04}-{month % 12 + 1:02}-01T00:00:00Z"
