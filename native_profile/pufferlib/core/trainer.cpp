#include "trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>

#include "adam.h"
#include "advantage.h"
#include "schedule.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int round_up(int n, int step) { return (n + step - 1) / step * step; }

int envs_per_tile(const PufferEnvironment* e) { return std::max(1, TILE_LANES / e->agents); }

struct EpisodeRecorder {
    const PufferEnvironment* functions;
    const void* settings;
    Tile* tile;
    float* values;  // (num_statistics)
    void agent_ended(int t, int lane, float value, int32_t length) {
        tile->episodes.push_back({t, lane, value, length});
    }
    void environment_ended(int env) {
        functions->tile_statistics(tile->view.state, settings, env, tile->view.envs, values);
        for (int i = 0; i < functions->num_statistics; ++i) tile->statistics[(size_t)i] += values[i];
        tile->statistics_count++;
    }
};

}  // namespace

void set_error(PufferError* error, int code, int64_t environment, int64_t step, const std::string& field,
               const std::string& message) {
    error->code = code;
    error->environment = environment;
    error->step = step;
    std::snprintf(error->field, sizeof error->field, "%s", field.c_str());
    std::snprintf(error->message, sizeof error->message, "%s", message.c_str());
}

ActionHeads action_heads(const PufferEnvironment* environment) {
    ActionHeads heads = {};
    heads.count = environment->heads;
    for (int h = 0; h < heads.count; ++h) {
        heads.size[h] = environment->action_sizes[h];
        heads.logits += heads.size[h];
    }
    return heads;
}

