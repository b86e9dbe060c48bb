/* What is shared by the parts of the library that plants a cause in a peer. */

#ifndef PLANTED_H
#define PLANTED_H

#define _GNU_SOURCE 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A cause, and where it acts. */
struct plant {
    const char *name;
    /* Once in a process, before its first operation on data. */
    void (*prepare)(void);
    void (*before_write)(void);
    void (*before_read)(int descriptor);
    /* Most bytes for a call; 0 if there is no limit. */
    size_t most_read;
    size_t most_written;
    /* Writes by another thread. */
    ssize_t (*write_elsewhere)(int descriptor, const void *bytes, size_t count, int flags);
    /* After a connection is requested, without blocking. */
    void (*after_connect)(int socket);
};

/* The one that the environment names. */
const struct plant *plant_find(const char *name);

/* Writes, or sends where there are flags, without any plant. */
ssize_t write_directly(int descriptor, const void *bytes, size_t count, int flags);
enum { NOT_A_SEND = -1 };

/* A number from the seed, the same in every process of a run. */
uint64_t random_between(uint64_t least, uint64_t most);

/* Ends the process where something that a plant needs has failed. */
void check(bool is_well, const char *what);

/* The path of a file in the directory for such. */
void path_of(char path[static 4096], const char *name);

/* A new file that has no name, in the directory for such. */
int open_unnamed(int flags);

/* A process that leaves with this one and holds nothing of it but one descriptor, as its standard input. */
void start_beside(int descriptor, void (*work)(void));

/* The processor works in user mode. */
void compute(uint64_t duration_ns);

void sleep_ns(uint64_t duration_ns);

/* threads.c */
void prepare_condition(void);
void prepare_eventfd(void);
void prepare_pipe(void);
ssize_t write_by_condition(int descriptor, const void *bytes, size_t count, int flags);
ssize_t write_by_descriptor(int descriptor, const void *bytes, size_t count, int flags);
void prepare_lock(void);
void take_lock(void);
void prepare_flock(void);
void take_flock(void);

#endif
