/* Breakout, after the home version of 1978. Six rows of eighteen bricks pay 7, 7, 4, 4, 1 and 1 points a brick from the
 * top: 432 a wall, 864 for two, which is the highest score. There are five balls. A ball gets faster with the 4th and the
 * 12th hit of the paddle and once it has reached the upper rows.
 *
 * Lengths are in brick widths, y points down, one frame is 1/60 s. Nothing tunnels: bricks are found by the ball's
 * leading edge, one axis at a time, and `ball_speed` is bounded so that a frame is shorter than a brick is high; the
 * paddle is found by the crossing of its plane. Nothing loops for ever: serves and bounces off the paddle are a little
 * random and never flat, and a ball above the paddle meets fewer bricks each time. */
#define ENV_NAME "breakout"
#define ENV_TITLE "Breakout"
#define ENV_TASK "Clear two walls of bricks with five balls."
#define ENV_AUTHOR "pufferlib-skill contributors"
#define ENV_AGENTS 1
#define ENV_OBSERVATION F32(118)
#define ENV_ACTION DISCRETE(3)
#define ENV_SETTINGS(SETTING)                                                                                   \
    SETTING(int, frameskip, 4, 1, 16, "frames that one action lasts")                                           \
    SETTING(int, max_steps, 10000, 1, 1000000, "steps until an episode is truncated")                           \
    SETTING(int, balls, 5, 1, 100, "balls to lose before the episode ends")                                     \
    SETTING(int, walls, 2, 1, 100, "walls to clear before the episode ends")                                    \
    SETTING(float, paddle_width, 2.4, 0.5, 18.0, "width of the paddle, in brick widths")                        \
    SETTING(float, paddle_speed, 0.3, 0.01, 18.0, "way of the paddle in a frame, in brick widths")              \
    SETTING(float, ball_speed, 0.2, 0.02, 0.24, "way of a served ball in a frame; it gets up to twice as fast") \
    SETTING(float, point_reward, 0.25, 0.0001, 100.0, "reward of one point of the score; a brick averages 4 points")
#define ENV_STATISTICS(STATISTIC)                                 \
    STATISTIC(score, "points of the episode, at most 432 a wall") \
    STATISTIC(walls, "walls cleared")                             \
    STATISTIC(bricks, "bricks hit, at most 108 a wall")
#include "puffer/environment.h"

enum { ROWS = 6, COLUMNS = 18, BRICKS = ROWS * COLUMNS, WORDS = (BRICKS + 31) / 32, SCALARS = 10 };
#define FIELD_WIDTH 18.0f
#define FIELD_HEIGHT 16.0f
#define BRICK_HEIGHT 0.5f
#define WALL_TOP 2.0f
#define WALL_BOTTOM (WALL_TOP + ROWS * BRICK_HEIGHT)
#define PADDLE_TOP 15.0f
#define BALL_RADIUS 0.2f

typedef struct {
    Random random;
    uint32_t bricks[WORDS]; /* bit (row * 18 + column) is set while that brick stands */
    float x, y, vx, vy;     /* the ball: brick widths, and brick widths a frame */
    float paddle;           /* its middle */
    int32_t hits;           /* of the paddle since the serve */
    int32_t upper;          /* 1 once this ball has hit one of the three upper rows */
    int32_t balls, walls;   /* left to lose; cleared */
    int32_t standing;       /* bricks of this wall */
    int32_t score, broken, steps;
} State;

PUFFER_FN void build_wall(State* s) {
    for (int w = 0; w < WORDS; w++) s->bricks[w] = 0xFFFFFFFFu;
    s->bricks[WORDS - 1] >>= 32 * WORDS - BRICKS;
    s->standing = BRICKS;
}

/* 0 for a fresh ball to 3 for the fastest. */
PUFFER_FN int pace(const State* s) { return (s->hits >= 4) + (s->hits >= 12) + s->upper; }

/* Sends the ball off at `angle` from the vertical, downwards (1) or upwards (-1). */
PUFFER_FN void launch(State* s, const Settings* c, float angle, float down) {
    float speed = c->ball_speed * (1.0f + (float)pace(s) * (1.0f / 3.0f));
    s->vx = speed * puffer_sin(angle);
    s->vy = speed * puffer_cos(angle) * down;
}

