"""No value of a secret is shown, stored or passed on a command line; a run gets only what its loggers need."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _skill.findings import Refusal
from _skill.gate import credential_variables

from ..scripts.gate_bundle import Bundle, modes
from .test_policy import a_plan

SECRET = "dummy-secret-123"


def give_wandb(bundle: Bundle, mode: str) -> None:
    """A plan whose logger needs a credential; the stand-in's profile takes that logger."""
    pin = bundle.root / "native_profile/pins/4.0.json"
    document = json.loads(pin.read_text())
    document["supports"]["loggers"] = ["jsonl", "wandb"]
    pin.write_text(json.dumps(document))
    bundle.variables["WANDB_API_KEY"] = SECRET
    loggers = 'loggers=[{"kind":"jsonl"},{"kind":"wandb","mode":"online","project":"p"}]'
    bundle.plan(loggers, 'network=["api.wandb.ai"]', mode=mode)


def everything(bundle: Bundle, *texts: str) -> bytes:
    return b"".join(bundle.files().values()) + "".join(texts).encode()


@pytest.mark.parametrize("mode", ["prints", "shows", "good"])
def test_a_logger_gets_its_credential_and_nobody_sees_it(bundle: Bundle, mode: str) -> None:
    give_wandb(bundle, mode)
    bundle.variables["OTHER_TOKEN"] = "another-secret-456"
    refused = bundle.json("launch", "run", "--plan", "plan.json", "--opt-in")
    assert "it is given credentials: WANDB_API_KEY" in refused["tier_reasons"]
    approved = bundle.run("approve", "plan.json", "--by", "Ada")
    assert "credential  WANDB_API_KEY (set; its value is shown nowhere)" in approved.stdout, approved.stderr
    result = bundle.run("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    run = bundle.work / "runs/r"
    if mode == "shows":
        seen = json.loads((run / "seen.json").read_text())
        assert seen["variables"]["WANDB_API_KEY"] == SECRET and "OTHER_TOKEN" not in seen["variables"]
        # The stand-in wrote it down, which is found, named, and no success.
        assert result.returncode == 1 and "secret.written" in result.stderr and "seen.json" in result.stderr
        (run / "seen.json").unlink()
    else:
        assert result.returncode == 0, result.stderr
    if mode == "prints":
        assert "| key [WANDB_API_KEY]\n" in result.stdout
        assert "| first half [WANDB_API_KEY] second half\n" in result.stderr
    assert SECRET.encode() not in everything(bundle, approved.stdout, approved.stderr, result.stdout, result.stderr)
    assert b"another-secret-456" not in everything(bundle)
    started = json.loads((run / "audit.jsonl").read_text().splitlines()[2])["data"]
    assert "WANDB_API_KEY" in started["variables"]


def test_a_secret_in_a_manifest_is_found_and_named(bundle: Bundle) -> None:
    give_wandb(bundle, "writes_secret")
    bundle.approve()
    report = bundle.json("launch", "run", "--plan", "plan.json", "--approval", "plan.approval.json")
    assert report["exit_status"] == 1 and "secret.written" in [finding["code"] for finding in report["findings"]]
    assert SECRET not in json.dumps(report)
    (bundle.work / "runs/r/manifest.json").unlink()
    assert SECRET.encode() not in everything(bundle)


def test_without_its_credential_the_variable_is_not_made_up(bundle: Bundle) -> None:
    give_wandb(bundle, "good")
    del bundle.variables["WANDB_API_KEY"]
    report = bundle.json("approve", "plan.json", "--by", "Ada")
    assert report["exit_status"] != 0 or "WANDB_API_KEY" not in report["variables"]


@pytest.mark.parametrize("script", ["launch", "approve", "audit"])
@pytest.mark.parametrize(
    "argument",
    [
        SECRET,
        f"--reason={SECRET}",
        f"x{SECRET}y",
        "--set=train.seed=ghp_" + "a1B2" * 9,
        "sk-" + "abcd1234" * 4,
        "https://me:hunter2-hunter2@example.org/x",
        "WANDB_API_KEY=0123456789abcdef",
    ],
)
def test_a_secret_on_the_gate_s_own_command_line_is_refused_and_not_repeated(
    bundle: Bundle, script: str, argument: str
) -> None:
    bundle.variables["MY_API_TOKEN"] = SECRET
    before = bundle.files()
    for words in ((argument,), ("run", "--plan", argument), ("verify", argument, "--json")):
        result = bundle.run(script, *words)
        assert result.returncode == 2
        assert "argument.secret" in result.stderr + result.stdout
        for part in (SECRET, "ghp_", "abcd1234", "hunter2", "0123456789abcdef"):
            assert part not in result.stdout + result.stderr
    assert bundle.files() == before


@pytest.mark.parametrize(
    "argument", ["runs/cartpole-20261130-194707-272f", "--set=train.learning_rate=0.0001", "Ada Lovelace", "a" * 64]
)
def test_names_paths_and_digests_are_no_secrets(argument: str) -> None:
    credential_variables.refuse_in_arguments([argument], {"PATH": "/usr/bin", "HOME": "/root"})


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("WANDB_API_KEY", SECRET, True),
        ("DB_PASSWORD", "p@ss word", True),
        ("GITHUB_TOKEN", "12345678", True),
        ("aws_secret_access_key", "abcdefgh1", True),
        ("MYKEY", "abcdefgh1", True),
        ("PGPASSWORD", "abcdefgh1", True),
        ("DATABASE_URL", "postgres://me:abcdefgh1@host/db", True),
        ("SSH_AUTH_SOCK", "/tmp/agent.1", False),
        ("WANDB_IDENTITY_TOKEN_FILE", "/run/secrets/wandb", False),
        ("KEYBOARD", "abcdefgh1", False),
        ("HOME", "/somewhere", False),
        ("MY_TOKEN", "short", False),
    ],
)
def test_which_variables_hold_a_secret(name: str, value: str, secret: bool) -> None:
    assert bool(credential_variables.values({name: value})) == secret


