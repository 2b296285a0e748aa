"""Everything that is known about a launch before anything is written: plan, items, digest, tier, command.

Building a request only reads. What it shows is what would run.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from .. import layout, text
from ..findings import Finding, Refusal, Report, errors_in
from ..plans import environment_folder, plan_environment, plan_numbers, plan_rules, resume_state
from ..plans import plan as plans
from ..plans import profile as profiles
from ..plans.environment_folder import EnvironmentFolder
from ..plans.plan import Plan
from ..plans.plan_numbers import PlanNumbers
from ..plans.profile import Profile
from . import approval, bounds, child_command, credential_variables, digest, evidence, launch_policy, tier, warm_start
from .bounds import Bounds
from .tier import Decision

WRITTEN_FILES = (
    "plan.json",
    "approval.json",
    "audit.jsonl",
    "audit.head",
    "metrics.jsonl",
    "checkpoint-<step>.safetensors",
    "manifest.json",
    "output.log",
    "replay.json",
    "report.html",
)


class LaunchRequest(NamedTuple):
    """One launch that could be made."""

    plan: Plan
    profile: Profile
    environment: EnvironmentFolder
    numbers: PlanNumbers
    warnings: list[Finding]
    purpose: str
    decision: Decision
    """Which tier the plan falls into, and what that needs."""
    bounds: Bounds
    machine_items: dict[str, str]
    plan_items: dict[str, str]
    """The items of what the private copy is made of."""
    command_item: dict[str, str]
    start_items: dict[str, str]
    """Items of the weights that a warm start begins with."""
    resume_items: dict[str, str]
    run_folder: str
    snapshot: str
    command: list[str]
    variables: dict[str, str]

    @property
    def items(self) -> dict[str, str]:
        """All items of the digest."""
        return {
            **self.machine_items,
            **self.plan_items,
            **self.command_item,
            **self.bounds.items,
            **self.start_items,
            **self.resume_items,
        }

    @property
    def digest(self) -> str:
        """The digest of all items."""
        return digest.of(self.items)

    @property
    def tier(self) -> str:
        """The name of the plan's tier."""
        return self.decision.tier

    @property
    def opt_in_is_enough(self) -> bool:
        """Whether the launch may be approved by its own --opt-in."""
        return self.decision.consent == tier.OPT_IN


def build(plan: Plan, purpose: str = approval.RUN) -> LaunchRequest:
    """The request for a plan whose form is right; a Refusal carries every rule that it breaks."""
    profile = profiles.load(plan.profile)
    resuming = purpose == approval.RESUME
    findings = plan_rules.findings(plan, profile, plan_environment.load(plan), resuming=resuming)
    if errors_in(findings):
        raise Refusal(*findings)
    if not profile.launchable:
        message = f"plans of profile {text.escaped(profile.name)} are checked, and not launched yet"
        raise Refusal(Finding("profile.not_launchable", message, "/profile", profile.reason))
    environment = environment_folder.load(plan.environment, plan.environment_path)
    run_folder = layout.run_folder(plan.run)
    snapshot = os.path.join(layout.runs_folder(), ".gate", "snapshots", plan.run)
    policies = launch_policy.load()
    decision = tier.decide(plan, policies)
    resume = purpose == approval.RESUME
    command = child_command.command(profile, plan, run_folder, snapshot, resume)
    cache = child_command.cache_folder(os.environ, plan)
    given = bounds.plan_bounds(plan, run_folder, snapshot, cache)
    refused = given.findings(decision.require_isolation)
    if refused:
        raise Refusal(*refused)
    return LaunchRequest(
        plan=plan,
        profile=profile,
        environment=environment,
        numbers=plan_numbers.derive(plan, profile, environment.header),
        warnings=findings,
        purpose=purpose,
        decision=decision,
        bounds=given,
        machine_items={**digest.machine_items(os.environ, policies), **_credential_items(plan)},
        plan_items=digest.plan_items(plan, profile, environment),
        # One word a line: no word can hold a line break, since names and paths are checked.
        command_item={"command": "\n".join(command)},
        start_items=warm_start.items(plan) if not resume else {},
        resume_items=resume_items(run_folder, plan) if resume else {},
        run_folder=run_folder,
        snapshot=snapshot,
        command=command,
        variables=child_command.variables(os.environ, snapshot, plan),
    )


def _credential_items(plan: Plan) -> dict[str, str]:
    """That a credential is there, and no digest of it: one of a short password could be guessed."""
    names = credential_variables.of(plan, os.environ)
    return {f"credential {name}": "set" if os.environ.get(name) else "not set" for name in names}


