#define _GNU_SOURCE 1

#include "program/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool find_number(pid_t process, const char *file_name, const char *name, uint64_t *number);

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
    find_number(process, "status", "voluntary_ctxt_switches:", &usage->voluntary_switches);
    find_number(process, "status", "nonvoluntary_ctxt_switches:", &usage->involuntary_switches);
}

bool process_bytes_read(pid_t process, uint64_t *bytes)
{
    return find_number(process, "io", "rchar:", bytes);
}

bool process_is_watched(void)
{
    uint64_t tracer = 0;
    return find_number(getpid(), "status", "TracerPid:", &tracer) && tracer != 0;
}

/* The number behind a name in one of a process's files, such as "rchar: 4711" (proc(5)). */
static bool find_number(pid_t process, const char *file_name, const char *name, uint64_t *number)
{
    char path[64];
    char line[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/%s", process, file_name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    while (!found && fgets(line, sizeof line, file) != NULL) {
        const size_t length = strlen(name);
        found = strncmp(line, name, length) == 0 && sscanf(line + length, "%" SCNu64, number) == 1;
    }
    fclose(file);
    return found;
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
