/*
 * Real programs that a peer drives: found, started, waited for, and never left behind. One runs at a time.
 *
 * It is in a directory of its own because the C peer drives none.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "work.h"

struct program {
    const char *name;
    char path[PATH_MAX];
};

/* Finds a program in PATH; where it is missing, the peer ends with an error that names Debian's package. */
struct program program_find(const char *name, const char *package);

/* What follows `before` in what the program says when it is asked for its version, up to a space. */
void program_version(const struct program *program, const char *argument, const char *before, char *version,
                     size_t capacity);

/* How a program is started. */
struct launch {
    const struct program *program;
    const char *const *arguments; /* without the program's name; they end with NULL */
    int input;                    /* 0 for nothing to read */
    int output;                   /* 0 for nowhere */
    bool complains_on_output;     /* whether its output tells what went wrong too */
    bool (*before_exec)(void);    /* what the new process does last, if it can (errno); or NULL */
};

struct child {
    const struct program *program;
    pid_t process; /* 0 where there is none */
    int complaint; /* what it has written to its standard error */
};

/* The kernel kills it should this process die. */
struct child child_start(const struct launch *launch);

/* Whether it has ended; it stays to be waited for. */
bool child_has_ended(const struct child *child);

/* Waits for its end; it stays to be waited for. */
void child_await_end(const struct child *child);

/* Waits for its end and tells what it has used since its start; any end but a good one ends the peer. */
struct usage child_wait(struct child *child);

/* Kills it, if there is one, and waits for its end. */
void child_kill(struct child *child);

/* Ends the peer: the program has failed; says what it wrote last. */
_Noreturn void child_fail(struct child *child, int status) __attribute__((cold));

/* A file, one of a few, that goes with this process where it ends early. */
void program_owns_file(const char *path);

/* Removes these files now. */
void program_remove_files(void);

#endif
