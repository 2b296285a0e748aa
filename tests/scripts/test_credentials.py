"""A literal credential in a plan is refused wherever it stands, and its value is never shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from _skill.findings import Finding, Refusal
from _skill.plans import credentials, plan

from .gate_bundle import Bundle
from .test_schemas import PLAN as DOCUMENT

# Made up, in the forms that providers use. Each is put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "AI provider": "sk-" + "abcdEFGH1234" * 2,
    "AI project": "sk-proj-" + "abc_DEF-123" * 3,
    "payment": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "GitHub": "ghp_" + "a1B2" * 9,
    "GitHub fine-grained": "github_pat_" + "11ABCDEFG0abcdefghij_k",
    "GitLab": "glpat-" + "abcdefGHIJ1234567890",
    "Hugging Face": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz",
    "wandb old": "0123456789abcdef" * 2 + "01234567",
    "wandb new": "wandb_v1_" + "abcdefghijklmnopqrst",
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "Google": "AIza" + "SyA1234567890abcdefghijklmnopqrstu",
    "Slack": "xoxb-" + "123456789012-abcdefGHIJ",
    "package index": "pypi-" + "AgEIcHlwaS5vcmcCJGFi",
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-DEF_ghi",
    "PEM": "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE",
    "PEM of ssh": "-----BEGIN OPENSSH PRIVATE " + "KEY-----",
    "URL": "https://user:" + "hunter2@example.org/x",
    "URL with an empty user": "redis://:" + "hunter2@example.org:6379",
    "database": "postgresql://trainer:" + "swordfish@db/metrics",
    "bearer": "Bearer " + "abcdefgh12345678",
    "assignment": "token=" + "hunter22",
    "header": "Authorization: " + "Basic dXNlcjpwYXNz",
    "random": "q7Zx" + "9Kp2Lm4Vt8Rw1Yb6Nc3",
    "random base64": "dGhpc2lzYXJh" + "bmRvbUtleTEyMzQ1Njc4OTA=",
    "random in one case": "k3j4h5g6f7d8" + "s9a0q1w2e3r4t5",
    "hexadecimal": "d41d8cd98f00b204" + "e9800998ecf8427e",
}
PLACES: list[tuple[Any, ...]] = [
    ("run",),
    ("environment", "name"),
    ("environment", "settings", "note"),
    ("loggers", 0, "project"),
    ("network", 0),
    ("train", "anneal_lr"),
    ("extra",),
]
KEYS = [
    "api_key", "apiKey", "API_KEY", "api-key", "apikey", "wandb_api_key", "WANDB_API_KEY", "token", "hf_token",
    "hfToken", "access_token", "secret", "client_secret", "clientSecret", "password", "passwd", "db_password",
    "PASSWORD", "passphrase", "pwd", "private_key", "privateKey", "authorization", "Authorization", "credentials",
    "bearer", "cookie", "session_id", "aws_secret_access_key", "neptune.api_token", "auth", "tokens", "secrets",
]  # fmt: skip


def put(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    result = json.loads(json.dumps(document))
    target = result
    for part in place[:-1]:
        target = target[part]
    if isinstance(target, list):
        target[:] = [value]
    else:
        target[place[-1]] = value
    return result


@pytest.mark.parametrize("kind", SECRETS)
def test_a_value_of_a_known_form_is_refused_wherever_it_stands(kind: str) -> None:
    for place in PLACES:
        with pytest.raises(Refusal) as refused:
            plan.parse(json.dumps(put(DOCUMENT, place, SECRETS[kind])).encode(), "plan")
        found = refused.value.findings
        assert [finding.code for finding in found] == ["credential.literal"], place
        assert found[0].pointer == "/" + "/".join(map(str, place))
        assert SECRETS[kind] not in str(found) and SECRETS[kind][-8:] not in str(found)


@pytest.mark.parametrize("kind", ["AI provider", "wandb old", "URL"])
def test_no_output_of_a_tool_shows_it(bundle: Bundle, kind: str) -> None:
    path = bundle.plan()
    path.write_text(json.dumps(put(json.loads(path.read_text()), ("run",), SECRETS[kind])))
    for words in (("validate_plan", "plan.json"), ("validate_plan", "plan.json", "--json")):
        result = bundle.run(*words)
        assert result.returncode == 1
        for part in (SECRETS[kind], SECRETS[kind][:12], SECRETS[kind][-10:]):
            assert part not in result.stdout + result.stderr


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", ["dummy-secret-123", 12345678, ["dummy-secret-123"], {"x": "dummy-secret-123"}])
def test_a_key_named_like_one_is_refused_with_anything_in_it(key: str, value: Any) -> None:
    for place in ((key,), ("loggers", 0, key), ("environment", "settings", key)):
        document: dict[str, Any] = {"loggers": [{"kind": "jsonl"}], "environment": {"settings": {}}}
        target: Any = document
        for part in place[:-1]:
            target = target[part]
        target[place[-1]] = value
        found = credentials.findings(document)
        assert [finding.code for finding in found] == ["credential.literal"]
        assert "dummy-secret" not in str(found) and "12345678" not in str(found)


def test_a_credential_as_a_key_is_not_shown_either() -> None:
    found = credentials.findings({"train": {SECRETS["GitHub"]: 1}})
    assert [finding.pointer for finding in found] == ["/train"]
    assert SECRETS["GitHub"] not in str(found)


@pytest.mark.parametrize("key", ["api_key", "token", "password"])
@pytest.mark.parametrize("value", [None, True, False, "", [], {}])
def test_an_empty_one_gives_nothing_away(key: str, value: Any) -> None:
    """The schema refuses the key anyway."""
    assert credentials.findings({key: value}) == []


@pytest.mark.parametrize(
    "value",
    [
        "cartpole-20261130-130512-1a2b",
        "first",
        "pettingzoo-parallel",
        "breakout-long-run-with-many-words-in-it-2026",
        "ALE/Breakout-v5",
        "minigrid:MiniGrid-DoorKey-16x16-v0",
        "PufferLib_NeuralMMO3_LargeMap_v2",
        "api.wandb.ai",
        "internal-tracking.example.org:8443",
        "observations/camera_left/rgb_image_uint8",
        "HalfCheetahBulletEnv-v0",
        "the quick brown fox",
        "2026-11-30T13:05:12Z",
    ],
)
def test_names_that_people_choose_are_no_credentials(value: str) -> None:
    for place in (("run",), ("environment", "name"), ("network", 0)):
        assert credentials.kind_of(value, place) is None
    assert credentials.findings({"run": value, "network": [value]}) == []


@pytest.mark.parametrize(
    "key",
    [
        "tokens_per_step",
        "max_tokens",
        "num_tokens",
        "token_count",
        "author",
        "tokenizer",
        "keys",
        "secretary",
        "passes",
    ],
)
def test_keys_that_only_sound_like_one_are_fine(key: str) -> None:
    assert credentials.findings({key: 5}) == []


def test_digests_and_paths_are_where_they_belong() -> None:
    digest = "0123456789abcdef" * 4
    assert credentials.findings({"start": {"sha256": digest}}) == []
    assert credentials.findings({"run": digest})
    store = "/data/store/q7Zx9Kp2Lm4Vt8Rw1Yb6Nc3/d41d8cd98f00b204e9800998ecf8427e/x.safetensors"
    assert credentials.findings({"start": {"checkpoint": store}}) == []
    assert credentials.findings({"start": {"checkpoint": f"/data/{SECRETS['GitHub']}/x"}})


def test_every_one_of_many_is_found() -> None:
    document = {"a": [{"b": SECRETS["GitHub"]}, {"token": "x1"}], "c": {"d": {"e": [SECRETS["Slack"]]}}}
    assert [f.pointer for f in credentials.findings(document)] == ["/a/0/b", "/a/1/token", "/c/d/e/0"]


@pytest.mark.parametrize(
    "content",
    [
        '{"api_key": dummy-secret-123}',
        '{"api_key": "dummy-secret-123" "x": 1}',
        '{"api_key": "dummy-secret-123", "api_key": 1}',
        '{"run": "x", "password": "dummy-secret-123',
        '{"token": "dummy-secret-123",}',
        '{"wandb_api_key" "dummy-secret-123"}',
        '[{"secret": NaN "dummy-secret-123"}]',
        f'{{"run": "{SECRETS["GitHub"]}" "x"}}',
        f'{{"run": {SECRETS["GitHub"]}}}',
        f'{{"run": "{SECRETS["GitHub"]}',
        f'["{SECRETS["wandb old"]}" 1]',
        f'{{"x": "y" "{SECRETS["wandb old"]}": 1}}',
        f'{{"x": 1{SECRETS["wandb old"]}}}',
        f'{{"{SECRETS["random"]}": NaN}}',
        f'{{"{SECRETS["random"]}": 1, "{SECRETS["random"]}": 2}}',
    ],
)
def test_a_mistake_beside_one_does_not_show_it(bundle: Bundle, content: str) -> None:
    (bundle.work / "plan.json").write_text(content)
    result = bundle.run("validate_plan", "plan.json")
    assert result.returncode == 1 and "json." in result.stderr
    assert "dummy-secret" not in result.stderr
    for kind in ("GitHub", "wandb old", "random"):
        assert SECRETS[kind][:12] not in result.stderr and SECRETS[kind][4:16] not in result.stderr


def test_a_wrong_choice_on_the_command_line_does_not_show_it(bundle: Bundle) -> None:
    for choice in (
        f"train.api_key={SECRETS['AI provider']}",
        f"api_key={SECRETS['random']}",
        f"train.learnin_rate={SECRETS['GitHub']}",
        f"{SECRETS['GitHub']}=1",
        SECRETS["GitHub"],
        f"train.anneal_lr={SECRETS['GitHub']}",
        f'loggers=[{{"kind":"jsonl","api_key":"{SECRETS["GitHub"]}"}}]',
        "train.password=dummy-secret-123",
    ):
        result = bundle.run("make_plan", "fake", "--set", choice)
        assert result.returncode in (1, 2)
        shown = result.stdout + result.stderr
        assert not any(secret[:14] in shown for secret in SECRETS.values()), choice
        assert "dummy-secret" not in shown


def test_a_finding_keeps_what_is_harmless() -> None:
    finding = Finding("json.syntax", "line 1: unexpected text", "/train", '"learning_rate" 1', "a colon")
    assert credentials.without(finding) == finding
    assert credentials.without(finding._replace(got='"token": "abc')).got == credentials.HIDDEN
    # The name of the file is not part of what it holds.
    place = "/srv/ada/plans-2026-11-30/aB3xK9qLm2Zp7Rt5/plan.json"
    named = finding._replace(message=f"{place}, line 1: unexpected text")
    assert credentials.without(named, place) == named
    twice = Finding("json.duplicate_key", 'the key "token" stands twice', "/token", '"token": "abc"')
    assert "token" in credentials.without(twice).message and "abc" not in str(credentials.without(twice))


@pytest.mark.parametrize(
    ("alphabet", "length", "least"),
    [("mixed", 40, 0.97), ("mixed", 24, 0.90), ("one case", 32, 0.93), ("base64", 43, 0.93), ("URL-safe", 32, 0.93)],
)
def test_how_many_random_keys_are_found(alphabet: str, length: int, least: float) -> None:
    import random
    import string

    plain = string.ascii_letters + string.digits
    kinds = {
        "mixed": plain,
        "one case": string.ascii_lowercase + string.digits,
        "base64": plain + "+/",
        "URL-safe": plain + "-_",
    }
    source = random.Random(7)
    keys = ["".join(source.choice(kinds[alphabet]) for _ in range(length)) for _ in range(2000)]
    assert sum(credentials.kind_of(key) is not None for key in keys) >= least * len(keys)


@pytest.mark.parametrize(
    "unit",
    ["a", "a:", "://", "://a", "://a:", "eyJ", "eyJaaaaaaaa", "-----BEGIN ", "PRIVATE KEY ", "token", "bearer ",
     "sk-", "0", "aA0", "a0", "/", "=", " ", "-", "AKIA", "x@y"],
)  # fmt: skip
def test_no_text_takes_long(unit: str) -> None:
    """A reader of plans answers within a second, whatever a plan of one mebibyte holds."""
    import time

    text = unit * ((1 << 20) // len(unit))
    began = time.process_time()
    credentials.findings({"a": text, "b": [text[:-1], "://" + text, text + "!"], text: 1})
    credentials.without(Finding("x", text[:200], "", text[:200]))
    assert time.process_time() - began < 1
