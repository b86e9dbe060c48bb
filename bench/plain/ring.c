// A ring in shared memory for each direction between two forked processes: no protocol, no check, one thread a
// process. `cargo xtask bench overhead` compares the transport shm with it; the layout is the same, the code is not.
//
//     ring PATTERN WAIT SIZE LEAD_IN OPS CLIENT_CPU SERVER_CPU
//
// prints the nanoseconds of OPS operations, after LEAD_IN untimed ones. WAIT is shm (futex) or shm-spin.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "place.h"

enum { RING_BYTES = 262144, READ_BYTES = 65536, LOOKS = 20000 };

struct ring {
    _Alignas(128) _Atomic uint32_t written;
    _Alignas(128) _Atomic uint32_t read;
    _Alignas(128) _Atomic uint32_t reader_sleeps;
    _Alignas(128) _Atomic uint32_t writer_sleeps;
    _Alignas(4096) char page[RING_BYTES + 4096];
};

static struct ring *to, *from;
static char *out, *in;
static size_t size;
/* Where the rings begin within a page. */
static unsigned begin;
static int spins;

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static uint32_t changed(_Atomic uint32_t *word, _Atomic uint32_t *sleeps, uint32_t seen)
{
    for (uint32_t looks = 0;;) {
        const uint32_t value = atomic_load_explicit(word, memory_order_acquire);
        if (value != seen) return value;
        if (spins) {
            if (++looks % LOOKS == 0) sched_yield();
            continue;
        }
        atomic_store(sleeps, 1);
        if (atomic_load(word) == seen) futex(sleeps, FUTEX_WAIT, 1);
    }
}

static void go_on(_Atomic uint32_t *word, _Atomic uint32_t *sleeps, uint32_t position, int due)
{
    if (spins) {
        atomic_store_explicit(word, position, memory_order_release);
        return;
    }
    atomic_store(word, position);
    if (atomic_load_explicit(sleeps, memory_order_relaxed) && due) {
        atomic_store(sleeps, 0);
        futex(sleeps, FUTEX_WAKE, 1);
    }
}

static void put(const char *bytes, size_t count)
{
    static uint32_t written, read;
    while (count > 0) {
        uint32_t room = RING_BYTES - (written - read);
        if (room == 0) {
            read = changed(&to->read, &to->writer_sleeps, read);
            room = RING_BYTES - (written - read);
        }
        const uint32_t now = count < room ? (uint32_t)count : room, place = written % RING_BYTES;
        const uint32_t first = now < RING_BYTES - place ? now : RING_BYTES - place;
        memcpy(to->page + begin + place, bytes, first);
        memcpy(to->page + begin, bytes + first, now - first);
        written += now;
        bytes += now;
        count -= now;
        go_on(&to->written, &to->reader_sleeps, written, 1);
    }
}

static size_t get_some(char *bytes, size_t most)
{
    static uint32_t read, written;
    if (written == read) written = changed(&from->written, &from->reader_sleeps, written);
    const uint32_t there = written - read, now = most < there ? (uint32_t)most : there;
    const uint32_t place = read % RING_BYTES, first = now < RING_BYTES - place ? now : RING_BYTES - place;
    memcpy(bytes, from->page + begin + place, first);
    memcpy(bytes + first, from->page + begin, now - first);
    read += now;
    go_on(&from->read, &from->writer_sleeps, read, written - read <= RING_BYTES / 2);
    return now;
}

static void get(char *bytes, size_t count)
{
    while (count > 0) {
        const size_t now = get_some(bytes, count);
        bytes += now;
        count -= now;
    }
}

static void client(int stream, uint64_t ops)
{
    for (uint64_t op = 0; op < ops; op++) {
        put(out, size);
        if (!stream) get(in, size);
    }
    if (stream) get(in, 1);
}

static void server(int stream, uint64_t ops)
{
    for (uint64_t left = stream ? ops * size : 0; left > 0;) left -= get_some(in, left < READ_BYTES ? left : READ_BYTES);
    for (uint64_t op = 0; op < ops && !stream; op++) {
        get(in, size);
        put(out, size);
    }
    if (stream) put(out, 1);
}

static void pin(const char *cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *shared(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    return memory;
}

int main(int argc, char **argv)
{
    if (argc != 8) return 2;
    const int stream = strcmp(argv[1], "stream") == 0;
    const uint64_t lead_in = strtoull(argv[4], NULL, 10), ops = strtoull(argv[5], NULL, 10);
    spins = strcmp(argv[2], "shm-spin") == 0;
    size = strtoull(argv[3], NULL, 10);
    struct ring *there = shared(sizeof *there), *back = shared(sizeof *back);
    begin = offset_of(RING);
    const pid_t child = fork();
    out = placed(size, child == 0 ? SERVER_SEND : CLIENT_SEND);
    in = placed(size > READ_BYTES ? size : READ_BYTES, child == 0 ? SERVER_RECV : CLIENT_RECV);
    to = child == 0 ? back : there;
    from = child == 0 ? there : back;
    pin(argv[child == 0 ? 7 : 6]);
    if (child == 0) {
        server(stream, lead_in);
        server(stream, ops);
        return 0;
    }
    struct timespec began, ended;
    client(stream, lead_in);
    clock_gettime(CLOCK_MONOTONIC, &began);
    client(stream, ops);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    int status = 1;
    waitpid(child, &status, 0);
    printf("%lld\n", (long long)(ended.tv_sec - began.tv_sec) * 1000000000 + ended.tv_nsec - began.tv_nsec);
    return status;
}
