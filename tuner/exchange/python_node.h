/* The tree of a Python expression, which python.h makes. */
#ifndef AUTOTUNE_PYTHON_NODE_H
#define AUTOTUNE_PYTHON_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYTHON_TEXT_LIMIT = 64 * 1024, PYTHON_DEPTH_LIMIT = 48 };

enum python_kind {
    PYTHON_INTEGER,
    PYTHON_REAL,
    PYTHON_STRING,  /* `text` without its quotes */
    PYTHON_BOOLEAN, /* `integer` is 0 or 1 */
    PYTHON_NAME,    /* `text`, which may have dots: "math.ceil" */
    PYTHON_UNARY,   /* children: 1 */
    PYTHON_BINARY,  /* children: 2 */
    PYTHON_COMPARE, /* children: 2 or more, with an operation between each two */
    PYTHON_CHOICE,  /* `a if c else b`: c, a, b */
    PYTHON_CALL,    /* `text` is the function's name, the children are its arguments */
    PYTHON_INDEX,   /* children: what is indexed, and the index */
    PYTHON_LIST,    /* a list, tuple or set */
    PYTHON_EACH,    /* a comprehension: its element, then FOR and IF clauses */
    PYTHON_FOR,     /* `text` is the variable; children: what it runs over */
    PYTHON_IF,      /* children: the condition */
};

enum python_operation {
    PYTHON_NONE,
    PYTHON_OR,
    PYTHON_AND,
    PYTHON_NOT,
    PYTHON_EQUAL,
    PYTHON_DIFFERENT,
    PYTHON_LESS,
    PYTHON_LESS_EQUAL,
    PYTHON_GREATER,
    PYTHON_GREATER_EQUAL,
    PYTHON_IN,
    PYTHON_NOT_IN,
    PYTHON_BIT_OR,
    PYTHON_BIT_XOR,
    PYTHON_BIT_AND,
    PYTHON_SHIFT_LEFT,
    PYTHON_SHIFT_RIGHT,
    PYTHON_ADD,
    PYTHON_SUBTRACT,
    PYTHON_MULTIPLY,
    PYTHON_DIVIDE,
    PYTHON_FLOOR_DIVIDE,
    PYTHON_MODULO,
    PYTHON_PLUS,
    PYTHON_MINUS,
    PYTHON_POWER,
};

struct python_node {
    enum python_kind kind;
    enum python_operation operation; /* of UNARY and BINARY */
    int64_t integer;
    double real;
    char *text;
    struct python_node **children;
    size_t count;
    enum python_operation *operations; /* of COMPARE: operations[i] is before children[i + 1] */
    size_t operation_count;
    bool bracketed;
    const char *start, *end; /* where it is in the text, for messages */
};

struct python {
    char *text; /* a copy */
    struct python_node *root;
    struct python_node **nodes; /* all of them */
    size_t node_count;
};

/* Two arguments of printf, for %.*s: the node's text. */
#define PYTHON_TEXT(node) (int)((node)->end - (node)->start), (node)->start

#endif
