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
    struct meeting *meeting; /* where workers wait for orders and report */
    pid_t *processes;        /* NULL unless workers are processes */
};

/* A cell's workers, before they have anything to work with. */
struct crew crew_create(const struct part *part, const struct cell *cell, bool are_processes);

/* Forks a worker process; what it works with stays open in both processes. */
void crew_fork(struct crew *crew, size_t index);

/* Starts the workers that are not processes. */
void crew_start(struct crew *crew);

/* Has every worker get what an order at a pace needs, so that the batch itself allocates and draws nothing. */
void crew_ready(struct crew *crew, struct order order);

/* Runs the order on every worker. A worker that fails ends the peer. */
struct together crew_run(struct crew *crew, struct order order);

/* Ends worker processes and waits for their end. */
void crew_dismiss(struct crew *crew);

#endif
