"""Whether an approval is signed by as many people, and by those people, that the launch policies ask for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from .. import atomic_file, strict_json, text
from ..findings import Finding, Refusal, could_not
from . import ssh_signature
from .approval import Approval
from .ssh_signature import Signer
from .tier import Demand

MOST_SIGNATURES = 9


class Signature(NamedTuple):
    """One signature file beside an approval."""

    name: str
    data: bytes


def paths(approval_path: str) -> list[str]:
    """Where the signatures of an approval lie: FILE.sig, FILE.2.sig, ... FILE.9.sig."""
    return [f"{approval_path}.sig", *(f"{approval_path}.{number}.sig" for number in range(2, MOST_SIGNATURES + 1))]


def read(approval_path: str) -> list[Signature]:
    """The signatures beside an approval, in order."""
    found = []
    for number, path in enumerate(paths(approval_path)):
        if os.path.lexists(path):
            suffix = ".sig" if number == 0 else f".{number + 1}.sig"
            found.append(Signature(suffix, strict_json.read_file(path, ssh_signature.MAX_BYTES)))
    return found


def add(approval_path: str, given: Approval, key: str) -> str:
    """Signs an approval with a key and writes the signature to the next free place; returns the place."""
    signature = ssh_signature.sign(key, ssh_signature.APPROVAL, given.data)
    for path in paths(approval_path):
        if not os.path.lexists(path):
            atomic_file.create(path, signature)
            return path
    raise Refusal(Finding("signature.many", "there are too many signatures", approval_path, want=str(MOST_SIGNATURES)))


def check(given: Approval, signatures: Sequence[Signature], demands: Sequence[Demand]) -> list[Signer]:
    """Who signed; a Refusal where a policy asks for more than there is.

    Every signature must hold under the allowed signers of every policy that asks for signatures. The first signer is
    the one whom the approval names, whatever else the file says.
    """
    found: list[Signer] = []
    for demand in demands:
        if not demand.signatures:
            continue
        signers = _signers(given, signatures, demand)
        refused = _findings(given, signers, demand)
        if refused:
            raise Refusal(*refused)
        found = signers
    return found


def _signers(given: Approval, signatures: Sequence[Signature], demand: Demand) -> list[Signer]:
    allowed = demand.policy.signers
    if allowed is None:
        raise could_not("policy.signers", "the policy has no allowed signers", where=demand.policy.path)
    if not signatures:
        return []
    signers = []
    for number, signature in enumerate(signatures):
        principal = given.document["approved_by"] if number == 0 else None
        try:
            signers.append(
                ssh_signature.verify(given.data, signature.data, ssh_signature.APPROVAL, allowed.data, principal)
            )
        except Refusal as refusal:
            where = f"{signature.name} of the approval"
            raise Refusal(
                *(finding._replace(pointer=where, want=f"a signer in {allowed.path}") for finding in refusal.findings),
                exit_status=refusal.exit_status,
            ) from None
    return signers


def _findings(given: Approval, signers: list[Signer], demand: Demand) -> list[Finding]:
    if not signers:
        fix = "approve.py PLAN --by NAME --sign KEYFILE"
        return [
            Finding("signature.missing", f"tier {demand.tier} needs a signed approval, and it is not signed", fix=fix)
        ]
    found = []
    # One person with two keys is one person, and one key with two names is one person.
    people = {signer.principal.casefold() for signer in signers}
    keys = {signer.key for signer in signers}
    for signer in signers:
        if demand.principals and signer.principal not in demand.principals:
            found.append(
                Finding(
                    "signature.principal",
                    f"{text.escaped(signer.principal)} may not sign for tier {demand.tier}",
                    got=signer.key,
                    want=text.listed(demand.principals),
                )
            )
    requester = given.document["requested_by"]
    if not demand.requester_may_sign and requester.casefold() in people:
        message = "the one who asked for the launch has signed for it"
        found.append(Finding("signature.requester", message, "", text.escaped(requester), "somebody else"))
    count = min(len(people), len(keys))
    if count < demand.signatures:
        fix = "another person: approve.py PLAN --add-to APPROVAL --sign KEYFILE"
        message = f"tier {demand.tier} needs {demand.signatures} signatures of different people"
        found.append(Finding("signature.few", message, "", str(count), str(demand.signatures), fix))
    return found
