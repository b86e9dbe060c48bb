/* The two ends of the control protocol: lines from standard input, lines to standard output. */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stddef.h>

/* How the compiler knows the formats of this system's printf(). */
#ifndef PRINTF_FORMAT
#define PRINTF_FORMAT printf
#endif

/* Sets both ends up; before anything else. */
void control_open(void);

/* The next line without its newline, which is valid until the next call; false at the end of input. */
bool control_line(const char **line, size_t *length);

/*
 * Waits until a line, or the end of input, may be there (true), or the descriptor may be read or the time is
 * up (false). A descriptor below 0 is not waited for, and a time below 0 is never up.
 */
bool control_wait_beside(int descriptor, int timeout_ms);

/*
 * Whether the process leaves, with status 0, as soon as its input ends. Set while something else than the
 * input is waited for. The kernel tells by a signal, so it takes neither a thread nor a call in a loop.
 */
void control_leave_at_end(bool leaves);

/*
 * Has something done before the process ends by fail(), or because its input ended while something else was
 * waited for. It may be called in the handler of a signal. The process is about to end: it is called once.
 */
void control_before_end(void (*last)(void));

/* Says something: printf() to standard output, then this. */
void control_flush(void);

/*
 * Says what failed and where, and leaves with status 1. Any thread or worker process may call it; the first
 * one is heard.
 */
_Noreturn void fail(const char *format, ...) __attribute__((cold, format(PRINTF_FORMAT, 1, 2)));

/* The same, followed by the system's reason (errno). */
_Noreturn void fail_with_reason(const char *format, ...) __attribute__((cold, format(PRINTF_FORMAT, 1, 2)));

/* The same in the handler of a signal; returns where somebody else is about to end the process. */
void fail_in_handler(const char *text);

#endif
