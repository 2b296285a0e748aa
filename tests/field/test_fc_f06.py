"""FC-F06 · Secrets in logs and run config.

The dummy secret is given in every way that people give one. It is in no output, no file, no record and no argument.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ..scripts.gate_bundle import Bundle, build_bundle, modes

SECRET = "dummy-secret-123"


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    made = build_bundle(tmp_path / "bundle")
    made.variables.update(WANDB_API_KEY=SECRET, HF_TOKEN=SECRET[::-1], MY_PASSWORD=SECRET.upper())
    return made


def shown_or_kept(bundle: Bundle, *results: subprocess.CompletedProcess[str]) -> bool:
    words = "".join(result.stdout + result.stderr for result in results)
    kept = b"".join(bundle.files().values()).decode("utf-8", "replace")
    return any(secret in words + kept for secret in (SECRET, SECRET[::-1], SECRET.upper()))


@pytest.mark.parametrize("mode", ["good", "shows", "prints", "fails", "crash", "no_evidence"])
def test_a_secret_in_the_environment_reaches_neither_the_child_nor_any_record(bundle: Bundle, mode: str) -> None:
    words = [f"--set=environment.settings.mode={modes()[mode]}"]
    result = bundle.run("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in", *words)
    shown = bundle.run("audit", "show", "runs/r")
    as_json = bundle.run("audit", "show", "runs/r", "--json")
    assert not shown_or_kept(bundle, result, shown, as_json)
    if mode == "shows":
        seen = json.loads((bundle.work / "runs/r/seen.json").read_text())
        assert not {"WANDB_API_KEY", "HF_TOKEN", "MY_PASSWORD"} & set(seen["variables"])


def test_no_process_of_a_launch_carries_it_in_its_arguments(bundle: Bundle) -> None:
    words = [f"--set=environment.settings.mode={modes()['sleep']}"]
    process = subprocess.Popen(
        bundle.command("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in", *words),
        cwd=bundle.work,
        env=bundle.variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not (bundle.work / "runs/r/ready").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    child = int((bundle.work / "runs/r/ready").read_text())
    for pid in (process.pid, child):
        assert SECRET.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert SECRET.encode() not in Path(f"/proc/{child}/environ").read_bytes()
    process.send_signal(signal.SIGTERM)
    process.wait(20)


@pytest.mark.parametrize("script", ["launch", "approve", "audit"])
def test_a_secret_as_an_argument_is_refused_and_not_repeated(bundle: Bundle, script: str) -> None:
    for words in ([SECRET], [f"--set=x={SECRET}"], [f"--{SECRET}"], ["run", "--plan", f"{SECRET}.json"]):
        for form in ([], ["--json"]):
            result = bundle.run(script, *words, *form)
            assert result.returncode == 2 and "argument.secret" in result.stdout + result.stderr
            assert not shown_or_kept(bundle, result)


PLANS = [
    {"api_key": SECRET},
    {"loggers": [{"kind": "wandb", "api_key": SECRET}]},
    {"loggers": [{"kind": "wandb", "project": "ghp_" + "a1B2" * 9}]},
    {"environment": {"settings": {"password": SECRET}}},
    {"network": ["https://me:" + SECRET + "@example.org"]},
    {"run": "sk-" + "abcd1234" * 4},
]


@pytest.mark.parametrize("change", PLANS)
def test_a_plan_with_a_literal_credential_is_refused_and_not_echoed(bundle: Bundle, change: dict) -> None:
    bundle.plan()
    document = json.loads((bundle.work / "plan.json").read_text())
    for key, value in change.items():
        document[key] = {**document.get(key, {}), **value} if isinstance(value, dict) else value
    (bundle.work / "odd.json").write_text(json.dumps(document))
    for script, *words in (
        ("validate_plan", "odd.json"),
        ("approve", "odd.json", "--by", "Ada"),
        ("launch", "run", "--plan", "odd.json", "--opt-in"),
    ):
        result = bundle.run(script, *words)
        assert result.returncode == 1
        for part in (SECRET, "a1B2a1B2", "abcd1234"):
            assert part not in result.stdout + result.stderr
    assert not (bundle.work / "runs").exists()


def test_an_exception_of_a_child_that_was_given_a_secret_is_shown_without_it(bundle: Bundle) -> None:
    # The stand-in fails with the secret in its traceback, in both halves of a line, and in other spellings.
    main = bundle.root / "native_profile/pufferlib/__main__.py"
    words = f"""
