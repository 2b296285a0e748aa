"""One batch fits into memory, its observations onto the device, and the shared buffers into the shared-memory mount."""

from __future__ import annotations

from collections.abc import Iterator

from ... import text
from ...findings import Finding
from ..plan_numbers import SHARED_MARGIN_BYTES
from . import Case


def findings(case: Case) -> Iterator[Finding]:
    """Storage that is larger than where it has to lie."""
    plan, numbers, memory = case.plan, case.numbers, case.machine.memory_bytes
    limit = plan.limits.memory_mb << 20
    fix = _fix(case)
    got = (
        f"{numbers.rollout_bytes} bytes ({text.byte_count(numbers.rollout_bytes)}) for one batch, "
        f"{numbers.observation_bytes} of them observations{_types(case)}"
    )
    if numbers.rollout_bytes > limit:
        yield Finding(
            "memory.rollout",
            "one batch does not fit into the memory limit",
            "/limits/memory_mb",
            got,
            f"at most {limit} bytes ({plan.limits.memory_mb} MiB)",
            f"{fix}, or raise memory_mb to {-(-numbers.rollout_bytes >> 20)}",
        )
    if memory is not None and numbers.rollout_bytes > memory:
        yield Finding(
            "memory.batch",
            "one batch does not fit into the memory that the process may use",
            "/train/num_envs",
            got,
            f"at most {memory} bytes ({text.byte_count(memory)}), by machine and control group",
            fix,
        )
    elif memory is not None and limit > memory:
        yield Finding(
            "memory.machine",
            "the memory limit is larger than what this process may use",
            "/limits/memory_mb",
            f"{plan.limits.memory_mb} MiB",
            f"at most {memory >> 20} MiB here",
            f"memory_mb {memory >> 20}",
            severity="warning",
        )
    yield from _device(case, got, fix)
    yield from _shared(case)


def _types(case: Case) -> str:
    """What the observations would take as float32, where they are smaller than that."""
    wide = case.numbers.observation_bytes_float32
    return f" ({wide} if they were float32)" if wide != case.numbers.observation_bytes else ""


def _fix(case: Case) -> str:
    knob = "batch_size (num_envs x agents x horizon)" if "batch_size" in case.plan.train else "num_envs or horizon"
    words = f"lower {knob}; minibatch_size does not change this"
    if any(leaf.dtype in ("float32", "float64") for leaf in case.environment.observation):
        words += ", and a smaller observation type (uint8 for images) is a quarter of float32"
    return words


def _device(case: Case, got: str, fix: str) -> Iterator[Finding]:
    """Unless it is offloaded, a batch lies in the device's memory; ranks share it evenly."""
    if case.plan.device == "cpu" or case.plan.train.get("cpu_offload"):
        return
    sizes = [device.memory_bytes for device in case.machine.visible(case.plan.device)]
    known = [size for size in sizes if size is not None]
    ranks = case.plan.document.get("distributed", {}).get("world_size", 1)
    if known and case.numbers.rollout_bytes // ranks > min(known):
        offload = ", or cpu_offload true" if "cpu_offload" in case.profile.train_defaults else ""
        yield Finding(
            "memory.device",
            "one batch does not fit into the device's memory",
            "/device",
            got + (f", over {ranks} ranks" if ranks > 1 else ""),
            f"at most {min(known)} bytes ({text.byte_count(min(known))}) on one device",
            fix + offload,
        )


def _shared(case: Case) -> Iterator[Finding]:
    """Creating a segment succeeds whatever its size; the first write beyond the mount kills the writer."""
    needed, free = case.numbers.shared_memory_bytes, case.machine.shared_memory_free_bytes
    if not needed:
        return
    ranks = case.plan.document.get("distributed", {})
    if ranks.get("nodes", 1) > 1:
        # Every machine holds the buffers of its own ranks.
        needed = (needed - SHARED_MARGIN_BYTES) // ranks["nodes"] + SHARED_MARGIN_BYTES
    if free is None:
        yield Finding(
            "memory.shared_unknown",
            "there is no shared-memory mount to be found; worker processes need one",
            "/vectorization/backend",
            "unknown",
            f"{needed} bytes free in /dev/shm",
            'mount one, or use the backend "threads" or "serial"',
            severity="warning",
        )
    elif needed > free:
        mib = -(-needed >> 20)
        per_env = max(1, (needed - SHARED_MARGIN_BYTES) // case.plan.train["num_envs"])
        fits = max(0, free - SHARED_MARGIN_BYTES) // per_env
        lower = f", or train.num_envs {fits}" if fits else ""
        yield Finding(
            "memory.shared",
            "the buffers of the worker processes do not fit into shared memory; a worker that writes beyond it is "
            "killed (SIGBUS, exit status -7)",
            "/vectorization/backend",
            f"{needed} bytes ({text.byte_count(needed)}): {needed - SHARED_MARGIN_BYTES} of buffers and a margin of "
            f"{SHARED_MARGIN_BYTES}",
            f"at most {free} bytes ({text.byte_count(free)}) free in /dev/shm",
            f"start the container with --shm-size={mib}m (in a pod: an emptyDir of medium Memory at /dev/shm)"
            f'{lower}, or the backend "threads" or "serial"',
        )
