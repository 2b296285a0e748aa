"""The page in a real browser: it draws, it moves, it obeys its controls, and it logs no error.

The replay of these tests moves at an even speed, so that frames that were shown can be counted.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pufferlib.report import decode_frames, encode_frames, write_report

from .report_browser import Browser
from .report_run import write_run

PIXELS = "document.getElementById('canvas').toDataURL()"
FRAME = "Number(document.getElementById('scrubber').value)"
PLAYING = "document.getElementById('play').classList.contains('playing')"
COLOURS = """(() => {
    const canvas = document.getElementById('canvas'), seen = new Set();
    const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    for (const pixel of pixels) seen.add(pixel);
    return seen.size;
})()"""
VISIBLE_CURVES = """[...document.querySelectorAll('.chart')].map((chart) => {
    const box = chart.querySelector('path.curve')?.getBBox();
    return [chart.dataset.key, box ? box.width : 0, chart.querySelectorAll('text').length];
})"""
CURVE_KEYS = [
    "return", "length", "steps_per_second", "policy_loss", "value_loss", "explained_variance", "entropy", "approx_kl",
    "clip_fraction", "gradient_norm", "learning_rate", "statistics.balanced",
]  # fmt: skip


def click(browser: Browser, selector: str) -> None:
    browser.evaluate(f"document.querySelector({json.dumps(selector)}).click()")


def seek(browser: Browser, frame: int) -> None:
    scrubber = "document.getElementById('scrubber')"
    browser.evaluate(f"{scrubber}.value = {frame}; {scrubber}.dispatchEvent(new Event('input')); 0")


def open_report(browser: Browser, run_dir: Path, width: int = 1280, height: int = 900, **options: Any) -> None:
    browser.open(write_report(run_dir), width, height, **options)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "height", "ratio"), [(1280, 900, 1.0), (390, 844, 3.0)], ids=["desktop", "phone"])
@pytest.mark.parametrize("environment", ["cartpole", "breakout", "target"])
def test_it_draws_and_moves_and_logs_nothing(
    browser: Browser, tmp_path: Path, environment: str, width: int, height: int, ratio: float, dark: bool
) -> None:
    open_report(browser, write_run(tmp_path, environment), width, height, dark=dark, ratio=ratio)
    curves = {key: (drawn, texts) for key, drawn, texts in browser.evaluate(VISIBLE_CURVES)}
    assert set(curves) == set(CURVE_KEYS)
    assert all(drawn > 100 and texts >= 5 for drawn, texts in curves.values()), curves
    assert browser.evaluate(COLOURS) > 3
    assert browser.evaluate(PLAYING)
    before = browser.evaluate(PIXELS)
    browser.wait(f"{FRAME} > 20")
    assert browser.evaluate(PIXELS) != before
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert browser.evaluate("document.getElementById('canvas').width") == pytest.approx(
        browser.evaluate("document.getElementById('canvas').clientWidth") * ratio, abs=2 * ratio
    )
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(19, 20, 22)" if dark else "rgb(251, 250, 247)"
    )
    assert browser.problems == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def test_paused_it_stands_still_and_plays_on(browser: Browser, run_dir: Path) -> None:
    open_report(browser, run_dir)
    browser.wait(f"{FRAME} > 3")
    click(browser, "#play")
    before = browser.evaluate(PIXELS), browser.evaluate(FRAME)
    time.sleep(0.4)
    assert (browser.evaluate(PIXELS), browser.evaluate(FRAME)) == before
    click(browser, "#play")
    browser.wait(f"{FRAME} > {before[1] + 3}")


def test_speed_sets_how_many_frames_a_second_are_shown(browser: Browser, run_dir: Path) -> None:
    """Measured by the page's own clock between two animation frames, so that a busy machine does not matter."""
    open_report(browser, run_dir)
    rates = {}
    for speed in ("0.25", "1", "4"):
        click(browser, f"[data-speed='{speed}']")
        seek(browser, 0)
        rates[speed] = browser.evaluate(f"""new Promise((done) => requestAnimationFrame((start) => {{
            const from = {FRAME};
            const look = (now) => {{
                if (now - start < 1500) requestAnimationFrame(look);
                else done(({FRAME} - from) / (now - start) * 1000);
            }};
            requestAnimationFrame(look);
        }}))""")
    assert rates == {
        "0.25": pytest.approx(7.5, rel=0.4),
        "1": pytest.approx(30, rel=0.4),
        "4": pytest.approx(120, rel=0.4),
    }


def test_keys_play_step_and_jump(browser: Browser, run_dir: Path) -> None:
    open_report(browser, run_dir, still=True)
    assert not browser.evaluate(PLAYING), "with reduced motion asked for, nothing moves by itself"
    for key, frame in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", 499),
        ("ArrowRight", 499),
        ("Home", 0),
    ):
        browser.press(key)
        assert browser.evaluate(FRAME) == frame, key
    browser.press(" ", "Space")
    assert browser.evaluate(PLAYING)
    browser.press("]")
    assert browser.evaluate("document.querySelector('[aria-pressed=true][data-speed]').dataset.speed") == "2"
    browser.wait(f"{FRAME} > 3")
    browser.press(" ", "Space")
    assert not browser.evaluate(PLAYING)


def test_at_its_end_it_begins_again(browser: Browser, run_dir: Path) -> None:
    open_report(browser, run_dir)
    seek(browser, 496)
    browser.wait(f"{FRAME} === 499")
    browser.wait(f"{FRAME} < 100")


