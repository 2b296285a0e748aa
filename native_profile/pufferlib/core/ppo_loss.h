// The PPO objective (J. Schulman et al., "Proximal Policy Optimization Algorithms", 2017, equation 7) with the clipped value
// loss of its reference implementation and an entropy bonus, and its gradient with respect to the network's outputs.
#pragma once
#include "categorical.h"

struct PpoCoefficients {
    float clip, value_clip, value, entropy;
    float advantage_mean, advantage_scale;  // normalized advantage = (a - mean) * scale
    float per_sample;                       // 1 / samples in the minibatch
};

// Sums over samples; the caller divides.
struct PpoSums {
    double policy_loss, value_loss, entropy, approx_kl, clipped;
};

// Replaces `outputs` (steps, logits + 1, lanes) by the gradient of the mean loss. actions (steps, heads, lanes); the rest
// (steps, lanes). Lanes from `rows` on get gradient zero. Returns the sums over the valid lanes.
static inline PpoSums ppo_loss(float* outputs, const int32_t* actions, const float* log_probabilities,
                               const float* values, const float* advantages, int steps, int rows, int lanes,
                               const ActionHeads& heads, const PpoCoefficients& c) {
    vf policy_loss = vf{}, value_loss = vf{}, entropy_sum = vf{}, kl = vf{}, clipped = vf{};
    const vf one = splat(1.0f);
    for (int t = 0; t < steps; ++t) {
        float* out = outputs + (size_t)t * (heads.logits + 1) * lanes;
        const int32_t* action = actions + (size_t)t * heads.count * lanes;
        for (int l = 0; l < lanes; l += LANE_WIDTH) {
            const size_t at = (size_t)t * lanes + l;
            const vf weight = select(lane_numbers(l) < splat((int32_t)rows), one, vf{});

            vf log_probability = vf{}, entropy = vf{};
            vf log_sums[MAX_HEADS], entropies[MAX_HEADS];
            float* logits = out + l;
            for (int h = 0; h < heads.count; ++h) {
                vf top;
                log_sums[h] = head_log_sum(logits, heads.size[h], lanes, 0, &top);
                const vi taken = load(action + (size_t)h * lanes + l);
                vf mean_logit = vf{}, taken_logit = vf{};
                for (int i = 0; i < heads.size[h]; ++i) {
                    const vf z = load(logits + (size_t)i * lanes);
                    mean_logit += lane_exp(z - log_sums[h]) * z;
                    taken_logit = select(taken == splat((int32_t)i), z, taken_logit);
                }
                entropies[h] = log_sums[h] - mean_logit;
                entropy += entropies[h];
                log_probability += taken_logit - log_sums[h];
                logits += (size_t)heads.size[h] * lanes;
            }

            const vf log_ratio = log_probability - load(log_probabilities + at);
            const vf ratio = lane_exp(log_ratio);
            const vf advantage = (load(advantages + at) - c.advantage_mean) * c.advantage_scale;
            const vf bounded = larger(smaller(ratio, splat(1.0f + c.clip)), splat(1.0f - c.clip));
            const vf plain_loss = -advantage * ratio, bounded_loss = -advantage * bounded;
            // The larger loss counts. Where it is the clipped one, and differs, the ratio has no influence.
            const vf loss_slope =
                select(plain_loss >= bounded_loss, -advantage * ratio, vf{}) * (weight * c.per_sample);

            logits = out + l;
            for (int h = 0; h < heads.count; ++h) {
                const vi taken = load(action + (size_t)h * lanes + l);
                for (int i = 0; i < heads.size[h]; ++i) {
                    const vf log_p = load(logits + (size_t)i * lanes) - log_sums[h];
                    const vf p = lane_exp(log_p);
                    const vf indicator = select(taken == splat((int32_t)i), one, vf{});
                    const vf entropy_slope = p * (log_p + entropies[h]) * (weight * (c.entropy * c.per_sample));
                    store(logits + (size_t)i * lanes, loss_slope * (indicator - p) + entropy_slope);
                }
                logits += (size_t)heads.size[h] * lanes;
            }

            const vf old_value = load(values + at), value = load(logits);
            const vf target = load(advantages + at) + old_value;
            const vf change = value - old_value,
                     bounded_change = larger(smaller(change, splat(c.value_clip)), splat(-c.value_clip));
            // Inside the bound this is the value itself: old + (value - old) may round to a neighbour of it.
            const vf near_value = select(bounded_change == change, value, old_value + bounded_change);
            const vf error = value - target, near_error = near_value - target;
            // The larger error counts. Where it is the clipped one, the value has no influence.
            const vm plain = error * error >= near_error * near_error;
            store(logits, select(plain, error, vf{}) * (weight * (c.value * c.per_sample)));

            policy_loss += larger(plain_loss, bounded_loss) * weight;
            value_loss += 0.5f * select(plain, error * error, near_error * near_error) * weight;
            entropy_sum += entropy * weight;
            kl += (ratio - 1.0f - log_ratio) * weight;
            clipped += select(ratio == bounded, vf{}, one) * weight;
        }
    }
    return {sum_of(policy_loss), sum_of(value_loss), sum_of(entropy_sum), sum_of(kl), sum_of(clipped)};
}
