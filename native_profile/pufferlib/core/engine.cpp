#include "engine.h"

#include <new>
#include <system_error>

#include "trainer.h"
#include "viewer.h"

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
}
