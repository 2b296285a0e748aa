// The rollout over a tile whose environment and policy are ten lines each, so that every number it stores can be told
// beforehand. Prints JSON. Arguments: rows, agents, horizon, seed.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "rollout.h"

namespace {

// Lane l counts to 3 + l % 4 and is then truncated, or ended by the rules when l is odd; it observes 100 * (l + 1) + count.
// Agents of one environment share the count of its first lane.
struct Counters {
    TileView* v;
    std::vector<int> count;
    int bad_lane = -1, bad_at = -1;
    int lead(int l) const { return l / v->agents * v->agents; }
    void observe(void* out) const {
        for (int l = 0; l < v->rows; ++l) {
            const int at = count[(size_t)lead(l)];
            ((float*)out)[l] = (l == bad_lane && at == bad_at) ? (float)atof("nan") : (float)(100 * (l + 1) + at);
        }
    }
    void step(const int32_t*, float* reward, uint8_t* terminal, uint8_t* truncated) {
        for (int l = 0; l < v->rows; ++l) {
            const int first = lead(l);
            if (l == first) ++count[(size_t)l];
            const bool over = count[(size_t)first] == 3 + first % 4;
            reward[l] = (float)(l + 1);
            terminal[l] = over && first % 2 == 1;
            truncated[l] = over && first % 2 == 0;
        }
    }
    void reset(const uint8_t* which) {
        for (int l = 0; l < v->rows; ++l)
            if (which[l / v->agents]) count[(size_t)l] = 0;
    }
};

// Two actions with equal logits; the value is the observation.
struct ValueIsObservation {
    int lanes;
    void step(const float* x, float* out) const {
        for (int l = 0; l < lanes; ++l) {
            out[l] = out[lanes + l] = 0.0f;
            out[2 * lanes + l] = x[l];
        }
    }
};

struct Ended {
    std::vector<std::vector<double>> agents;
    std::vector<int> environments;
    void agent_ended(int t, int lane, float value, int32_t length) {
        agents.push_back({(double)t, (double)lane, value, (double)length});
    }
    void environment_ended(int e) { environments.push_back(e); }
};

template <class T>
void print(const char* name, const std::vector<T>& values, int count, const char* end = ",\n") {
    std::printf("\"%s\": [", name);
    for (int i = 0; i < count; ++i) std::printf("%s%.9g", i ? ", " : "", (double)values[(size_t)i]);
    std::printf("]%s", end);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    const int rows = std::atoi(argv[1]), agents = std::atoi(argv[2]), horizon = std::atoi(argv[3]);
    TileView v = {};
    v.agents = agents;
    v.envs = rows / agents;
    v.rows = rows;
    v.lanes = (rows + LANE_STEP - 1) / LANE_STEP * LANE_STEP;
    v.features = 1;
    const size_t lanes = (size_t)v.lanes, all = lanes * (size_t)horizon;
    std::vector<float> observations(all + lanes), log_probabilities(all), values(all + lanes), rewards(all),
        final_values(all);
    std::vector<float> returns(lanes), x(lanes), last(lanes), outputs(3 * lanes);
    std::vector<int32_t> actions(all), lengths(lanes);
    std::vector<uint8_t> terminals(all), truncations(all), which((size_t)v.envs);
    v.observations = observations.data();
    v.actions = actions.data();
    v.log_probabilities = log_probabilities.data();
    v.values = values.data();
    v.rewards = rewards.data();
    v.final_values = final_values.data();
    v.terminals = terminals.data();
    v.truncations = truncations.data();
    v.episode_returns = returns.data();
    v.episode_lengths = lengths.data();
    RolloutJob job = {};
    job.horizon = horizon;
    job.seed = (uint64_t)std::atoll(argv[4]);
    job.purpose = RANDOM_ACTION;
    job.heads.count = 1;
    job.heads.size[0] = job.heads.logits = 2;
    Counters env = {&v, std::vector<int>(lanes)};
    if (argc > 6) {
        env.bad_lane = std::atoi(argv[5]);
        env.bad_at = std::atoi(argv[6]);
    }
    ValueIsObservation policy = {v.lanes};
    Ended ended;
    const RolloutFault fault =
        rollout(v, job, env, policy, ended, {x.data(), last.data(), outputs.data(), which.data()});
    std::printf("{\"lanes\": %d, \"fault\": [%d, %d, %d],\n", v.lanes, fault.step, fault.step < 0 ? -1 : fault.lane,
                fault.step < 0 ? -1 : fault.feature);
    print("values", values, (int)(all + lanes));
    print("final_values", final_values, (int)all);
    print("terminals", terminals, (int)all);
    print("truncations", truncations, (int)all);
    print("actions", actions, (int)all);
    print("log_probabilities", log_probabilities, (int)all);
    print("open_returns", returns, rows);
    print("open_lengths", lengths, rows);
    print("environments", ended.environments, (int)ended.environments.size());
    std::printf("\"agents\": [");
    for (size_t i = 0; i < ended.agents.size(); ++i) {
        const std::vector<double>& a = ended.agents[i];
        std::printf("%s[%g, %g, %g, %g]", i ? ", " : "", a[0], a[1], a[2], a[3]);
    }
    std::printf("]}\n");
    return 0;
}
