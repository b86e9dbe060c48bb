#define _GNU_SOURCE 1

#include "pace.h"

#include <stdlib.h>
#include <sys/prctl.h>

#include "draws.h"
#include "work.h"

enum {
    /* How long before an operation is due a spinning worker wakes: at first, at least and at most. */
    FIRST_MARGIN_NS = 200000,
    LEAST_MARGIN_NS = 50000,
    MOST_MARGIN_NS = 2000000,
    /* A processor moves memory in lines of so many bytes. */
    LINE_BYTES = 64,
};

static void set_timer_slack(uint64_t ns);
static void make_room(struct pace *pace, uint64_t ops);
static void draw_moments(struct pace *pace, uint64_t seed);
static uint64_t whole_ns(double ns);
static void begin_when_due(struct pace *pace, uint64_t moment_ns);
static void begin_after_pause(struct pace *pace, uint64_t pause_ns);
static void pollute(const struct pace *pace);
static uint64_t wait_until(struct pace *pace, uint64_t due_ns);
static uint64_t spin_until(struct pace *pace, uint64_t now, uint64_t due_ns);
static void sleep_until(uint64_t at_ns);
static inline void relax(void);
static inline uint64_t since(uint64_t now, uint64_t then);

/* Before a batch. */

void pace_ready(struct pace *pace, uint64_t ops, uint64_t seed)
{
    pace->is_open = pace->cell->rate > 0;
    /* At a rate no queue has formed yet in the first tenth. */
    tally_clear(&pace->took, pace->is_open ? latency_first(ops) : 0);
    if (pace->tells == TELLS_ARRIVALS) {
        return;
    }
    tally_clear(&pace->late, 0);
    pace->queued = 0;
    pace->unsent = 0;
    pace->pacer_ns = 0;
    pace->margin_ns = FIRST_MARGIN_NS;
    set_timer_slack(pace->cell->timer_slack_ns);
    make_room(pace, ops);
    draw_moments(pace, seed);
}

/* How late the kernel may wake this thread, to save wake-ups (PR_SET_TIMERSLACK, prctl(2)). */
static void set_timer_slack(uint64_t ns)
{
#ifdef __linux__
    if (prctl(PR_SET_TIMERSLACK, (unsigned long)ns) != 0) {
        fail_with_reason("a timer slack of %" PRIu64 " ns; leave timer_slack out", ns);
    }
#else
    (void)ns;
#endif
}

/* What a worker has from earlier batches it keeps. */
static void make_room(struct pace *pace, uint64_t ops)
{
    pace->moments_count = ops;
    if (pace->moments_room < ops) {
        free(pace->moments_ns);
        pace->moments_ns = ops <= SIZE_MAX / sizeof *pace->moments_ns
                               ? malloc((size_t)ops * sizeof *pace->moments_ns)
                               : NULL;
        if (pace->moments_ns == NULL) {
            fail("out of memory: cannot have the pace of %" PRIu64 " operations", ops);
        }
        pace->moments_room = ops;
    }
    const size_t polluted = pace->cell->polluted_bytes;
    if (polluted > 0 && pace->pollution == NULL) {
        pace->pollution = malloc(polluted);
        if (pace->pollution == NULL) {
            fail("out of memory: cannot have %zu bytes to pollute", polluted);
        }
        memset(pace->pollution, 1, polluted);
    }
}

static void draw_moments(struct pace *pace, uint64_t seed)
{
    const struct cell *cell = pace->cell;
    const double workers = (double)cell->concurrency;
    const double mean_ns = pace->is_open ? workers * 1e9 / (double)cell->rate : (double)cell->think_ns;
    /* Arrivals at a rate are drawn for all workers, and each takes its own. */
    struct draws draws = draws_begin(seed, pace->is_open ? 0 : pace->worker);
    double due_ns = 0;
    for (uint64_t index = 0; index < pace->moments_count; index++) {
        uint64_t moment_ns = 0;
        if (cell->arrivals == RANDOM_ARRIVALS && pace->is_open) {
            for (uint64_t worker = 0; worker < cell->concurrency; worker++) {
                due_ns += draws_exponential(&draws) * mean_ns / workers;
                if (worker == pace->worker) {
                    moment_ns = whole_ns(due_ns);
                }
            }
        } else if (cell->arrivals == RANDOM_ARRIVALS) {
            moment_ns = whole_ns(draws_exponential(&draws) * mean_ns);
        } else if (pace->is_open) {
            /* Even arrivals of several workers take turns, or come in step. */
            const double turn = cell->arrivals == IN_STEP_ARRIVALS ? workers : (double)(pace->worker + 1);
            moment_ns = whole_ns(mean_ns * turn / workers + (double)index * mean_ns);
        } else {
            moment_ns = cell->think_ns;
        }
        pace->moments_ns[index] = moment_ns;
    }
}

