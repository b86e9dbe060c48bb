/* Causes that take a second thread, or a second process. */

#include "planted.h"

#include <pthread.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A write that is handed over. */
static struct {
    int descriptor;
    const void *bytes;
    size_t count;
    int flags;
    ssize_t result;
    int reason;
} request;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static enum { NOTHING, ASKED, DONE } state;
/* Ends of pipes, or the same event counter twice. */
static int ask_read, ask_write, done_read, done_write;
static int locked_file;
static uint64_t held_ns;

static void start_thread(void *(*work)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) {
        abort();
    }
    pthread_detach(thread);
}

static void note_request(int descriptor, const void *bytes, size_t count, int flags)
{
    request.descriptor = descriptor;
    request.bytes = bytes;
    request.count = count;
    request.flags = flags;
}

static void carry_out(void)
{
    request.result = write_directly(request.descriptor, request.bytes, request.count, request.flags);
    request.reason = errno;
}

static ssize_t result_of_request(void)
{
    errno = request.reason;
    return request.result;
}

/* By a condition variable. */

static void *serve_condition(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (state != ASKED) {
            pthread_cond_wait(&changed, &mutex);
        }
        carry_out();
        state = DONE;
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

void prepare_condition(void)
{
    start_thread(serve_condition);
}

ssize_t write_by_condition(int descriptor, const void *bytes, size_t count, int flags)
{
    pthread_mutex_lock(&mutex);
    note_request(descriptor, bytes, count, flags);
    state = ASKED;
    pthread_cond_broadcast(&changed);
    while (state != DONE) {
        pthread_cond_wait(&changed, &mutex);
    }
    state = NOTHING;
    const ssize_t result = result_of_request();
    pthread_mutex_unlock(&mutex);
    return result;
}

/* By an event counter or a pipe. */

static void pass(int to)
{
    const uint64_t one = 1;
    if (syscall(SYS_write, to, &one, sizeof one) != sizeof one) {
        abort();
    }
}

static void await(int from)
{
    uint64_t number;
    while (syscall(SYS_read, from, &number, sizeof number) != sizeof number) {
        if (errno != EINTR) {
            abort();
        }
    }
}

static void *serve_descriptor(void *unused)
{
    (void)unused;
    for (;;) {
        await(ask_read);
        carry_out();
        pass(done_write);
    }
    return NULL;
}

void prepare_eventfd(void)
{
    ask_read = ask_write = eventfd(0, EFD_CLOEXEC);
    done_read = done_write = eventfd(0, EFD_CLOEXEC);
    start_thread(serve_descriptor);
}

void prepare_pipe(void)
{
    int ask[2], done[2];
    if (pipe2(ask, O_CLOEXEC) != 0 || pipe2(done, O_CLOEXEC) != 0) {
        abort();
    }
    ask_read = ask[0], ask_write = ask[1], done_read = done[0], done_write = done[1];
    start_thread(serve_descriptor);
}

ssize_t write_by_descriptor(int descriptor, const void *bytes, size_t count, int flags)
{
    note_request(descriptor, bytes, count, flags);
    pass(ask_write);
    await(done_read);
    return result_of_request();
}

/* A lock that another holds for half of the time. */

static void *hold_lock(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&mutex);
        sleep_ns(held_ns);
        pthread_mutex_unlock(&mutex);
        sleep_ns(held_ns);
    }
    return NULL;
}

void prepare_lock(void)
{
    held_ns = random_between(100000, 300000);
    start_thread(hold_lock);
}

void take_lock(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void hold_file(void)
{
    /* A lock belongs to what was opened, so it has to be opened again. */
    const int file = open("/proc/self/fd/0", O_RDWR | O_CLOEXEC);
    const pid_t parent = getppid();
    while (file >= 0 && getppid() == parent) {
        flock(file, LOCK_EX);
        sleep_ns(held_ns);
        flock(file, LOCK_UN);
        sleep_ns(held_ns);
    }
}

void prepare_flock(void)
{
    held_ns = random_between(100000, 300000);
    locked_file = open_unnamed(O_RDWR);
    start_beside(locked_file, hold_file);
}

void take_flock(void)
{
    flock(locked_file, LOCK_EX);
    flock(locked_file, LOCK_UN);
}
