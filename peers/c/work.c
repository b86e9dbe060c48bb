#define _GNU_SOURCE 1

#include "work.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

static unsigned payload_byte(uint64_t message, uint64_t index, bool newline_ends)
{
    const unsigned byte = (unsigned)((message % 251 + index % 251) % 251);
    return newline_ends && byte == '\n' ? 251 : byte;
}

void payload_fill(unsigned char *bytes, size_t count, uint64_t message, bool newline_ends)
{
    for (size_t index = 0; index < count; index++) {
        bytes[index] = (unsigned char)payload_byte(message, index, newline_ends);
    }
}

void payload_check(const unsigned char *bytes, size_t count, uint64_t message, uint64_t offset,
                   bool newline_ends)
{
    for (size_t index = 0; index < count; index++) {
        const unsigned expected = payload_byte(message, offset + index, newline_ends);
        if (bytes[index] != expected) {
            fail("payload mismatch: byte %" PRIu64 " of message %" PRIu64 " is %u, not %u", offset + index,
                 message, bytes[index], expected);
        }
    }
}

void payload_check_row(const unsigned char *bytes, size_t count, uint64_t offset, size_t size)
{
    while (count > 0) {
        const size_t left = size - (size_t)(offset % size);
        const size_t now = count < left ? count : left;
        payload_check(bytes, now, offset / size, offset % size, false);
        bytes += now;
        count -= now;
        offset += now;
    }
}

unsigned char *filled_buffer(size_t size, unsigned char content)
{
    return memset(fresh_buffer(size), content, size);
}

unsigned char *fresh_buffer(size_t size)
{
    unsigned char *memory = malloc(size + PAGE_BYTES);
    if (memory == NULL) {
        fail("out of memory: cannot have a buffer of %zu bytes", size);
    }
    unsigned char *bytes = memory + (PAGE_BYTES - (uintptr_t)memory % PAGE_BYTES) % PAGE_BYTES;
    return memset(bytes, 0, size);
}

void fail_moving(uint64_t operation, uint64_t ops)
{
    if (errno == 0) {
        fail("in operation %" PRIu64 " of %" PRIu64 ": the other side closed the connection", operation + 1,
             ops);
    }
    fail_with_reason("in operation %" PRIu64 " of %" PRIu64, operation + 1, ops);
}
