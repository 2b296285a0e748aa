// One environment under a trainer's policy, drawn step by step. The trainer must outlive it.
#pragma once
#include "trainer.h"

struct PufferViewer {
    PufferViewer(const Trainer& owner, uint64_t seed);
    // Draws the present state, then steps; rewards (agents). Returns whether the episode ended, in which case the next begins.
    bool step(bool greedy, Canvas* canvas, float* rewards);

    const Trainer& trainer;
    uint64_t seed;
    int64_t steps = 0;
    Tile tile;
    std::vector<uint8_t> state;
    AlignedMemory x, outputs, scratch;
};
