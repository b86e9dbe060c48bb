#define _GNU_SOURCE 1

#include "key.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "control.h"
#include "work.h"

#define PREFIX "ipcost:"
#define REQUEST_HEAD "*2\r\n$4\r\nINCR\r\n$" /* then the key's length, CR LF, the key, CR LF */

enum {
    PREFIX_BYTES = sizeof PREFIX - 1,
    LEAST_DIGITS = 4,
    MOST_DIGITS = 16,
    LEAST_KEY = PREFIX_BYTES + LEAST_DIGITS,
    LARGEST_KEY = 512 << 20, /* redis takes no more (proto-max-bulk-len) */
    ATTEMPTS = 8,
};

static size_t request_size_of(size_t key_bytes)
{
    char digits[24];
    const int count = snprintf(digits, sizeof digits, "%zu", key_bytes);
    return sizeof REQUEST_HEAD - 1 + (size_t)count + 2 + key_bytes + 2;
}

size_t key_length(size_t request_size)
{
    if (request_size < request_size_of(LEAST_KEY)) {
        fail("an INCR of %zu bytes leaves no room for a key of its own; give --sizes %zu or more",
             request_size, request_size_of(LEAST_KEY));
    }
    if (request_size > request_size_of(LARGEST_KEY)) {
        fail("an INCR of %zu bytes has a key larger than redis takes; give --sizes %zu or less", request_size,
             request_size_of(LARGEST_KEY));
    }
    /* The longest key that fits. The digits of its length are part of the request, so some sizes are missed. */
    size_t length = request_size - request_size_of(0);
    while (request_size_of(length) > request_size) {
        length--;
    }
    if (request_size_of(length) != request_size) {
        fail("no INCR has %zu bytes, since it tells its key's length in digits; give --sizes %zu or %zu",
             request_size, request_size_of(length), request_size_of(length + 1));
    }
    return length;
}

struct key key_named(const char *name, size_t request_size)
{
    struct key key = {0};
    const size_t length = key_length(request_size);
    const size_t known = strlen(name);
    if (strncmp(name, PREFIX, PREFIX_BYTES) != 0 || known >= sizeof key.name || known > length) {
        fail("protocol: \"%s\" is no key of this peer's", name);
    }
    snprintf(key.name, sizeof key.name, "%s", name);
    key.padded = (char *)filled_buffer(length + 1, 'x');
    memcpy(key.padded, name, known);
    key.padded[length] = '\0';
    return key;
}

/* Nobody else's key is ever touched: a name that is taken is left alone. */
struct key key_make(struct resp *desk, size_t request_size)
{
    const size_t room = key_length(request_size) - PREFIX_BYTES;
    const int digits = room < MOST_DIGITS ? (int)room : MOST_DIGITS;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t random;
        char hex[MOST_DIGITS + 1];
        char name[KEY_NAME_BYTES];
        if (getrandom(&random, sizeof random, 0) != sizeof random) {
            fail_with_reason("cannot draw a random number");
        }
        snprintf(hex, sizeof hex, "%016" PRIx64, random);
        snprintf(name, sizeof name, PREFIX "%.*s", digits, hex);
        struct key key = key_named(name, request_size);
        const struct reply taken = RESP_ASK(desk, ':', "EXISTS", key.padded);
        if (taken.number == 0) {
            struct reply reply;
            const char *const words[] = {"SET", key.padded, KEY_FIRST_VALUE, "NX", NULL};
            if (!resp_send(desk, words) || !resp_receive(desk, &reply)) {
                resp_fail(desk, "SET");
            }
            if (reply.type == '-') {
                fail("the redis server at %s refused SET: %s", desk->server, reply.text);
            }
            if (reply.type == '+') {
                return key;
            }
        }
    }
    fail("the redis server at %s has keys of all names that were tried; give larger --sizes", desk->server);
}

unsigned char *key_request(const struct key *key, size_t request_size)
{
    unsigned char *request = fresh_buffer(request_size + 1);
    snprintf((char *)request, request_size + 1, REQUEST_HEAD "%zu\r\n%s\r\n", strlen(key->padded),
             key->padded);
    return request;
}
