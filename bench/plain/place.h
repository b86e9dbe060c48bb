// Buffers that begin at a random multiple of 16 within a page. Allocators decide it for programs, and costs depend on it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum place { CLIENT_SEND, CLIENT_RECV, SERVER_SEND, SERVER_RECV, RING, PLACES };

// `OFFSETS="16 0 4080 32 64"` in the environment fixes the places, in the order of the enum.
static unsigned offset_of(enum place place)
{
    const char *given = getenv("OFFSETS");
    unsigned at[PLACES];
    if (given != NULL && sscanf(given, "%u %u %u %u %u", at, at + 1, at + 2, at + 3, at + 4) == PLACES) {
        return at[place] % 4096;
    }
    uint8_t drawn;
    if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) drawn = 4;
    // A ring begins with a cache line.
    return place == RING ? 64u * (drawn % 64) : 16u * drawn;
}

// Written, so that no page fault falls into what is timed.
__attribute__((unused)) static char *placed(size_t bytes, enum place place)
{
    char *memory = aligned_alloc(4096, (bytes / 4096 + 2) * 4096);
    if (memory == NULL) {
        perror("aligned_alloc");
        exit(1);
    }
    return memset(memory + offset_of(place), 'a', bytes);
}
