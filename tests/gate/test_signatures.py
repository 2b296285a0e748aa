"""A tier that needs a signature is launched with a signature of the right people, and with nothing else."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from _skill.findings import Refusal
from _skill.gate import ssh_signature

from ..scripts.gate_bundle import Bundle
from .conftest import Keys


def need_signature(bundle: Bundle, keys: Keys, **tier: Any) -> None:
    """The bundle's policy asks for signed approvals, whatever the plan."""
    signed = {"name": "cluster", "consent": "signature", "longest_expiry": "1h", "caps": {}, **tier}
    policy = {
        "schema": "launch_policy/1",
        "loggers": ["jsonl"],
        "require_isolation": [],
        "allowed_signers": "allowed_signers",
        "tiers": [signed],
    }
    (bundle.root / "launch_policy.json").write_text(json.dumps(policy))
    (bundle.root / "allowed_signers").write_text(keys.allowed.read_text())
    (bundle.root / "allowed_signers").chmod(0o644)


def approve(bundle: Bundle, keys: Keys, who: str = "ada", *more: str, key: str | None = None) -> dict[str, Any]:
    by = f"{who}@example.org"
    return bundle.json("approve", "plan.json", "--by", by, "--sign", keys.path(key or who), *more)


def launch(bundle: Bundle) -> dict[str, Any]:
    return bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")


def codes(report: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in report["findings"]]


def test_a_signed_approval_launches_and_the_record_names_signer_and_key(bundle: Bundle, keys: Keys) -> None:
    need_signature(bundle, keys, principals=["ada@example.org"])
    bundle.plan()
    assert approve(bundle, keys)["exit_status"] == 0
    report = launch(bundle)
    assert (report["exit_status"], report["result"], report["tier"]) == (0, "complete", "cluster")
    records = [json.loads(line) for line in (bundle.work / "runs/r/audit.jsonl").read_text().splitlines()]
    (signer,) = records[1]["data"]["signers"]
    shown = subprocess.run(["ssh-keygen", "-lf", keys.path("ada.pub")], capture_output=True, text=True, check=True)
    assert signer["principal"] == "ada@example.org" and signer["key"] in shown.stdout
    verified = bundle.json("audit", "verify", "runs/r", "--allowed-signers", "allowed_signers")
    assert verified["exit_status"] == 0 and verified["approval_signers"]["approval.json"][0].startswith("ada@")
    # Its copy in the run is part of the record.
    (bundle.work / "runs/r/approval.json.sig").write_text("x")
    assert codes(bundle.json("audit", "verify", "runs/r")) == ["run.file"]


def test_the_signature_is_one_that_ssh_keygen_itself_verifies(bundle: Bundle, keys: Keys) -> None:
    bundle.plan()
    approve(bundle, keys)
    command = ["ssh-keygen", "-Y", "verify", "-f", str(keys.allowed), "-I", "ada@example.org"]
    command += ["-n", "pufferlib-approval", "-s", str(bundle.work / "plan.approval.json.sig")]
    with (bundle.work / "plan.approval.json").open("rb") as stream:
        assert subprocess.run(command, stdin=stream, capture_output=True, check=False).returncode == 0


def test_opt_in_and_a_name_alone_are_not_enough(bundle: Bundle, keys: Keys) -> None:
    need_signature(bundle, keys)
    bundle.plan()
    assert codes(bundle.json("launch", "run", "--plan", "plan.json", "--opt-in")) == ["tier.person"]
    assert codes(bundle.json("approve", "plan.json", "--opt-in")) == ["tier.person"]
    assert bundle.run("approve", "plan.json", "--by", "ada@example.org").returncode == 0
    assert codes(launch(bundle)) == ["signature.missing"]
    assert not (bundle.work / "runs").exists()


def wrong_key(bundle: Bundle, keys: Keys) -> None:
    approve(bundle, keys, "ada", key="eve")


def somebody_elses_name(bundle: Bundle, keys: Keys) -> None:
    approve(bundle, keys, "ada", key="bob")


def other_namespace(bundle: Bundle, keys: Keys) -> None:
    bundle.run("approve", "plan.json", "--by", "ada@example.org")
    data = (bundle.work / "plan.approval.json").read_bytes()
    (bundle.work / "plan.approval.json.sig").write_bytes(ssh_signature.sign(keys.path("ada"), "git", data))


def other_bytes(bundle: Bundle, keys: Keys) -> None:
    bundle.run("approve", "plan.json", "--by", "ada@example.org")
    signature = ssh_signature.sign(keys.path("ada"), ssh_signature.APPROVAL, b"something else")
    (bundle.work / "plan.approval.json.sig").write_bytes(signature)