PUFFER_FN void serve(State* s, const Settings* c) {
    s->x = random_between(&s->random, 0.25f * FIELD_WIDTH, 0.75f * FIELD_WIDTH);
    s->y = WALL_BOTTOM + 2.0f;
    s->hits = s->upper = 0;
    if (s->standing == 0) build_wall(s);
    launch(s, c, random_between(&s->random, -0.7f, 0.7f), 1.0f);
}

PUFFER_FN void reset(State* s, const Settings* c) {
    s->paddle = 0.5f * FIELD_WIDTH;
    s->balls = c->balls;
    s->walls = s->score = s->broken = s->steps = 0;
    build_wall(s);
    serve(s, c);
}

/* Breaks the brick at (x, y); 0 if none stands there. */
PUFFER_FN int break_brick(State* s, float x, float y) {
    int row = (int)((y - WALL_TOP + BRICK_HEIGHT) * (1.0f / BRICK_HEIGHT)) - 1; /* casts round towards 0 */
    int column = (int)x;
    if ((uint32_t)row >= ROWS || (uint32_t)column >= COLUMNS) return 0;
    int brick = row * COLUMNS + column;
    uint32_t bit = 1u << (brick & 31);
    if (!(s->bricks[brick >> 5] & bit)) return 0;
    s->bricks[brick >> 5] ^= bit;
    s->score += 7 - 3 * (row >> 1);
    s->upper |= row < 3;
    s->broken++;
    s->standing--;
    s->walls += s->standing == 0;
    return 1;
}

/* The paddle's plane has been crossed: bounces the ball if the paddle is there. */
PUFFER_FN void meet_paddle(State* s, const Settings* c) {
    float offset = (s->x - s->paddle) / (0.5f * c->paddle_width + BALL_RADIUS);
    if (puffer_abs(offset) > 1.0f) return;
    s->hits++;
    if (s->standing == 0) build_wall(s); /* the ball is far below the bricks here */
    s->y = 2.0f * (PADDLE_TOP - BALL_RADIUS) - s->y;
    launch(s, c, offset + random_between(&s->random, -0.05f, 0.05f), -1.0f); /* up to 60 degrees */
}

/* Moves the ball by one frame: down or up, then sideways. */
PUFFER_FN void move_ball(State* s, const Settings* c) {
    s->y += s->vy;
    int among_bricks = s->y < WALL_BOTTOM + BALL_RADIUS;
    if (among_bricks) {
        if (s->y < BALL_RADIUS) {
            s->y = 2.0f * BALL_RADIUS - s->y;
            s->vy = -s->vy;
        } else if (break_brick(s, s->x, s->y + (s->vy < 0.0f ? -BALL_RADIUS : BALL_RADIUS))) {
            s->y -= s->vy;
            s->vy = -s->vy;
        }
    }
    s->x += s->vx;
    if (s->x < BALL_RADIUS || s->x > FIELD_WIDTH - BALL_RADIUS) {
        s->x = (s->x < BALL_RADIUS ? 2.0f * BALL_RADIUS : 2.0f * (FIELD_WIDTH - BALL_RADIUS)) - s->x;
        s->vx = -s->vx;
    }
    if (among_bricks && break_brick(s, s->x + (s->vx < 0.0f ? -BALL_RADIUS : BALL_RADIUS), s->y)) {
        s->x -= s->vx;
        s->vx = -s->vx;
    }
    if (s->y > PADDLE_TOP - BALL_RADIUS) {
        if (s->y - s->vy <= PADDLE_TOP - BALL_RADIUS) meet_paddle(s, c);
        if (s->y > FIELD_HEIGHT + BALL_RADIUS && --s->balls > 0) serve(s, c);
    }
}

/* Actions: 0 stay, 1 left, 2 right. A point of the score pays `point_reward`. */
PUFFER_FN void step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {
    float push = (float)((action[0][0] == 2) - (action[0][0] == 1)) * c->paddle_speed;
    float reach = 0.5f * c->paddle_width;
    int32_t score = s->score, over = 0;
    for (int frame = 0; frame < c->frameskip && !over; frame++) {
        s->paddle = puffer_clamp(s->paddle + push, reach, FIELD_WIDTH - reach);
        move_ball(s, c);
        over = (s->balls == 0) | (s->walls >= c->walls);
    }
    s->steps++;
    out->reward[0] = (float)(s->score - score) * c->point_reward;
    out->terminal[0] = (uint8_t)over;
    out->truncated[0] = (uint8_t)(!over & (s->steps >= c->max_steps));
}

