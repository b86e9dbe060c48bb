#define _GNU_SOURCE 1

#include "crew.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#endif

/* The stack of a worker thread: its loop needs little, and there may be thousands. */
enum { STACK_BYTES = 128 * 1024 };

/* The most workers with a descriptor table each: each table starts as a copy of the full one. */
enum { MOST_TABLES = 1000 };

/* Workers and the main thread meet before a batch and after it. */
struct meeting {
    pthread_barrier_t before;
    pthread_barrier_t after;
    struct order order;
};

/* What a worker thread gets when it starts. */
struct assignment {
    const struct part *part;
    struct worker *worker;
    struct meeting *meeting;
    bool table_is_private;
};

static void *shared_memory(size_t bytes);
static struct pace *arrange_paces(const struct part *part, const struct cell *cell);
static struct meeting *arrange_meeting(size_t workers);
static void watch_processes(void);
static _Noreturn void work_as_process(struct crew *crew, struct worker *worker);
static void start_threads(struct crew *crew);
static void *work_as_thread(void *argument);
static bool separate_descriptors(void);
static void share_descriptors(const struct cell *cell);
static void *sleep_for_ever(void *argument);
static void obey(const struct part *part, struct worker *worker, const struct order *order);
static void hand_out(struct crew *crew, struct order order);
static struct together add_up(const struct crew *crew, struct usage own);
static struct usage own_usage(void);
static struct usage usage_since(struct usage before);
static void add_usage(struct usage *sum, struct usage usage);

struct crew crew_create(const struct part *part, const struct cell *cell, bool are_processes)
{
    struct crew crew = {.part = part, .count = cell->concurrency};
    crew.workers = shared_memory(crew.count * sizeof *crew.workers);
    struct latencies *latencies = NULL;
    if (part->records_latency) {
        latencies = shared_memory(crew.count * sizeof *latencies);
    }
    struct pace *paces = NULL;
    if (part->tells != TELLS_NOTHING && cell_has_pace(cell)) {
        paces = arrange_paces(part, cell);
    }
    for (size_t index = 0; index < crew.count; index++) {
        crew.workers[index].cell = cell;
        crew.workers[index].pace = paces != NULL ? &paces[index] : NULL;
        crew.workers[index].latencies = part->records_latency ? &latencies[index] : NULL;
    }
    if (crew.count > 1 || are_processes) {
        crew.meeting = arrange_meeting(crew.count);
    }
    if (are_processes) {
        crew.processes = calloc(crew.count, sizeof *crew.processes);
        if (crew.processes == NULL) {
            fail("out of memory");
        }
        watch_processes();
    }
    return crew;
}

/* Memory that worker processes share; untouched pages take no room. */
static void *shared_memory(size_t bytes)
{
    const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) {
        fail_with_reason("cannot have %zu bytes of memory", bytes);
    }
    return memory;
}

static struct pace *arrange_paces(const struct part *part, const struct cell *cell)
{
    struct pace *paces = shared_memory(cell->concurrency * sizeof *paces);
    for (size_t index = 0; index < cell->concurrency; index++) {
        paces[index].cell = cell;
        paces[index].worker = index;
        paces[index].tells = part->tells;
    }
    return paces;
}

static struct meeting *arrange_meeting(size_t workers)
{
    struct meeting *meeting = shared_memory(sizeof *meeting);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    const unsigned everybody = (unsigned)workers + 1;
    if (pthread_barrier_init(&meeting->before, &shared, everybody) != 0 ||
        pthread_barrier_init(&meeting->after, &shared, everybody) != 0) {
        fail("cannot make a barrier for %zu workers", workers);
    }
    return meeting;
}

/* Worker processes. */

/* A worker process ends early only if it has failed. One that could report the reason has ended with status 1. */
static void on_worker_end(int signal_number)
{
    (void)signal_number;
    const int kept = errno;
    int status;
    while (waitpid(-1, &status, WNOHANG) > 0) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 1) {
            _exit(1);
        }
        fail_in_handler("a worker process has ended");
    }
    errno = kept;
}

static void watch_processes(void)
{
    struct sigaction action = {.sa_handler = on_worker_end, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    sigaction(SIGCHLD, &action, NULL);
}

void crew_fork(struct crew *crew, size_t index)
{
    struct worker *worker = &crew->workers[index];
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process < 0) {
        fail_with_reason("cannot start worker process %zu", index + 1);
    }
    if (process == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
            _exit(1);
        }
        work_as_process(crew, worker);
    }
    crew->processes[index] = process;
}

static _Noreturn void work_as_process(struct crew *crew, struct worker *worker)
{
    struct meeting *meeting = crew->meeting;
    share_descriptors(worker->cell);
    crew->part->prepare(worker);
    for (;;) {
        pthread_barrier_wait(&meeting->before);
        const struct usage before = own_usage();
        obey(crew->part, worker, &meeting->order);
        worker->usage = usage_since(before);
        pthread_barrier_wait(&meeting->after);
    }
}

void crew_dismiss(struct crew *crew)
{
    if (crew->processes == NULL) {
        return;
    }
    signal(SIGCHLD, SIG_DFL);
    for (size_t index = 0; index < crew->count; index++) {
        kill(crew->processes[index], SIGKILL);
    }
    for (size_t index = 0; index < crew->count; index++) {
        waitpid(crew->processes[index], NULL, 0);
    }
}

/* Workers in this process. */

void crew_start(struct crew *crew)
{
    if (crew->processes != NULL) {
        return;
    }
    for (size_t index = 0; index < crew->count; index++) {
        crew->part->prepare(&crew->workers[index]);
    }
    if (crew->count > 1) {
        start_threads(crew);
    } else {
        share_descriptors(crew->workers[0].cell);
    }
}

