/* What the redis peer reads from a redis-server, from bytes in memory: for libFuzzer, and for replay.c. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "resp.h"

ssize_t given_read(int descriptor, void *bytes, size_t count);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *rest;
static size_t left;
static size_t piece;

/* In pieces, as a socket gives them. resp.c is compiled with -Dread=given_read. */
ssize_t given_read(int descriptor, void *bytes, size_t count)
{
    (void)descriptor;
    size_t given = count < piece ? count : piece;
    given = given < left ? given : left;
    memcpy(bytes, rest, given);
    rest += given;
    left -= given;
    errno = 0;
    return (ssize_t)given;
}

/* The rest of the peer is not here: nothing is sent, and nothing but a lack of memory fails. */
const char *socket_address_show(const struct socket_address *address, char buffer[SHOWN_BYTES])
{
    (void)address;
    buffer[0] = '\0';
    return buffer;
}

_Noreturn void fail(const char *format, ...)
{
    (void)format;
    abort();
}

_Noreturn void fail_with_reason(const char *format, ...)
{
    (void)format;
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    /* The first byte says how large pieces are. */
    piece = (size_t)data[0] + 1;
    rest = data + 1;
    left = size - 1;
    struct resp resp = {.descriptor = -1};
    struct reply reply;
    while (resp_receive(&resp, &reply)) {
        /* All that a reply offers can be read. */
        volatile size_t length = reply.text == NULL ? 0 : strlen(reply.text);
        (void)length;
    }
    if (resp.capacity > ((size_t)1 << 24) + (1 << 16)) {
        abort();
    }
    free(resp.bytes);
    return 0;
}
