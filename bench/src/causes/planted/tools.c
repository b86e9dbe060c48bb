/* Tools of the plants. */

#include "planted.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

uint64_t random_between(uint64_t least, uint64_t most)
{
    const char *seed = getenv("PLANT_SEED");
    uint64_t number = seed == NULL ? 1 : strtoull(seed, NULL, 10);
    /* SplitMix64. */
    number += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    number ^= number >> 31;
    return least + number % (most - least + 1);
}

void check(bool is_well, const char *what)
{
    if (!is_well) {
        perror(what);
        _exit(1);
    }
}

void path_of(char path[static 4096], const char *name)
{
    const char *directory = getenv("PLANT_DIR");
    snprintf(path, 4096, "%s/%s", directory == NULL ? "/tmp" : directory, name);
}

int open_unnamed(int flags)
{
    char path[4096];
    path_of(path, "plant-XXXXXX");
    const int made = mkostemp(path, flags & ~O_ACCMODE);
    check(made >= 0, path);
    unlink(path);
    return made;
}

void start_beside(int descriptor, void (*work)(void))
{
    const pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(descriptor, 0);
        close_range(1, ~0U, 0);
        work();
        _exit(0);
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void compute(uint64_t duration_ns)
{
    const uint64_t end = now_ns() + duration_ns;
    while (now_ns() < end) {
    }
}

void sleep_ns(uint64_t duration_ns)
{
    const struct timespec duration = {.tv_sec = 0, .tv_nsec = (long)duration_ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL);
}
