"""A PPO whose environment, rollout and updates are one compiled JAX program, on gymnax's CartPole-v1.

The shape of PureJaxRL: actor and critic of two tanh layers of 64, GAE, clipped policy and value losses, Adam with a
falling learning rate. `--settings purejaxrl` has its published 4 environments x 128 steps; `--settings wide`, the
default, has 64 x 32 and a higher learning rate, which is faster.

    JAX/bin/python benchmarks/peers/jax_cartpole.py --seed 1

The program runs in compiled chunks of CHUNK updates, so that a solve can be timed; compiling is timed apart.
"""

from __future__ import annotations

import time
from importlib import import_module
from importlib.metadata import version
from typing import Any

from harness import RecentReturns, report, training_parser

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
optax: Any = import_module("optax")
gymnax: Any = import_module("gymnax")

#                          environments, horizon, learning rate
SETTINGS = {"purejaxrl": (4, 128, 2.5e-4), "wide": (64, 32, 1e-3)}
HIDDEN = 64
OBSERVATION, ACTIONS = 4, 2
MINIBATCHES, EPOCHS = 4, 4
GAMMA, GAE_LAMBDA, CLIP, VALUE_COEFFICIENT, ENTROPY_COEFFICIENT, MAX_GRADIENT_NORM = 0.99, 0.95, 0.2, 0.5, 0.01, 0.5
CHUNK = 10


def initial_network(key: Any, outputs: int, last_gain: float) -> list[tuple[Any, Any]]:
    """Weights and biases of a network with two hidden layers."""
    layers = []
    shapes = ((OBSERVATION, HIDDEN, 2**0.5), (HIDDEN, HIDDEN, 2**0.5), (HIDDEN, outputs, last_gain))
    for part, (inputs, width, gain) in zip(jax.random.split(key, 3), shapes, strict=True):
        layers.append((jax.nn.initializers.orthogonal(gain)(part, (inputs, width)), jnp.zeros(width)))
    return layers


def apply_network(layers: Any, x: Any) -> Any:
    """(B, OBSERVATION) -> (B, outputs)."""
    for weights, bias in layers[:-1]:
        x = jnp.tanh(x @ weights + bias)
    weights, bias = layers[-1]
    return x @ weights + bias


def policy_and_value(parameters: Any, observation: Any) -> tuple[Any, Any]:
    """Log probabilities (B, ACTIONS) and values (B,)."""
    actor, critic = parameters
    return jax.nn.log_softmax(apply_network(actor, observation)), apply_network(critic, observation)[:, 0]


def chosen(log_probabilities: Any, actions: Any) -> Any:
    """Log probability of each row's action."""
    return jnp.take_along_axis(log_probabilities, actions[:, None], axis=1)[:, 0]


def loss(parameters: Any, batch: dict[str, Any]) -> Any:
    """PPO's clipped policy loss, clipped value loss and entropy bonus on one minibatch."""
    log_probabilities, values = policy_and_value(parameters, batch["observation"])
    ratio = jnp.exp(chosen(log_probabilities, batch["action"]) - batch["log_probability"])
    advantage = (batch["advantage"] - batch["advantage"].mean()) / (batch["advantage"].std() + 1e-8)
    policy_loss = -jnp.minimum(advantage * ratio, advantage * jnp.clip(ratio, 1 - CLIP, 1 + CLIP)).mean()
    clipped = batch["value"] + jnp.clip(values - batch["value"], -CLIP, CLIP)
    errors = jnp.maximum((values - batch["returns"]) ** 2, (clipped - batch["returns"]) ** 2)
    entropy = -(jnp.exp(log_probabilities) * log_probabilities).sum(axis=1).mean()
    return policy_loss + VALUE_COEFFICIENT * 0.5 * errors.mean() - ENTROPY_COEFFICIENT * entropy


