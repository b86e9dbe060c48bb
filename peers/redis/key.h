/* The key that is counted up: its name, and how long it must be for a request of the cell's size. */
#ifndef KEY_H
#define KEY_H

#include <stddef.h>

#include "resp.h"

enum {
    INCR_REPLY_BYTES = 13, /* ":1000000001\r\n" */
    KEY_NAME_BYTES = 32,
};

#define KEY_FIRST_VALUE "1000000000" /* so that every reply has the same length, for nine billion of them */

struct key {
    char name[KEY_NAME_BYTES]; /* without padding; what the server tells the client */
    char *padded;              /* the key itself */
};

/* How long the key is in a request of that size; a size that no key makes ends the peer. */
size_t key_length(size_t request_size);

/* The key of that name. */
struct key key_named(const char *name, size_t request_size);

/* Makes a key that was not there before, with its first value. */
struct key key_make(struct resp *desk, size_t request_size);

/* A request that counts the key up. */
unsigned char *key_request(const struct key *key, size_t request_size);

#endif
