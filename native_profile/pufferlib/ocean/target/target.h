/* Target: eight agents steer over a plane and race each other to four goals. Every agent sees the world from where it
 * stands and how it is turned, so one policy serves them all. It shows an environment of several agents, each with two
 * discrete choices a step. */
#define ENV_NAME "target"
#define ENV_TITLE "Target"
#define ENV_TASK "Steer to goals on a plane faster than seven other agents."
#define ENV_AUTHOR "pufferlib-skill contributors"
#define ENV_AGENTS 8
#define ENV_OBSERVATION F32(28)
#define ENV_ACTION MULTI_DISCRETE(9, 5)
#define ENV_SETTINGS(SETTING)                                                                              \
    SETTING(int, max_steps, 256, 1, 1000000, "steps until an episode is truncated for every agent")        \
    SETTING(float, top_speed, 0.05, 0.001, 1.0, "way of the fastest agent in a step; the plane is 2 wide") \
    SETTING(float, acceleration, 0.01, 0.0001, 1.0, "most that the speed can change in a step")            \
    SETTING(float, turning, 0.4, 0.01, 3.0, "most that the heading can change in a step, rad")             \
    SETTING(float, goal_radius, 0.08, 0.001, 1.0, "an agent within this distance reaches the goal")
#define ENV_STATISTICS(STATISTIC)                              \
    STATISTIC(goals, "goals reached in the episode, an agent") \
    STATISTIC(most, "goals reached by the best agent")
#include "puffer/environment.h"

enum { AGENTS = ENV_AGENTS, GOALS = 4, TURNS = 9, THRUSTS = 5 };

typedef struct {
    float x, y;
} Place; /* within [-1, 1] x [-1, 1] */

typedef struct {
    Random random;
    Place agent[AGENTS], goal[GOALS];
    float cosine[AGENTS], sine[AGENTS]; /* the heading, as a unit vector */
    float speed[AGENTS];                /* along the heading, a step */
    int32_t reached[AGENTS];            /* goals */
    int32_t steps;
} State;

PUFFER_FN Place anywhere(Random* random) {
    Place p;
    p.x = random_between(random, -1.0f, 1.0f);
    p.y = random_between(random, -1.0f, 1.0f);
    return p;
}

PUFFER_FN float distance_squared(Place a, Place b) { return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y); }

PUFFER_FN void reset(State* s, const Settings* c) {
    (void)c;
    for (int g = 0; g < GOALS; g++) s->goal[g] = anywhere(&s->random);
    for (int a = 0; a < AGENTS; a++) {
        float heading = random_between(&s->random, -PUFFER_PI, PUFFER_PI);
        s->agent[a] = anywhere(&s->random);
        s->cosine[a] = puffer_cos(heading);
        s->sine[a] = puffer_sin(heading);
        s->speed[a] = 0.0f;
        s->reached[a] = 0;
    }
    s->steps = 0;
}

PUFFER_FN void drive(State* s, const Settings* c, int a, int32_t turn, int32_t thrust) {
    float angle = (float)(turn - TURNS / 2) * (c->turning / (TURNS / 2));
    float rise = (float)(thrust - THRUSTS / 2) * (c->acceleration / (THRUSTS / 2));
    float cosine = puffer_cos(angle), sine = puffer_sin(angle);
    float x = s->cosine[a] * cosine - s->sine[a] * sine, y = s->sine[a] * cosine + s->cosine[a] * sine;
    float scale = 1.5f - 0.5f * (x * x + y * y); /* a Newton step towards length 1: rounding does not add up */
    s->cosine[a] = x * scale;
    s->sine[a] = y * scale;
    s->speed[a] = puffer_clamp(s->speed[a] + rise, 0.0f, c->top_speed);
    s->agent[a].x = puffer_clamp(s->agent[a].x + s->speed[a] * s->cosine[a], -1.0f, 1.0f);
    s->agent[a].y = puffer_clamp(s->agent[a].y + s->speed[a] * s->sine[a], -1.0f, 1.0f);
}

/* Two choices an agent: turning (0 hard left, 4 straight on, 8 hard right) and thrust (0 brake, 2 coast, 4 full). All
 * agents move, then each goal that was reached pays 1 to the agent nearest to it and moves elsewhere. */
PUFFER_FN void step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {
    for (int a = 0; a < AGENTS; a++) drive(s, c, a, action[a][0], action[a][1]);
    for (int g = 0; g < GOALS; g++) {
        int nearest = 0;
        float least = distance_squared(s->agent[0], s->goal[g]);
        for (int a = 1; a < AGENTS; a++) {
            float distance = distance_squared(s->agent[a], s->goal[g]);
            nearest = distance < least ? a : nearest;
            least = distance < least ? distance : least;
        }
        if (least > c->goal_radius * c->goal_radius) continue;
        out->reward[nearest] += 1.0f;
        s->reached[nearest]++;
        s->goal[g] = anywhere(&s->random);
    }
    s->steps++;
    if (s->steps >= c->max_steps) truncate_all(out);
}