/* At most a century, so that it can be added to a time of the clock. */
static uint64_t whole_ns(double ns)
{
    const double century_ns = 100 * 365.25 * 86400 * 1e9;
    return (uint64_t)(ns < century_ns ? ns : century_ns);
}

/* In a batch. */

void pace_start(struct pace *pace, uint64_t start_ns)
{
    pace->next = 0;
    pace->arrived = 0;
    pace->start_ns = start_ns;
    pace->ended_ns = start_ns;
}

void pace_begin(struct pace *pace)
{
    const uint64_t moment_ns = pace->moments_ns[pace->next++];
    if (pace->is_open) {
        begin_when_due(pace, moment_ns);
    } else {
        begin_after_pause(pace, moment_ns);
    }
}

static void begin_when_due(struct pace *pace, uint64_t moment_ns)
{
    const uint64_t count = pace->moments_count;
    pace->due_ns = pace->start_ns + moment_ns;
    pace->begun_ns = wait_until(pace, pace->due_ns);
    const uint64_t passed_ns = pace->begun_ns - pace->start_ns;
    while (pace->arrived < count && pace->moments_ns[pace->arrived] <= passed_ns) {
        pace->arrived++;
    }
    pace->queued += since(pace->arrived, pace->next);
    /* The last one is due last, so it is not counted itself. */
    if (pace->next < count && pace->moments_ns[count - 1] < passed_ns) {
        pace->unsent++;
    }
    tally_record(&pace->late, since(pace->begun_ns, pace->due_ns));
}

static void begin_after_pause(struct pace *pace, uint64_t pause_ns)
{
    if (pause_ns > 0) {
        const uint64_t awake_ns = pace->ended_ns + pause_ns;
        sleep_until(awake_ns);
        tally_record(&pace->late, since(now_ns(), awake_ns));
    }
    pollute(pace);
    pace->begun_ns = now_ns();
    pace->due_ns = pace->begun_ns;
}

void pace_end(struct pace *pace)
{
    pace->ended_ns = now_ns();
    /* A sender does not wait for an answer: what it tells is how long the call took. */
    const uint64_t from_ns = pace->tells == TELLS_SENDS ? pace->begun_ns : pace->due_ns;
    tally_record(&pace->took, since(pace->ended_ns, from_ns));
}

/* Goes through memory as other work would. */
static void pollute(const struct pace *pace)
{
    for (size_t at = 0; at < pace->cell->polluted_bytes; at += LINE_BYTES) {
        pace->pollution[at]++;
    }
}

/* Returns the time when it has waited. */
static uint64_t wait_until(struct pace *pace, uint64_t due_ns)
{
    const uint64_t now = now_ns();
    if (now >= due_ns) {
        return now;
    }
    if (pace->cell->pacer_spins) {
        return spin_until(pace, now, due_ns);
    }
    sleep_until(due_ns);
    return now_ns();
}

/* Sleeps while there is time. How long before the moment it wakes follows how late it has been woken lately. */
static uint64_t spin_until(struct pace *pace, uint64_t now, uint64_t due_ns)
{
    if (due_ns - now > pace->margin_ns) {
        const uint64_t awake_ns = due_ns - pace->margin_ns;
        sleep_until(awake_ns);
        now = now_ns();
        const uint64_t twice_late_ns = 2 * since(now, awake_ns);
        if (twice_late_ns > pace->margin_ns) {
            pace->margin_ns = twice_late_ns < MOST_MARGIN_NS ? twice_late_ns : MOST_MARGIN_NS;
        } else {
            const uint64_t less_ns = pace->margin_ns - pace->margin_ns / 64;
            pace->margin_ns = less_ns > LEAST_MARGIN_NS ? less_ns : LEAST_MARGIN_NS;
        }
    }
    const uint64_t began_ns = now;
    while (now < due_ns) {
        relax();
        now = now_ns();
    }
    pace->pacer_ns += now - began_ns;
    return now;
}

/* To a moment and not for a time, so that a signal in between makes it no longer (clock_nanosleep(2)). */
static void sleep_until(uint64_t at_ns)
{
    const struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

/* Leaves more of the core to what else runs on it, where the processor has an instruction for that. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static inline uint64_t since(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}
