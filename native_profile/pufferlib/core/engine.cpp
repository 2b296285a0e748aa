#include "engine.h"

#include <chrono>
#include <new>
#include <system_error>
#include <thread>

#include "adam.h"
#include "advantage.h"
#include "trainer.h"
#include "viewer.h"

struct PufferTrainer : Trainer {
    using Trainer::Trainer;
};

namespace {

// Runs a call of the interface, turning what C++ may throw into an error.
template <class Call>
int32_t guarded(PufferError* error, Call call) {
    *error = PufferError{};
    error->environment = error->step = -1;
    try {
        if (call()) return PUFFER_OK;
        if (error->code == PUFFER_OK) error->code = PUFFER_BAD_STATE;
    } catch (const std::bad_alloc&) {
        set_error(error, PUFFER_OUT_OF_MEMORY, -1, -1, "memory",
                  "out of memory: use fewer environments or a shorter horizon");
    } catch (const std::system_error& e) {
        set_error(error, PUFFER_OUT_OF_MEMORY, -1, -1, "num_workers",
                  std::string("could not start a worker thread: ") + e.what());
    }
    return error->code;
}

#define STRING_(x) #x
#define STRING(x) STRING_(x)

}  // namespace

#define PUFFER_API __attribute__((visibility("default")))

extern "C" {

PUFFER_API uint32_t puffer_engine_abi(void) { return PUFFER_ENGINE_ABI; }
PUFFER_API int32_t puffer_tile_lanes(void) { return TILE_LANES; }
PUFFER_API int32_t puffer_slice_steps(void) { return SLICE_STEPS; }

PUFFER_API const char* puffer_engine_build(void) {
#if defined(__clang__)
    return "clang " __clang_version__ ", " STRING(LANE_WIDTH) " floats a vector";
#else
    return "gcc " __VERSION__ ", " STRING(LANE_WIDTH) " floats a vector";
#endif
}

PUFFER_API const char* puffer_train_config_layout(void) {
    static const std::string layout = [] {
        std::string s;
#define FIELD(name)                                                            \
    s += #name ":" + std::to_string(offsetof(PufferTrainConfig, name)) + ":" + \
         std::to_string(sizeof(PufferTrainConfig::name)) + ";";
        FIELD(seed)
        FIELD(total_timesteps)
        FIELD(num_envs)
        FIELD(horizon)
        FIELD(minibatch_size)
        FIELD(update_epochs)
        FIELD(num_workers)
        FIELD(hidden_count)
        FIELD(hidden)
        FIELD(activation)
        FIELD(anneal_lr)
        FIELD(learning_rate)
        FIELD(min_lr_ratio)
        FIELD(gamma)
        FIELD(gae_lambda)
        FIELD(clip_coef)
        FIELD(vf_coef)
        FIELD(vf_clip_coef)
        FIELD(ent_coef)
        FIELD(max_grad_norm)
        FIELD(adam_beta1)
        FIELD(adam_beta2)
        FIELD(adam_eps)
#undef FIELD
        return s;
    }();
    return layout.c_str();
}

PUFFER_API int32_t puffer_trainer_create(const PufferEnvironment* environment, const void* settings,
                                         const PufferTrainConfig* config, PufferTrainer** trainer, PufferError* error) {
    *trainer = nullptr;
    return guarded(error, [&] {
        if (environment->abi != PUFFER_ENVIRONMENT_ABI || environment->descriptor_size != sizeof(PufferEnvironment)) {
            set_error(error, PUFFER_BAD_CONFIG, -1, -1, "environment",
                      "the environment's library was built for interface " + std::to_string(environment->abi) +
                          ", the engine has " + std::to_string(PUFFER_ENVIRONMENT_ABI) + ": build it again");
            return false;
        }
        if (!Trainer::valid(environment, *config, error)) return false;
        *trainer = new PufferTrainer(environment, settings, *config);
        return true;
    });
}

PUFFER_API void puffer_trainer_destroy(PufferTrainer* trainer) { delete trainer; }

PUFFER_API int32_t puffer_trainer_iterate(PufferTrainer* trainer, PufferMetrics* metrics, PufferError* error) {
    return guarded(error, [&] { return trainer->iterate(metrics, error); });
}

PUFFER_API int32_t puffer_trainer_collect(PufferTrainer* trainer, PufferError* error) {
    return guarded(error, [&] {
        trainer->collect();
        return true;
    });
}

PUFFER_API int32_t puffer_trainer_restore(PufferTrainer* trainer, PufferError* error) {
    return guarded(error, [&] { return trainer->restore(error); });
}

PUFFER_API int32_t puffer_trainer_tensor_count(PufferTrainer* trainer) { return (int32_t)trainer->tensors().size(); }

PUFFER_API void puffer_trainer_tensor(PufferTrainer* trainer, int32_t index, PufferTensor* tensor) {
    *tensor = trainer->tensors()[(size_t)index];
}

PUFFER_API int32_t puffer_trainer_evaluate(PufferTrainer* trainer, int32_t episodes, uint64_t seed, int32_t greedy,
                                           int64_t max_steps, float* returns, int32_t* lengths, double* statistics,
                                           PufferError* error) {
    return guarded(error, [&] {
        return trainer->evaluate(episodes, seed, greedy != 0, max_steps, returns, lengths, statistics, error);
    });
}

PUFFER_API int32_t puffer_viewer_create(PufferTrainer* trainer, uint64_t seed, PufferViewer** viewer,
                                        PufferError* error) {
    *viewer = nullptr;
    return guarded(error, [&] {
        *viewer = new PufferViewer(*trainer, seed);
        return true;
    });
}

PUFFER_API void puffer_viewer_destroy(PufferViewer* viewer) { delete viewer; }

PUFFER_API int32_t puffer_viewer_step(PufferViewer* viewer, int32_t greedy, Canvas* canvas, float* rewards,
                                      int32_t* ended, PufferError* error) {
    return guarded(error, [&] {
        *ended = viewer->step(greedy != 0, canvas, rewards);
        return true;
    });
}

PUFFER_API double puffer_benchmark_steps(const PufferEnvironment* e, const void* settings, int32_t num_envs,
                                         int32_t workers, int32_t layout, double seconds) {
    constexpr int DRAWS = 64;  // steps of precomputed actions, used in turn
    const int per_tile = std::max(1, TILE_LANES / e->agents);
    std::vector<Tile> tiles;
    for (int first = 0; first < num_envs; first += per_tile) {
        tiles.push_back(make_tile(e, std::min(per_tile, num_envs - first), (int64_t)first * e->agents, DRAWS));
        const TileView& v = tiles.back().view;
        e->tile_seed(v.state, v.envs, 1, (uint64_t)first);
        e->tile_reset(v.state, settings, v.envs, nullptr);
        for (int t = 0; t < DRAWS; ++t)
            for (int h = 0; h < e->heads; ++h)
                for (int l = 0; l < v.rows; ++l) {
                    const uint32_t bits = philox_bits(1, ((uint64_t)t << 32) + (uint64_t)(v.first_agent + l),
                                                      (uint32_t)h, RANDOM_EVALUATION);
                    v.actions[((size_t)t * e->heads + h) * v.lanes + l] =
                        (int32_t)(((uint64_t)bits * (uint32_t)e->action_sizes[h]) >> 32);
                }
    }
    auto work = [&](int worker, double* rate) {
        const auto start = std::chrono::steady_clock::now();
        double elapsed = 0, steps = 0;
        std::vector<uint8_t> which((size_t)per_tile);
        do {
            for (size_t i = (size_t)worker; i < tiles.size(); i += (size_t)workers) {
                const TileView& v = tiles[i].view;
                const size_t bytes = (size_t)v.features * v.lanes * (v.is_uint8 ? 1 : 4);
                for (int t = 0; t < DRAWS; ++t) {
                    uint8_t* terminal = v.terminals + (size_t)t * v.lanes;
                    uint8_t* truncated = v.truncations + (size_t)t * v.lanes;
                    e->tile_step(v.state, settings, v.envs, v.lanes, v.actions + (size_t)t * e->heads * v.lanes,
                                 v.rewards + (size_t)t * v.lanes, terminal, truncated);
                    uint64_t any = 0, word;
                    for (int l = 0; l < v.lanes; l += 8) {
                        std::memcpy(&word, terminal + l, 8);
                        any |= word;
                        std::memcpy(&word, truncated + l, 8);
                        any |= word;
                    }
                    if (any) {
                        for (int env = 0; env < v.envs; ++env) {
                            which[(size_t)env] = 1;
                            for (int l = env * v.agents; l < (env + 1) * v.agents; ++l)
                                which[(size_t)env] &= terminal[l] | truncated[l];
                        }
                        e->tile_reset(v.state, settings, v.envs, which.data());
                    }
                    // The next observation stands in the place of its step, as a rollout would have it.
                    void* out = (char*)v.observations + bytes * (size_t)(layout == 1 ? t : 0);
                    if (layout == 0) e->tile_observe_rows(v.state, settings, v.envs, out);
                    if (layout == 1) e->tile_observe_lanes(v.state, settings, v.envs, v.lanes, out);
                }
                steps += (double)DRAWS * v.rows;
            }
            elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        } while (elapsed < seconds);
        *rate = steps / elapsed;
    };
    std::vector<double> rates((size_t)workers, 0.0);
    std::vector<std::thread> threads;
    for (int w = 1; w < workers; ++w) threads.emplace_back(work, w, &rates[(size_t)w]);
    work(0, &rates[0]);
    for (std::thread& t : threads) t.join();
    double total = 0;
    for (double r : rates) total += r;
    return total;
}

PUFFER_API void puffer_test_function(int32_t op, const float* in, float* out, int32_t count) {
    for (int i = 0; i < count; i += LANE_WIDTH) {
        const vf x = load(in + i);
        store(out + i, op == 0 ? lane_exp(x) : (op == 1 ? lane_log(x) : lane_tanh(x)));
    }
}

PUFFER_API void puffer_test_forward(PufferTrainer* trainer, const float* x, int32_t lanes, float* out) {
    AlignedMemory scratch(trainer->network().step_scratch(lanes) * sizeof(float));
    trainer->network().step(trainer->parameters(), x, lanes, nullptr, out, scratch.as<float>());
}

PUFFER_API double puffer_test_loss(PufferTrainer* trainer, const float* x, const int32_t* actions,
                                   const float* log_probabilities, const float* values, const float* advantages,
                                   int32_t steps, int32_t rows, int32_t lanes, float* gradient) {
    const Network& network = trainer->network();
    const PufferTrainConfig& config = trainer->config();
    AlignedMemory tape(network.tape_size(steps, lanes) * sizeof(float)),
        out((size_t)steps * network.outputs() * lanes * sizeof(float));
    const double samples = (double)steps * rows;
    PpoCoefficients c = {
        (float)config.clip_coef, (float)config.vf_clip_coef, (float)config.vf_coef, (float)config.ent_coef, 0.0f, 1.0f,
        (float)(1.0 / samples)};
    network.forward(trainer->parameters(), x, steps, lanes, out.as<float>(), tape.as<float>());
    const PpoSums s = ppo_loss(out.as<float>(), actions, log_probabilities, values, advantages, steps, rows, lanes,
                               trainer->heads(), c);
    std::memset(gradient, 0, network.parameter_count() * sizeof(float));
    network.backward(trainer->parameters(), x, steps, lanes, out.as<float>(), tape.as<float>(), gradient);
    return (s.policy_loss + config.vf_coef * s.value_loss - config.ent_coef * s.entropy) / samples;
}

PUFFER_API void puffer_test_adam(const float* gradient, float* parameters, float* first, float* second, int32_t count,
                                 double learning_rate, double beta1, double beta2, double epsilon, double scale,
                                 int64_t updates) {
    const AdamStep step = adam_step(learning_rate, beta1, beta2, epsilon, scale, (double)updates);
    adam_update(step, gradient, parameters, first, second, 0, (size_t)count);
}

PUFFER_API void puffer_test_advantages(const float* rewards, const float* values, const float* final_values,
                                       const uint8_t* terminals, const uint8_t* truncations, int32_t horizon,
                                       int32_t lanes, float gamma, float lambda, float* advantages) {
    TileView v = {};
    v.lanes = lanes;
    v.rewards = const_cast<float*>(rewards);
    v.values = const_cast<float*>(values);
    v.final_values = const_cast<float*>(final_values);
    v.terminals = const_cast<uint8_t*>(terminals);
    v.truncations = const_cast<uint8_t*>(truncations);
    v.advantages = advantages;
    estimate_advantages(v, horizon, gamma, lambda);
}
}
