/* The workers of a peer: one in the main thread, several as threads, or each as a process. */
#ifndef CREW_H
#define CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "work.h"

struct meeting;

struct crew {
    const struct part *part;
    struct worker *workers; /* shared with worker processes */
    size_t count;
    struct meeting *meeting; /* where workers wait for orders, and are waited for */
    pid_t *processes;        /* NULL where workers are no processes */
};

/* Workers of a cell that have nothing to work with yet. */
struct crew crew_create(const struct part *part, const struct cell *cell, bool are_processes);

/* Splits a worker off that is a process; what it works with is open in both processes afterwards. */
void crew_fork(struct crew *crew, size_t index);

/* Lets the workers begin that are no processes. */
void crew_start(struct crew *crew);

/* Every worker does the order. A worker that fails ends the peer. */
struct together crew_run(struct crew *crew, struct order order);

/* Prints the latencies of the last batch, if there are any to print. */
void crew_print_latencies(const struct crew *crew);

/* Ends worker processes and waits for their end. */
void crew_dismiss(struct crew *crew);

#endif
