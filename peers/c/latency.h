/*
 * The latencies of operations: how many there were of each, told apart to one part in a thousand.
 *
 * Up to 2048 ns every nanosecond has a place of its own; above, every doubling is divided into 1024 places.
 * So recording takes no allocation and a fixed place in memory, however many operations there are.
 */
#ifndef LATENCY_H
#define LATENCY_H

#include <stddef.h>
#include <stdint.h>

enum {
    LATENCY_BITS = 36, /* 68 seconds; what takes longer counts as that */
    LATENCY_STEP_BITS = 10,
    LATENCY_STEPS = 1 << LATENCY_STEP_BITS,
    LATENCY_PLACES = (LATENCY_BITS - LATENCY_STEP_BITS + 1) * LATENCY_STEPS,
};

struct latencies {
    uint64_t longest_ns;
    uint32_t count[LATENCY_PLACES];
};

/*
 * The first operation of a batch whose latency is recorded. The first tenth holds what starting the loop costs; of a
 * batch with fewer than ten operations all are recorded.
 */
static inline uint64_t latency_first(uint64_t ops)
{
    return ops / 10;
}

static inline void latency_record(struct latencies *latencies, uint64_t latency_ns)
{
    const uint64_t most = (UINT64_C(1) << LATENCY_BITS) - 1;
    const uint64_t bounded = latency_ns < most ? latency_ns : most;
    const int bits = 64 - __builtin_clzll(bounded | 1);
    const int shift = bits > LATENCY_STEP_BITS + 1 ? bits - LATENCY_STEP_BITS - 1 : 0;
    latencies->count[(size_t)shift * LATENCY_STEPS + (size_t)(bounded >> shift)]++;
    if (latency_ns > latencies->longest_ns) {
        latencies->longest_ns = latency_ns;
    }
}

/*
 * Prints the latencies of several workers as a list in ascending order: all of them, or 10 000 evenly spaced
 * ranks of them with the longest.
 */
void latency_print(const struct latencies *const *workers, size_t workers_count);

#endif