import base64, urllib.parse
def main():
    key = {SECRET!r}
    print(key, urllib.parse.quote(key), base64.b64encode(key.encode()).decode(), repr(key))
    raise ValueError("HTTP 401: Authorization: Bearer " + key)
if __name__ == "__main__":
"""
    main.write_text(main.read_text().replace('if __name__ == "__main__":\n', words))
    result = bundle.run("launch", "quickstart", "--env", "fake", "--run", "r", "--opt-in")
    assert result.returncode == 1
    assert "ValueError: HTTP 401: Authorization: Bearer [WANDB_API_KEY]" in result.stderr
    assert SECRET not in result.stdout + result.stderr
    kept = (bundle.work / "runs/r/output.log").read_text() + (bundle.work / "runs/r/audit.jsonl").read_text()
    assert SECRET not in kept and "[WANDB_API_KEY]" in kept


def test_names_and_not_values_are_recorded(bundle: Bundle) -> None:
    bundle.launch(mode="good")
    started = json.loads((bundle.work / "runs/r/audit.jsonl").read_text().splitlines()[2])["data"]
    assert all(name.isupper() for name in started["variables"]) and "HOME" in started["variables"]
    approval = json.loads((bundle.work / "runs/r/approval.json").read_text())
    assert re_hex(approval["items"]["variable HOME"]) and os.environ["PATH"] not in json.dumps(started)


def re_hex(word: str) -> bool:
    return len(word) == 64 and set(word) <= set("0123456789abcdef")


PLACES = {
    "run": SECRET,
    "loggers": [{"kind": "jsonl", "project": f"of-{SECRET}"}],
    "network": [f"{SECRET}.example.org"],
    "device": SECRET,
    "environment": {"name": "fake", "api": "c", "settings": {SECRET: 1}},
    SECRET: 1,
    "spelt in base64": base64.b64encode(SECRET.encode()).decode(),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_plan_that_holds_the_value_of_a_secret_variable_is_refused_wherever_it_stands(
    bundle: Bundle, place: str
) -> None:
    bundle.plan()
    path = bundle.work / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {place: PLACES[place]}))
    results = [
        bundle.run("validate_plan", "plan.json"),
        bundle.run("validate_plan", "plan.json", "--json"),
        bundle.run("approve", "plan.json", "--by", "Ada"),
        bundle.run("launch", "run", "--plan", "plan.json", "--opt-in"),
    ]
    assert [result.returncode for result in results] == [1, 1, 1, 1]
    assert all("credential.literal" in result.stdout + result.stderr for result in results)
    path.unlink()
    assert not shown_or_kept(bundle, *results)


@pytest.mark.parametrize(
    "words",
    [
        ("make_plan", SECRET),
        ("make_plan", "fake", "--run", SECRET),
        ("make_plan", "fake", "--set", f'network=["{SECRET}.org"]'),
        ("make_plan", "fake", "--explain", SECRET),
        ("make_plan", "fake", "--out", f"nowhere/{SECRET}"),
        ("validate_plan", SECRET),
        ("validate_plan", "plan.json", "--machine", SECRET),
        ("validate_plan", f"--{SECRET}"),
        ("lint_skill", SECRET),
        ("check_env", SECRET),
        ("inspect_checkpoint", SECRET),
        ("manifest", "verify", SECRET),
        ("env_template", "write", SECRET, "--out", "x"),
        ("doctor", "--machine-out", f"nowhere/{SECRET}"),
    ],
)
def test_no_tool_repeats_the_value_of_a_secret_variable(bundle: Bundle, words: tuple[str, ...]) -> None:
    results = [bundle.run(*words), bundle.run(*words, "--json")]
    assert all(result.returncode in (1, 2) for result in results)
    assert not shown_or_kept(bundle, *results)


def test_a_number_that_is_also_a_secret_leaves_the_report_json(bundle: Bundle) -> None:
    report = bundle.json("make_plan", "fake", "--run", "r", variables={"DB_PASSWORD": "1000000", "PIN_KEY": "10000000"})
    assert report["plan"]["train"]["total_timesteps"] == 1000000