/* One float a bit; `count` is a constant where it is called, so this compiles to a few vector instructions. */
PUFFER_FN void spread(float* out, uint32_t bits, int count) {
    for (int i = 0; i < count; i++) out[i] = bits & (1u << i) ? 1.0f : 0.0f;
}

/* Ten numbers within about [-1, 1], then the bricks row by row from the top left: 1 where one stands. */
PUFFER_FN void observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {
    Observation* o = row[0];
    float top_speed = 0.5f / c->ball_speed;
    o[0] = s->paddle * (2.0f / FIELD_WIDTH) - 1.0f;
    o[1] = s->x * (2.0f / FIELD_WIDTH) - 1.0f;
    o[2] = s->y * (2.0f / FIELD_HEIGHT) - 1.0f;
    o[3] = s->vx * top_speed;
    o[4] = s->vy * top_speed;
    o[5] = puffer_clamp((s->x - s->paddle) / c->paddle_width, -1.0f, 1.0f);
    o[6] = (float)s->balls / (float)c->balls;
    o[7] = (float)pace(s) * (1.0f / 3.0f);
    o[8] = (float)s->standing * (1.0f / BRICKS);
    o[9] = (float)s->walls / (float)c->walls;
    for (int w = 0; w < WORDS - 1; w++) spread(o + SCALARS + 32 * w, s->bricks[w], 32);
    spread(o + SCALARS + 32 * (WORDS - 1), s->bricks[WORDS - 1], BRICKS - 32 * (WORDS - 1));
}

PUFFER_FN void statistics(const State* s, const Settings* c, Statistics* out) {
    (void)c;
    out->score = (float)s->score;
    out->walls = (float)s->walls;
    out->bricks = (float)s->broken;
}

PUFFER_FN uint32_t row_colour(int row) {
    const uint32_t colours[ROWS] = {0xD65A4Au, 0xE07B39u, 0xE8A735u, 0xD9C84Au, 0x5DA85Cu, 0x4A78C9u};
    return colours[row];
}

/* The field under a strip that shows the walls cleared on the left and the balls left on the right. */
PUFFER_FN void render(const State* s, const Settings* c, Canvas* canvas) {
    const float strip = 1.0f;
    canvas_begin(canvas, FIELD_WIDTH, FIELD_HEIGHT + strip, 0x12141Cu);
    draw_rectangle(canvas, 0x23283Au, 0.0f, 0.0f, FIELD_WIDTH, strip);
    for (int i = 0; i < puffer_clamp_int(s->walls, 0, 8); i++)
        draw_rectangle(canvas, 0xE8A735u, 0.3f + 0.9f * (float)i, 0.35f, 0.7f, 0.3f);
    for (int i = 0; i < puffer_clamp_int(s->balls, 0, 8); i++)
        draw_circle(canvas, 0xF2F0E6u, FIELD_WIDTH - 0.5f - 0.6f * (float)i, 0.5f * strip, BALL_RADIUS);
    for (int i = 0; i < BRICKS; i++) {
        if (!(s->bricks[i >> 5] >> (i & 31) & 1u)) continue;
        float x = (float)(i % COLUMNS), y = strip + WALL_TOP + (float)(i / COLUMNS) * BRICK_HEIGHT;
        draw_rectangle(canvas, row_colour(i / COLUMNS), x + 0.04f, y + 0.04f, 0.92f, BRICK_HEIGHT - 0.08f);
    }
    draw_rectangle(canvas, 0x9FD3E6u, s->paddle - 0.5f * c->paddle_width, strip + PADDLE_TOP, c->paddle_width, 0.4f);
    draw_circle(canvas, 0xF2F0E6u, s->x, puffer_clamp(strip + s->y, strip, strip + FIELD_HEIGHT), BALL_RADIUS);
}
