"""The digest of a launch: one SHA-256 over everything that will run, item by item.

An item is a name and a digest or a plain value. Both the approval and the launch compute the items from what is on
disk; where the two differ, the items say what changed. Not covered: the standard library, the compiler's
helper programs and the operating system.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from .. import layout, strict_json, text
from ..findings import Finding
from ..plans import environment_folder
from ..plans.environment_folder import EnvironmentFolder
from ..plans.plan import Plan
from ..plans.profile import Profile
from . import child_command, launch_policy, source_tree, ssh_signature
from .launch_policy import Policy


def of(items: Mapping[str, str]) -> str:
    """The digest of items, 64 lower-case hexadecimal digits."""
    return hashlib.sha256(strict_json.canonical({"schema": "digest/1", "items": dict(items)})).hexdigest()


def same(left: str, right: str) -> bool:
    """Compares two digests in constant time; upper-case digits are different digits."""
    return hmac.compare_digest(left.encode(), right.encode())


def machine_items(parent: Mapping[str, str], policies: Sequence[Policy] = ()) -> dict[str, str]:
    """Items that do not depend on the plan: interpreter, compiler, gate, policies, variables, working folder."""
    items = {"working folder": os.path.realpath(os.getcwd()), **launch_policy.items(policies)}
    if any(policy.signers is not None for policy in policies):
        checker = ssh_signature.program()
        items["signature checker"] = source_tree.file_digest(checker) if checker else "none"
    items["interpreter path"] = sys.executable
    items["interpreter version"] = sys.version
    for name, path in (("program", os.path.realpath(sys.executable)), ("library", _python_library())):
        items[f"interpreter {name}"] = source_tree.file_digest(path) if path else "none"
    compiler = child_command.compiler(parent)
    items["compiler path"] = compiler or "none"
    items["compiler program"] = source_tree.file_digest(compiler) if compiler else "none"
    for name, value in child_command.variables(parent, "").items():
        if name not in child_command.NOT_ITEMS:
            # The digest of the value, so that an approval can be shown to anybody.
            items[f"variable {name}"] = hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()
    for folder in (layout.SCRIPTS, layout.SCHEMAS):
        found = source_tree.digests(folder, _is_source)
        items.update({f"gate {os.path.basename(folder)}/{name}": value for name, value in found.items()})
    return items


def plan_items(plan: Plan, profile: Profile, folder: EnvironmentFolder, copy_to: str | None = None) -> dict[str, str]:
    """Items of the plan and of every source file that runs; `copy_to` gets a private copy of those files."""
    items = {"plan": plan.sha256, f"profile {profile.name}": source_tree.file_digest(profile.path)}
    found = source_tree.digests(layout.ENGINE, _engine_files(folder), _below(copy_to, "pufferlib"))
    items.update({f"engine pufferlib/{name}": value for name, value in found.items()})
    if not folder.built_in:
        found = source_tree.digests(folder.path, lambda name: True, _below(copy_to, "environment"))
        items["environment folder"] = folder.path
        items.update({f"environment {name}": value for name, value in found.items()})
    return items


def changes(approved: Mapping[str, str], found: Mapping[str, str]) -> list[Finding]:
    """One finding for each item that is not as it was approved."""
    findings = []
    for name in sorted(approved.keys() | found.keys()):
        before, after = approved.get(name), found.get(name)
        if before is None or after is None or not same(before, after):
            what = "is new" if before is None else "is gone" if after is None else "has changed"
            findings.append(
                Finding(
                    "digest.changed",
                    f"{text.escaped(name)} {what} since the approval",
                    got=text.escaped(after or "nothing", 80),
                    want=text.escaped(before or "nothing", 80),
                    fix="approve what is there now, or put back what was approved",
                )
            )
    return findings


def _is_source(name: str) -> bool:
    """Everything but Python's own cache; a file such as json.pyc beside the sources would be imported, so it counts."""
    return os.path.basename(name) != "__pycache__"


def _engine_files(folder: EnvironmentFolder) -> Callable[[str], bool]:
    """All of the engine but other environments: a change in one of them changes no approval of this one."""
    others = {f"ocean/{name}" for name in environment_folder.built_in_names()}
    if folder.built_in:
        others.discard(f"ocean/{folder.name}")
    return lambda name: name not in others and _is_source(name)


def _below(folder: str | None, name: str) -> str | None:
    return None if folder is None else os.path.join(folder, name)


def _python_library() -> str | None:
    """The shared library that holds the interpreter, where it is not all in the program."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as stream:
            for line in stream:
                path = line.rstrip("\n").partition("/")[2]
                if os.path.basename(path).startswith("libpython"):
                    return "/" + path
    except OSError:
        return None
    return None
