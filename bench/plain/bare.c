// The bare system calls of one loop between two forked processes: no protocol, no check, one thread a process,
// buffers at random places within a page (place.h). `cargo xtask bench overhead` compares the measured loops with it.
//
//     bare PATTERN TRANSPORT SIZE LEAD_IN OPS CLIENT_CPU SERVER_CPU [latency]
//
// prints the nanoseconds of OPS operations, after LEAD_IN untimed ones; with the word latency, those of each of OPS
// round trips, before each of which it sleeps for PAUSE_NS of the environment, if that is set. HABIT in the environment
// names one thing to do otherwise, for `cargo xtask bench habits`:
//
//     touch      every byte is written before a message is sent, and read after it is received
//     fresh      messages come from 64 MiB, so that none is in a cache
//     thread     each process has a second thread, asleep, and so a shared table of descriptors
//     session    each process leads a session of its own
//     limits     the limit of descriptors is raised as far as it may be
//     unpinned   the scheduler places the processes
//     cold       no lead-in
//     rested     a pause of 5 ms between lead-in and batch
//     no-huge    no huge pages behind buffers
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "place.h"

enum { READ_BYTES = 65536, BACKLOG = 4096 };

enum { FRESH_BYTES = 64 << 20 };

static size_t size;
/* What a stream's server reads at once. */
static size_t most;
static char *out, *in;
/* With the habit `fresh`: how many messages the area at `out` holds. */
static size_t messages = 1;
static int touches;
static int to, from, listener;
static struct sockaddr_storage address;
static socklen_t address_length;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int habit(const char *name)
{
    const char *given = getenv("HABIT");
    return given != NULL && strcmp(given, name) == 0;
}

static void pin(int cpu)
{
    cpu_set_t set;
    if (habit("unpinned")) return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) die("sched_setaffinity");
}

static void *sleep_on(void *nothing)
{
    for (;;) pause();
    return nothing;
}

static void take_up_habits(void)
{
    pthread_t thread;
    struct rlimit limit;
    if (habit("thread") && pthread_create(&thread, NULL, sleep_on, NULL) != 0) die("pthread_create");
    if (habit("session") && setsid() < 0) die("setsid");
    if (habit("limits") && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (habit("no-huge")) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    touches = habit("touch");
    if (habit("fresh")) messages = FRESH_BYTES / size;
}

/* The message of an operation. */
static char *message(uint64_t op)
{
    char *begin = messages == 1 ? out : out + op % messages * size;
    if (touches) memset(begin, (int)op | 128, size);
    return begin;
}

static void look_at(const char *bytes, size_t count)
{
    uint64_t sum = 0, word;
    size_t at = 0;
    for (; touches && at + sizeof word <= count; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        sum ^= word;
    }
    for (; touches && at < count; at++) sum ^= (unsigned char)bytes[at];
    __asm__ volatile("" : : "r"(sum));
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void put(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t moved = write(fd, bytes, count);
        if (moved <= 0) die("write");
        bytes += moved;
        count -= (size_t)moved;
    }
}

static void get(int fd, char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t moved = read(fd, bytes, count);
        if (moved <= 0) die("read");
        bytes += moved;
        count -= (size_t)moved;
    }
}

static void listen_on(int tcp, int nodelay, const char *path)
{
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    strncpy(local.sun_path, path, sizeof local.sun_path - 1);
    address_length = tcp ? sizeof inet : sizeof local;
    memcpy(&address, tcp ? (void *)&inet : (void *)&local, address_length);
    listener = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    if (tcp && nodelay) setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof nodelay);
    if (bind(listener, (struct sockaddr *)&address, address_length) != 0) die("bind");
    if (listen(listener, BACKLOG) != 0) die("listen");
    address_length = sizeof address;
    getsockname(listener, (struct sockaddr *)&address, &address_length);
}

static int reach(int nodelay)
{
    int fd = socket(address.ss_family, SOCK_STREAM, 0);
    if (address.ss_family == AF_INET && nodelay) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof nodelay);
    }
    if (connect(fd, (struct sockaddr *)&address, address_length) != 0) die("connect");
    return fd;
}

static void rr_client(uint64_t ops)
{
    for (uint64_t op = 0; op < ops; op++) {
        put(to, message(op), size);
        get(from, in, size);
        look_at(in, size);
    }
}

static void sleep_until(uint64_t ns)
{
    const struct timespec when = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0) continue;
}

