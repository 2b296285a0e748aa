// What a training configuration must satisfy before anything is allocated, and the error that names what does not.
#include <cstdio>

#include "trainer.h"

void set_error(PufferError* error, int code, int64_t environment, int64_t step, const std::string& field,
               const std::string& message) {
    error->code = code;
    error->environment = environment;
    error->step = step;
    std::snprintf(error->field, sizeof error->field, "%s", field.c_str());
    std::snprintf(error->message, sizeof error->message, "%s", message.c_str());
}

bool Trainer::valid(const PufferEnvironment* e, const PufferTrainConfig& c, PufferError* error) {
    auto bad = [&](const char* field, const std::string& message) {
        set_error(error, PUFFER_BAD_CONFIG, -1, -1, field, message);
        return false;
    };
    auto text = [](int64_t n) { return std::to_string(n); };
    if (e->num_statistics > 32) return bad("environment", "more than 32 statistics");
    if (c.num_envs < 1) return bad("num_envs", "num_envs is " + text(c.num_envs) + ", expected at least 1");
    if (c.horizon < 1) return bad("horizon", "horizon is " + text(c.horizon) + ", expected at least 1");
    if (c.update_epochs < 1)
        return bad("update_epochs", "update_epochs is " + text(c.update_epochs) + ", expected at least 1");
    if (c.num_workers < 1 || c.num_workers > 1024)
        return bad("num_workers", "num_workers is " + text(c.num_workers) + ", expected 1 to 1024");
    if (c.hidden_count < 1 || c.hidden_count > 8)
        return bad("hidden", "expected 1 to 8 hidden layers, got " + text(c.hidden_count));
    for (int i = 0; i < c.hidden_count; ++i)
        if (c.hidden[i] < 1 || c.hidden[i] > 4096)
            return bad("hidden", "a hidden layer is " + text(c.hidden[i]) + " wide, expected 1 to 4096");
    const int64_t batch = (int64_t)c.num_envs * e->agents * c.horizon;
    if (c.minibatch_size < 1 || batch % c.minibatch_size != 0)
        return bad("minibatch_size", "minibatch_size " + text(c.minibatch_size) + " does not divide the batch of " +
                                         text(c.num_envs) + " environments x " + text(e->agents) + " agents x " +
                                         text(c.horizon) + " steps = " + text(batch));
    const int64_t minibatches = batch / c.minibatch_size;
    if (minibatches > 1) {
        const int per_tile = envs_per_tile(e);
        if (c.horizon % SLICE_STEPS != 0)
            return bad("horizon", "horizon " + text(c.horizon) + " with several minibatches is not a multiple of " +
                                      text(SLICE_STEPS) + "; nearest: " + text(round_up(c.horizon, SLICE_STEPS)));
        if (c.num_envs % per_tile != 0)
            return bad("num_envs", "num_envs " + text(c.num_envs) +
                                       " with several minibatches is not a multiple of the tile's " + text(per_tile) +
                                       " environments; nearest: " + text(round_up(c.num_envs, per_tile)));
        const int64_t slices = (int64_t)(c.num_envs / per_tile) * (c.horizon / SLICE_STEPS);
        if (slices % minibatches != 0)
            return bad("minibatch_size", text(minibatches) + " minibatches cannot share " + text(slices) +
                                             " slices of " + text((int64_t)per_tile * e->agents * SLICE_STEPS) +
                                             " samples evenly");
    }
    return true;
}