def make_update(environments: int, horizon: int, optimizer: Any) -> tuple[Any, Any]:
    """(reset, update): update is one rollout of `horizon` steps and its learning, for jax.lax.scan."""
    environment, parameters_of_environment = gymnax.make("CartPole-v1")
    batch_size = environments * horizon
    reset = jax.vmap(environment.reset, in_axes=(0, None))

    def step_one(key: Any, state: Any, action: Any) -> tuple[Any, Any, Any, Any]:
        observation, state, reward, *ends, _ = environment.step(key, state, action, parameters_of_environment)
        return observation, state, reward, jnp.any(jnp.stack(ends))

    step = jax.vmap(step_one)

    def rollout_step(carry: Any, _: Any) -> tuple[Any, Any]:
        parameters, observation, state, running, key = carry
        key, action_key, step_key = jax.random.split(key, 3)
        log_probabilities, value = policy_and_value(parameters, observation)
        action = jax.random.categorical(action_key, log_probabilities)
        following, state, reward, done = step(jax.random.split(step_key, environments), state, action)
        running = running + reward
        row = {
            "observation": observation,
            "action": action,
            "log_probability": chosen(log_probabilities, action),
            "value": value,
            "reward": reward,
            "done": done,
            "finished": jnp.where(done, running, 0.0),
        }
        return (parameters, following, state, jnp.where(done, 0.0, running), key), row

    def update(carry: Any, _: Any) -> tuple[Any, Any]:
        parameters, moments, observation, state, running, key = carry
        start = (parameters, observation, state, running, key)
        (_, observation, state, running, key), rows = jax.lax.scan(rollout_step, start, None, horizon)
        _, last_value = policy_and_value(parameters, observation)

        def gae_step(carry: Any, row: Any) -> tuple[Any, Any]:
            advantage, next_value = carry
            alive = 1.0 - row["done"].astype(jnp.float32)
            delta = row["reward"] + GAMMA * next_value * alive - row["value"]
            advantage = delta + GAMMA * GAE_LAMBDA * alive * advantage
            return (advantage, row["value"]), advantage

        first = (jnp.zeros(environments), last_value)
        _, advantages = jax.lax.scan(gae_step, first, rows, reverse=True, unroll=16)
        batch = {name: rows[name] for name in ("observation", "action", "log_probability", "value")}
        batch |= {"advantage": advantages, "returns": advantages + rows["value"]}
        batch = {name: array.reshape((batch_size, *array.shape[2:])) for name, array in batch.items()}

        def minibatch(carry: Any, part: Any) -> tuple[Any, None]:
            parameters, moments = carry
            change, moments = optimizer.update(jax.grad(loss)(parameters, part), moments, parameters)
            return (optax.apply_updates(parameters, change), moments), None

        def epoch(carry: Any, _: Any) -> tuple[Any, None]:
            parameters, moments, key = carry
            key, order_key = jax.random.split(key)
            order = jax.random.permutation(order_key, batch_size)
            parts = {
                name: array[order].reshape((MINIBATCHES, batch_size // MINIBATCHES, *array.shape[1:]))
                for name, array in batch.items()
            }
            (parameters, moments), _ = jax.lax.scan(minibatch, (parameters, moments), parts)
            return (parameters, moments, key), None

        (parameters, moments, key), _ = jax.lax.scan(epoch, (parameters, moments, key), None, EPOCHS)
        return (parameters, moments, observation, state, running, key), (rows["finished"].sum(), rows["done"].sum())

    def reset_all(key: Any) -> tuple[Any, Any]:
        observation, state = reset(jax.random.split(key, environments), parameters_of_environment)
        return observation, state

    return reset_all, update


def main() -> None:
    """Compile, train until solved, print the result."""
    parser = training_parser("Train CartPole-v1 with a fully compiled JAX PPO.", steps=1_000_000)
    parser.add_argument("--settings", choices=sorted(SETTINGS), default="wide")
    options = parser.parse_args()
    environments, horizon, learning_rate = SETTINGS[options.settings]
    batch_size = environments * horizon
    updates = options.steps // batch_size
    schedule = optax.linear_schedule(learning_rate, 0.0, updates * MINIBATCHES * EPOCHS)
    optimizer = optax.chain(optax.clip_by_global_norm(MAX_GRADIENT_NORM), optax.adam(schedule, eps=1e-5))
    reset, update = make_update(environments, horizon, optimizer)

    key, actor_key, critic_key, reset_key = jax.random.split(jax.random.key(options.seed), 4)
    parameters = (initial_network(actor_key, ACTIONS, 0.01), initial_network(critic_key, 1, 1.0))
    observation, state = reset(reset_key)
    carry = (parameters, optimizer.init(parameters), observation, state, jnp.zeros(environments), key)

    start = time.perf_counter()
    chunk = jax.jit(lambda carry: jax.lax.scan(update, carry, None, CHUNK)).lower(carry).compile()
    compile_seconds = time.perf_counter() - start

    start = time.perf_counter()
    recent = RecentReturns(options.target, lambda: time.perf_counter() - start)
    steps = 0
    while steps + CHUNK * batch_size <= options.steps and not recent.solved:
        carry, (finished, episodes) = chunk(carry)
        steps += CHUNK * batch_size
        for total, count in zip(finished.tolist(), episodes.tolist(), strict=True):
            for _ in range(int(count)):  # an update knows only the mean of the episodes that finished in it
                recent.add(total / count, steps)
    seconds = time.perf_counter() - start
    report(
        {
            "peer": "jax-ppo",
            "version": f"gymnax {version('gymnax')}, jax {jax.__version__}",
            "environment": "CartPole-v1",
            "settings": options.settings,
            "seed": options.seed,
            "threads": None,
            "steps": steps,
            "train_seconds": seconds,
            "compile_seconds": compile_seconds,
            "steps_per_second": steps / seconds,
            "return": recent.mean(),
            "solved": recent.solved,
            "solved_seconds": recent.solved_seconds,
            "solved_steps": recent.solved_steps,
        }
    )


if __name__ == "__main__":
    main()
