/* The measured loops: INCR on an open connection, and INCR on a new connection every time. */
#ifndef INCR_H
#define INCR_H

#include <stdbool.h>

#include "key.h"
#include "work.h"

extern const struct part INCR_RR;
extern const struct part INCR_CONNECT;

/* What is counted up; and whether localhost is looked up before every connection. Set before workers begin. */
extern const struct key *incr_key;
extern bool incr_resolves;

/* Looks localhost up, and aims the next connection there. */
void incr_resolve(struct caller *caller);

#endif
