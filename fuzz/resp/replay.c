/* Runs target.c over files, and over mutations of them that are the same every time: `replay COUNT FILE…`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 16 };

static uint64_t state = 0x9E3779B97F4A7C15;

static size_t below(size_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return bound == 0 ? 0 : (size_t)(state % bound);
}

/* A copy of exactly that size, so that reading beyond it is noticed. */
static void try(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + (size == 0));
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int count, char **arguments)
{
    static const char telling[] = "$*+-:\r\n0123456789";
    static uint8_t bytes[MOST_BYTES], changed[MOST_BYTES];
    if (count < 3) {
        return 2;
    }
    const long mutations = strtol(arguments[1], NULL, 10);
    for (int index = 2; index < count; index++) {
        FILE *file = fopen(arguments[index], "rb");
        if (file == NULL) {
            perror(arguments[index]);
            return 1;
        }
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        try(bytes, size);
        for (long number = 0; number < mutations; number++) {
            size_t length = size;
            memcpy(changed, bytes, size);
            for (size_t edits = below(6) + 1; edits > 0; edits--) {
                const size_t at = below(length);
                switch (below(4)) {
                case 0:
                    length = at;
                    break;
                case 1:
                    if (length > 0) {
                        changed[at] = (uint8_t)telling[below(sizeof telling - 1)];
                    }
                    break;
                case 2:
                    if (length > 0) {
                        changed[at] ^= (uint8_t)(1U << below(8));
                    }
                    break;
                default:
                    if (length < MOST_BYTES) {
                        memmove(changed + at + 1, changed + at, length - at);
                        changed[at] = (uint8_t)telling[below(sizeof telling - 1)];
                        length++;
                    }
                }
            }
            try(changed, length);
        }
    }
    return 0;
}
