#include "tally.h"

#include <string.h>

void tally_clear(struct tally *tally, uint64_t left_out)
{
    /* Its pages exist from now on, not from the first time on that falls into each. */
    memset(tally, 0, sizeof *tally);
    tally->left_out = left_out;
}
