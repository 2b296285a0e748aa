"""Options of other version lines by the name that they have here.

People bring settings from the published PufferLib 3.0, 4.0 and 5.0 (INI sections `[train]`, `[vec]`, ...) and from
other trainers. An unknown key of that kind is answered with its name here, or with what replaces it.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import text
from ..findings import Finding


class Option(NamedTuple):
    """One option of another version line."""

    line: str
    here: str
    """The name of the field here, or empty."""
    remark: str = ""


_V3, _V4, _V5, _ANY = "upstream 3.0", "upstream 4.0", "upstream 5.0", "another trainer"

OPTIONS: dict[str, Option] = {
    "adam_beta": Option(_ANY, "train.adam_beta1"),
    "anneal_ent_coef": Option(_V4, "", "the entropy bonus is constant: train.ent_coef"),
    "batch": Option(_ANY, "train.batch_size"),
    "beta1": Option(_V4, "train.adam_beta1"),
    "beta2": Option(_V4, "train.adam_beta2"),
    "bptt_horizon": Option(_V3, "train.horizon"),
    "checkpoint_dir": Option(_V4, "run", "a run's folder is runs/RUN"),
    "clip_range": Option(_ANY, "train.clip_coef"),
    "clip_vloss": Option(_ANY, "train.vf_clip_coef"),
    "compile_fullgraph": Option(_V3, "compile"),
    "compile_mode": Option(_V3, "compile"),
    "cudagraphs": Option(_V4, "", "there is no such switch"),
    "data_dir": Option(_V3, "run", "a run's folder is runs/RUN"),
    "entropy_coef": Option(_ANY, "train.ent_coef"),
    "env_name": Option(_V3, "environment.name"),
    "env_batch_size": Option(_V3, "vectorization.envs_per_batch"),
    "eps": Option(_V4, "train.adam_eps"),
    "eval_agents": Option(_V5, "evaluation.episodes"),
    "eval_episodes": Option(_V4, "evaluation.episodes"),
    "expansion_factor": Option(_V4, "", "widths stand in policy.hidden"),
    "gpu_id": Option(_V4, "device"),
    "gpus": Option(_V4, "distributed.world_size"),
    "hidden_size": Option(_V4, "policy.hidden", "a list of widths, one for each layer"),
    "lr": Option(_ANY, "train.learning_rate"),
    "max_suggestion_cost": Option(_V3, "", "sweeps are not part of a plan"),
    "min_ent_coef_ratio": Option(_V4, "", "the entropy bonus is constant: train.ent_coef"),
    "momentum": Option(_V5, "train.adam_beta1"),
    "n_epochs": Option(_ANY, "train.update_epochs"),
    "n_steps": Option(_ANY, "train.horizon"),
    "neptune": Option(_V3, "loggers"),
    "nccl_id": Option(_V4, "", "ranks find one another by the launcher"),
    "num_buffers": Option(_V4, "", "double buffering: vectorization.envs_per_batch below train.num_envs"),
    "num_layers": Option(_V4, "policy.hidden", "a list of widths, one for each layer"),
    "num_minibatches": Option(_ANY, "train.minibatch_size", "the size, not the number"),
    "num_steps": Option(_ANY, "train.horizon"),
    "num_threads": Option(_V4, "vectorization.num_workers"),
    "optimizer_name": Option(_ANY, "train.optimizer"),
    "overwork": Option(_V3, "vectorization.oversubscribe"),
    "package": Option(_V3, "environment.source"),
    "policy_name": Option(_V3, "policy.network"),
    "project": Option(_V3, "loggers", "a project belongs to one logger"),
    "rank": Option(_V4, "", "each process learns its rank from the launcher"),
    "replay_ratio": Option(_V4, "train.update_epochs"),
    "reset_state": Option(_V4, "", "recurrent state always ends with an episode"),
    "rnn_name": Option(_V3, "policy.network"),
    "sync_traj": Option(_V3, "vectorization.zero_copy"),
    "torch_deterministic": Option(_V3, "", "every run is deterministic for its seed"),
    "total_agents": Option(_V4, "train.num_envs", "agents = num_envs x agents per environment"),
    "track": Option(_ANY, "loggers"),
    "use_rnn": Option(_V3, "policy.network"),
    "value_coef": Option(_ANY, "train.vf_coef"),
    "vec": Option(_V3, "vectorization"),
    "env": Option(_V3, "environment"),
    "base": Option(_V3, "", "its keys stand at the top of a plan"),
    "rnn": Option(_V3, "policy"),
    "torch": Option(_V4, "policy"),
    "selfplay": Option(_V4, "", "self-play is not part of a plan"),
    "sweep": Option(_V3, "", "sweeps are not part of a plan"),
    "vf_clip": Option(_ANY, "train.vf_clip_coef"),
    "wandb": Option(_V3, "loggers"),
    "world_size": Option(_V4, "distributed.world_size"),
    "num_workers": Option("plan/1", "vectorization.num_workers"),
}
"""Every option by its name there; a name that a plan has in another place only counts where it is unknown."""


def explained(finding: Finding) -> Finding:
    """An `unknown key` finding with the name to use here, where the key is an option of another version line."""
    if finding.code != "schema.unknown_key":
        return finding
    key = finding.pointer.rsplit("/", 1)[-1]
    # INI files and command lines write either mark.
    option = OPTIONS.get(key.replace("-", "_"))
    if option is None or option.here == finding.pointer[1:].replace("/", "."):
        return finding
    fix = f"use {option.here}" + (f" ({option.remark})" if option.remark else "") if option.here else option.remark
    return finding._replace(
        code="version.option",
        message=f"{text.shown(key, 60)} is an option of {option.line}",
        fix=fix,
    )
