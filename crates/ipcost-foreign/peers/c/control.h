/* The two ends of the control protocol: lines from standard input, lines to standard output. */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stddef.h>

/* The format check for this system's printf(). */
#ifndef PRINTF_FORMAT
#define PRINTF_FORMAT printf
#endif

/* Sets up both ends; call first. */
void control_open(void);

/* The next line without its newline, which is valid until the next call; false at the end of input. */
bool control_line(const char **line, size_t *length);

/*
 * Waits until a line, or the end of input, may be ready (true), or the descriptor is readable or the time is up
 * (false). A descriptor below 0 is ignored; a time below 0 means no limit.
 */
bool control_wait_beside(int descriptor, int timeout_ms);

/*
 * Whether the process exits, with status 0, as soon as its input ends. Set while it waits for something other than the
 * input. The kernel sends a signal, so this takes neither a thread nor a call in a loop.
 */
void control_leave_at_end(bool leaves);

/*
 * Sets a function to run before the process ends by fail(), or because its input ended while it waited for something
 * else. It may run in a signal handler, and runs once, just before the process ends.
 */
void control_before_end(void (*last)(void));

/* Sends a message: printf() to standard output, then this. */
void control_flush(void);

/*
 * Reports what failed and where, and exits with status 1. Any thread or worker process may call it; only the first one
 * is reported.
 */
_Noreturn void fail(const char *format, ...) __attribute__((cold, format(PRINTF_FORMAT, 1, 2)));

/* The same, followed by the system's reason (errno). */
_Noreturn void fail_with_reason(const char *format, ...) __attribute__((cold, format(PRINTF_FORMAT, 1, 2)));

/* The same in a signal handler; returns if another thread or process is about to end this one. */
void fail_in_handler(const char *text);

#endif
