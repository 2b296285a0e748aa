// One optimizer step: the loss and gradient of a minibatch of slices in shards, their sum in a fixed order, clipping, Adam.
#include <algorithm>
#include <cmath>

#include "adam.h"
#include "schedule.h"
#include "trainer.h"

PpoSums Trainer::learn(const Slice& slice, const PpoCoefficients& c, int worker, float* gradient, PufferError* error) {
    WorkerScratch& s = scratch_[(size_t)worker];
    const TileView& v = tiles_[(size_t)slice.tile].view;
    const int steps = std::min((int)SLICE_STEPS, config_.horizon - slice.step);
    const size_t at = (size_t)slice.step * v.lanes, per_step = (size_t)v.features * v.lanes;
    const float* x;
    if (v.is_uint8) {
        const uint8_t* from = (const uint8_t*)v.observations + per_step * slice.step;
        for (size_t i = 0; i < per_step * steps; ++i) s.x[i] = (float)from[i];
        x = s.x;
    } else {
        x = (const float*)v.observations + per_step * slice.step;
    }
    const float* params = parameters_.as<float>();
    network_->forward(params, x, steps, v.lanes, s.outputs, s.tape);
    const PpoSums sums = ppo_loss(s.outputs, v.actions + at * heads_.count, v.log_probabilities + at, v.values + at,
                                  v.advantages + at, steps, v.rows, v.lanes, heads_, c);
    if (!std::isfinite(sums.policy_loss + sums.value_loss + sums.entropy)) {
        name_sample(slice, c, s, x, steps, error);
        return sums;
    }
    network_->backward(params, x, steps, v.lanes, s.outputs, s.tape, gradient);
    return sums;
}

bool Trainer::update(const Slice* const* slices, int count, double* sums, double* norm_out, PufferError* error) {
    const size_t floats = network_->parameter_count();
    double advantage_sum = 0, advantage_squares = 0;
    int64_t samples = 0;
    for (int i = 0; i < count; ++i) {
        advantage_sum += slices[i]->advantage_sum;
        advantage_squares += slices[i]->advantage_squares;
        samples += (int64_t)std::min((int)SLICE_STEPS, config_.horizon - slices[i]->step) *
                   tiles_[(size_t)slices[i]->tile].view.rows;
    }
    const double mean = advantage_sum / (double)samples;
    const double variance = std::max(0.0, advantage_squares / (double)samples - mean * mean);
    PpoCoefficients c = {};
    c.clip = (float)config_.clip_coef;
    c.value_clip = (float)config_.vf_clip_coef;
    c.value = (float)config_.vf_coef;
    c.entropy = (float)config_.ent_coef;
    c.advantage_mean = (float)mean;
    c.advantage_scale = (float)(1.0 / (std::sqrt(variance) + 1e-8));
    c.per_sample = 1.0f / (float)samples;

    const int shards = std::min((int)GRADIENT_SHARDS, count);
    std::vector<PpoSums> shard_sums((size_t)shards, PpoSums{});
    std::vector<PufferError> shard_errors((size_t)shards, PufferError{});
    workers_.run(shards, [&](int shard, int worker) {
        float* gradient = shards_.as<float>() + (size_t)shard * floats;
        std::memset(gradient, 0, floats * sizeof(float));
        PpoSums& total = shard_sums[(size_t)shard];
        for (int i = shard; i < count && shard_errors[(size_t)shard].code == 0; i += shards) {
            const PpoSums s = learn(*slices[i], c, worker, gradient, &shard_errors[(size_t)shard]);
            total.policy_loss += s.policy_loss;
            total.value_loss += s.value_loss;
            total.entropy += s.entropy;
            total.approx_kl += s.approx_kl;
            total.clipped += s.clipped;
        }
    });
    for (int i = 0; i < shards; ++i) {
        if (shard_errors[(size_t)i].code) {
            *error = shard_errors[(size_t)i];
            return false;
        }
        sums[0] += shard_sums[(size_t)i].policy_loss / (double)samples;
        sums[1] += shard_sums[(size_t)i].value_loss / (double)samples;
        sums[2] += shard_sums[(size_t)i].entropy / (double)samples;
        sums[3] += shard_sums[(size_t)i].approx_kl / (double)samples;
        sums[4] += shard_sums[(size_t)i].clipped / (double)samples;
    }

    // One reduction in a fixed order, shared out by ranges of parameters.
    const size_t range = 4096;
    const int ranges = (int)((floats + range - 1) / range);
    std::vector<double> squares((size_t)ranges, 0.0);
    float* gradient = gradient_.as<float>();
    workers_.run(ranges, [&](int r, int) {
        const size_t begin = (size_t)r * range, end = std::min(floats, begin + range);
        const float* from = shards_.as<float>();
        std::memcpy(gradient + begin, from + begin, (end - begin) * sizeof(float));
        for (int s = 1; s < shards; ++s) {
            const float* shard = from + (size_t)s * floats;
            for (size_t i = begin; i < end; ++i) gradient[i] += shard[i];
        }
        double sum = 0;
        for (size_t i = begin; i < end; ++i) sum += (double)gradient[i] * gradient[i];
        squares[(size_t)r] = sum;
    });
    double square = 0;
    for (double s : squares) square += s;
    const double norm = std::sqrt(square);
    *norm_out = norm;
    if (!std::isfinite(norm)) {
        const auto& all = network_->parameters();
        const auto bad = std::find_if(all.begin(), all.end(), [&](const Parameter& p) {
            return !std::all_of(gradient + p.offset, gradient + p.offset + p.count(),
                                [](float g) { return std::isfinite(g); });
        });
        name_gradient(slices, count, c, bad == all.end() ? "all parameters" : bad->name, error);
        return false;
    }

    progress_.updates++;
    const double done =
        (double)(progress_.iteration * (int64_t)config_.num_envs * environment_->agents * config_.horizon);
    const double rate = annealed(config_.anneal_lr, config_.learning_rate, config_.min_lr_ratio,
                                 done / (double)std::max<int64_t>(1, config_.total_timesteps));
    const double scale = norm > config_.max_grad_norm ? config_.max_grad_norm / norm : 1.0;
    const AdamStep step =
        adam_step(rate, config_.adam_beta1, config_.adam_beta2, config_.adam_eps, scale, (double)progress_.updates);
    workers_.run(ranges, [&](int r, int) {
        const size_t begin = (size_t)r * range;
        adam_update(step, gradient, parameters_.as<float>(), first_moment_.as<float>(), second_moment_.as<float>(),
                    begin, std::min(floats, begin + range));
    });
    return true;
}
