#define _GNU_SOURCE 1

#include "way.h"

#include "control.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 4096,  /* shared memory begins with a head */
    OFFSET_AT = 512,    /* in the head, 64 bits: the number of bytes between it and a slot's word */
    OFFSET_STEP = 16,   /* that number is a multiple of this */
    PAYLOAD = 8,        /* from a slot's word to the message */
    LOOKS = 20000,      /* before a spinning side yields the core */
    LOOKS_BEFORE_SLEEP = 50000, /* of wait = hybrid */
};

static void open_streams(struct other *other);
static void open_slot(struct other *other, const struct cell *cell);
static void set_signals_up(struct other *other);
static bool know_partner(struct other *other);

enum way way_of(const struct cell *cell)
{
    if (cell->transport == MQ) {
        return QUEUE;
    }
    if (cell->transport == SHM_SLOT) {
        return SLOT;
    }
    if (cell->stdio) {
        return cell->signals ? SIGNALS : STDIO;
    }
    return cell->sends ? SENDS : CALLS;
}

struct other *way_open(const struct cell *cell, bool is_server, int read_fd, int write_fd)
{
    const enum way way = way_of(cell);
    if (way == CALLS || way == SENDS) {
        return NULL;
    }
    struct other *other = calloc(1, sizeof *other);
    if (other == NULL) {
        fail("out of memory");
    }
    *other = (struct other){.read_fd = read_fd, .write_fd = write_fd, .is_server = is_server};
    if (way == STDIO || way == SIGNALS) {
        open_streams(other);
    } else if (way == SLOT) {
        open_slot(other, cell);
    }
    if (way == SIGNALS) {
        set_signals_up(other);
    }
    return other;
}

static void open_streams(struct other *other)
{
    other->in = fdopen(other->read_fd, "r");
    other->out = fdopen(other->write_fd, "w");
    if (other->in == NULL || other->out == NULL) {
        fail_with_reason("cannot have a stream of a pipe");
    }
}

static void open_slot(struct other *other, const struct cell *cell)
{
    struct stat status;
    uint64_t offset = 0;
    if (fstat(other->read_fd, &status) != 0 ||
        pread(other->read_fd, &offset, sizeof offset, OFFSET_AT) != sizeof offset || offset >= HEAD_BYTES ||
        offset % OFFSET_STEP != 0 || (uint64_t)status.st_size <= HEAD_BYTES + offset + PAYLOAD) {
        fail("protocol: descriptor %d is no slot", other->read_fd);
    }
    const size_t bytes = (size_t)status.st_size;
    const int flags = MAP_SHARED | MAP_POPULATE;
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, other->read_fd, 0);
    if (memory == MAP_FAILED) {
        fail_with_reason("cannot map shared memory");
    }
    other->word = (atomic_uint *)(memory + HEAD_BYTES + offset);
    other->payload = memory + HEAD_BYTES + offset + PAYLOAD;
    other->own = other->is_server ? SLOT_SERVERS : 0;
    other->has_turn = !other->is_server;
    other->waiting = cell->waiting;
}

static inline bool is_seen(const struct other *slot, unsigned *now)
{
    *now = atomic_load_explicit(slot->word, memory_order_acquire);
    return (*now & SLOT_SERVERS) == slot->own || (*now & SLOT_CLOSED) != 0;
}

static bool look(const struct other *slot, unsigned *now, int looks)
{
    while (looks-- > 0) {
        if (is_seen(slot, now)) {
            return true;
        }
    }
    return false;
}

unsigned slot_wait(const struct other *slot)
{
    unsigned now;
    if (slot->waiting == SPINNING) {
        while (!look(slot, &now, LOOKS)) {
            sched_yield();
        }
        return now;
    }
    if (slot->waiting == HYBRID && look(slot, &now, LOOKS_BEFORE_SLEEP)) {
        return now;
    }
    while (!is_seen(slot, &now)) {
        const unsigned asleep = atomic_fetch_or(slot->word, SLOT_SLEEPS) | SLOT_SLEEPS;
        if (!is_seen(slot, &now)) {
            syscall(SYS_futex, slot->word, FUTEX_WAIT, asleep, NULL, NULL, 0);
        }
    }
    return now;
}

void slot_wake(const struct other *slot)
{
    syscall(SYS_futex, slot->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/*
 * A side waits for its signal and ignores the other's, which it also sends to itself: so do programs that signal their
 * process group.
 */
enum { TO_CLIENT = SIGUSR1, TO_SERVER = SIGUSR2 };

static void take_no_notice(int signal_number)
{
    (void)signal_number;
}

static sigset_t own_signal(const struct other *other)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, other->is_server ? TO_SERVER : TO_CLIENT);
    return set;
}

static void set_signals_up(struct other *other)
{
    const sigset_t set = own_signal(other);
    const struct sigaction action = {.sa_handler = take_no_notice, .sa_flags = SA_RESTART};
    sigaction(other->is_server ? TO_CLIENT : TO_SERVER, &action, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const pid_t own = getpid();
    if (write(other->write_fd, &own, sizeof own) != sizeof own) {
        fail_with_reason("cannot tell the other side whom to signal");
    }
}

/* The first thing that the other side writes is its process ID. */
static bool know_partner(struct other *other)
{
    return other->partner != 0 ||
           read(other->read_fd, &other->partner, sizeof other->partner) == sizeof other->partner;
}

static bool signal_both(struct other *other)
{
    const int number = other->is_server ? TO_CLIENT : TO_SERVER;
    return know_partner(other) && kill(other->partner, number) == 0 && kill(getpid(), number) == 0;
}

static bool wait_for_signal(struct other *other)
{
    const sigset_t set = own_signal(other);
    int caught;
    return know_partner(other) && sigwait(&set, &caught) == 0;
}

bool way_send(enum way way, struct other *other, const unsigned char *bytes, size_t size)
{
    if (way == SIGNALS) {
        const bool is_written = other->is_server || way_send(STDIO, other, bytes, size);
        return is_written && signal_both(other);
    }
    if (way == STDIO) {
        return fwrite(bytes, 1, size, other->out) == size && fflush(other->out) == 0;
    }
    return mq_send(other->write_fd, (const char *)bytes, size, 0) == 0;
}

ssize_t way_receive(enum way way, struct other *other, unsigned char *bytes, size_t size)
{
    if (way == SIGNALS) {
        if (!wait_for_signal(other)) {
            return -1;
        }
        return other->is_server ? way_receive(STDIO, other, bytes, size) : (ssize_t)size;
    }
    if (way == STDIO) {
        return (ssize_t)fread(bytes, 1, size, other->in);
    }
    return mq_receive(other->read_fd, (char *)bytes, size, NULL);
}

#else

enum way way_of(const struct cell *cell)
{
    return cell->sends ? SENDS : CALLS;
}

struct other *way_open(const struct cell *cell, bool is_server, int read_fd, int write_fd)
{
    (void)is_server, (void)read_fd, (void)write_fd;
    if (cell->stdio) {
        fail("protocol: pipes are called by read and write alone here");
    }
    return NULL;
}

bool way_send(enum way way, struct other *other, const unsigned char *bytes, size_t size)
{
    (void)way, (void)other, (void)bytes, (void)size;
    return false;
}

ssize_t way_receive(enum way way, struct other *other, unsigned char *bytes, size_t size)
{
    (void)way, (void)other, (void)bytes, (void)size;
    return -1;
}

unsigned slot_wait(const struct other *slot)
{
    (void)slot;
    return SLOT_CLOSED;
}

void slot_wake(const struct other *slot)
{
    (void)slot;
}

#endif
