/* A picture as a short list of draw commands: what a replay page, a PNG or a terminal can draw alike.
 * Units are the environment's own: the canvas is width x height of them, origin at the top left, y downwards. */
#ifndef PUFFER_CANVAS_H
#define PUFFER_CANVAS_H

#include "random.h"

enum { CANVAS_MAX_COMMANDS = 1024 };
enum { DRAW_RECTANGLE = 0, DRAW_CIRCLE = 1, DRAW_LINE = 2 };

typedef struct {
    int32_t kind;    /* DRAW_... */
    uint32_t colour; /* 0xRRGGBB */
    float at[5];     /* rectangle: x y w h; circle: x y radius; line: x1 y1 x2 y2 width */
} DrawCommand;

typedef struct {
    float width, height;
    uint32_t background; /* 0xRRGGBB */
    int32_t count;       /* commands that follow; one over CANVAS_MAX_COMMANDS is dropped and counted in `dropped` */
    int32_t dropped;
    DrawCommand commands[CANVAS_MAX_COMMANDS];
} Canvas;

PUFFER_FN void canvas_begin(Canvas* c, float width, float height, uint32_t background) {
    c->width = width;
    c->height = height;
    c->background = background;
    c->count = 0;
    c->dropped = 0;
}

PUFFER_FN void canvas_add(Canvas* c, int kind, uint32_t colour, float a, float b, float d, float e, float f) {
    if (c->count >= CANVAS_MAX_COMMANDS) {
        c->dropped++;
        return;
    }
    DrawCommand* k = &c->commands[c->count++];
    k->kind = kind;
    k->colour = colour;
    k->at[0] = a;
    k->at[1] = b;
    k->at[2] = d;
    k->at[3] = e;
    k->at[4] = f;
}

PUFFER_FN void draw_rectangle(Canvas* c, uint32_t colour, float x, float y, float w, float h) {
    canvas_add(c, DRAW_RECTANGLE, colour, x, y, w, h, 0.0f);
}
PUFFER_FN void draw_circle(Canvas* c, uint32_t colour, float x, float y, float radius) {
    canvas_add(c, DRAW_CIRCLE, colour, x, y, radius, 0.0f, 0.0f);
}
PUFFER_FN void draw_line(Canvas* c, uint32_t colour, float x1, float y1, float x2, float y2, float width) {
    canvas_add(c, DRAW_LINE, colour, x1, y1, x2, y2, width);
}

#endif