def build_resume(folder: str) -> LaunchRequest:
    """The request to go on with the run in `folder`; refused where there is nothing to go on from."""
    run_folder = os.path.realpath(folder)
    if not os.path.isdir(run_folder):
        raise Refusal(Finding("run.missing", "there is no such run", folder, want="a folder in runs/"))
    plan = plans.read(os.path.join(run_folder, "plan.json"))
    if run_folder != layout.run_folder(plan.run):
        fix = f"work in the folder that holds {layout.RUNS}/{plan.run}"
        raise Refusal(Finding("run.place", "the run lies in another place than where it ran", folder, fix=fix))
    found = evidence.of(run_folder, plan)
    if found.checkpoint is None:
        raise Refusal(*found.findings)
    if not evidence.incomplete(found, plan):
        fix = f"start another one: {layout.script('make_plan.py')} {plan.environment} --out plan.json"
        raise Refusal(Finding("run.complete", "the run is complete: there is nothing left to resume", folder, fix=fix))
    # The trainer would refuse most of these as well, but only after it has been started.
    wrong = list(resume_state.findings(run_folder, plan.train["total_timesteps"]))
    if wrong:
        raise Refusal(*(finding._replace(pointer=folder) for finding in wrong))
    return build(plan, approval.RESUME)


def show(request: LaunchRequest, report: Report) -> None:
    """Adds to the report what would run, for people and as JSON."""
    plan, numbers = request.plan, request.numbers
    shown_names = sorted(request.variables)
    files = [os.path.join(layout.RUNS, plan.run, name) for name in WRITTEN_FILES]
    report.findings.extend(request.warnings)
    report.results.update(
        plan=plan.document,
        plan_sha256=plan.sha256,
        digest=request.digest,
        tier=request.tier,
        tier_reasons=request.decision.reasons,
        consent=request.decision.consent,
        bounds={"network": request.bounds.network, "files": request.bounds.files},
        numbers=numbers._asdict(),
        command=request.command,
        variables=shown_names,
        limits=plan.limits._asdict(),
        files=files,
        run_folder=request.run_folder,
    )
    snapshot_text = text.escaped(layout.shown_path(request.snapshot), 4096)
    files_text = request.bounds.files
    if request.bounds.isolation.writable is not None:
        places = (text.escaped(layout.shown_path(path), 4096) for path in request.bounds.isolation.writable)
        files_text = "written only in " + ", ".join(places)
    report.say(
        "plan",
        # Line by line: a path may hold characters that turn or hide text.
        *(f"  {text.escaped(line, 4096)}" for line in plan.data.decode("utf-8").split("\n") if line),
        f"  {numbers.agents} agents, batch {numbers.batch}, {numbers.minibatches} minibatches, "
        f"at most {numbers.iterations} iterations",
        f"digest      {request.digest} ({len(request.items)} items)",
        f"tier        {request.tier}: {request.decision.in_words()}",
        *(f"            because {reason}" for reason in request.decision.reasons),
        "command     " + " ".join(_quoted(word) for word in request.command),
        f"in          {snapshot_text} (a private copy of the engine, removed afterwards)",
        f"variables   {', '.join(shown_names)} and nothing else",
        *_credential_lines(plan),
        f"network     {request.bounds.network}",
        f"files       {files_text}",
        f"limits      {plan.limits.wall_seconds} s, {plan.limits.memory_mb} MiB of memory, "
        f"{plan.limits.disk_mb} MiB in {layout.RUNS}/{plan.run}",
        f"writes      {', '.join(WRITTEN_FILES)} in {layout.RUNS}/{plan.run}/; the compiled engine in the user's cache",
    )


def _credential_lines(plan: Plan) -> list[str]:
    """The credentials that the run is given, by the names of their variables."""
    return [
        f"credential  {name} ({'set' if os.environ.get(name) else 'not set'}; its value is shown nowhere)"
        for name in credential_variables.of(plan, os.environ)
    ]


def _quoted(word: str) -> str:
    import shlex

    return text.escaped(shlex.quote(word), 4096)


def resume_items(run_folder: str, plan: Plan) -> dict[str, str]:
    """The items of what a resume goes on from: the manifest and the checkpoint that it names."""
    checkpoint = evidence.of(run_folder, plan).checkpoint
    names = (evidence.MANIFEST, checkpoint) if checkpoint is not None else (evidence.MANIFEST,)
    return {f"resume {name}": evidence.file_digest(os.path.join(run_folder, name)) for name in names}