/* Only the main thread handles signals: no worker is interrupted. */
static void start_threads(struct crew *crew)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    struct assignment *assignments = calloc(crew->count, sizeof *assignments);
    if (assignments == NULL) {
        fail("out of memory");
    }
    const struct cell *cell = crew->workers[0].cell;
    const bool is_private = cell->table_is_private || (!cell->table_is_shared && crew->count <= MOST_TABLES);
    for (size_t index = 0; index < crew->count; index++) {
        assignments[index] =
            (struct assignment){crew->part, &crew->workers[index], crew->meeting, is_private};
        pthread_t thread;
        errno = pthread_create(&thread, &attributes, work_as_thread, &assignments[index]);
        if (errno != 0) {
            fail_with_reason("cannot start worker thread %zu", index + 1);
        }
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void *work_as_thread(void *argument)
{
    const struct assignment *assignment = argument;
    struct meeting *meeting = assignment->meeting;
    if (assignment->table_is_private && !separate_descriptors()) {
        fail_with_reason("a worker cannot have a table of descriptors of its own; set descriptor_table=shared");
    }
    for (;;) {
        pthread_barrier_wait(&meeting->before);
        obey(assignment->part, assignment->worker, &meeting->order);
        pthread_barrier_wait(&meeting->after);
    }
    return NULL;
}

/*
 * Gives the calling thread a private descriptor table: the kernel looks up a descriptor without counting references if
 * one thread has the table. close_range comes first, as filters that forbid unshare allow it.
 */
static bool separate_descriptors(void)
{
#if defined(__linux__) && !defined(__SANITIZE_THREAD__) /* TSan identifies descriptors by number alone */
    const unsigned no_descriptor = ~0U;
    const unsigned close_range_unshare = 2;
    return syscall(SYS_close_range, no_descriptor, no_descriptor, close_range_unshare) == 0 ||
           unshare(CLONE_FILES) == 0;
#else
    return true;
#endif
}

/* For the only worker of a process: starts a second thread if its table is to be shared. */
static void share_descriptors(const struct cell *cell)
{
    pthread_t thread;
    if (cell->table_is_shared && (errno = pthread_create(&thread, NULL, sleep_for_ever, NULL)) != 0) {
        fail_with_reason("cannot start a second thread");
    }
}

static void *sleep_for_ever(void *argument)
{
    for (;;) {
        pause();
    }
    return argument;
}

/* Batches. */

void crew_ready(struct crew *crew, struct order order)
{
    if (order.kind == PACED && crew->workers[0].pace != NULL) {
        order.is_ahead = true;
        hand_out(crew, order);
    }
}

struct together crew_run(struct crew *crew, struct order order)
{
    const struct usage before = own_usage();
    hand_out(crew, order);
    return add_up(crew, usage_since(before));
}

/* Returns when every worker has obeyed. */
static void hand_out(struct crew *crew, struct order order)
{
    if (crew->meeting == NULL) {
        obey(crew->part, &crew->workers[0], &order);
    } else {
        crew->meeting->order = order;
        pthread_barrier_wait(&crew->meeting->before);
        pthread_barrier_wait(&crew->meeting->after);
    }
}

static void obey(const struct part *part, struct worker *worker, const struct order *order)
{
    if (order->is_ahead) {
        pace_ready(worker->pace, order->ops, order->seed);
        return;
    }
    if (order->kind == LATENCY && worker->latencies != NULL) {
        memset(worker->latencies, 0, sizeof *worker->latencies);
    }
    part->run(worker, order);
}

/* Time runs from the first worker's start to the last one's end. */
static struct together add_up(const struct crew *crew, struct usage own)
{
    struct together together = {.usage = own};
    uint64_t began_ns = UINT64_MAX;
    uint64_t sent_at_ns = 0;
    uint64_t ended_ns = 0;
    for (size_t index = 0; index < crew->count; index++) {
        const struct worker *worker = &crew->workers[index];
        began_ns = worker->began_ns < began_ns ? worker->began_ns : began_ns;
        sent_at_ns = worker->sent_at_ns > sent_at_ns ? worker->sent_at_ns : sent_at_ns;
        ended_ns = worker->ended_ns > ended_ns ? worker->ended_ns : ended_ns;
        together.retries += worker->caller.retries;
        add_usage(&together.usage, worker->usage);
    }
    together.wall_ns = ended_ns - began_ns;
    together.sent_ns = crew->part->records_sent ? sent_at_ns - began_ns : 0;
    return together;
}

/* Usage of this process since its start, all threads (getrusage(2)). */
static struct usage own_usage(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct usage){
        .user_ns = (uint64_t)usage.ru_utime.tv_sec * 1000000000 + (uint64_t)usage.ru_utime.tv_usec * 1000,
        .sys_ns = (uint64_t)usage.ru_stime.tv_sec * 1000000000 + (uint64_t)usage.ru_stime.tv_usec * 1000,
        .voluntary_switches = (uint64_t)usage.ru_nvcsw,
        .involuntary_switches = (uint64_t)usage.ru_nivcsw,
    };
}

static struct usage usage_since(struct usage before)
{
    const struct usage now = own_usage();
    return (struct usage){
        .user_ns = now.user_ns - before.user_ns,
        .sys_ns = now.sys_ns - before.sys_ns,
        .voluntary_switches = now.voluntary_switches - before.voluntary_switches,
        .involuntary_switches = now.involuntary_switches - before.involuntary_switches,
    };
}

static void add_usage(struct usage *sum, struct usage usage)
{
    sum->user_ns += usage.user_ns;
    sum->sys_ns += usage.sys_ns;
    sum->voluntary_switches += usage.voluntary_switches;
    sum->involuntary_switches += usage.involuntary_switches;
}
