"""Small C environments for the tests: an honest one, and the same with one fault each."""

from __future__ import annotations

from typing import NamedTuple

HONEST = """/* A dot on a line walks to a goal; two agents see it from both sides. */
#define ENV_NAME "line"
#define ENV_TITLE "Line"
#define ENV_TASK "Walk to the goal."
#define ENV_AUTHOR "tests"
#define ENV_AGENTS 2
#define ENV_OBSERVATION F32(2, 2)
#define ENV_OBSERVATION_RANGE -1.0f, 1.0f
#define ENV_ACTION DISCRETE(3)
#define ENV_SETTINGS(SETTING) SETTING(int, max_steps, 30, 1, 1000, "steps until an episode is truncated") \\
    SETTING(float, pay, 1.0, 0.0, 10.0, "reward at the goal")
#define ENV_STATISTICS(STATISTIC) STATISTIC(reached, "1 if the goal was reached")
#include "puffer/environment.h"

enum { LENGTH = 16 };
static const int32_t moves[3] = {0, -1, 1};

typedef struct {
    Random random;
    int32_t at[ENV_AGENTS], goal, steps;
    int32_t seen[LENGTH];
    //MEMBER
} State;
//GLOBAL

PUFFER_FN void reset(State* s, const Settings* c) {
    (void)c;
    s->goal = random_below(&s->random, LENGTH);
    for (int a = 0; a < ENV_AGENTS; a++) s->at[a] = random_below(&s->random, LENGTH);
    for (int i = 0; i < LENGTH; i++) s->seen[i] = 0;
    s->steps = 0;
    //RESET
}

PUFFER_FN void step(State* s, const Settings* c, const int32_t action[ENV_AGENTS][ENV_HEADS], Step* out) {
    int there = 0;
    for (int a = 0; a < ENV_AGENTS; a++) {
        int32_t choice = puffer_clamp_int(action[a][0], 0, 2);
        s->at[a] = puffer_clamp_int(s->at[a] + moves[choice], 0, LENGTH - 1);
        there |= s->at[a] == s->goal;
        out->reward[a] = s->at[a] == s->goal ? c->pay : 0.0f;
    }
    s->seen[s->at[0]] = 1;
    s->steps++;
    if (there) terminate_all(out);
    if (s->steps >= c->max_steps) truncate_all(out); //LIMIT
    //STEP
}

PUFFER_FN void observe(const State* s, const Settings* c, Observation row[ENV_AGENTS][ENV_FEATURES]) {
    (void)c;
    for (int a = 0; a < ENV_AGENTS; a++) {
        row[a][0] = (float)s->at[a] / (LENGTH - 1);
        row[a][1] = (float)s->goal / (LENGTH - 1);
        row[a][2] = (float)(s->at[a] - s->goal) / (LENGTH - 1);
        row[a][3] = (float)s->seen[s->goal]; //LAST
    }
    //OBSERVE
}

PUFFER_FN void statistics(const State* s, const Settings* c, Statistics* out) {
    (void)c;
    out->reached = s->at[0] == s->goal ? 1.0f : 0.0f; //STATISTIC
}

PUFFER_FN void render(const State* s, const Settings* c, Canvas* canvas) {
    (void)c;
    canvas_begin(canvas, (float)LENGTH, 1.0f, 0u);
    draw_circle(canvas, 0xFFFFFFu, (float)s->at[0] + 0.5f, 0.5f, 0.4f);
    //RENDER
}
"""


class Fault(NamedTuple):
    """One change of the honest environment, and the code that must name it."""

    about: str
    changes: dict[str, str]
    """Mark or line -> what stands there instead."""
    code: str
    """Or several, of which chance decides."""
    place: str = ""
    """Words that the place must hold."""
    status: int = 1
    seconds: int = 20


def header(changes: dict[str, str]) -> str:
    """The honest environment with these changes; each must hit exactly one place."""
    written = HONEST
    for mark, change in changes.items():
        old = f"//{mark}" if mark.isupper() else mark
        assert written.count(old) == 1, mark
        written = written.replace(old, change)
    return written


def external(declaration: str) -> str:
    """A declaration of a C library function that is valid as C and as C++, without an include."""
    throws = "" if "printf" in declaration or "puts" in declaration else " noexcept"
    return f'#if defined(__cplusplus)\nextern "C" {declaration}{throws};\n#else\n{declaration};\n#endif\n'


# Names of the C library put together by the preprocessor: the text check cannot see them, what runs can.
HIDDEN_CALL = "#define JOINED(a, b) a##b\n"

