#define _GNU_SOURCE 1

#include "telling.h"

#include <stdio.h>
#include <stdlib.h>

typedef const struct latencies *times_of(const struct worker *worker);

static void print_times(const struct crew *crew, times_of *of);
static times_of recorded, took, late;
static void print_measure(const char *before, const char *name, uint64_t value);

void tell_latencies(const struct crew *crew, enum kind kind)
{
    const struct worker *first = &crew->workers[0];
    if (kind == LATENCY && first->latencies != NULL) {
        print_times(crew, recorded);
    }
    /* A sender does not see when a message arrives. */
    if (kind == PACED && first->pace != NULL && first->pace->tells != TELLS_SENDS) {
        print_times(crew, took);
    }
}

void tell_pace(const struct crew *crew)
{
    const struct pace *first = crew->workers[0].pace;
    if (first == NULL) {
        return;
    }
    uint64_t operations = 0;
    uint64_t operations_ns = 0;
    uint64_t queued = 0;
    uint64_t unsent = 0;
    uint64_t pacer_ns = 0;
    for (size_t index = 0; index < crew->count; index++) {
        const struct pace *pace = crew->workers[index].pace;
        operations += pace->took.count;
        operations_ns += pace->took.sum_ns;
        queued += pace->queued;
        unsent += pace->unsent;
        pacer_ns += pace->pacer_ns;
    }
    if (first->tells != TELLS_ARRIVALS) {
        printf(",\"late_ns\":[");
        print_times(crew, late);
        putchar(']');
    }
    if (first->tells == TELLS_SENDS) {
        printf(",\"send_ns\":[");
        print_times(crew, took);
        putchar(']');
    }
    const char *before = "";
    printf(",\"measures\":{");
    if (first->tells != TELLS_SENDS) {
        print_measure(before, "operations", operations);
        before = ",";
        print_measure(before, "operations_ns", operations_ns);
    }
    if (first->tells != TELLS_ARRIVALS && first->is_open) {
        print_measure(before, "queued", queued);
        before = ",";
        print_measure(before, "unsent", unsent);
        if (first->cell->pacer_spins) {
            print_measure(before, "pacer_ns", pacer_ns);
        }
    }
    putchar('}');
}

static void print_measure(const char *before, const char *name, uint64_t value)
{
    printf("%s\"%s\":%" PRIu64, before, name, value);
}

static void print_times(const struct crew *crew, times_of *of)
{
    const struct latencies **times = calloc(crew->count, sizeof *times);
    if (times == NULL) {
        fail("out of memory");
    }
    for (size_t index = 0; index < crew->count; index++) {
        times[index] = of(&crew->workers[index]);
    }
    latency_print(times, crew->count);
    free(times);
}

static const struct latencies *recorded(const struct worker *worker)
{
    return worker->latencies;
}

static const struct latencies *took(const struct worker *worker)
{
    return &worker->pace->took.times;
}

static const struct latencies *late(const struct worker *worker)
{
    return &worker->pace->late.times;
}
