/*
 * The latencies of operations, as counts, with a resolution of one part in a thousand.
 *
 * Up to 2048 ns every nanosecond has its own bucket; above, every doubling has 1024 buckets. So recording needs no
 * allocation and a fixed amount of memory, however many operations there are.
 */
#ifndef LATENCY_H
#define LATENCY_H

#include <stddef.h>
#include <stdint.h>

enum {
    LATENCY_BITS = 36, /* 68 seconds; longer ones count as that */
    LATENCY_STEP_BITS = 10,
    LATENCY_STEPS = 1 << LATENCY_STEP_BITS,
    LATENCY_PLACES = (LATENCY_BITS - LATENCY_STEP_BITS + 1) * LATENCY_STEPS,
};

struct latencies {
    uint64_t longest_ns;
    uint32_t count[LATENCY_PLACES];
};

/*
 * The first operation of a batch whose latency is recorded. The first tenth, which includes the cost of starting the
 * loop, is not; in a batch of fewer than ten operations all are.
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
 * Prints the latencies of several workers as an ascending list: all of them, or 10 000 evenly spaced ranks that include
 * the longest.
 */
void latency_print(const struct latencies *const *workers, size_t workers_count);

#endif