def allowed_for_another_namespace(bundle: Bundle, keys: Keys) -> None:
    (bundle.root / "allowed_signers").write_text(keys.line("ada", options='namespaces="git"'))
    approve(bundle, keys)


def no_longer_valid(bundle: Bundle, keys: Keys) -> None:
    (bundle.root / "allowed_signers").write_text(keys.line("ada", options='valid-before="20200101"'))
    approve(bundle, keys)


def not_valid_yet(bundle: Bundle, keys: Keys) -> None:
    (bundle.root / "allowed_signers").write_text(keys.line("ada", options='valid-after="29990101"'))
    approve(bundle, keys)


def not_among_the_principals(bundle: Bundle, keys: Keys) -> None:
    approve(bundle, keys, "bob")


WRONG = [
    wrong_key,
    somebody_elses_name,
    other_namespace,
    other_bytes,
    allowed_for_another_namespace,
    no_longer_valid,
    not_valid_yet,
    not_among_the_principals,
]


@pytest.mark.parametrize("way", WRONG)
def test_a_signature_that_does_not_hold_launches_nothing(bundle: Bundle, keys: Keys, way) -> None:
    need_signature(bundle, keys, principals=["ada@example.org"])
    bundle.plan()
    way(bundle, keys)
    before = bundle.files()
    report = launch(bundle)
    assert (report["exit_status"], codes(report)[0]) in ((1, "signature.bad"), (1, "signature.principal"))
    assert bundle.files() == before and not (bundle.work / "runs").exists()


def test_a_certificate_of_an_allowed_authority_signs(bundle: Bundle, keys: Keys, tmp_path: Path) -> None:
    need_signature(bundle, keys)
    authority = tmp_path / "authority"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", ""]
    for path in (authority, tmp_path / "zoe"):
        subprocess.run([*make, "-f", str(path)], check=True, stdin=subprocess.DEVNULL)
    certify = ["ssh-keygen", "-q", "-s", str(authority), "-I", "zoe", "-n", "zoe@example.org", f"{tmp_path}/zoe.pub"]
    subprocess.run(certify, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    kind, key = Path(f"{authority}.pub").read_text().split()[:2]
    (bundle.root / "allowed_signers").write_text(f"*@example.org cert-authority {kind} {key}\n")
    bundle.plan()
    Path(f"{tmp_path}/zoe-cert").write_bytes((tmp_path / "zoe").read_bytes())
    os.chmod(f"{tmp_path}/zoe-cert", 0o600)
    assert approve(bundle, keys, "zoe", key=str(tmp_path / "zoe-cert.pub"))["exit_status"] in (0, 2)
    for path in bundle.work.glob("plan.approval.json*"):
        path.unlink()
    agent = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    words = dict(part.split(";")[0].split("=") for part in agent.splitlines()[:2])
    try:
        subprocess.run(["ssh-add", "-q", f"{tmp_path}/zoe"], env={**os.environ, **words}, check=True)
        bundle.variables["SSH_AUTH_SOCK"] = words["SSH_AUTH_SOCK"]
        assert approve(bundle, keys, "zoe", key=str(tmp_path / "zoe-cert.pub"))["exit_status"] == 0
        assert launch(bundle)["result"] == "complete"
    finally:
        subprocess.run(["ssh-agent", "-k"], env={**os.environ, **words}, check=True, capture_output=True)


def test_two_different_people_must_sign_where_the_policy_says_two(bundle: Bundle, keys: Keys, tmp_path: Path) -> None:
    need_signature(bundle, keys, signatures=2)
    # Bob's key is also listed under another name of his.
    (bundle.root / "allowed_signers").write_text(
        keys.line("ada") + keys.line("bob") + keys.line("bob", "robert@example.org")
    )
    bundle.plan()
    approve(bundle, keys, "bob")
    assert codes(launch(bundle)) == ["signature.few"]
    add = ("approve", "plan.json", "--add-to", "plan.approval.json", "--sign")
    assert bundle.json(*add, keys.path("bob"))["exit_status"] == 0
    assert codes(launch(bundle)) == ["signature.few"]
    assert bundle.json(*add, keys.path("ada"))["written"] == ["plan.approval.json.3.sig"]
    report = launch(bundle)
    assert report["result"] == "complete", report["findings"]
    data = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[1])["data"]
    assert [signer["principal"] for signer in data["signers"]] == [
        "bob@example.org",
        "bob@example.org",
        "ada@example.org",
    ]


