// The engine's arithmetic on its own, so that tests hold it against independent references.
#include "adam.h"
#include "advantage.h"
#include "trainer.h"

extern "C" {

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
