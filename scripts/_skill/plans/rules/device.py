"""The device, the compiler and the packages are there; a fallback is taken only where the plan lists it."""

from __future__ import annotations

from collections.abc import Iterator

from ... import text
from ...findings import Finding
from . import Case


def findings(case: Case) -> Iterator[Finding]:
    """What device, compile and the profile's packages lack on the machine."""
    yield from _device(case)
    yield from _compile(case)
    for name in case.profile.requires:
        if name not in case.machine.packages:
            yield Finding(
                "package.missing",
                f"a plan of profile {case.profile.name} needs the package {name} where it runs",
                "/profile",
                "not installed here",
                name,
                f"install {name} from requirements/ of the bundle",
                severity="warning",
            )


def _device(case: Case) -> Iterator[Finding]:
    device, packages = case.plan.device, case.machine.packages
    if device == "cpu" or device not in case.profile.devices:
        return
    fallback = "cpu" in case.plan.document.get("fallbacks", ())
    severity = "warning" if fallback else "error"
    fix = 'use the device "cpu", or list "cpu" in fallbacks'
    if fallback:
        fix = "the plan allows cpu instead; the fallback will be recorded"
    # One finding for each machine: distributed.devices counts them where there are several ranks.
    if not case.machine.visible(device):
        yield Finding(
            "device.missing",
            f"no {device} device is visible",
            "/device",
            "none",
            f"a {device} device",
            fix,
            severity=severity,
        )
    version = packages.get("torch", "")
    if "torch" in case.profile.requires and ("+cpu" in version or "-cpu" in version):
        yield Finding(
            "device.build",
            f"torch is built without {device}",
            "/device",
            text.escaped(version, 60),
            f"a build for {device}",
            f"install requirements/torch.txt, or {fix}",
            severity=severity,
        )


def _compile(case: Case) -> Iterator[Finding]:
    if not case.plan.document.get("compile"):
        return
    fallback = "eager" in case.plan.document.get("fallbacks", ())
    severity = "warning" if fallback else "error"
    fix = 'or compile false, or list "eager" in fallbacks'
    if fallback:
        fix = "; the plan allows eager instead, and the fallback will be recorded"
    if case.machine.compiler is None:
        yield Finding(
            "compile.compiler",
            "compile needs a C++ compiler, and there is none",
            "/compile",
            "no compiler",
            "g++ or clang++",
            f"install one (Debian: apt install g++), {fix}",
            severity=severity,
        )
    if case.plan.device == "cuda" and "triton" not in case.machine.packages:
        yield Finding(
            "compile.triton",
            "compile on cuda needs the package triton, and it is not installed",
            "/compile",
            "not installed",
            "triton, which comes with a cuda build of torch",
            f"install requirements/torch.txt, {fix}",
            severity=severity,
        )
