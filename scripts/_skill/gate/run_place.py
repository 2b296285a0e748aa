"""The place of a run: the gate's folders, the private copy of what runs, and the run's own folder.

Whatever a launch makes before its child starts is remembered here, so that a launch that cannot start takes all of it
away again.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from .. import atomic_file, layout, text
from ..findings import COULD_NOT, Finding, Refusal
from . import approval, digest, launch_request
from .approval import Approval
from .audit_log import AuditLog
from .launch_request import LaunchRequest


class RunPlace:
    """What one launch has made so far."""

    def __init__(self, request: LaunchRequest, given: Approval) -> None:
        self.request = request
        self.given = given
        self.shared: list[str] = []
        """Folders that other runs use too; removed only while empty."""
        self.own: list[str] = []

    def check(self) -> None:
        """Refuses a run folder that exists and a disk without the room that the plan asks for."""
        plan = self.request.plan
        if self.request.purpose == approval.RUN and os.path.lexists(self.request.run_folder):
            raise Refusal(
                Finding(
                    "run.exists",
                    "the run's folder exists; a run is never written over",
                    layout.shown_path(self.request.run_folder),
                    fix=f"{layout.script('launch.py')} resume {layout.RUNS}/{plan.run}, or another --run in a new plan",
                )
            )
        disk = os.statvfs(os.getcwd())
        free = disk.f_bavail * disk.f_frsize
        if free < plan.limits.disk_mb << 20:
            raise Refusal(
                Finding(
                    "disk.free",
                    "the disk has less room than the run may use",
                    "/limits/disk_mb",
                    f"{text.byte_count(free)} free",
                    f"{plan.limits.disk_mb} MiB",
                    "free space, or lower limits.disk_mb",
                ),
                exit_status=COULD_NOT,
            )

    def make_copy(self) -> None:
        """Copies what will run to a private folder, hashing the very bytes that are copied."""
        request = self.request
        for name in ("", ".gate", ".gate/used", ".gate/snapshots"):
            self._make_shared(os.path.join(layout.runs_folder(), name).rstrip("/"))
        os.mkdir(request.snapshot, 0o700)
        self.own.append(request.snapshot)
        copied = digest.plan_items(request.plan, request.profile, request.environment, request.snapshot)
        again = request._replace(plan_items=copied)
        if request.purpose == approval.RESUME:
            # Now that the run is locked: nobody but this launch changes it any more.
            again = again._replace(resume_items=launch_request.resume_items(request.run_folder, request.plan))
        items = again.items
        if not digest.same(self.given.document["digest"], digest.of(items)):
            raise Refusal(*digest.changes(self.given.document["items"], items))

    def open_run(self) -> AuditLog:
        """The new run's folder with plan, approval and first records; last of all the approval is used up."""
        request, folder = self.request, self.request.run_folder
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:
            raise Refusal(Finding("run.exists", "another launch has just made the run's folder", folder)) from None
        self.own.append(folder)
        atomic_file.create(os.path.join(folder, "plan.json"), request.plan.data, sync_name=False)
        atomic_file.create(os.path.join(folder, "approval.json"), self.given.data, sync_name=False)
        log = AuditLog.create(folder)
        try:
            log.append(
                ("planned", {"run": request.plan.run, "plan_sha256": request.plan.sha256, "digest": request.digest}),
                ("approved", self._approved("approval.json")),
                ("started", self._started()),
            )
            approval.use(self.given)
        except BaseException:
            log.close()
            raise
        return log

    def record_resume(self, log: AuditLog) -> None:
        """The same for a run that goes on; its folder and its log are there already."""
        folder = self.request.run_folder
        name = f"approval-{sum(name.startswith('approval') for name in os.listdir(folder)) + 1}.json"
        approval.use(self.given)
        atomic_file.create(os.path.join(folder, name), self.given.data)
        log.append(("approved", self._approved(name)), ("resumed", self._started()))

    def take_away(self) -> None:
        """Removes everything that was made; folders that others use meanwhile stay."""
        for path in reversed(self.own):
            shutil.rmtree(path, ignore_errors=True)
        for path in reversed(self.shared):
            try:
                os.rmdir(path)
            except OSError:
                continue

    def remove_copy(self) -> None:
        """Removes the private copy; also one that a killed gate has left."""
        shutil.rmtree(self.request.snapshot, ignore_errors=True)

    def _approved(self, name: str) -> dict[str, Any]:
        document = self.given.document
        return {
            "file": name,
            "sha256": self.given.sha256,
            "digest": self.request.digest,
            "tier": self.request.tier,
            "by": text.escaped(document["approved_by"], 100),
        }

    def _started(self) -> dict[str, Any]:
        return {
            # One JSON string for each word keeps any value apart from the words around it.
            "command": [text.escaped(word, 1200) for word in self.request.command],
            "variables": sorted(self.request.variables),
            "limits": self.request.plan.limits._asdict(),
        }

    def _make_shared(self, path: str) -> None:
        if os.path.islink(path):
            raise Refusal(Finding("run.place", "a folder of the gate is a link", layout.shown_path(path)))
        try:
            os.mkdir(path, 0o755)
            self.shared.append(path)
        except FileExistsError:
            if not os.path.isdir(path):
                raise OSError(20, "a file stands where a folder is needed", path) from None
