// Adam (D. P. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1), over a range of parameters so
// that workers share the update.
#pragma once
#include <cmath>
#include <cstddef>

struct AdamStep {
    float learning_rate, beta1, beta2, epsilon;
    float gradient_scale;            // from gradient clipping
    float correction1, correction2;  // 1 - beta^updates
};

// The `updates`-th update, counted from 1.
static inline AdamStep adam_step(double learning_rate, double beta1, double beta2, double epsilon,
                                 double gradient_scale, double updates) {
    return {(float)learning_rate,
            (float)beta1,
            (float)beta2,
            (float)epsilon,
            (float)gradient_scale,
            (float)(1.0 - std::pow(beta1, updates)),
            (float)(1.0 - std::pow(beta2, updates))};
}

static inline void adam_update(const AdamStep& s, const float* gradient, float* parameters, float* first, float* second,
                               size_t begin, size_t end) {
    const float rate = s.learning_rate / s.correction1;
    const float root = 1.0f / std::sqrt(s.correction2);
    for (size_t i = begin; i < end; ++i) {
        const float g = gradient[i] * s.gradient_scale;
        first[i] = s.beta1 * first[i] + (1.0f - s.beta1) * g;
        second[i] = s.beta2 * second[i] + (1.0f - s.beta2) * g * g;
        parameters[i] -= rate * first[i] / (std::sqrt(second[i]) * root + s.epsilon);
    }
}
