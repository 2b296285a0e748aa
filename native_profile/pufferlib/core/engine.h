// The C interface of the engine, as ctypes loads it. Every call that can fail returns 0 when it went well, otherwise the
// code that is also in the error, which says what was found and where. Nothing here prints, exits or throws.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "environment_abi.h"

#define PUFFER_ENGINE_ABI 1
#define PUFFER_API __attribute__((visibility("default")))

extern "C" {

enum PufferErrorCode {
    PUFFER_OK = 0,
    PUFFER_BAD_CONFIG = 1,  // a setting or a combination of them
    PUFFER_NOT_FINITE = 2,  // an observation, reward, loss or gradient
    PUFFER_OUT_OF_MEMORY = 3,
    PUFFER_BAD_STATE = 4,  // a tensor to restore does not fit
};

struct PufferError {
    int32_t code;
    int64_t environment;  // index, or -1
    int64_t step;         // steps of that environment since the run began, or -1
    char field[96];       // the setting, "observation[3]", "reward", "loss", "gradient of hidden.0.weight" ...
    char message[400];
};

// Layout is checked by the caller against puffer_train_config_layout().
struct PufferTrainConfig {
    uint64_t seed;
    int64_t total_timesteps;  // agent steps; sets the annealing
    int32_t num_envs, horizon, minibatch_size, update_epochs, num_workers;
    int32_t hidden_count, hidden[8], activation;
    int32_t anneal_lr;
    double learning_rate, min_lr_ratio, gamma, gae_lambda, clip_coef, vf_coef, vf_clip_coef, ent_coef, max_grad_norm;
    double adam_beta1, adam_beta2, adam_eps;
};

// One iteration: a horizon of every environment and the updates on it.
struct PufferMetrics {
    int64_t iteration, step, episodes;    // after it; episodes: finished since the run began
    double recent_return, recent_length;  // means over the last 100 finished episodes; NaN before the first
    int32_t recent_count;
    int32_t statistics_count;  // environments' episodes that the statistics of this iteration average over
    double statistics[32];
    double policy_loss, value_loss, entropy, approx_kl, clip_fraction, explained_variance, gradient_norm, learning_rate;
    double seconds_rollout, seconds_learn;
};

struct PufferTensor {
    const char* name;
    int32_t type;  // 0 float32, 1 int32, 2 int64, 3 uint8
    int32_t rank;
    int64_t shape[4];
    void* data;
};

typedef struct PufferTrainer PufferTrainer;
typedef struct PufferViewer PufferViewer;

uint32_t puffer_engine_abi(void);
const char* puffer_engine_build(void);         // compiler and vector width
const char* puffer_train_config_layout(void);  // "name:offset:size;..."
int32_t puffer_tile_lanes(void);
int32_t puffer_slice_steps(void);

// settings: the environment's Settings struct, copied. Everything is allocated here; later calls allocate nothing large.
int32_t puffer_trainer_create(const PufferEnvironment* environment, const void* settings,
                              const PufferTrainConfig* config, PufferTrainer** trainer, PufferError* error);
void puffer_trainer_destroy(PufferTrainer* trainer);
int32_t puffer_trainer_iterate(PufferTrainer* trainer, PufferMetrics* metrics, PufferError* error);

// All that a run is made of: weights, optimizer, counters, environments. Present values are written into the tensors by
// collect; after a caller has overwritten their data, restore takes them over.
int32_t puffer_trainer_collect(PufferTrainer* trainer, PufferError* error);
int32_t puffer_trainer_restore(PufferTrainer* trainer, PufferError* error);
int32_t puffer_trainer_tensor_count(PufferTrainer* trainer);
void puffer_trainer_tensor(PufferTrainer* trainer, int32_t index, PufferTensor* tensor);

// Plays `episodes` whole episodes in environments of their own, seeded apart; one return and length an agent and episode:
// (episodes * agents). statistics: means, (num_statistics). max_steps bounds an episode; one still open then counts as it is.
int32_t puffer_trainer_evaluate(PufferTrainer* trainer, int32_t episodes, uint64_t seed, int32_t greedy,
                                int64_t max_steps, float* returns, int32_t* lengths, double* statistics,
                                PufferError* error);

// One environment under the trainer's policy, for pictures.
int32_t puffer_viewer_create(PufferTrainer* trainer, uint64_t seed, PufferViewer** viewer, PufferError* error);
void puffer_viewer_destroy(PufferViewer* viewer);
// Draws the present state, then takes a step (greedy when asked). rewards: (agents). ended: the episode ended at this step.
int32_t puffer_viewer_step(PufferViewer* viewer, int32_t greedy, Canvas* canvas, float* rewards, int32_t* ended,
                           PufferError* error);

// Steps environments alone under random actions for `seconds` on `workers` threads; returns agent steps a second.
// layout: 0 observations in rows (agent, features), 1 in lanes (features, agent), 2 none.
double puffer_benchmark_steps(const PufferEnvironment* environment, const void* settings, int32_t num_envs,
                              int32_t workers, int32_t layout, double seconds);

// The arithmetic on its own, for tests against references. op: 0 exp, 1 log, 2 tanh. in and out: (count), a multiple of 16.
void puffer_test_function(int32_t op, const float* in, float* out, int32_t count);
// Outputs of the trainer's network for x (features, lanes) with lanes a multiple of 16: out (outputs, lanes).
void puffer_test_forward(PufferTrainer* trainer, const float* x, int32_t lanes, float* out);
// Mean PPO loss over a slice and its gradient for the trainer's present weights: the arguments of ppo_loss; gradient (parameters).
// Returns policy_loss + vf_coef * value_loss - ent_coef * entropy, each divided by steps * rows.
double puffer_test_loss(PufferTrainer* trainer, const float* x, const int32_t* actions, const float* log_probabilities,
                        const float* values, const float* advantages, int32_t steps, int32_t rows, int32_t lanes,
                        float* gradient);
// One Adam step over `count` parameters and their two moments, all updated in place: the `updates`-th, counted from 1.
void puffer_test_adam(const float* gradient, float* parameters, float* first, float* second, int32_t count,
                      double learning_rate, double beta1, double beta2, double epsilon, double scale, int64_t updates);
// Advantages (T, lanes) by estimate_advantages from arrays of a tile; values (T + 1, lanes).
void puffer_test_advantages(const float* rewards, const float* values, const float* final_values,
                            const uint8_t* terminals, const uint8_t* truncations, int32_t horizon, int32_t lanes,
                            float gamma, float lambda, float* advantages);
}
