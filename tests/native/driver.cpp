// Uses the whole engine through its C interface, for the sanitizers: trainers of every activation over the environment that
// is compiled in, whole and partial tiles, one to three workers; iterates, evaluates, saves, restores, watches.
// Prints nothing when all is well.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "engine.h"

extern "C" const PufferEnvironment* puffer_describe(void);

namespace {

int failures = 0;

void check(bool good, const char* what, const PufferError& error) {
    if (good) return;
    std::printf("%s: %s\n", what, error.message);
    ++failures;
}

std::vector<char> standard_settings(const PufferEnvironment* e) {
    std::vector<char> memory(e->settings_size ? e->settings_size : 1);
    for (int i = 0; i < e->num_settings; ++i) {
        const PufferSetting& s = e->settings[i];
        const float f = (float)s.standard;
        const int32_t n = (int32_t)s.standard;
        std::memcpy(memory.data() + s.offset, s.is_float ? (const void*)&f : (const void*)&n, 4);
    }
    return memory;
}

PufferTrainConfig base_config(int envs, int horizon, int minibatches, int workers, int agents) {
    PufferTrainConfig c = {};
    c.seed = 11;
    c.total_timesteps = 1 << 20;
    c.num_envs = envs;
    c.horizon = horizon;
    c.minibatch_size = envs * agents * horizon / minibatches;
    c.update_epochs = 2;
    c.num_workers = workers;
    c.hidden_count = 2;
    c.hidden[0] = 19;
    c.hidden[1] = 6;
    c.anneal_lr = 2;
    c.learning_rate = 0.003;
    c.gamma = 0.99;
    c.gae_lambda = 0.95;
    c.clip_coef = c.vf_clip_coef = 0.2;
    c.vf_coef = 0.5;
    c.ent_coef = 0.01;
    c.max_grad_norm = 0.5;
    c.adam_beta1 = 0.9;
    c.adam_beta2 = 0.999;
    c.adam_eps = 1e-8;
    return c;
}

// Every tensor of a trainer as bytes, and back.
std::vector<std::vector<char>> copy_out(PufferTrainer* trainer, bool back_in,
                                        const std::vector<std::vector<char>>* from) {
    const size_t sizes[] = {4, 4, 8, 1};
    std::vector<std::vector<char>> all;
    for (int i = 0; i < puffer_trainer_tensor_count(trainer); ++i) {
        PufferTensor t;
        puffer_trainer_tensor(trainer, i, &t);
        size_t bytes = sizes[t.type];
        for (int d = 0; d < t.rank; ++d) bytes *= (size_t)t.shape[d];
        if (back_in) std::memcpy(t.data, (*from)[(size_t)i].data(), bytes);
        all.emplace_back((char*)t.data, (char*)t.data + bytes);
    }
    return all;
}

void use(const PufferEnvironment* e, const PufferTrainConfig& config) {
    const std::vector<char> settings = standard_settings(e);
    PufferError error;
    PufferMetrics metrics;
    PufferTrainer *trainer = nullptr, *other = nullptr;
    check(puffer_trainer_create(e, settings.data(), &config, &trainer, &error) == 0, "create", error);
    check(puffer_trainer_create(e, settings.data(), &config, &other, &error) == 0, "create again", error);
    if (!trainer || !other) return;
    for (int i = 0; i < 3; ++i) check(puffer_trainer_iterate(trainer, &metrics, &error) == 0, "iterate", error);

    check(puffer_trainer_collect(trainer, &error) == 0, "collect", error);
    const std::vector<std::vector<char>> saved = copy_out(trainer, false, nullptr);
    copy_out(other, true, &saved);
    check(puffer_trainer_restore(other, &error) == 0, "restore", error);
    check(puffer_trainer_iterate(trainer, &metrics, &error) == 0, "iterate on", error);
    check(puffer_trainer_iterate(other, &metrics, &error) == 0, "iterate from the copy", error);
    check(puffer_trainer_collect(trainer, &error) == 0 && puffer_trainer_collect(other, &error) == 0, "collect again",
          error);
    check(copy_out(trainer, false, nullptr) == copy_out(other, false, nullptr), "the restored trainer went another way",
          error);

    const int episodes = 70;
    std::vector<float> returns((size_t)episodes * e->agents);
    std::vector<int32_t> lengths(returns.size());
    std::vector<double> statistics((size_t)(e->num_statistics > 0 ? e->num_statistics : 1));
    for (int greedy = 0; greedy < 2; ++greedy)
        check(puffer_trainer_evaluate(trainer, episodes, 5, greedy, 45, returns.data(), lengths.data(),
                                      statistics.data(), &error) == 0,
              "evaluate", error);

    PufferViewer* viewer = nullptr;
    check(puffer_viewer_create(trainer, 3, &viewer, &error) == 0, "viewer", error);
    static Canvas canvas;
    std::vector<float> rewards((size_t)e->agents);
    int32_t ended;
    for (int i = 0; i < 60; ++i)
        check(puffer_viewer_step(viewer, i % 2, &canvas, rewards.data(), &ended, &error) == 0, "look", error);
    puffer_viewer_destroy(viewer);

    // A state that cannot be is refused; the numbers of the run's progress stand behind three groups of parameters.
    for (int i = 0; i < puffer_trainer_tensor_count(other); ++i) {
        PufferTensor t;
        puffer_trainer_tensor(other, i, &t);
        if (std::strcmp(t.name, "trainer.progress") == 0) ((int64_t*)t.data)[3] = 1000;
    }
    check(puffer_trainer_restore(other, &error) == PUFFER_BAD_STATE, "a bad state was taken", error);
    puffer_trainer_destroy(trainer);
    puffer_trainer_destroy(other);
}

}  // namespace

int main() {
    const PufferEnvironment* e = puffer_describe();
    const int per_tile = 64 / e->agents > 0 ? 64 / e->agents : 1;
    for (int activation = 0; activation < 3; ++activation)
        for (int workers = 1; workers <= 3; ++workers) {
            PufferTrainConfig whole = base_config(4 * per_tile, 16, 4, workers, e->agents);
            whole.activation = activation;
            use(e, whole);
            // A last tile that is not full and a horizon that is no whole number of slices.
            PufferTrainConfig partial = base_config(2 * per_tile + 3, 11, 1, workers, e->agents);
            partial.activation = activation;
            use(e, partial);
        }
    PufferError error;
    PufferTrainer* trainer = nullptr;
    PufferTrainConfig bad = base_config(per_tile, 16, 1, 1, e->agents);
    bad.minibatch_size = 7;
    const std::vector<char> settings = standard_settings(e);
    check(puffer_trainer_create(e, settings.data(), &bad, &trainer, &error) == PUFFER_BAD_CONFIG && !trainer,
          "a bad size was taken", error);
    for (int layout = 0; layout < 3; ++layout)
        for (int workers = 1; workers < 3; ++workers)
            check(puffer_benchmark_steps(e, settings.data(), 100, workers, layout, 0.01) > 0, "benchmark", error);

    std::vector<float> values(64), out(64);
    for (int i = 0; i < 64; ++i) values[(size_t)i] = (float)(i + 1);
    for (int op = 0; op < 3; ++op) puffer_test_function(op, values.data(), out.data(), 64);
    std::vector<float> first(64), second(64);
    puffer_test_adam(values.data(), out.data(), first.data(), second.data(), 61, 0.01, 0.9, 0.999, 1e-8, 1.0, 1);
    return failures ? 1 : 0;
}
