/*
 * The pace of a worker: pauses between operations (think), or operations that are due at a rate, answered or not. Each
 * is then timed by itself.
 */
#ifndef PACE_H
#define PACE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell.h"
#include "tally.h"

/* What a worker says about a batch at a pace: about answers, messages that it sent, or messages that came. */
enum tells { TELLS_NOTHING, TELLS_ANSWERS, TELLS_SENDS, TELLS_ARRIVALS };

/* Of one worker; it shares no cache line with another. */
struct pace {
    alignas(64) const struct cell *cell;
    size_t worker;
    enum tells tells;
    bool is_open; /* operations are due at a rate */

    /* For each operation its pause, or when it is due after the begin of the batch. */
    uint64_t *moments_ns;
    uint64_t moments_count;
    uint64_t moments_room;
    unsigned char *pollution; /* what a worker goes through before an operation */

    uint64_t next;    /* the operation to begin next */
    uint64_t arrived; /* how many were due so far */
    uint64_t start_ns;
    uint64_t due_ns; /* from when the operation counts */
    uint64_t begun_ns;
    uint64_t ended_ns;
    uint64_t margin_ns; /* how long before an operation is due the spinning begins */

    /* Its report. */
    uint64_t queued;
    uint64_t unsent;
    uint64_t pacer_ns;
    struct tally took;
    struct tally late;
};

/*
 * Gets all that a batch of so many operations needs, and sets the timer slack of the calling thread, which must be the
 * one that then runs the batch. So nothing is allocated or drawn while it runs.
 */
void pace_ready(struct pace *pace, uint64_t ops, uint64_t seed);

/* The batch begins. */
void pace_start(struct pace *pace, uint64_t start_ns);

/* Waits for the next operation's turn and takes the time; and takes the time after it. */
void pace_begin(struct pace *pace);
void pace_end(struct pace *pace);

#endif
