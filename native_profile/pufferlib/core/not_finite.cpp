// Which sample made a number that is not finite: looked for once a sum has shown that there is one, and never before.
#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer.h"

// Rewards that are finite can still add up to more than a float holds. The last step where they do is where it began.
bool Trainer::advantages_finite(PufferError* error) const {
    for (const Slice& slice : slices_) {
        if (std::isfinite(slice.advantage_sum)) continue;
        const TileView& v = tiles_[(size_t)slice.tile].view;
        int at = config_.horizon * v.lanes - 1;
        while (at > 0 && (at % v.lanes >= v.rows || std::isfinite(v.advantages[at]))) --at;
        const int64_t environment = (v.first_agent + at % v.lanes) / v.agents;
        const int64_t step = progress_.iteration * (int64_t)config_.horizon + at / v.lanes;
        set_error(error, PUFFER_NOT_FINITE, environment, step, "advantage",
                  "the advantage of environment " + std::to_string(environment) + " is not finite at step " +
                      std::to_string(step) + ": its rewards or values are too large");
        return false;
    }
    return true;
}

// Which sample of a slice made its loss non-finite: each is looked at alone, spread over a vector. Where none is, but their
// sum, the largest is named.
void Trainer::name_sample(const Slice& slice, const PpoCoefficients& c, const WorkerScratch& s, const float* x,
                          int steps, PufferError* error) const {
    const TileView& v = tiles_[(size_t)slice.tile].view;
    const int outputs = network_->outputs();
    network_->forward(parameters_.as<float>(), x, steps, v.lanes, s.outputs, s.tape);
    std::vector<float> out((size_t)outputs * LANE_STEP);
    std::vector<int32_t> action((size_t)heads_.count * LANE_STEP);
    float sample[3][LANE_STEP];
    int worst_step = 0, worst_lane = 0;
    double worst = -1;
    for (int t = 0; t < steps && std::isfinite(worst); ++t)
        for (int l = 0; l < v.rows && std::isfinite(worst); ++l) {
            const size_t step = (size_t)(slice.step + t);
            for (int i = 0; i < outputs * LANE_STEP; ++i)
                out[(size_t)i] = s.outputs[(size_t)(t * outputs + i / LANE_STEP) * v.lanes + l];
            for (int i = 0; i < heads_.count * LANE_STEP; ++i)
                action[(size_t)i] = v.actions[(step * heads_.count + i / LANE_STEP) * v.lanes + l];
            const float* from[3] = {v.log_probabilities, v.values, v.advantages};
            for (int k = 0; k < 3; ++k) std::fill_n(sample[k], (int)LANE_STEP, from[k][step * v.lanes + l]);
            const PpoSums one =
                ppo_loss(out.data(), action.data(), sample[0], sample[1], sample[2], 1, 1, LANE_STEP, heads_, c);
            const double size = std::fabs(one.policy_loss) + std::fabs(one.value_loss) + std::fabs(one.entropy);
            if (size <= worst) continue;
            worst = size;
            worst_step = t;
            worst_lane = l;
        }
    const int64_t environment = (v.first_agent + worst_lane) / v.agents;
    const int64_t step = progress_.iteration * (int64_t)config_.horizon + slice.step + worst_step;
    set_error(
        error, PUFFER_NOT_FINITE, environment, step, "loss",
        "the loss is not finite at environment " + std::to_string(environment) + ", step " + std::to_string(step));
}

// Which sample makes the gradient of a parameter non-finite: each sample of the minibatch alone, forwards and backwards.
// Where none is, but their sum, the one with the largest gradient is named.
void Trainer::name_gradient(const Slice* const* slices, int count, const PpoCoefficients& c,
                            const std::string& parameter, PufferError* error) const {
    const size_t features = (size_t)environment_->features, floats = network_->parameter_count();
    std::vector<float> x(features * LANE_STEP), out((size_t)network_->outputs() * LANE_STEP), gradient(floats);
    std::vector<float> tape(network_->tape_size(1, LANE_STEP));
    std::vector<int32_t> action((size_t)heads_.count * LANE_STEP);
    float sample[3][LANE_STEP];
    int64_t environment = -1, step = -1;
    double worst = -1;
    for (int i = 0; i < count && std::isfinite(worst); ++i) {
        const TileView& v = tiles_[(size_t)slices[i]->tile].view;
        const int last = std::min(slices[i]->step + SLICE_STEPS, config_.horizon);
        for (int t = slices[i]->step; t < last && std::isfinite(worst); ++t)
            for (int l = 0; l < v.rows && std::isfinite(worst); ++l) {
                for (size_t f = 0; f < features; ++f) {
                    const size_t at = ((size_t)t * features + f) * v.lanes + l;
                    const float value =
                        v.is_uint8 ? (float)((const uint8_t*)v.observations)[at] : ((const float*)v.observations)[at];
                    std::fill_n(&x[f * LANE_STEP], (int)LANE_STEP, value);
                }
                for (int h = 0; h < heads_.count; ++h)
                    std::fill_n(&action[(size_t)h * LANE_STEP], (int)LANE_STEP,
                                v.actions[((size_t)t * heads_.count + h) * v.lanes + l]);
                const float* from[3] = {v.log_probabilities, v.values, v.advantages};
                for (int k = 0; k < 3; ++k) std::fill_n(sample[k], (int)LANE_STEP, from[k][(size_t)t * v.lanes + l]);
                network_->forward(parameters_.as<float>(), x.data(), 1, LANE_STEP, out.data(), tape.data());
                ppo_loss(out.data(), action.data(), sample[0], sample[1], sample[2], 1, 1, LANE_STEP, heads_, c);
                std::fill(gradient.begin(), gradient.end(), 0.0f);
                network_->backward(parameters_.as<float>(), x.data(), 1, LANE_STEP, out.data(), tape.data(),
                                   gradient.data());
                double size = 0;
                for (float g : gradient) size += (double)g * g;
                if (size <= worst) continue;
                worst = size;
                environment = (v.first_agent + l) / v.agents;
                step = progress_.iteration * (int64_t)config_.horizon + t;
            }
    }
    set_error(error, PUFFER_NOT_FINITE, environment, step, "gradient of " + parameter,
              "the gradient of " + parameter + " is not finite in update " + std::to_string(progress_.updates + 1) +
                  ", by environment " + std::to_string(environment) + " at step " + std::to_string(step));
}