RUN = (
    Fault(
        "a write behind an array of State", {"STEP": "s->seen[LENGTH + (s->steps > 4)] = 1;"}, "c_env.undefined", "step"
    ),
    Fault(
        "a write behind State",
        {"STEP": "if (s->steps == 5) ((char*)s)[sizeof(State) + 2] = 1;"},
        "c_env.memory",
        "step 5",
    ),
    Fault(
        "a read behind the row",
        {"OBSERVE": "((float*)row)[ENV_AGENTS * ENV_FEATURES] = 1.0f;"},
        "c_env.memory",
        "observe",
    ),
    Fault("a write to the action", {"STEP": "*(int32_t*)&action[0][0] = 1;"}, "c_env.const", "step"),
    Fault("a write to the settings", {"STEP": "((Settings*)c)->pay += 1.0f;"}, "c_env.const", "step"),
    Fault("observe changes State", {"OBSERVE": "((State*)s)->steps += 0 * LENGTH + 1;"}, "c_env.const", "observe"),
    Fault("render changes State", {"RENDER": "((State*)s)->goal = 0;"}, "c_env.const", "render"),
    Fault("a division by zero", {"STEP": "s->goal += 1 / (s->steps - 3);"}, "c_env.undefined", "step 3"),
    Fault("a shift too far", {"STEP": "s->goal = (1 << (s->steps + 20)) & 7;"}, "c_env.undefined", "step"),
    Fault(
        "NaN in an observation at step 7",
        {"OBSERVE": "if (s->steps == 7) row[1][2] = 0.0f / (float)(s->steps - 7);"},
        "c_env.observation_not_finite",
        "step 7, agent 1, leaf /, index [1, 0]",
    ),
    Fault(
        "infinity in a reward",
        {"STEP": "if (s->steps == 4) out->reward[1] = 1e38f * 1e38f;"},
        "c_env.reward_not_finite",
        "step 4, agent 1",
    ),
    Fault(
        "NaN in a statistic",
        {"s->at[0] == s->goal ? 1.0f : 0.0f; //STATISTIC": "0.0f / (float)(s->steps * 0);"},
        "c_env.statistic_not_finite",
        "leaf /reached",
    ),
    Fault(
        "NaN in the picture",
        {"RENDER": "draw_circle(canvas, 0u, 0.0f / (float)(s->goal * 0), 0.0f, 1.0f);"},
        "c_env.canvas",
        "render",
    ),
    Fault(
        "an observation out of its range",
        {"(float)s->seen[s->goal]; //LAST": "(float)s->steps / 10.0f;"},
        "c_env.observation_range",
        "step 11, agent 0, leaf /, index [1, 1]",
    ),
    Fault(
        "a value of the row is not written",
        {"row[a][3] = (float)s->seen[s->goal]; //LAST": ""},
        "c_env.observation_unwritten",
        "agent 0, leaf /, index [1, 1]",
    ),
    Fault("reset forgets a member", {"    s->steps = 0;": ""}, "c_env.reset_incomplete", "step"),
    Fault(
        "reset forgets a member that only a late result needs",
        {"for (int i = 0; i < LENGTH; i++) s->seen[i] = 0;": ""},
        "c_env.observation_range",
    ),
    Fault(
        "an uninitialised local variable",
        {"STEP": "int noise[64]; s->goal = (s->goal + (noise[13] & 1)) % LENGTH;"},
        "c_env.uninitialised",
        "step",
    ),
    Fault(
        "a pointer of State to itself",
        {"MEMBER": "int32_t* first;", "RESET": "s->first = s->seen;", "STEP": "if (s->steps > 1) s->first[1] = 0;"},
        "c_env.memory",
        "step",
    ),
    Fault(
        "a statistic is not written",
        {"out->reached = s->at[0] == s->goal ? 1.0f : 0.0f; //STATISTIC": "(void)s; (void)out;"},
        "c_env.output_unwritten",
    ),
    Fault(
        "a global counter",
        {"GLOBAL": "static int counter;", "STEP": "out->reward[0] += (float)(counter++ % 7);"},
        "c_env.hidden_state",
        "step",
    ),
    Fault(
        "a static variable in a function",
        {"STEP": "static int32_t last; s->goal = (s->goal + last) % LENGTH; last = s->at[0];"},
        "c_env.hidden_state",
        "step",
    ),
    Fault(
        "rand()",
        {"GLOBAL": external("int rand(void)"), "RESET": "s->goal = rand() % LENGTH;"},
        "c_env.hidden_state",
        "step 1",
    ),
    Fault(
        "the seed is set anew in reset",
        {"RESET": "random_seed(&s->random, 42, 0); s->goal = random_below(&s->random, LENGTH);"},
        "c_env.random_changed",
        "reset",
    ),
    Fault(
        "the seed is ignored",
        {"RESET": "s->random.state = 42; s->goal = 3; s->at[0] = s->at[1] = 9;"},
        "c_env.seed_ignored",
    ),
    Fault(
        "nothing is random",
        {
            "s->goal = random_below(&s->random, LENGTH);": "s->goal = 3;",
            "s->at[a] = random_below(&s->random, LENGTH);": "s->at[a] = 9;",
        },
        "c_env.seed_unused",
        status=0,
    ),
    Fault(
        "dependence on an address",
        {"STEP": "if (((uintptr_t)s >> 4) % 7 == 3) out->reward[0] += 0.5f;"},
        "c_env.hidden_state c_env.shared_state c_env.process_dependent",
    ),
    Fault(
        "dependence on another process's address",
        {
            "GLOBAL": "static const int32_t anchor = 5;",
            "STEP": "out->reward[0] += (float)(((uintptr_t)&anchor >> 12) % 251);",
        },
        "c_env.process_dependent",
    ),
    Fault(
        "a limit that is called terminal",
        {"truncate_all(out); //LIMIT": "terminate_all(out);"},
        "c_env.terminal_at_limit",
        "agent 0",
    ),
    Fault(
        "terminal and truncated at once",
        {"truncate_all(out); //LIMIT": "out->truncated[0] = out->truncated[1] = 1;"},
        "c_env.both_flags",
        "agent 0",
    ),
    Fault(
        "truncation of one agent",
        {"truncate_all(out); //LIMIT": "out->truncated[1] = (uint8_t)!there;"},
        "c_env.partial_truncation",
        "agent 1",
    ),
    Fault(
        "a flag of 2",
        {"STEP": "if (s->steps == 3) out->truncated[0] = out->truncated[1] = 2;"},
        "c_env.flag_value",
        "step 3",
    ),
    Fault(
        "an endless loop",
        {"STEP": "while (s->steps == 9) s->goal = (s->goal + s->steps) & 7;"},
        "c_env.hang",
        "step 9",
        seconds=4,
    ),
    Fault(
        "printf",
        {"GLOBAL": external("int printf(const char*, ...)"), "STEP": 'printf("step %d\\n", s->steps);'},
        "c_env.output",
    ),
    Fault(
        "printing without end",
        {"GLOBAL": external("int puts(const char*)"), "RESET": 'while (s->goal >= 0) puts("hello");'},
        "c_env.output",
    ),
    Fault(
        "a leak of the heap",
        {
            "GLOBAL": external("void* malloc(size_t)"),
            "STEP": "if (s->steps == 2) { volatile char* kept = (volatile char*)malloc(64); kept[0] = 1; kept = 0; }",
        },
        "c_env.leak",
    ),
    Fault(
        "recursion without end",
        {
            "GLOBAL": "PUFFER_FN int deeper(volatile int n) { return n < 0 ? 0 : 1 + deeper(n + 1); }",
            "STEP": "s->goal = (s->goal + deeper(1)) & 7;",
        },
        "c_env.memory",
        "step 1",
    ),
    Fault(
        "an end of the process",
        {"GLOBAL": external("void exit(int)"), "STEP": "if (s->steps == 6) exit(0);"},
        "c_env.exit",
        "step 6",
    ),
    Fault("a crash by a signal", {"STEP": "if (s->steps == 6) __builtin_trap();"}, "c_env.crash", "step 6"),
    Fault(
        "a library function that the text hides",
        {
            "GLOBAL": HIDDEN_CALL + external("int JOINED(ra, nd)(void)"),
            "RESET": "s->goal = (s->goal + JOINED(ra, nd)() % 1) % LENGTH;",
        },
        "c_env.calls",
    ),
    Fault(
        "a variable that the text hides",
        {
            "GLOBAL": "#define KEPT stat##ic\n#define HELD(a, b) a##b\n",
            "STEP": "HELD(sta, tic) int32_t count; count++; (void)count;",
        },
        "c_env.global",
    ),
    Fault("a mistake of syntax", {"STEP": "s->goal = ;"}, "c_env.compile", "line.h:"),
    Fault(
        "C++ that is no C",
        {"STEP": "auto lambda = [](int x) { return x; }; s->goal = lambda(s->goal);"},
        "c_env.compile",
    ),
    Fault("C that is no C++", {"STEP": "int class = 1; s->goal = s->goal * class;"}, "c_env.compile"),
    Fault(
        "a harmful setting at its bound",
        {"STEP": "if (c->max_steps == 1000) out->reward[0] = 1e38f * 1e38f;"},
        "c_env.reward_not_finite",
        "step",
    ),
    Fault(
        "an action that is used as an index",
        {"puffer_clamp_int(action[a][0], 0, 2)": "action[a][0]"},
        "c_env.undefined",
        "step",
        status=0,
    ),
    Fault(
        "a step after the end that does harm",
        {"STEP": "if (s->steps > c->max_steps) s->seen[s->steps + LENGTH] = 1;"},
        "c_env.undefined",
        "step 31",
        status=0,
    ),
    Fault(
        "metadata that the preprocessor changes",
        {"GLOBAL": "#undef ENV_AGENTS\n#define ENV_AGENTS 2\n"},
        "environment.header",
        status=1,
    ),
    Fault(
        "another random member first",
        {"    Random random;\n": "    int32_t first;\n    Random random;\n"},
        "c_env.metadata",
    ),
)

