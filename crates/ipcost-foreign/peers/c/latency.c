#include "latency.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_VALUES = 10000 };

static uint64_t merge(const struct latencies *const *workers, size_t workers_count);
static uint64_t latency_of(size_t place);

/* All workers together. */
static struct {
    uint64_t longest_ns;
    uint64_t count[LATENCY_PLACES];
} merged;

void latency_print(const struct latencies *const *workers, size_t workers_count)
{
    const uint64_t total = merge(workers, workers_count);
    const uint64_t kept = total < MOST_VALUES ? total : MOST_VALUES;
    uint64_t printed = 0;
    uint64_t seen = 0;
    for (size_t place = 0; place < LATENCY_PLACES && printed < kept; place++) {
        seen += merged.count[place];
        /* The i-th value kept, from 1, has rank i * total / kept, rounded up. */
        while (printed < kept && (printed + 1) * total <= seen * kept) {
            const uint64_t value_ns = printed + 1 < kept ? latency_of(place) : merged.longest_ns;
            printf(printed == 0 ? "%" PRIu64 : ",%" PRIu64, value_ns);
            printed++;
        }
    }
}

static uint64_t merge(const struct latencies *const *workers, size_t workers_count)
{
    uint64_t total = 0;
    merged.longest_ns = 0;
    for (size_t place = 0; place < LATENCY_PLACES; place++) {
        merged.count[place] = 0;
    }
    for (size_t worker = 0; worker < workers_count; worker++) {
        for (size_t place = 0; place < LATENCY_PLACES; place++) {
            merged.count[place] += workers[worker]->count[place];
            total += workers[worker]->count[place];
        }
        if (workers[worker]->longest_ns > merged.longest_ns) {
            merged.longest_ns = workers[worker]->longest_ns;
        }
    }
    return total;
}

/* The middle of a bucket, but at most the longest recorded. */
static uint64_t latency_of(size_t place)
{
    if (place < 2 * LATENCY_STEPS) {
        return place;
    }
    const size_t shift = place / LATENCY_STEPS - 1;
    const uint64_t lowest = (uint64_t)(place - shift * LATENCY_STEPS) << shift;
    const uint64_t middle = lowest + ((UINT64_C(1) << shift) >> 1);
    return middle < merged.longest_ns ? middle : merged.longest_ns;
}
