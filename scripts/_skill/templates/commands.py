"""The commands that both template tools have: list, show, write, test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .. import command_line

if TYPE_CHECKING:
    from ..findings import Finding, Report

Trying = Callable[[str], "tuple[list[Finding], list[str]]"]


def parsers(script: str, about: str, example: str) -> tuple[command_line.Parser, dict[str, command_line.Parser]]:
    """The overview and one parser for each command."""
    listing = (
        "commands (each has its own --help):\n"
        "  list    the templates\n"
        "  show    print one\n"
        "  write   write one to a new file or folder; nothing is replaced\n"
        "  test    test what was written"
    )
    overview = command_line.Parser(script, f"{about}\n\n{listing}", f"python3 scripts/{script} write {example} --out .")
    start = f"python3 scripts/{script}"
    made = {
        "list": command_line.Parser(f"{script} list", "Lists the templates.", f"{start} list"),
        "show": command_line.Parser(f"{script} show", "Prints one template.", f"{start} show {example}"),
        "write": command_line.Parser(
            f"{script} write",
            "Writes one template to a new file or folder.",
            f"{start} write {example} --out my_{example}.py",
        ),
        "test": command_line.Parser(
            f"{script} test",
            "Runs what was written, in a child process: its own test, then its check.",
            f"{start} test my.py",
        ),
    }
    for name in ("show", "write"):
        made[name].add_argument("template", metavar="NAME", help="one of the list")
    made["write"].add_argument("--out", required=True, metavar="PATH", help="new file, or folder to write into")
    if script == "env_template.py":
        made["write"].add_argument("--name", metavar="NAME", help="name of the class (MyEnv) or C environment (my_env)")
    made["test"].add_argument("path", metavar="PATH", help="file, or folder of a C environment")
    return overview, made


def run(
    script: str, about: str, example: str, kind: str, remarks: Sequence[str], arguments: Sequence[str], report: Report
) -> int:
    """Runs one command."""
    overview, made = parsers(script, about, example)
    name, options = command_line.choose_command(made, overview, arguments)
    from .. import layout, text
    from ..findings import OK, PROBLEM, errors_in
    from . import catalogue, trying

    if name == "list":
        templates = [catalogue.load(kind, template) for template in catalogue.names(kind)]
        report.results["templates"] = [
            {"name": template.name, "about": template.about, "files": sorted(template.files)} for template in templates
        ]
        report.say(*(f"{template.name:<24}{template.about}" for template in templates), *remarks)
        return report.finish(
            OK, f"{len(templates)} templates; write one: {layout.script(script)} write NAME --out PATH"
        )
    if name == "test":
        report.findings, lines = (trying.program if kind == "training" else trying.environment)(options.path)
        report.say(*lines)
        if errors_in(report.findings):
            return report.finish(PROBLEM, f"{text.escaped(options.path)}: does not pass")
        return report.finish(OK, f"{text.escaped(options.path)}: passes")
    template = catalogue.named(catalogue.load(kind, options.template), getattr(options, "name", None))
    if name == "show":
        report.results["files"] = template.files
        for file, content in template.files.items():
            report.say(*([f"---- {file}"] if template.is_folder else []), content.rstrip("\n"))
        return report.finish(OK, "") if report.as_json else OK
    target = catalogue.write(template, options.out)
    report.results["path"] = target
    return report.finish(
        OK, f"wrote {text.escaped(target)}; test it: {layout.script(script)} test {text.escaped(target)}"
    )
