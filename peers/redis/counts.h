/* What redis-server counts: its own use of the machine, and its commands. */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdint.h>
#include <sys/types.h>

#include "key.h"
#include "resp.h"
#include "work.h"

struct counts {
    uint64_t value; /* of the key */
    uint64_t incr_calls;
    uint64_t incr_usec;
    uint64_t cpu_ns; /* of the process, by its clock; 0 where the process is not known */
    struct usage usage;
};

/*
 * Asks for all of it. The use of the machine comes last at the begin of a batch and first at its end, so that
 * the asking is not part of the batch. `process` is 0 where it is not known.
 */
struct counts counts_at_begin(struct resp *desk, const struct key *key, pid_t process);
struct counts counts_at_end(struct resp *desk, const struct key *key, pid_t process);

/* What the server used in between. */
struct usage counts_usage(const struct counts *before, const struct counts *after);

/* The number of the server's process, as it sees it. */
pid_t counts_process(struct resp *desk);

/* The server's version. */
void counts_version(struct resp *desk, char *version, size_t capacity);

#endif
