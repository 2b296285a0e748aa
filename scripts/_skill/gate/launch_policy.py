"""The launch policy: ordered tiers with caps, and what each tier needs, in a file that people review.

Two files count: `launch_policy.json` of this bundle, and `/etc/pufferlib-skill/launch_policy.json` where an
administrator has put one. For each rule the stricter of both holds, so whoever can write the bundle cannot loosen
what the system asks for. No option and no variable names another file. A policy that cannot be read stops everything.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import clock, layout, regular_file, strict_json, text
from ..findings import Finding, Refusal, could_not
from ..json_schema import Schema

FILE = "launch_policy.json"
SYSTEM_FOLDER = "/etc/pufferlib-skill"
MAX_BYTES = 256 << 10
_CONSENT = ("opt_in", "person", "signature")


class Signers(NamedTuple):
    """An allowed signers file, read once: what was hashed is what ssh-keygen gets."""

    path: str
    data: bytes


class Policy(NamedTuple):
    """One policy file whose form is right."""

    origin: str
    """`bundle` or `system`."""
    path: str
    document: dict[str, Any]
    sha256: str
    signers: Signers | None

    @property
    def tiers(self) -> list[dict[str, Any]]:
        """The tiers in their order."""
        tiers: list[dict[str, Any]] = self.document["tiers"]
        return tiers


def load() -> list[Policy]:
    """The policies that hold here; a missing or malformed one is exit 2, and nothing may run."""
    policies = [_read("bundle", layout.ROOT, owned=False)]
    if os.path.lexists(os.path.join(SYSTEM_FOLDER, FILE)):
        policies.append(_read("system", SYSTEM_FOLDER, owned=True))
    return policies


def items(policies: Sequence[Policy]) -> dict[str, str]:
    """The digest's items of the policies: a policy that changes after an approval is named."""
    found = {"policy system": "none"}
    for policy in policies:
        found[f"policy {policy.origin}"] = policy.sha256
        if policy.signers is not None:
            found[f"allowed signers {policy.origin}"] = hashlib.sha256(policy.signers.data).hexdigest()
    return found


def signers(path: str) -> bytes:
    """An allowed signers file that somebody names for a check; nobody else may be able to write it."""
    return _bytes(os.path.abspath(path), True)


def rank(consent: str) -> int:
    """How strict a kind of consent is."""
    return _CONSENT.index(consent)


def _read(origin: str, folder: str, owned: bool) -> Policy:
    path = os.path.join(folder, FILE)
    data = _bytes(path, owned)
    try:
        document = strict_json.loads(data, FILE, MAX_BYTES)
        found = Schema.shipped("launch_policy").findings(document) or _findings(document)
    except Refusal as refusal:
        found = refusal.findings
    if found:
        # Exit 2: without a policy nobody knows what may run.
        where = [finding._replace(pointer=f"{path}#{finding.pointer}") for finding in found]
        raise Refusal(*where, exit_status=2)
    name = document["allowed_signers"]
    signers = None
    if name is not None:
        signers_path = os.path.join(folder, name)
        signers = Signers(signers_path, _bytes(signers_path, True))
    return Policy(origin, path, document, hashlib.sha256(data).hexdigest(), signers)


def _findings(document: dict[str, Any]) -> list[Finding]:
    """What no schema can say about a policy."""
    found = []
    names = [tier["name"] for tier in document["tiers"]]
    for number, tier in enumerate(document["tiers"]):
        place = f"/tiers/{number}"
        if names.index(tier["name"]) != number:
            found.append(Finding("policy.tier", "two tiers have one name", f"{place}/name", text.shown(tier["name"])))
        try:
            clock.duration(tier["longest_expiry"])
        except Refusal as refusal:
            found.append(refusal.findings[0]._replace(pointer=f"{place}/longest_expiry", fix='"1h"'))
        signed = tier["consent"] == "signature"
        if signed and document["allowed_signers"] is None:
            message = "a tier needs signatures, and there is no file of allowed signers"
            found.append(Finding("policy.signers", message, "/allowed_signers", "null", "a file beside the policy"))
        if not signed:
            found.extend(
                Finding("policy.tier", f"only a tier with consent signature has {key}", f"{place}/{key}")
                for key in ("signatures", "principals", "requester_may_sign")
                if key in tier
            )
        if signed and "principals" in tier and tier.get("signatures", 1) > len(tier["principals"]):
            got, want = str(tier["signatures"]), f"at most {len(tier['principals'])}"
            found.append(
                Finding("policy.tier", "more signatures than people who may sign", f"{place}/signatures", got, want)
            )
    return found


def _bytes(path: str, owned: bool) -> bytes:
    """A file that nobody else may write, through one handle; `owned`: by root or by whoever runs this."""
    try:
        handle, status = regular_file.open_for_reading(path)
    except Refusal as refusal:
        fix = "restore the file from where you have the bundle from"
        raise Refusal(*(finding._replace(fix=fix) for finding in refusal.findings), exit_status=2) from None
    with os.fdopen(handle, "rb") as stream:
        if owned:
            _check_owner(path, status)
            _check_owner(os.path.dirname(path), os.stat(os.path.dirname(path)))
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise could_not("policy.size", "the file is too large", where=path, want=f"at most {MAX_BYTES} bytes")
    return data


def _check_owner(path: str, status: os.stat_result) -> None:
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or status.st_uid not in (0, os.geteuid()):
        raise could_not(
            "policy.writable",
            "others may write it, so it says nothing",
            where=path,
            want="owned by root or by you, and writable by nobody else",
            fix=f"chmod go-w {text.escaped(path)}",
        )
