/* What the kernel tells of another process. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "work.h"

/* Its processor time so far, of all its threads, user and system in one; 0 where it cannot be told. */
uint64_t process_cpu_ns(pid_t process);

/* Shares a processor time out between user and system, in the proportion that they have. */
void usage_scale(struct usage *usage, uint64_t cpu_ns);

/* Its first thread's switches so far; both are left alone where they cannot be told. */
void process_read_switches(pid_t process, struct usage *usage);

/* The bytes it has read so far, from anywhere, also once it has ended; false where they cannot be told. */
bool process_bytes_read(pid_t process, uint64_t *bytes);

/* Whether it runs the program of that name, and waits for something. */
bool process_waits(pid_t process, const char *name);

/* Whether somebody else traces this process and so, with strace -f, those that it starts (ptrace(2)). */
bool process_is_watched(void);

#endif
