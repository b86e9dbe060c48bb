/* Times of operations: how many, how long all together, and how often each. */
#ifndef TALLY_H
#define TALLY_H

#include <stdint.h>

#include "latency.h"

struct tally {
    uint64_t left_out; /* operations still to come that are not recorded */
    uint64_t count;
    uint64_t sum_ns;
    struct latencies times;
};

/* Forgets all, and is not going to record the first operations. */
void tally_clear(struct tally *tally, uint64_t left_out);

static inline void tally_record(struct tally *tally, uint64_t ns)
{
    if (tally->left_out > 0) {
        tally->left_out--;
        return;
    }
    tally->count++;
    tally->sum_ns += ns;
    latency_record(&tally->times, ns);
}

#endif
