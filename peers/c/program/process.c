#define _GNU_SOURCE 1

#include "program/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

uint64_t process_cpu_ns(pid_t process)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        return 0;
    }
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

void usage_scale(struct usage *usage, uint64_t cpu_ns)
{
    const double sum_ns = (double)usage->user_ns + (double)usage->sys_ns;
    const double user_share = sum_ns > 0 ? (double)usage->user_ns / sum_ns : 0;
    usage->user_ns = (uint64_t)((double)cpu_ns * user_share);
    usage->sys_ns = cpu_ns - usage->user_ns;
}

void process_read_switches(pid_t process, struct usage *usage)
{
    char path[64];
    char line[256];
    snprintf(path, sizeof path, "/proc/%d/status", process);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &usage->voluntary_switches);
        sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &usage->involuntary_switches);
    }
    fclose(file);
}

/* A line such as "4711 (socat) S 1 …" (proc(5)). */
bool process_waits(pid_t process, const char *name)
{
    char path[64];
    char line[256];
    char expected[64];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    const bool was_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const int length = snprintf(expected, sizeof expected, "%d (%s) S ", process, name);
    return was_read && strncmp(line, expected, (size_t)length) == 0;
}
