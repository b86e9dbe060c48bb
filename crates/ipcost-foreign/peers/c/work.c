#define _GNU_SOURCE 1

#include "work.h"

#include <stdlib.h>

static unsigned char *placed_buffer(size_t size, int offset, unsigned char content);

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

void create_outgoing(struct worker *worker, size_t size, unsigned char content)
{
    worker->outgoing_size = size;
    worker->outgoing = placed_buffer(size, worker->cell->send_offset, content);
}

void create_incoming(struct worker *worker, size_t size)
{
    worker->incoming_size = size;
    worker->incoming = placed_buffer(size, worker->cell->recv_offset, 0);
}

static unsigned char *placed_buffer(size_t size, int offset, unsigned char content)
{
    unsigned char *bytes = malloc(size + (offset == ANYWHERE ? 0 : PAGE_BYTES));
    if (bytes == NULL) {
        fail("out of memory: cannot have a buffer of %zu bytes", size);
    }
    if (offset != ANYWHERE) {
        bytes += ((uintptr_t)offset - (uintptr_t)bytes) % PAGE_BYTES;
    }
    /* Its pages exist from now on, not from the first operation. */
    return memset(bytes, content, size);
}

void fail_moving(uint64_t operation, uint64_t ops)
{
    if (errno == 0) {
        fail("in operation %" PRIu64 " of %" PRIu64 ": the other side closed the connection", operation + 1,
             ops);
    }
    fail_with_reason("in operation %" PRIu64 " of %" PRIu64, operation + 1, ops);
}
