/* Random times of a pace, the same in every peer: SplitMix64, with a state for each worker. */
#ifndef DRAWS_H
#define DRAWS_H

#include <stddef.h>
#include <stdint.h>

struct draws {
    uint64_t state;
};

/* Those of a worker, counted from 0. */
struct draws draws_begin(uint64_t seed, size_t worker);

/* The next: exponential, with mean 1. */
double draws_exponential(struct draws *draws);

#endif