TEXT = (
    Fault("heap", {"STEP": "int* p = (int*)malloc(4); free(p);"}, "c_source.heap"),
    Fault("C++ heap", {"STEP": "delete(s);"}, "c_source.heap"),
    Fault("a variable of the file", {"GLOBAL": "int counter = 0;"}, "c_source.global"),
    Fault("an array of the file", {"GLOBAL": "float table[4] = {1, 2, 3, 4};"}, "c_source.global"),
    Fault("a pointer of the file that can be changed", {"GLOBAL": "const char* words = 0;"}, "c_source.global"),
    Fault("a static variable of the file", {"GLOBAL": "static int counter;"}, "c_source.global"),
    Fault("a static struct of the file", {"GLOBAL": "static struct { int a; } kept;"}, "c_source.global"),
    Fault("a static variable in a function", {"STEP": "static int counter = 0; counter++;"}, "c_source.global"),
    Fault("a variable of each thread", {"STEP": "_Thread_local int counter;"}, "c_source.global"),
    Fault("a variable of another file", {"GLOBAL": "extern int counter;"}, "c_source.global"),
    Fault("rand", {"STEP": "s->goal = rand() % 4;"}, "c_source.random"),
    Fault("random()", {"STEP": "s->goal = (int)random() % 4;"}, "c_source.random"),
    Fault("srand with time", {"RESET": "srand(time(0));"}, "c_source.clock"),
    Fault("a clock", {"STEP": "s->goal = (int)clock();"}, "c_source.clock"),
    Fault("a processor's counter", {"STEP": "s->goal = (int)__rdtsc();"}, "c_source.clock"),
    Fault("the day of compilation", {"STEP": "s->goal = (int)__TIME__[0];"}, "c_source.process"),
    Fault("printf", {"STEP": 'printf("%d", s->goal);'}, "c_source.input_output"),
    Fault("fopen", {"RESET": 'fopen("level.txt", "r");'}, "c_source.input_output"),
    Fault("read", {"RESET": "read(0, s, 4);"}, "c_source.input_output"),
    Fault("getenv", {"RESET": 'getenv("HOME");'}, "c_source.process"),
    Fault("system", {"RESET": "system(0);"}, "c_source.process"),
    Fault(
        "a function pointer to malloc",
        {"GLOBAL": "PUFFER_FN void f(void) { void* (*g)(size_t) = malloc; (void)g; }"},
        "c_source.heap",
    ),
    Fault("a pointer in State", {"MEMBER": "float* values;"}, "c_source.pointer"),
    Fault("an integer that holds a pointer", {"MEMBER": "uintptr_t values;"}, "c_source.pointer"),
    Fault("a function pointer in State", {"MEMBER": "int (*next)(int);"}, "c_source.pointer"),
    Fault("stdio", {"GLOBAL": "#include <stdio.h>"}, "c_source.include"),
    Fault("an absolute path", {"GLOBAL": '#include "/dev/null"'}, "c_source.include"),
    Fault("a path upwards", {"GLOBAL": '#include "../line/line.h"'}, "c_source.include"),
    Fault("an include by a macro", {"GLOBAL": "#define WHERE <stdlib.h>\n#include WHERE"}, "c_source.include"),
    Fault("an include with a spliced line", {"GLOBAL": "#inc\\\nlude <stdlib.h>"}, "c_source.include"),
    Fault("an include with a comment inside", {"GLOBAL": "# /* here */ include <stdlib.h>"}, "c_source.include"),
    Fault("a file that is not there", {"GLOBAL": '#include "missing.h"'}, "c_source.include"),
    Fault("include_next", {"GLOBAL": "#include_next <stdint.h>"}, "c_source.directive"),
    Fault("a pragma", {"GLOBAL": '#pragma GCC optimize("fast-math")'}, "c_source.directive"),
    Fault("_Pragma", {"GLOBAL": '_Pragma("GCC diagnostic ignored \\"-Wall\\"")'}, "c_source.directive"),
    Fault("a trigraph", {"GLOBAL": "??=include <stdlib.h>"}, "c_source.directive"),
    Fault("a digraph", {"GLOBAL": "%:include <stdlib.h>"}, "c_source.directive"),
    Fault("a word of the language redefined", {"GLOBAL": "#define const"}, "c_source.directive"),
    Fault("a word of the contract redefined", {"GLOBAL": "#define random_below(r, n) 0"}, "c_source.directive"),
    Fault("a raw string", {"GLOBAL": 'static const char words[] = R"(" /*)";'}, "c_source.directive"),
    Fault(
        "a constructor", {"GLOBAL": "__attribute__((constructor)) static void early(void) {}"}, "c_source.before_main"
    ),
    Fault(
        "a C++ constructor attribute", {"GLOBAL": "[[gnu::constructor]] static void early() {}"}, "c_source.before_main"
    ),
    Fault(
        "a section",
        {"GLOBAL": '__attribute__((section(".init_array"))) static const int x = 1;'},
        "c_source.before_main",
    ),
    Fault("assembly", {"STEP": '__asm__("nop");'}, "c_source.assembly"),
    Fault("volatile assembly", {"STEP": 'asm volatile("nop");'}, "c_source.assembly"),
    Fault("mathematics of the C library", {"GLOBAL": "#include <math.h>"}, "c_source.mathematics", status=0),
)