@pytest.mark.parametrize("environment", ["cartpole", "breakout"])
def test_any_frame_looks_the_same_from_wherever_it_is_reached(
    browser: Browser, tmp_path: Path, environment: str
) -> None:
    """Each frame against a page that holds this frame alone; the return beside it too."""
    run_dir = write_run(tmp_path, environment)
    replay = json.loads((run_dir / "replay.json").read_text())
    wanted = [0, 1, 63, 64, 65, 128, 300, 419, 420, 421, 497]
    shown: dict[int, set[str]] = {frame: set() for frame in wanted if frame < len(replay["frames"])}
    open_report(browser, run_dir, still=True)
    for frame in [*shown, *reversed(shown), 300, 1, 419, 64, 420]:
        if frame in shown:
            seek(browser, frame)
            shown[frame].add(browser.evaluate(PIXELS))
            total = float(browser.evaluate("document.getElementById('replay-return').textContent"))
            assert total == replay["frames"][frame]["return"]
    frames = decode_frames(replay)
    for frame in shown:
        alone = encode_frames([frames[frame]], replay["width"], replay["height"], replay["background"], 30, [0.0])
        (run_dir / "replay.json").write_text(json.dumps(alone))
        open_report(browser, run_dir, still=True)
        shown[frame].add(browser.evaluate(PIXELS))
    assert {frame: len(pictures) for frame, pictures in shown.items()} == dict.fromkeys(shown, 1)


def test_a_second_episode_is_counted_from_the_returns(browser: Browser, tmp_path: Path) -> None:
    open_report(browser, write_run(tmp_path, "breakout"), still=True)
    seek(browser, 419)
    assert browser.evaluate("document.getElementById('replay-episode').textContent") == "1 of 2"
    seek(browser, 420)
    assert browser.evaluate("document.getElementById('replay-episode').textContent") == "2 of 2"


def test_the_charts_follow_the_switches(browser: Browser, run_dir: Path) -> None:
    open_report(browser, run_dir)
    path = "document.querySelector('[data-key={}] path.curve').getAttribute('d')"
    ticks = "[...document.querySelectorAll('[data-key=return] text')].map((text) => text.textContent).join('|')"
    steps, linear = browser.evaluate(ticks), browser.evaluate(path.format("value_loss"))
    assert "3\u202fM" in steps
    click(browser, "#axis [data-value=seconds]")
    assert "0.3\u202fs" in browser.evaluate(ticks)
    click(browser, "#axis [data-value=step]")
    assert browser.evaluate(ticks) == steps
    click(browser, "#scale [data-value=log]")
    assert browser.evaluate(path.format("value_loss")) != linear
    assert browser.problems == []


def test_the_crosshair_reads_all_charts_at_one_row(browser: Browser, run_dir: Path) -> None:
    rows = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    open_report(browser, run_dir)
    box = browser.evaluate("""(() => { const chart = document.querySelector('[data-key=return] svg');
        chart.scrollIntoView({block: 'center'});
        const box = chart.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()""")
    browser.move(box[0] + box[2] / 2, box[1] + box[3] / 2)
    browser.wait("document.querySelector('[data-key=return] .cross').getAttribute('visibility') === 'visible'")
    label = browser.evaluate("document.querySelector('[data-key=entropy] .cross text').textContent")
    step = int(label.removeprefix("step ").replace(",", ""))
    row = next(row for row in rows if row["step"] == step)
    for key in ("return", "entropy", "explained_variance"):
        shown = float(browser.evaluate(f"document.querySelector('[data-key={key}] .value').textContent"))
        assert shown == pytest.approx(row[key], rel=1e-3)
    browser.move(1, 1)
    browser.wait("document.querySelector('[data-key=return] .cross').getAttribute('visibility') === 'hidden'")
    last = float(browser.evaluate("document.querySelector('[data-key=return] .value').textContent"))
    assert last == pytest.approx(rows[-1]["return"], rel=1e-3)


def test_hostile_text_is_shown_and_does_nothing(browser: Browser, run_dir: Path) -> None:
    hostile = "</script><img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    plan = json.loads((run_dir / "plan.json").read_text())
    plan["environment"] = {"name": hostile, "settings": {hostile: hostile}}
    (run_dir / "plan.json").write_text(json.dumps(plan))
    manifest = json.loads((run_dir / "manifest.json").read_text()) | {"reason": hostile}
    (run_dir / "manifest.json").write_text(json.dumps(manifest))
    open_report(browser, run_dir)
    assert browser.evaluate("document.getElementById('reason').textContent") == hostile
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("document.title").startswith(hostile)
    assert browser.problems == []


def test_a_script_that_gets_into_the_page_is_refused_by_its_policy(browser: Browser, run_dir: Path) -> None:
    """The second wall: even if a text of the run became markup, it could neither run nor reach out."""
    open_report(browser, run_dir)
    browser.evaluate("""const script = document.createElement('script');
        script.textContent = 'window.taken = 1';
        const image = new Image();
        image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(script, image);
        0""")
    assert browser.evaluate("window.taken === undefined")
    end = time.monotonic() + 10
    while sum("Content Security Policy" in problem for problem in browser.problems) < 2:
        assert time.monotonic() < end, browser.problems
        assert browser.evaluate("window.taken === undefined")


@pytest.mark.parametrize("missing", ["replay.json", "metrics.jsonl", "manifest.json", "plan.json"])
def test_without_a_part_the_rest_is_drawn_and_a_note_says_so(browser: Browser, run_dir: Path, missing: str) -> None:
    (run_dir / missing).unlink()
    open_report(browser, run_dir)
    assert missing in browser.evaluate("document.getElementById('notes').innerText")
    assert browser.evaluate("document.getElementById('replay').hidden") == (missing == "replay.json")
    assert browser.evaluate("document.getElementById('training').hidden") == (missing == "metrics.jsonl")
    assert browser.problems == []
