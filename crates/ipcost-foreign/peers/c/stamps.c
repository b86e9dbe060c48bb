#define _GNU_SOURCE 1

#include "stamps.h"

#include "work.h"

void stamps_take(struct stamps *stamps, struct tally *took, const unsigned char *bytes, size_t count, size_t size)
{
    const uint64_t now = now_ns();
    while (count > 0) {
        const size_t missing = size - stamps->arrived;
        const size_t part = count < missing ? count : missing;
        if (stamps->arrived < STAMP_BYTES) {
            const size_t room = STAMP_BYTES - stamps->arrived;
            memcpy(stamps->stamp + stamps->arrived, bytes, part < room ? part : room);
        }
        stamps->arrived += part;
        bytes += part;
        count -= part;
        if (stamps->arrived < size) {
            return;
        }
        stamps->arrived = 0;
        uint64_t sent_ns;
        memcpy(&sent_ns, stamps->stamp, sizeof sent_ns);
        if (sent_ns > now) {
            fail("a message arrived %" PRIu64 " ns before it was sent: the two processes have different clocks, "
                 "so how long it took is not known",
                 sent_ns - now);
        }
        tally_record(took, now - sent_ns);
    }
}
