"""The records, lines and chains of signed statements, and what two documents must have in common."""

from typing import Dict, List, Optional

from .proofs import Json, amount, canonical, count, digest, instant, need, seconds, sha, shape, tag

USAGE = ("GPU_USAGE", "DISK_USAGE", "VOLUME_USAGE")
CREDITS = ("CREDIT", "ADJUSTMENT", "SERVICE_CREDIT")
RECORD = "account id kind at units instance volume reference note charge"
CHARGE = "rate seconds startedAt endedAt mode gpu numGpus sizeGb"
#: For each kind of charge, the members of `charge` that are null.
NULLS = {"GPU_USAGE": ["sizeGb"], "DISK_USAGE": [], "VOLUME_USAGE": ["mode", "gpu", "numGpus"],
         "EARLY_EXIT": ["startedAt", "endedAt", "sizeGb"], "PREEMPTION_MINIMUM": ["startedAt", "endedAt", "sizeGb"]}
#: Members of an open record, and of its charge, that are null until the usage ends.
PENDING, PENDING_CHARGE = ("at", "units", "reference", "note"), ("endedAt", "seconds")


def check_record(record: Json, is_open: bool) -> None:
    shape(record, RECORD)
    charge, kind = record["charge"], record["kind"]
    if kind in CREDITS:
        need(charge is None and not is_open, "a credit has no charge and is never open")
        amount(record["units"])
        instant(record["at"])
        return
    need(kind in (USAGE if is_open else NULLS), f"unknown kind {kind}")
    nulls = {*NULLS[kind], *(PENDING_CHARGE if is_open else ())}
    for name, value in shape(charge, CHARGE).items():
        need((value is None) == (name in nulls), f"charge.{name} must {'' if name in nulls else 'not '}be null")
    rate = amount(charge["rate"])
    need(rate >= 0, "the rate is negative")
    if is_open:
        need(all(record[name] is None for name in PENDING), "an open record has no at, units, reference and note")
        instant(charge["startedAt"])
        return
    instant(record["at"])
    excess = amount(record["units"]) + rate * count(charge["seconds"])
    need(excess == 0, f"units differ from -(rate × seconds) by {excess}")
    if kind in USAGE:
        length = seconds(charge["startedAt"], charge["endedAt"])
        need(charge["seconds"] == length, f"seconds differ from the interval by {charge['seconds'] - length}")
        need(record["at"] == charge["endedAt"], "at isn't the end of the usage")


def while_open(record: Json) -> Json:
    """Returns what a record has in common with the same record while it was open."""
    return {**record, **dict.fromkeys(PENDING), "charge": {**record["charge"], **dict.fromkeys(PENDING_CHARGE)}}


def line_of(number: Optional[int], record: Json, start: str, end: str) -> List[Json]:
    """Returns a list of the record's line in the period from `start` to `end`, empty if it has none."""
    charge = record["charge"] or {"mode": None, "rate": None, "seconds": None}
    first = last = record["at"]
    charged, units = charge["seconds"], record["units"]
    if record["kind"] in USAGE:
        first, last = max(charge["startedAt"], start), min(charge["endedAt"] or end, end)
        charged = seconds(first, last)
        units = str(-amount(charge["rate"]) * charged)
        if charged < 1:
            return []
    elif not start <= first < end:
        return []
    same = {name: record[name] for name in ("id", "kind", "instance", "volume")}
    values = {"mode": charge["mode"], "rate": charge["rate"], "seconds": charged, "units": units}
    return [{**same, **values, "number": number, "from": first, "to": last}]


def hashes_of(statement: Json) -> Dict[int, str]:
    """Returns the hashes of a statement's part of the chain by their numbers."""
    start, end = (shape(statement["chain"][name], "number hash") for name in ("from", "to"))
    number, value = count(start["number"]), sha(start["hash"]).hex()
    if number == 0:
        names = {name: statement[name] for name in ("account", "pseudonym")}
        need(value == digest(tag("chain", names)), "hash 0 isn't that of the account and its pseudonym")
    hashes = {number: value}
    for link in statement["links"]:
        number += 1
        need(shape(link, "number hash record")["number"] == number, f"link {number} is missing or out of order")
        value = digest(tag("link", {"number": number, "previous": value, "record": link["record"]}))
        need(link["hash"] == value, f"hash {number} isn't that of its record")
        hashes[number] = value
    need(end == {"number": number, "hash": value}, f"chain.to isn't link {number}")
    return hashes


def two_statements(one: Json, two: Json) -> None:
    if one["account"] != two["account"]:
        return need(one["pseudonym"] != two["pseudonym"], "two accounts have the same pseudonym")
    need(one["pseudonym"] == two["pseudonym"], "an account has two pseudonyms")
    hashes, others = hashes_of(one), hashes_of(two)
    for number in sorted(hashes.keys() & others.keys()):
        need(hashes[number] == others[number], f"link {number} differs")
    for opened, closed in ((one, two), (two, one)):
        ended = {record["id"]: record for record in [link["record"] for link in closed["links"]] + closed["open"]}
        for record in opened["open"]:
            end = ended.get(record["id"], record)
            until = end["charge"]["endedAt"]
            need(while_open(end) == while_open(record), f"record {record['id']} was open with other values")
            is_later = until is None or instant(until) >= instant(opened["period"]["to"])
            need(is_later, f"record {record['id']} is open, but it had ended by then")
        if opened["period"]["to"] == closed["period"]["from"]:
            rest = amount(closed["opening"]) - amount(opened["closing"])
            need(rest == 0, f"opening differs from the closing before it by {rest} units")
    same = one["period"]["from"] != two["period"]["from"] or one["opening"] == two["opening"]
    need(same, "the opening balances of one month differ")


def two_roots(one: Json, two: Json) -> None:
    old, new = (one, two) if one["number"] <= two["number"] else (two, one)
    same = old["number"] == new["number"] or old["size"] == new["size"]
    need(not same or old["root"] == new["root"], "their roots differ")
    need(old["number"] == new["number"] or old["size"] <= new["size"], "the later tree is smaller")
    need(old["number"] == new["number"] or instant(old["at"]) <= instant(new["at"]), "the later root is earlier")
    if old["number"] == new["number"] - 1:
        need(new["previous"] == digest(canonical(old)), "previous isn't the hash of the root before it")
