/* The causes by name, and those that need no second thread. */

#include "planted.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    HUGE_PAGE = 2 << 20,
    LOG_ROTATED = 16 << 20,
    COLD_BYTES = 16 << 20,
    LARGE = 1 << 20,
    DNS_PORT = 53,
    CONNECT_MS = 5,
    CALLS = 50,
    IDLE_DESCRIPTORS = 100,
};

static int file;
static uint64_t amount;
static char *memory;
static char line[256];
static size_t line_bytes;
static uint64_t logged;
static struct pollfd idle[IDLE_DESCRIPTORS + 1];

/* Storage. */

static void prepare_file(void)
{
    file = open_unnamed(O_RDWR);
    amount = random_between(16, sizeof line - 1);
}

static void prepare_dsync(void)
{
    file = open_unnamed(O_RDWR | O_DSYNC);
    amount = random_between(16, sizeof line - 1);
}

static void write_record(void)
{
    check(pwrite(file, line, amount, 0) == (ssize_t)amount, "pwrite");
}

static void write_and_fdatasync(void)
{
    write_record();
    check(fdatasync(file) == 0, "fdatasync");
}

static void write_and_fsync(void)
{
    write_record();
    check(fsync(file) == 0, "fsync");
}

static void prepare_cold(void)
{
    char path[4096];
    path_of(path, "cold");
    file = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    check(file >= 0, path);
    check(posix_memalign((void **)&memory, PAGE, PAGE) == 0, "memory");
}

static void read_directly(void)
{
    amount = (amount + 1009 * PAGE) % COLD_BYTES;
    check(pread(file, memory, PAGE, (off_t)amount) == PAGE, "pread");
}

/* Sleeping. */

static void prepare_sleep(void)
{
    amount = random_between(100, 500);
}

static void sleep_nanoseconds(void)
{
    sleep_ns(amount * 1000);
}

static void sleep_by_poll(void)
{
    poll(NULL, 0, 1);
}

static void sleep_by_select(void)
{
    struct timeval duration = {.tv_usec = (suseconds_t)amount};
    select(0, NULL, NULL, NULL, &duration);
}

/* Logging. */

static void prepare_line(void)
{
    const int length = snprintf(line, sizeof line, "2026-01-01T00:00:00.%06uZ INFO planted: request %u of client %u%*s\n",
                                123456, 42, 7, (int)random_between(20, 60), "done");
    line_bytes = (size_t)length;
}

static void prepare_log_file(void)
{
    prepare_line();
    file = open_unnamed(O_WRONLY | O_APPEND);
    amount = random_between(1, 4);
}

static void read_log(void)
{
    char text[65536];
    while (read(0, text, sizeof text) > 0) {
    }
}

