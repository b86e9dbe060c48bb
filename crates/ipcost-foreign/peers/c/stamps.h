/* Messages of a stream that carry when they were sent, or due, in their first bytes. */
#ifndef STAMPS_H
#define STAMPS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tally.h"

/* Nanoseconds of the monotonic clock, in the machine's byte order. */
enum { STAMP_BYTES = sizeof(uint64_t) };

/* The message that has begun to arrive. */
struct stamps {
    unsigned char stamp[STAMP_BYTES];
    size_t arrived; /* how many of its bytes */
};

static inline void stamp_write(unsigned char *message, uint64_t sent_ns)
{
    memcpy(message, &sent_ns, sizeof sent_ns);
}

/* Takes what a call received, and records how long each message took that is now complete. */
void stamps_take(struct stamps *stamps, struct tally *took, const unsigned char *bytes, size_t count, size_t size);

#endif