Tile make_tile(const PufferEnvironment* e, int envs, int64_t first_agent, int horizon) {
    Tile tile;
    TileView& v = tile.view;
    v = {};
    v.envs = envs;
    v.agents = e->agents;
    v.rows = envs * e->agents;
    v.lanes = round_up(v.rows, LANE_STEP);
    v.features = e->features;
    v.is_uint8 = e->observation_type == PUFFER_UINT8;
    v.first_agent = first_agent;
    for (int pass = 0; pass < 2; ++pass) {
        Carver carve(tile.memory.as<void>());
        const size_t lanes = (size_t)v.lanes, steps = (size_t)horizon;
        v.state = carve.take<char>(e->tile_bytes(envs));
        v.observations = carve.take<char>((steps + 1) * v.features * lanes * (v.is_uint8 ? 1 : 4));
        v.actions = carve.take<int32_t>(steps * e->heads * lanes);
        v.log_probabilities = carve.take<float>(steps * lanes);
        v.values = carve.take<float>((steps + 1) * lanes);
        v.rewards = carve.take<float>(steps * lanes);
        v.final_values = carve.take<float>(steps * lanes);
        v.advantages = carve.take<float>(steps * lanes);
        v.terminals = carve.take<uint8_t>(steps * lanes);
        v.truncations = carve.take<uint8_t>(steps * lanes);
        v.episode_returns = carve.take<float>(lanes);
        v.episode_lengths = carve.take<int32_t>(lanes);
        if (pass == 0) tile.memory = AlignedMemory(carve.used());
    }
    tile.statistics.assign((size_t)e->num_statistics, 0.0);
    tile.episodes.reserve((size_t)v.rows);
    return tile;
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

Trainer::Trainer(const PufferEnvironment* environment, const void* settings, const PufferTrainConfig& config)
    : environment_(environment),
      settings_((const char*)settings, (const char*)settings + environment->settings_size),
      config_(config),
      heads_(action_heads(environment)),
      workers_(config.num_workers) {
    NetworkDescription description;
    description.kind = "mlp";
    description.features = environment->features;
    description.action_sizes.assign(heads_.size, heads_.size + heads_.count);
    description.hidden.assign(config.hidden, config.hidden + config.hidden_count);
    description.activation = config.activation;
    network_ = make_network(description);

    const size_t floats = network_->parameter_count();
    for (AlignedMemory* m : {&parameters_, &first_moment_, &second_moment_, &gradient_})
        *m = AlignedMemory(floats * sizeof(float));
    network_->initialize(parameters_.as<float>(), config.seed);
    make_tiles();

    int widest = 0, rows = 0;
    for (const Tile& t : tiles_) {
        widest = std::max(widest, t.view.lanes);
        rows = std::max(rows, t.view.envs);
    }
    for (int w = 0; w < workers_.count(); ++w) scratch_.push_back(make_scratch(widest, rows, true));
    const size_t per_minibatch = (slices_.size() * (size_t)config.minibatch_size) /
                                 ((size_t)config.num_envs * environment->agents * config.horizon);
    const size_t shards = std::min((size_t)GRADIENT_SHARDS, std::max((size_t)1, per_minibatch));
    shards_ = AlignedMemory(shards * floats * sizeof(float));
    recent_returns_.assign(RECENT_EPISODES, 0.0f);
    recent_lengths_.assign(RECENT_EPISODES, 0);
    make_tensors();
}

void Trainer::make_tiles() {
    const int per_tile = envs_per_tile(environment_);
    for (int first = 0; first < config_.num_envs; first += per_tile) {
        const int envs = std::min(per_tile, config_.num_envs - first);
        tiles_.push_back(make_tile(environment_, envs, (int64_t)first * environment_->agents, config_.horizon));
        TileView& v = tiles_.back().view;
        environment_->tile_seed(v.state, envs, config_.seed, (uint64_t)first);
        environment_->tile_reset(v.state, settings_.data(), envs, nullptr);
    }
    for (int step = 0; step < config_.horizon; step += SLICE_STEPS)
        for (size_t tile = 0; tile < tiles_.size(); ++tile) slices_.push_back({(int32_t)tile, step, 0, 0, 0, 0});
}

WorkerScratch Trainer::make_scratch(int lanes, int envs, bool learning) const {
    WorkerScratch s;
    const size_t width = (size_t)lanes, features = (size_t)environment_->features,
                 outputs = (size_t)network_->outputs();
    const size_t steps = learning ? SLICE_STEPS : 1;
    for (int pass = 0; pass < 2; ++pass) {
        Carver carve(s.memory.as<void>());
        s.x = carve.take<float>(steps * features * width);
        s.final_observation = carve.take<float>(features * width);
        s.outputs = carve.take<float>(steps * outputs * width);
        s.network = carve.take<float>(network_->step_scratch(lanes));
        s.tape = carve.take<float>(learning ? network_->tape_size(SLICE_STEPS, lanes) : 0);
        s.which = carve.take<uint8_t>((size_t)envs);
        if (pass == 0) s.memory = AlignedMemory(carve.used());
    }
    s.statistics.assign((size_t)environment_->num_statistics, 0.0f);
    return s;
}

void Trainer::roll(Tile& tile, int worker) {
    WorkerScratch& s = scratch_[(size_t)worker];
    tile.episodes.clear();
    std::fill(tile.statistics.begin(), tile.statistics.end(), 0.0);
    tile.statistics_count = 0;
    RolloutJob job = {};
    job.horizon = config_.horizon;
    job.seed = config_.seed;
    job.first_step = (uint64_t)progress_.iteration * (uint64_t)config_.horizon;
    job.purpose = RANDOM_ACTION;
    job.heads = heads_;
    TileEnvironment env = {environment_, settings_.data(), &tile.view};
    TilePolicy policy = {network_.get(), parameters_.as<float>(), tile.view.lanes, s.network};
    EpisodeRecorder recorder = {environment_, settings_.data(), &tile, s.statistics.data()};
    const RolloutScratch scratch = {s.x, s.final_observation, s.outputs, s.which};
    tile.fault = rollout(tile.view, job, env, policy, recorder, scratch);
    if (tile.fault.step < 0)
        estimate_advantages(tile.view, config_.horizon, (float)config_.gamma, (float)config_.gae_lambda);
}

// Sums of a slice that minibatches share: in double precision, in a fixed order.
void Trainer::measure(Slice& slice) {
    const TileView& v = tiles_[(size_t)slice.tile].view;
    const int last = std::min(slice.step + SLICE_STEPS, config_.horizon);
    double sums[4] = {};
    for (int t = slice.step; t < last; ++t)
        for (int l = 0; l < v.rows; ++l) {
            const double advantage = v.advantages[(size_t)t * v.lanes + l];
            const double target = advantage + v.values[(size_t)t * v.lanes + l];
            sums[0] += advantage;
            sums[1] += advantage * advantage;
            sums[2] += target;
            sums[3] += target * target;
        }
    slice.advantage_sum = sums[0];
    slice.advantage_squares = sums[1];
    slice.target_sum = sums[2];
    slice.target_squares = sums[3];
}

// Finished episodes in the order of time, then of tiles: the same whatever worker ran which tile.
void Trainer::merge_episodes(PufferMetrics* metrics) {
    std::vector<size_t> next(tiles_.size(), 0);
    for (int t = 0; t < config_.horizon; ++t)
        for (size_t i = 0; i < tiles_.size(); ++i)
            for (; next[i] < tiles_[i].episodes.size() && tiles_[i].episodes[next[i]].step == t; ++next[i]) {
                const Episode& e = tiles_[i].episodes[next[i]];
                recent_returns_[(size_t)progress_.recent_next] = e.value;
                recent_lengths_[(size_t)progress_.recent_next] = e.length;
                progress_.recent_next = (progress_.recent_next + 1) % RECENT_EPISODES;
                progress_.recent_count = std::min<int64_t>(progress_.recent_count + 1, RECENT_EPISODES);
                progress_.episodes++;
            }
    double returns = 0, lengths = 0;
    for (int64_t i = 0; i < progress_.recent_count; ++i) {
        returns += recent_returns_[(size_t)i];
        lengths += recent_lengths_[(size_t)i];
    }
    const double none = std::numeric_limits<double>::quiet_NaN();
    metrics->episodes = progress_.episodes;
    metrics->recent_count = (int32_t)progress_.recent_count;
    metrics->recent_return = progress_.recent_count ? returns / (double)progress_.recent_count : none;
    metrics->recent_length = progress_.recent_count ? lengths / (double)progress_.recent_count : none;
    int64_t count = 0;
    for (const Tile& t : tiles_) count += t.statistics_count;
    metrics->statistics_count = (int32_t)count;
    for (int i = 0; i < environment_->num_statistics; ++i) {
        double sum = 0;
        for (const Tile& t : tiles_) sum += t.statistics[(size_t)i];
        metrics->statistics[i] = count ? sum / (double)count : none;
    }
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
        std::string name = "?";
        for (const Parameter& p : network_->parameters())
            for (size_t i = p.offset; i < p.offset + p.count(); ++i)
                if (!std::isfinite(gradient[i])) {
                    name = p.name;
                    i = p.offset + p.count();
                }
        const TileView& first = tiles_[(size_t)slices[0]->tile].view;
        set_error(error, PUFFER_NOT_FINITE, first.first_agent / first.agents,
                  progress_.iteration * (int64_t)config_.horizon + slices[0]->step, "gradient of " + name,
                  "the gradient of " + name + " is not finite in update " + std::to_string(progress_.updates + 1) +
                      ", whose first slice starts at this environment and step");
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

bool Trainer::iterate(PufferMetrics* metrics, PufferError* error) {
    const double start = now();
    workers_.run((int)tiles_.size(), [&](int tile, int worker) { roll(tiles_[(size_t)tile], worker); });
    for (const Tile& t : tiles_) {
        if (t.fault.step < 0) continue;
        const int64_t env = (t.view.first_agent + t.fault.lane) / t.view.agents;
        const int64_t step = progress_.iteration * (int64_t)config_.horizon + t.fault.step;
        const std::string field =
            t.fault.feature < 0 ? "reward" : "observation[" + std::to_string(t.fault.feature) + "]";
        set_error(error, PUFFER_NOT_FINITE, env, step, field,
                  field + " of environment " + std::to_string(env) + " (agent " +
                      std::to_string(t.fault.lane % t.view.agents) + ") is not finite at step " + std::to_string(step));
        return false;
    }
    workers_.run((int)slices_.size(), [&](int slice, int) { measure(slices_[(size_t)slice]); });
    if (!advantages_finite(error)) return false;
    merge_episodes(metrics);
    const double middle = now();

    const int64_t batch = (int64_t)config_.num_envs * environment_->agents * config_.horizon;
    const int minibatches = (int)(batch / config_.minibatch_size), count = (int)slices_.size();
    std::vector<const Slice*> order((size_t)count);
    double sums[5] = {}, norms = 0;
    for (int epoch = 0; epoch < config_.update_epochs; ++epoch) {
        // Fisher and Yates, drawn from (seed, iteration, epoch).
        for (int i = 0; i < count; ++i) order[(size_t)i] = &slices_[(size_t)i];
        const uint64_t base = ((uint64_t)progress_.iteration * (uint64_t)config_.update_epochs + (uint64_t)epoch) << 24;
        for (int i = count - 1; i > 0; --i) {
            const uint32_t bits = philox_bits(config_.seed, base + (uint64_t)i, 0, RANDOM_SHUFFLE);
            std::swap(order[(size_t)i], order[(size_t)(((uint64_t)bits * (uint64_t)(i + 1)) >> 32)]);
        }
        for (int m = 0; m < minibatches; ++m) {
            const int begin = (int)((int64_t)m * count / minibatches),
                      end = (int)((int64_t)(m + 1) * count / minibatches);
            double norm = 0;
            if (!update(order.data() + begin, end - begin, sums, &norm, error)) return false;
            norms += norm;
        }
    }
    const double updates = (double)config_.update_epochs * minibatches;
    metrics->policy_loss = sums[0] / updates;
    metrics->value_loss = sums[1] / updates;
    metrics->entropy = sums[2] / updates;
    metrics->approx_kl = sums[3] / updates;
    metrics->clip_fraction = sums[4] / updates;
    metrics->gradient_norm = norms / updates;

    double target = 0, target_squares = 0, residual = 0, residual_squares = 0;
    for (const Slice& s : slices_) {
        target += s.target_sum;
        target_squares += s.target_squares;
        residual += s.advantage_sum;  // target - value
        residual_squares += s.advantage_squares;
    }
    const double n = (double)batch;
    const double target_variance = target_squares / n - (target / n) * (target / n);
    const double residual_variance = residual_squares / n - (residual / n) * (residual / n);
    metrics->explained_variance =
        target_variance > 0 ? 1.0 - residual_variance / target_variance : std::numeric_limits<double>::quiet_NaN();
    metrics->learning_rate =
        annealed(config_.anneal_lr, config_.learning_rate, config_.min_lr_ratio,
                 (double)(progress_.iteration * batch) / (double)std::max<int64_t>(1, config_.total_timesteps));
    progress_.iteration++;
    metrics->iteration = progress_.iteration;
    metrics->step = progress_.iteration * batch;
    metrics->seconds_rollout = middle - start;
    metrics->seconds_learn = now() - middle;
    return true;
}