/* `to` as agent a sees it: how far ahead, how far to the right. */
PUFFER_FN Place seen(const State* s, int a, Place to) {
    Place p;
    float dx = to.x - s->agent[a].x, dy = to.y - s->agent[a].y;
    p.x = 0.5f * (dx * s->cosine[a] + dy * s->sine[a]);
    p.y = 0.5f * (dy * s->cosine[a] - dx * s->sine[a]);
    return p;
}

/* 1 if another agent is nearer to `goal` than a is. */
PUFFER_FN int contested(const State* s, int a, Place goal) {
    float own = distance_squared(s->agent[a], goal);
    int nearer = 0;
    for (int i = 0; i < AGENTS; i++) nearer |= distance_squared(s->agent[i], goal) < own;
    return nearer;
}

/* For each agent: where it is (2), its heading (2), its speed (1), whether another is nearer to its nearest goal (1);
 * then the goals, nearest first (4 x 2), and the other agents (7 x 2), as it sees them. */
PUFFER_FN void observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {
    for (int a = 0; a < AGENTS; a++) {
        Observation* o = row[a];
        Place goal[GOALS];
        for (int g = 0; g < GOALS; g++) { /* insertion sort by distance */
            int place = g;
            float distance = distance_squared(s->goal[g], s->agent[a]);
            for (; place > 0 && distance < distance_squared(goal[place - 1], s->agent[a]); place--)
                goal[place] = goal[place - 1];
            goal[place] = s->goal[g];
        }
        o[0] = s->agent[a].x;
        o[1] = s->agent[a].y;
        o[2] = s->cosine[a];
        o[3] = s->sine[a];
        o[4] = s->speed[a] / c->top_speed;
        o[5] = (float)contested(s, a, goal[0]);
        for (int g = 0; g < GOALS; g++) {
            Place p = seen(s, a, goal[g]);
            o[6 + 2 * g] = p.x;
            o[7 + 2 * g] = p.y;
        }
        for (int i = 1; i < AGENTS; i++) {
            Place p = seen(s, a, s->agent[(a + i) % AGENTS]);
            o[12 + 2 * i] = p.x;
            o[13 + 2 * i] = p.y;
        }
    }
}

PUFFER_FN void statistics(const State* s, const Settings* c, Statistics* out) {
    (void)c;
    int32_t sum = 0, most = 0;
    for (int a = 0; a < AGENTS; a++) {
        sum += s->reached[a];
        most = s->reached[a] > most ? s->reached[a] : most;
    }
    out->goals = (float)sum / AGENTS;
    out->most = (float)most;
}

PUFFER_FN uint32_t agent_colour(int a) {
    const uint32_t colours[AGENTS] = {0x4FC3C8u, 0xE76F51u, 0x8AB17Du, 0xB08BD9u,
                                      0xE9A6B5u, 0x5B8DEFu, 0xF4A261u, 0xD8E2DCu};
    return colours[a];
}

/* Goals are rings; an agent is a disc with its nose ahead and a wake that is as long as it is fast. */
PUFFER_FN void render(const State* s, const Settings* c, Canvas* canvas) {
    const float middle = 1.1f, size = 0.045f, wake = 0.16f / c->top_speed;
    canvas_begin(canvas, 2.0f * middle, 2.0f * middle, 0x10243Eu);
    for (int i = -2; i <= 2; i++) {
        float at = middle + 0.5f * (float)i;
        draw_line(canvas, 0x1B3558u, at, middle - 1.0f, at, middle + 1.0f, 0.006f);
        draw_line(canvas, 0x1B3558u, middle - 1.0f, at, middle + 1.0f, at, 0.006f);
    }
    for (int g = 0; g < GOALS; g++) {
        float x = middle + s->goal[g].x, y = middle + s->goal[g].y;
        draw_circle(canvas, 0x6B5622u, x, y, c->goal_radius);
        draw_circle(canvas, 0x10243Eu, x, y, 0.8f * c->goal_radius);
        draw_circle(canvas, 0xF2B134u, x, y, 0.4f * c->goal_radius);
    }
    for (int a = 0; a < AGENTS; a++) {
        float x = middle + s->agent[a].x, y = middle + s->agent[a].y, back = wake * s->speed[a];
        draw_line(canvas, 0x35557Fu, x, y, x - back * s->cosine[a], y - back * s->sine[a], 0.5f * size);
        draw_line(canvas, 0xF7F5F0u, x, y, x + 1.8f * size * s->cosine[a], y + 1.8f * size * s->sine[a], 0.4f * size);
        draw_circle(canvas, agent_colour(a), x, y, size);
    }
}