def test_who_asked_for_a_launch_may_not_sign_for_it_where_the_policy_says_so(bundle: Bundle, keys: Keys) -> None:
    need_signature(bundle, keys, requester_may_sign=False)
    bundle.plan()
    approve(bundle, keys, "ada", "--requested-by", "Ada@example.org")
    assert codes(launch(bundle)) == ["signature.requester"]
    for path in bundle.work.glob("plan.approval.json*"):
        path.unlink()
    approve(bundle, keys, "bob", "--requested-by", "ada@example.org")
    assert launch(bundle)["result"] == "complete"


def test_a_key_with_a_passphrase_asks_nobody_and_says_how_to_unlock_it(
    bundle: Bundle, keys: Keys, tmp_path: Path
) -> None:
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "a long passphrase", "-f", str(tmp_path / "locked")]
    subprocess.run(make, check=True, stdin=subprocess.DEVNULL)
    asks = tmp_path / "asks"
    asks.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\necho 'a long passphrase'\n")
    asks.chmod(0o755)
    bundle.variables.update(SSH_ASKPASS=str(asks), SSH_ASKPASS_REQUIRE="force", DISPLAY=":0")
    bundle.plan()
    report = bundle.json("approve", "plan.json", "--by", "ada@example.org", "--sign", str(tmp_path / "locked"))
    assert (report["exit_status"], codes(report)) == (2, ["signature.not_made"])
    assert "ssh-add" in report["findings"][0]["fix"]
    assert not (tmp_path / "asked").exists()
    assert not list(bundle.work.glob("plan.approval.json*"))


def test_without_ssh_keygen_nothing_can_be_checked(bundle: Bundle, keys: Keys) -> None:
    need_signature(bundle, keys)
    bundle.plan()
    approve(bundle, keys)
    source = bundle.root / "scripts/_skill/gate/child_command.py"
    source.write_text(source.read_text().replace('("/usr/local/bin", "/usr/bin", "/bin")', '("/nowhere",)'))
    for path in bundle.work.glob("plan.approval.json"):
        path.unlink()
    assert bundle.run("approve", "plan.json", "--by", "ada@example.org").returncode == 0
    report = launch(bundle)
    assert (report["exit_status"], codes(report)) == (2, ["signature.no_program"])


def test_a_signature_that_names_another_version_is_refused(keys: Keys) -> None:
    # ssh-keygen itself takes version 0 for 1: the field is not among what is signed.
    data = b"the approval"
    good = ssh_signature.sign(keys.path("ada"), ssh_signature.APPROVAL, data)
    changed = good.replace(base64.b64encode(b"SSHSIG\0\0\0\1\0\0"), base64.b64encode(b"SSHSIG\0\0\0\0\0\0"))
    assert changed != good
    with pytest.raises(Refusal):
        ssh_signature.verify(data, changed, ssh_signature.APPROVAL, keys.allowed.read_bytes(), "ada@example.org")


def test_every_single_bit_change_of_a_signature_is_detected(keys: Keys) -> None:
    # A change that leaves the form of the file is found without ssh-keygen; of the rest every seventh is tried.
    data = b"the approval"
    good = ssh_signature.sign(keys.path("ada"), ssh_signature.APPROVAL, data)
    signers = keys.allowed.read_bytes()
    ssh_signature.verify(data, good, ssh_signature.APPROVAL, signers, "ada@example.org")
    step = 1 if os.environ.get("RELIABILITY_RUNS") else 7
    asked = 0
    for index in range(len(good) * 8):
        changed = bytearray(good)
        changed[index // 8] ^= 1 << index % 8
        if ssh_signature._is_canonical(bytes(changed)):
            asked += 1
            if asked % step:
                continue
        with pytest.raises(Refusal):
            ssh_signature.verify(data, bytes(changed), ssh_signature.APPROVAL, signers, "ada@example.org")
    assert asked > 500


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s + b"\n",
        lambda s: b"\n" + s,
        lambda s: s.replace(b"\n", b"\r\n"),
        lambda s: s + s,
        lambda s: b"",
        lambda s: s.replace(b"SSH SIGNATURE", b"PGP SIGNATURE"),
        lambda s: b"-----BEGIN SSH SIGNATURE-----\n" + base64.b64encode(b"SSHSIG") + b"\n-----END SSH SIGNATURE-----\n",
        lambda s: s * 2000,
    ],
)
def test_a_signature_in_another_form_is_refused(keys: Keys, change) -> None:
    good = ssh_signature.sign(keys.path("ada"), ssh_signature.APPROVAL, b"x")
    with pytest.raises(Refusal):
        ssh_signature.verify(b"x", change(good), ssh_signature.APPROVAL, keys.allowed.read_bytes(), "ada@example.org")
