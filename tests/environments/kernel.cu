// Every function of an environment header called from device code: what compiles here runs in a GPU's rollout.
#include ENV_HEADER

__global__ void episode(State* states, const Settings* settings, const int32_t (*actions)[ENV_AGENTS][ENV_HEADS],
                        int steps, Step* out, Observation (*rows)[ENV_AGENTS][ENV_FEATURES], Statistics* values,
                        Canvas* canvases) {
    int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    State s = states[e];
    random_seed(&s.random, 1, (uint64_t)e);
    reset(&s, settings);
    for (int t = 0; t < steps; t++) step(&s, settings, actions[t], &out[e]);
    observe(&s, settings, rows[e]);
    statistics(&s, settings, &values[e]);
    render(&s, settings, &canvases[e]);
    states[e] = s;
}
