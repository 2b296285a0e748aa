"""The page as text: nothing of the run can become markup, nothing is fetched, and missing parts become notes."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pufferlib.report import write_report

HOSTILE = "</script><img src=x onerror=alert(1)><!--"
HIDDEN = "a\u200b\u202eb\x1b[31m\ud800"


class Page(html.parser.HTMLParser):
    """Tags with their attributes, and the text of each script and style element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style") and self.cdata_elem:
            self.texts.append((self.tags[-1][0], data))

    def data(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(next(text for tag, text in self.texts if text.startswith('{"')))
        return document


def draw(run_dir: Path) -> Page:
    return Page(write_report(run_dir).read_text("utf-8"))


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_finished_run_needs_no_note_and_stays_small(run_dir: Path) -> None:
    page = draw(run_dir)
    data = page.data()
    assert data["notes"] == []
    assert (
        data["summary"] == "Reached its goal, a mean return of 475 after 3,145,728 steps and 0.38 seconds of training."
    )
    assert data["headline"]["evaluation"]["return_mean"] == 497.31
    assert (run_dir / "report.html").stat().st_size < 300_000


def test_the_page_refers_to_nothing_outside_itself(run_dir: Path) -> None:
    page = draw(run_dir)
    links = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")]
    assert [link[:20] for link in links if link] == ["data:image/svg+xml,%", "#evidence-title"]
    assert not re.search(r"@import|url\(", next(text for tag, text in page.texts if tag == "style"))


def test_the_security_policy_allows_exactly_the_page_s_own_script_and_style(run_dir: Path) -> None:
    page = draw(run_dir)
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, text in page.texts:
        if not text.startswith('{"'):
            source = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{source}'" in policy


def test_hostile_text_stays_text(run_dir: Path) -> None:
    """In names, settings, reasons and statistics alike: the page has the same elements as with harmless text."""
    harmless = [tag for tag, _ in draw(run_dir).tags]
    plan = json.loads((run_dir / "plan.json").read_text())
    plan["environment"] = {"name": HOSTILE, "settings": {HOSTILE: HOSTILE}}
    plan["train"][HOSTILE] = [HOSTILE, {HOSTILE: HOSTILE}]
    plan["run"] = HOSTILE
    (run_dir / "plan.json").write_text(json.dumps(plan))
    change(run_dir / "manifest.json", reason=HOSTILE, run=HOSTILE, status=HOSTILE, engine={"compiler": HOSTILE})
    change(run_dir / "approval.json", digest=HOSTILE)
    row = {"step": 1, "seconds": 1, "return": HOSTILE, "statistics": {HOSTILE: 1.0}}
    (run_dir / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    page = draw(run_dir)
    assert [tag for tag, _ in page.tags] == harmless
    data = page.data()
    assert (data["environment"], data["reason"], data["run"]) == (HOSTILE, HOSTILE, HOSTILE)
    assert data["status"] == "unknown"
    assert HOSTILE not in (run_dir / "report.html").read_text()


def test_invisible_characters_are_shown(run_dir: Path) -> None:
    change(run_dir / "manifest.json", reason=HIDDEN)
    assert draw(run_dir).data()["reason"] == r"a\u{200b}\u{202e}b\u{1b}[31m\u{d800}"


def test_long_text_is_cut(run_dir: Path) -> None:
    change(run_dir / "manifest.json", reason="x" * 100_000)
    reason = draw(run_dir).data()["reason"]
    assert reason.startswith("x" * 400 + "…") and len(reason) < 450


@pytest.mark.parametrize("name", ["plan.json", "approval.json", "manifest.json", "metrics.jsonl", "replay.json"])
@pytest.mark.parametrize(
    "damage", ["missing", "empty", "torn", "nan", "array", "latin", "deep", "folder", "link", "pipe"]
)
def test_a_missing_or_broken_part_becomes_a_note(run_dir: Path, name: str, damage: str) -> None:
    path = run_dir / name
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage == "link":
        (run_dir / "elsewhere").write_bytes(content)
        path.symlink_to("elsewhere")
    elif damage == "pipe":
        os.mkfifo(path)
    elif damage != "missing":
        path.write_bytes({
            "empty": b"", "torn": content[: len(content) // 2], "nan": b'{"a":NaN}\n', "array": b"[]\n",
            "latin": b'{"a":"\xe9"}\n', "deep": b'{"a":' + b"[" * 200_000 + b"\n",
        }[damage])  # fmt: skip
    data = draw(run_dir).data()
    assert any(name in note for note in data["notes"])
    shown = {"metrics.jsonl": data["curves"], "replay.json": data["replay"]}
    assert all(shown[other] for other in shown if other != name)


def test_an_empty_folder_still_gives_a_page(tmp_path: Path) -> None:
    data = draw(tmp_path).data()
    assert data["status"] == "unknown"
    assert len(data["notes"]) == 5


def test_no_folder_is_an_error_that_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="expected the folder of a run"):
        write_report(tmp_path / "absent")


def test_changed_plan_and_changed_checkpoint_are_named(run_dir: Path) -> None:
    change(run_dir / "plan.json", device="cuda")
    checkpoint = next(run_dir.glob("checkpoint-*"))
    checkpoint.write_bytes(checkpoint.read_bytes() + b"x")
    notes = " ".join(draw(run_dir).data()["notes"])
    assert "plan.json is not the plan that manifest.json names" in notes
    assert f"{checkpoint.name} is not the checkpoint that manifest.json names" in notes


def test_a_checkpoint_name_cannot_lead_out_of_the_run(run_dir: Path) -> None:
    (run_dir.parent / "secret").write_text("secret")
    change(run_dir / "manifest.json", checkpoint={"file": "../secret", "bytes": 6, "sha256": "0" * 64})
    data = draw(run_dir).data()
    assert not any("secret" in file["name"] for file in data["files"])
    assert any("names a checkpoint whose name is not" in note for note in data["notes"])


def test_only_well_formed_digests_are_shown_as_digests(run_dir: Path) -> None:
    approved = json.loads((run_dir / "approval.json").read_text())["digest"]
    plan = hashlib.sha256((run_dir / "plan.json").read_bytes()).hexdigest()
    rows = {name: value for name, value, _ in draw(run_dir).data()["digests"]}
    assert (rows["Approved"], rows["Plan"], rows["Audit log"]) == (
        approved,
        plan,
        (run_dir / "audit.head").read_text().strip(),
    )
    change(run_dir / "approval.json", digest=approved.upper())
    assert "Approved" not in {name for name, _, _ in draw(run_dir).data()["digests"]}


def test_the_printed_command_verifies_the_files_and_finds_a_change(run_dir: Path) -> None:
    command = next(entry["text"] for entry in draw(run_dir).data()["commands"] if "sha256sum" in entry["text"])

    def check() -> int:
        listed = command.split("<<'END'\n")[1].removesuffix("END").encode()
        return subprocess.run(
            ["sha256sum", "--check"], input=listed, cwd=run_dir, capture_output=True, timeout=30
        ).returncode

    assert check() == 0
    (run_dir / "metrics.jsonl").write_text("")
    assert check() == 1


def test_a_folder_name_cannot_add_to_a_command(run_dir: Path) -> None:
    odd = run_dir.rename(run_dir.parent / "a; echo PWNED")
    for entry in draw(odd).data()["commands"]:
        assert "'" + f"{odd.parent.name}/a; echo PWNED" + "'" in entry["text"]
    hidden = odd.rename(odd.parent / "a\nb")
    assert draw(hidden).data()["commands"] == []


def test_the_page_appears_whole_or_not_at_all(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(run_dir)
    before = (run_dir / "report.html").read_bytes(), sorted(path.name for path in run_dir.iterdir())

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    change(run_dir / "manifest.json", reason="changed")
    with pytest.raises(OSError, match="No space left"):
        write_report(run_dir)
    assert ((run_dir / "report.html").read_bytes(), sorted(path.name for path in run_dir.iterdir())) == before


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"goal_reached": False},
            "Used its whole budget without reaching a mean return of 475: ended after 3,145,728 steps",
        ),
        (
            {"status": "interrupted"},
            "Interrupted after 3,145,728 steps and 0.38 seconds of training. The last checkpoint",
        ),
        ({"status": "stopped", "reason": "non-finite loss"}, "Stopped after"),
        ({"status": "running"}, "Not finished when this page was drawn"),
    ],
)
def test_the_first_sentence_says_how_the_run_ended(run_dir: Path, values: dict[str, Any], said: str) -> None:
    change(run_dir / "manifest.json", **values)
    assert draw(run_dir).data()["summary"].startswith(said)


def test_every_setting_of_the_plan_is_listed(run_dir: Path) -> None:
    plan = json.loads((run_dir / "plan.json").read_text())
    rows = {group["title"]: {row[0]: row[1] for row in group["rows"]} for group in draw(run_dir).data()["settings"]}
    assert set(rows["Training"]) == set(plan["train"])
    assert set(rows["Limits"]) == set(plan["limits"])
    assert rows["Environment"] == {"gravity": "9.8", "max_steps": "500"}
    assert (rows["Training"]["num_envs"], rows["Evaluation"]["seed"], rows["Policy"]["hidden"]) == (
        "2,048",
        "1000001",
        "64",
    )