@given(st.text(min_size=8, max_size=60).filter(lambda s: len(s.strip()) >= 8 and len(s.splitlines()) == 1))
def test_a_secret_is_hidden_in_every_usual_spelling(secret: str) -> None:
    import base64
    from urllib.parse import quote

    secret = secret.strip()
    hide = credential_variables.hider(
        {"API_KEY": secret + ""} if not secret.startswith("/") else {"API_KEY": "x" + secret}
    )
    secret = secret if not secret.startswith("/") else "x" + secret
    if len(secret.splitlines()) != 1:
        return
    for spelling in (
        secret,
        json.dumps(secret)[1:-1],
        quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode(),
    ):
        assert spelling not in hide(f"before {spelling} after")


def test_lines_of_a_key_of_several_lines_are_hidden_each() -> None:
    key = "-----BEGIN KEY-----\nabcdefghij\nklmnopqrst\n-----END KEY-----"
    hide = credential_variables.hider({"DEPLOY_KEY": key})
    assert "klmnopqrst" not in hide("one line: klmnopqrst") and key not in hide(key)


def test_only_an_online_logger_is_given_a_credential() -> None:
    def given_to(*loggers: dict[str, Any]) -> tuple[str, ...]:
        return credential_variables.of(a_plan(loggers=list(loggers)), {})

    assert given_to({"kind": "jsonl"}) == ()
    assert given_to({"kind": "wandb", "mode": "offline"}) == given_to({"kind": "wandb", "mode": "disabled"}) == ()
    assert given_to({"kind": "wandb", "mode": "online"}) == ("WANDB_API_KEY",)


def test_a_refusal_shows_no_secret(bundle: Bundle) -> None:
    bundle.variables["MY_TOKEN"] = SECRET
    (bundle.work / f"{SECRET}.json").write_text("{}")
    (bundle.work / "odd.json").write_text(json.dumps({"note": f"x {SECRET}"}))
    result = bundle.run("launch", "run", "--plan", "odd.json")
    assert result.returncode == 1 and SECRET not in result.stdout + result.stderr
    with pytest.raises(Refusal):
        credential_variables.refuse_in_arguments([f"{SECRET}.json"], bundle.variables)


def test_modes_of_the_stand_in_are_numbers_that_a_plan_can_carry() -> None:
    assert all(0 <= number <= 99 for number in modes().values())