CLEAN = (
    ("a size that is a product", {"MEMBER": "float grid[LENGTH * 2][LENGTH];", "RESET": "s->grid[0][0] = 0.0f;"}),
    ("moves that are called like functions", {"GLOBAL": "enum { fold, call, raise, fork };"}),
    ("a word of an attribute after one", {"GLOBAL": "__attribute__((unused)) static const int section = 1;"}),
    ("a struct of the file that is only a type", {"GLOBAL": "struct Point { float x, y; };\nstruct Other;"}),
    ("a constant struct of the file", {"GLOBAL": "static const struct { int a; } rows[] = {{1}, {2}};"}),
    ("a constant on the right", {"GLOBAL": "int const limit = 3;"}),
    ("a prototype", {"GLOBAL": "PUFFER_FN int later(int x);\nPUFFER_FN int later(int x) { return x; }"}),
    ("a macro with arguments", {"GLOBAL": "#define SQUARE(x) ((x) * (x))\n#define TWO_LINES \\\n    1"}),
    ("words in comments", {"STEP": "/* malloc, rand(), printf */ // static int x; time(0)"}),
    ("words in a text", {'"Walk to the goal."': '"malloc(), rand(), #include <stdio.h>, static int x;"'}),
    (
        "members with such names",
        {"MEMBER": "int32_t time, clock, free, exit;", "RESET": "s->time = s->clock = s->free = s->exit = 0;"},
    ),
    ("constants", {"GLOBAL": "static const float table[2][2] = {{1, 2}, {3, 4}};\nenum { A = 1, B };\n"}),
    ("a constant text", {"GLOBAL": 'static const char* const words[] = {"a", "b"};'}),
    (
        "own structs and functions",
        {"GLOBAL": "typedef struct { float x, y; } Point;\nPUFFER_FN float length(const Point* p) { return p->x; }"},
    ),
    (
        "a function with a common word as its name",
        {
            "GLOBAL": "PUFFER_FN int close_by(int x) { return x; }\nPUFFER_FN int kill(int x) { return x; }",
            "STEP": "s->goal = kill(s->goal);",
        },
    ),
    ("a static constant in a function", {"STEP": "static const int32_t turns[2] = {1, -1}; s->goal += 0 * turns[0];"}),
    ("once", {"#define ENV_NAME": "#pragma once\n#define ENV_NAME"}),
    ("attributes that place nothing", {"GLOBAL": "__attribute__((unused)) static inline int f(void) { return 0; }"}),
)
