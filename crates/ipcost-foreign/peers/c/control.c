#define _GNU_SOURCE 1

#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

enum {
    LONGEST_LINE = 4 << 20,
    CHUNK_BYTES = 8192,
    LONGEST_ERROR = 1024,
};

/* Read but unused input: from `begin` to `end`, scanned up to `scanned`. */
static struct {
    char *bytes;
    size_t capacity;
    size_t begin;
    size_t scanned;
    size_t end;
} input;

/* Whether an error has been reported; worker processes share it. */
static atomic_bool *has_failed;

static volatile sig_atomic_t leaves_at_end;

static void (*before_end)(void);

static void signal_input(void);
static bool has_line(void);
static bool read_more(void);
static void make_room(void);
static bool input_has_ended(void);
static _Noreturn void end(int status);
static _Noreturn void say_error(const char *text);
static void write_whole(const char *bytes, size_t length);

void control_open(void)
{
    /* Makes a write to a closed connection an error like any other. */
    signal(SIGPIPE, SIG_IGN);
    /* A second line of defence against outliving the engine, which also requests this when it starts peers. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    has_failed = mmap(NULL, sizeof *has_failed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (has_failed == MAP_FAILED) {
        exit(1);
    }
    signal_input();
}

/* Input: a second thread to read it would slow down every system call on a descriptor. */

bool control_line(const char **line, size_t *length)
{
    input.scanned = input.begin;
    while (!has_line()) {
        if (input.end - input.begin > LONGEST_LINE) {
            fail("protocol: a control line is too long");
        }
        if (!read_more()) {
            return false;
        }
    }
    *line = input.bytes + input.begin;
    *length = input.scanned - input.begin;
    input.begin = input.scanned + 1;
    return true;
}

bool control_wait_beside(int descriptor, int timeout_ms)
{
    input.scanned = input.begin;
    if (has_line()) {
        return true;
    }
    struct pollfd watched[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = descriptor, .events = POLLIN}};
    if (poll(watched, 2, timeout_ms) < 0 && errno != EINTR) {
        fail_with_reason("cannot wait");
    }
    return watched[0].revents != 0;
}

static bool has_line(void)
{
    const size_t left = input.end - input.scanned;
    const char *newline = left == 0 ? NULL : memchr(input.bytes + input.scanned, '\n', left);
    input.scanned = newline == NULL ? input.end : (size_t)(newline - input.bytes);
    return newline != NULL;
}

static bool read_more(void)
{
    make_room();
    ssize_t count;
    do {
        count = read(STDIN_FILENO, input.bytes + input.end, CHUNK_BYTES);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        fail_with_reason("protocol: cannot read standard input");
    }
    input.end += (size_t)count;
    return count > 0;
}

static void make_room(void)
{
    if (input.begin > 0) {
        memmove(input.bytes, input.bytes + input.begin, input.end - input.begin);
        input.end -= input.begin;
        input.scanned -= input.begin;
        input.begin = 0;
    }
    if (input.capacity - input.end >= CHUNK_BYTES) {
        return;
    }
    input.capacity = 2 * input.capacity + CHUNK_BYTES;
    input.bytes = realloc(input.bytes, input.capacity);
    if (input.bytes == NULL) {
        fail("out of memory");
    }
}

/* The end of input. */

static void on_input(int signal_number)
{
    (void)signal_number;
    const int kept = errno;
    if (leaves_at_end && input_has_ended()) {
        end(0);
    }
    errno = kept;
}

/* Has the kernel send a signal on any event on standard input, if it is a pipe or a socket. */
static void signal_input(void)
{
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
        return;
    }
    struct sigaction action = {.sa_handler = on_input, .sa_flags = SA_RESTART};
    sigaction(SIGIO, &action, NULL);
    const int flags = fcntl(STDIN_FILENO, F_GETFL);
    fcntl(STDIN_FILENO, F_SETOWN, getpid());
    fcntl(STDIN_FILENO, F_SETFL, flags | O_ASYNC);
}

void control_leave_at_end(bool leaves)
{
    leaves_at_end = leaves;
    if (leaves && input_has_ended()) {
        end(0);
    }
}

void control_before_end(void (*last)(void))
{
    before_end = last;
}

static _Noreturn void end(int status)
{
    void (*const last)(void) = before_end;
    before_end = NULL;
    leaves_at_end = false;
    if (last != NULL) {
        last();
    }
    _exit(status);
}

static bool input_has_ended(void)
{
    struct pollfd watched = {.fd = STDIN_FILENO};
    return poll(&watched, 1, 0) == 1 && (watched.revents & POLLHUP) != 0;
}

/* Output. */

void control_flush(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        /* The engine is gone; no one reads this. */
        end(1);
    }
}

void fail(const char *format, ...)
{
    char text[LONGEST_ERROR];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say_error(text);
}

void fail_with_reason(const char *format, ...)
{
    const char *reason = strerror(errno);
    char text[LONGEST_ERROR];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char whole[LONGEST_ERROR + 64];
    snprintf(whole, sizeof whole, "%s: %s", text, reason);
    say_error(whole);
}

static _Noreturn void say_error(const char *text)
{
    fail_in_handler(text);
    for (;;) {
        /* Another thread or process is about to end this one. */
        pause();
    }
}

void fail_in_handler(const char *text)
{
    static const char BEGIN[] = "{\"type\":\"error\",\"message\":\"";
    static const char END[] = "\"}\n";
    if (atomic_exchange(has_failed, true)) {
        return;
    }
    char line[6 * (LONGEST_ERROR + 64) + sizeof BEGIN + sizeof END];
    size_t used = sizeof BEGIN - 1;
    memcpy(line, BEGIN, used);
    used += text_escape(line + used, text);
    memcpy(line + used, END, sizeof END - 1);
    write_whole(line, used + sizeof END - 1);
    end(1);
}

static void write_whole(const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t count = write(STDOUT_FILENO, bytes, length);
        if (count < 0 && errno != EINTR) {
            return;
        }
        if (count > 0) {
            bytes += count;
            length -= (size_t)count;
        }
    }
}
