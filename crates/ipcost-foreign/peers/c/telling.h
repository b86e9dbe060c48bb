/* What `done` says about the times of single operations, of all workers together. */
#ifndef TELLING_H
#define TELLING_H

#include "crew.h"

/* Prints the items of `latency_ns`. */
void tell_latencies(const struct crew *crew, enum kind kind);

/* Prints the members that a batch at a pace adds, each with a comma before it. */
void tell_pace(const struct crew *crew);

#endif
