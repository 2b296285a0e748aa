"""The place of a run: the gate's folders, the private copy of what runs, and the run's own folder.

Whatever a launch makes before its child starts is remembered here, so that a launch that cannot start takes all of it
away again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Sequence
from typing import Any

from .. import atomic_file, layout, text
from ..findings import COULD_NOT, Finding, Refusal, could_not
from . import approval, child_command, digest, launch_request, warm_start
from .approval import Approval
from .audit_log import AuditLog
from .consent import Signature
from .launch_request import LaunchRequest
from .ssh_signature import Signer

_TURN_SECONDS = 10
_APPROVAL_NAME = re.compile(r"approval(-[0-9]+)?\.json\Z")


class RunPlace:
    """What one launch has made so far."""

    def __init__(
        self,
        request: LaunchRequest,
        given: Approval,
        signatures: Sequence[Signature] = (),
        signers: Sequence[Signer] = (),
    ) -> None:
        self.request = request
        self.given = given
        self.signatures = signatures
        self.signers = signers
        self.lock: int | None = None
        """A handle on the private copy, locked: a copy without its lock was left by a gate that was killed."""
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
        self._make_snapshot()
        copied = digest.plan_items(request.plan, request.profile, request.environment, request.snapshot)
        os.mkdir(os.path.join(request.snapshot, "tmp"), 0o700)
        again = request._replace(plan_items=copied)
        if request.purpose == approval.RESUME:
            # Now that the run is locked: nobody but this launch changes it any more.
            again = again._replace(resume_items=launch_request.resume_items(request.run_folder, request.plan))
        elif request.start_items:
            again = again._replace(start_items=warm_start.copy(request.plan, self._start_copy()))
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
        self._write_approval("approval.json", sync_name=False)
        if self.request.start_items:
            os.rename(self._start_copy(), os.path.join(folder, child_command.START))
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
        used = {record["data"].get("sha256") for record in log.records if record["event"] == "approved"}
        if self.given.sha256 in used:
            # The log knows, even where the marks were removed.
            raise Refusal(Finding("approval.used", "the run's log says that the approval has been used", folder))
        name = f"approval-{sum(bool(_APPROVAL_NAME.match(name)) for name in os.listdir(folder)) + 1}.json"
        approval.use(self.given)
        self._write_approval(name)
        log.append(("approved", self._approved(name)), ("resumed", self._started()))

    def take_away(self) -> None:
        """Removes everything that was made; folders that others use meanwhile stay."""
        self._unlock()
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
        self._unlock()

    def _approved(self, name: str) -> dict[str, Any]:
        document = self.given.document
        return {
            "file": name,
            "sha256": self.given.sha256,
            "digest": self.request.digest,
            "tier": self.request.tier,
            "by": text.escaped(document["approved_by"], 100),
            "signers": [signer._asdict() for signer in self.signers],
            "signatures": {
                f"{name}{signature.name}": hashlib.sha256(signature.data).hexdigest() for signature in self.signatures
            },
        }

    def _started(self) -> dict[str, Any]:
        return {
            # One JSON string for each word keeps any value apart from the words around it.
            "command": [text.escaped(word, 1200) for word in self.request.command],
            "variables": sorted(self.request.variables),
            "limits": self.request.plan.limits._asdict(),
            "network": text.escaped(self.request.bounds.network, 1200),
            "files": text.escaped(self.request.bounds.files, 1200),
        }

    def _write_approval(self, name: str, sync_name: bool = True) -> None:
        path = os.path.join(self.request.run_folder, name)
        for signature in self.signatures:
            atomic_file.create(f"{path}{signature.name}", signature.data, sync_name=False)
        atomic_file.create(path, self.given.data, sync_name)

    def _start_copy(self) -> str:
        return os.path.join(self.request.snapshot, child_command.START)

    def _make_snapshot(self) -> None:
        """The folder of the private copy, locked while this gate lives; one that a killed gate left is replaced."""
        parent = os.open(os.path.dirname(self.request.snapshot), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._lock_briefly(parent)
            try:
                os.mkdir(self.request.snapshot, 0o700)
            except FileExistsError:
                self._lock_snapshot()
                self._unlock()
                shutil.rmtree(self.request.snapshot)
                os.mkdir(self.request.snapshot, 0o700)
            self.own.append(self.request.snapshot)
            self._lock_snapshot()
        finally:
            os.close(parent)

    def _lock_briefly(self, folder: int) -> None:
        """Waits its turn, so that no two launches look and make at once; another one needs a moment only."""
        deadline = time.monotonic() + _TURN_SECONDS
        while True:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise could_not("run.in_use", f"another launch has held its turn for {_TURN_SECONDS} s") from None
            time.sleep(0.01)

    def _lock_snapshot(self) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self.lock = os.open(self.request.snapshot, flags)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._unlock()
            where = layout.shown_path(self.request.snapshot)
            raise Refusal(Finding("run.in_use", "another launch of this run is being prepared", where)) from None

    def _unlock(self) -> None:
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def _make_shared(self, path: str) -> None:
        if os.path.islink(path):
            raise Refusal(Finding("run.place", "a folder of the gate is a link", layout.shown_path(path)))
        try:
            os.mkdir(path, 0o755)
            self.shared.append(path)
        except FileExistsError:
            if not os.path.isdir(path):
                raise OSError(20, "a file stands where a folder is needed", path) from None