static void prepare_log_pipe(void)
{
    int ends[2];
    prepare_line();
    check(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    start_beside(ends[0], read_log);
    syscall(SYS_close, ends[0]);
    file = ends[1];
    amount = random_between(1, 4);
}

static void prepare_log_null(void)
{
    prepare_line();
    file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    amount = random_between(20, 40);
}

static void write_lines(void)
{
    for (uint64_t lines = 0; lines < amount; lines++) {
        check(write(file, line, line_bytes) == (ssize_t)line_bytes, "log");
    }
}

static void write_lines_and_rotate(void)
{
    write_lines();
    logged += amount * line_bytes;
    if (logged > LOG_ROTATED) {
        check(ftruncate(file, 0) == 0, "ftruncate");
        logged = 0;
    }
}

/* Memory. */

static void touch(char *bytes, size_t count, size_t step)
{
    for (size_t place = 0; place < count; place += step) {
        ((volatile char *)bytes)[place] = 1;
    }
}

static char *map(size_t bytes)
{
    char *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(mapped != MAP_FAILED, "mmap");
    return mapped;
}

static void map_and_touch(void)
{
    char *mapped = map(16 * PAGE);
    touch(mapped, 16 * PAGE, PAGE);
    munmap(mapped, 16 * PAGE);
}

static void prepare_allocation(void)
{
    /* Otherwise the allocator learns after the first time, and keeps it. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

static void allocate_and_touch(void)
{
    char *allocated = malloc(LARGE);
    touch(allocated, LARGE, PAGE);
    free(allocated);
}

static void prepare_pages(void)
{
    amount = random_between(16, 64);
    memory = map(amount * PAGE);
    madvise(memory, amount * PAGE, MADV_NOHUGEPAGE);
}

static void give_back_and_touch(void)
{
    madvise(memory, amount * PAGE, MADV_DONTNEED);
    touch(memory, amount * PAGE, PAGE);
}

static void prepare_huge_pages(void)
{
    memory = (char *)(((uintptr_t)map(2 * HUGE_PAGE) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    madvise(memory, HUGE_PAGE, MADV_HUGEPAGE);
}

static void touch_fresh_huge_page(void)
{
    madvise(memory, HUGE_PAGE, MADV_DONTNEED);
    touch(memory, PAGE, PAGE);
}

/* Names. */

static void resolve(void)
{
    struct addrinfo *found;
    if (getaddrinfo("localhost", "80", NULL, &found) == 0) {
        freeaddrinfo(found);
    }
}

static void ask_name_server(void)
{
    static const unsigned char question[] = {0,   1, 1,   0,   0,   1,   0,   0,   0,   0, 0, 0, 7, 'p', 'l',
                                             'a', 'n', 't', 'e', 'd', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1};
    const struct sockaddr_in server = {
        .sin_family = AF_INET, .sin_port = htons(DNS_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned char answer[512];
    const int asking = (int)syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    syscall(SYS_connect, asking, &server, sizeof server);
    syscall(SYS_sendto, asking, question, sizeof question, MSG_NOSIGNAL, NULL, 0);
    /* Where no one answers, the kernel says so at once. */
    struct pollfd watched = {.fd = asking, .events = POLLIN};
    if (poll(&watched, 1, 1000) == 1) {
        syscall(SYS_recvfrom, asking, answer, sizeof answer, 0, NULL, NULL);
    }
    syscall(SYS_close, asking);
}

/* Events. */

/* As servers do whose threads share the events: each is reported once and has to be asked for again. */
static void wait_by_epoll(int descriptor)
{
    static _Thread_local int waiting, watched = -1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = descriptor};
    if (watched != descriptor) {
        waiting = epoll_create1(EPOLL_CLOEXEC);
        check(epoll_ctl(waiting, EPOLL_CTL_ADD, descriptor, &event) == 0, "epoll_ctl");
        watched = descriptor;
    } else {
        check(epoll_ctl(waiting, EPOLL_CTL_MOD, descriptor, &event) == 0, "epoll_ctl");
    }
    epoll_wait(waiting, &event, 1, -1);
}

/* Others that nothing ever comes from, as a server has. */
static void prepare_poll(void)
{
    amount = random_between(50, IDLE_DESCRIPTORS);
    for (uint64_t index = 1; index <= amount; index++) {
        idle[index] = (struct pollfd){.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};
        check(idle[index].fd >= 0, "eventfd");
    }
}

static void wait_by_poll(int descriptor)
{
    idle[0] = (struct pollfd){.fd = descriptor, .events = POLLIN};
    poll(idle, amount + 1, -1);
}

static void wait_in_vain(int socket)
{
    struct pollfd watched = {.fd = socket, .events = POLLPRI};
    poll(&watched, 1, CONNECT_MS);
}

/* Processors. */

static void prepare_spin(void)
{
    amount = random_between(30000, 60000);
}

static void spin(void)
{
    compute(amount);
}

static void move_to_other_core(void)
{
    static _Thread_local cpu_set_t allowed;
    static _Thread_local int last = -1;
    if (last < 0) {
        sched_getaffinity(0, sizeof allowed, &allowed);
    }
    do {
        last = (last + 1) % CPU_SETSIZE;
    } while (!CPU_ISSET(last, &allowed));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void ask_parent(void)
{
    for (int call = 0; call < CALLS; call++) {
        syscall(SYS_getppid);
    }
}

static void read_settings(void)
{
    struct stat status;
    stat("/etc/passwd", &status);
    const int settings = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    syscall(SYS_close, settings);
}

static void run_program(void)
{
    char *const words[] = {"/bin/true", NULL}, *const none[] = {NULL};
    pid_t child;
    int status;
    check(posix_spawn(&child, words[0], NULL, NULL, words, none) == 0, "posix_spawn");
    waitpid(child, &status, 0);
}

static const struct plant PLANTS[] = {
    {.name = "none"},
    {.name = "fdatasync", .prepare = prepare_file, .before_write = write_and_fdatasync},
    {.name = "fsync", .prepare = prepare_file, .before_write = write_and_fsync},
    {.name = "dsync", .prepare = prepare_dsync, .before_write = write_record},
    {.name = "direct-read", .prepare = prepare_cold, .before_write = read_directly},
    {.name = "nanosleep", .prepare = prepare_sleep, .before_write = sleep_nanoseconds},
    {.name = "poll-sleep", .before_write = sleep_by_poll},
    {.name = "select-sleep", .prepare = prepare_sleep, .before_write = sleep_by_select},
    {.name = "log-file", .prepare = prepare_log_file, .before_write = write_lines_and_rotate},
    {.name = "log-pipe", .prepare = prepare_log_pipe, .before_write = write_lines},
    {.name = "log-null", .prepare = prepare_log_null, .before_write = write_lines},
    {.name = "reads-of-16", .most_read = 16},
    {.name = "reads-of-1", .most_read = 1},
    {.name = "writes-of-16", .most_written = 16},
    {.name = "thread-condition", .prepare = prepare_condition, .write_elsewhere = write_by_condition},
    {.name = "thread-eventfd", .prepare = prepare_eventfd, .write_elsewhere = write_by_descriptor},
    {.name = "thread-pipe", .prepare = prepare_pipe, .write_elsewhere = write_by_descriptor},
    {.name = "lock", .prepare = prepare_lock, .before_write = take_lock},
    {.name = "flock", .prepare = prepare_flock, .before_write = take_flock},
    {.name = "mmap", .before_write = map_and_touch},
    {.name = "malloc", .prepare = prepare_allocation, .before_write = allocate_and_touch},
    {.name = "dontneed", .prepare = prepare_pages, .before_write = give_back_and_touch},
    {.name = "huge-pages", .prepare = prepare_huge_pages, .before_write = touch_fresh_huge_page},
    {.name = "getaddrinfo", .before_write = resolve},
    {.name = "dns", .before_write = ask_name_server},
    {.name = "epoll", .before_read = wait_by_epoll},
    {.name = "poll", .prepare = prepare_poll, .before_read = wait_by_poll},
    {.name = "connect-poll", .after_connect = wait_in_vain},
    {.name = "migrations", .before_write = move_to_other_core},
    {.name = "getppid", .before_write = ask_parent},
    {.name = "open", .before_write = read_settings},
    {.name = "spawn", .before_write = run_program},
    {.name = "spin", .prepare = prepare_spin, .before_write = spin},
};

const struct plant *plant_find(const char *name)
{
    for (size_t index = 0; index < sizeof PLANTS / sizeof *PLANTS; index++) {
        if (strcmp(PLANTS[index].name, name) == 0) {
            return &PLANTS[index];
        }
    }
    fprintf(stderr, "there is no plant %s\n", name);
    _exit(1);
}