static void rr_latencies(uint64_t ops)
{
    uint64_t *each = malloc(ops * sizeof *each);
    if (each == NULL) die("malloc");
    memset(each, 0, ops * sizeof *each);
    const char *pause = getenv("PAUSE_NS");
    const uint64_t pause_ns = pause == NULL ? 0 : strtoull(pause, NULL, 10);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    for (uint64_t op = 0; op < ops; op++) {
        if (pause_ns > 0) sleep_until(now() + pause_ns);
        const uint64_t began = now();
        put(to, out, size);
        get(from, in, size);
        each[op] = now() - began;
    }
    for (uint64_t op = 0; op < ops; op++) printf("%llu\n", (unsigned long long)each[op]);
}

static void rr_server(uint64_t ops)
{
    for (uint64_t op = 0; op < ops; op++) {
        get(from, in, size);
        look_at(in, size);
        put(to, message(op), size);
    }
}

static void stream_client(uint64_t ops)
{
    for (uint64_t op = 0; op < ops; op++) put(to, message(op), size);
    get(from, in, 1);
}

static void stream_server(uint64_t ops)
{
    for (uint64_t left = ops * size; left > 0;) {
        ssize_t moved = read(from, in, left < most ? left : most);
        if (moved <= 0) die("read");
        look_at(in, (size_t)moved);
        left -= (uint64_t)moved;
    }
    put(to, out, 1);
}

static void connect_client(uint64_t ops)
{
    for (uint64_t op = 0; op < ops; op++) {
        int fd = reach(1);
        put(fd, out, size);
        get(fd, in, size);
        if (read(fd, in, 1) != 0) die("no end");
        close(fd);
    }
}

static void connect_server(uint64_t ops)
{
    for (uint64_t op = 0; op < ops; op++) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) die("accept");
        get(fd, in, size);
        put(fd, out, size);
        close(fd);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*client)(uint64_t), (*server)(uint64_t);
    } PATTERNS[] = {{"rr", rr_client, rr_server},
                    {"stream", stream_client, stream_server},
                    {"connect", connect_client, connect_server}};
    const int latency = argc == 9 && strcmp(argv[8], "latency") == 0 && strcmp(argv[1], "rr") == 0;
    if (argc != 8 + latency) {
        fputs("usage: bare PATTERN TRANSPORT SIZE LEAD_IN OPS CLIENT_CPU SERVER_CPU [latency]\n", stderr);
        return 2;
    }
    int pattern = strcmp(argv[1], "rr") == 0 ? 0 : strcmp(argv[1], "stream") == 0 ? 1 : 2;
    int tcp = strcmp(argv[2], "tcp") == 0, is_pipe = strcmp(argv[2], "pipe") == 0;
    size = strtoull(argv[3], NULL, 10);
    uint64_t lead_in = strtoull(argv[4], NULL, 10), ops = strtoull(argv[5], NULL, 10);
    most = size > READ_BYTES ? size : READ_BYTES;

    char path[] = "/tmp/bare-XXXXXX";
    int there[2], back[2];
    if (is_pipe) {
        if (pipe(there) != 0 || pipe(back) != 0) die("pipe");
    } else {
        if (mkdtemp(path) == NULL) die("mkdtemp");
        char name[64];
        snprintf(name, sizeof name, "%s/s", path);
        listen_on(tcp, 1, name);
    }
    pid_t server = fork();
    if (server == 0) {
        pin(atoi(argv[7]));
        take_up_habits();
        out = placed(size * messages, SERVER_SEND);
        in = placed(most, SERVER_RECV);
        if (is_pipe) {
            close(there[1]);
            close(back[0]);
            from = there[0];
            to = back[1];
        } else if (pattern != 2) {
            from = to = accept(listener, NULL, NULL);
        }
        if (!habit("cold")) PATTERNS[pattern].server(lead_in);
        PATTERNS[pattern].server(ops);
        return 0;
    }
    pin(atoi(argv[6]));
    take_up_habits();
    out = placed(size * messages, CLIENT_SEND);
    in = placed(most, CLIENT_RECV);
    if (is_pipe) {
        close(there[0]);
        close(back[1]);
        to = there[1];
        from = back[0];
    } else if (pattern != 2) {
        from = to = reach(1);
    }
    if (!habit("cold")) PATTERNS[pattern].client(lead_in);
    if (habit("rested")) usleep(5000);
    uint64_t began = now();
    if (latency) {
        rr_latencies(ops);
    } else {
        PATTERNS[pattern].client(ops);
    }
    uint64_t took = now() - began;
    int status = 1;
    waitpid(server, &status, 0);
    if (!is_pipe) {
        if (!tcp) unlink(((struct sockaddr_un *)&address)->sun_path);
        rmdir(path);
    }
    if (!latency) printf("%llu\n", (unsigned long long)took);
    return status;
}
