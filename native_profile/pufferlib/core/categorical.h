// Categorical action heads, one or several (multi-discrete): independent softmax distributions over consecutive logits.
#pragma once
#include "lanes.h"

enum { MAX_HEADS = 16 };

struct ActionHeads {
    int32_t count;
    int32_t size[MAX_HEADS];
    int32_t logits;  // the sum of the sizes
};

// The logarithm of the sum of exponentials of one head's logits (size, lanes), and the largest logit.
LANE_FN vf head_log_sum(const float* logits, int size, int lanes, int l, vf* largest) {
    vf top = load(logits + l);
    for (int i = 1; i < size; ++i) top = larger(top, load(logits + (size_t)i * lanes + l));
    vf sum = vf{};
    for (int i = 0; i < size; ++i) sum += lane_exp(load(logits + (size_t)i * lanes + l) - top);
    *largest = top;
    return top + lane_log(sum);
}

// Draws an action by inverting the cumulative distribution at u (one number in [0, 1) a lane), or takes the likeliest when
// greedy. Returns the log-probability of what was drawn.
LANE_FN vf head_choose(const float* logits, int size, int lanes, int l, vf u, bool greedy, vi* action) {
    vf top;
    const vf log_sum = head_log_sum(logits, size, lanes, l, &top);
    vf chosen_logit = load(logits + l);
    vi chosen = splat((int32_t)0);
    if (greedy) {
        for (int i = 1; i < size; ++i) {
            const vf z = load(logits + (size_t)i * lanes + l);
            const vm better = z > chosen_logit;
            chosen = select(better, splat((int32_t)i), chosen);
            chosen_logit = select(better, z, chosen_logit);
        }
    } else {
        vf below = lane_exp(chosen_logit - log_sum);  // probability of the actions before i
        for (int i = 1; i < size; ++i) {
            const vf z = load(logits + (size_t)i * lanes + l);
            const vm onwards = u >= below;
            chosen = select(onwards, splat((int32_t)i), chosen);
            chosen_logit = select(onwards, z, chosen_logit);
            below += lane_exp(z - log_sum);
        }
    }
    *action = chosen;
    return chosen_logit - log_sum;
}
