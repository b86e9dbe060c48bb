#define _GNU_SOURCE 1

#include "counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "program/process.h"

static void ask_value(struct resp *desk, const struct key *key, struct counts *counts);
static void ask_commands(struct resp *desk, struct counts *counts);
static void ask_usage(struct resp *desk, struct counts *counts);
static void read_process(pid_t process, struct counts *counts);
static const char *find(const char *text, const char *name);
static uint64_t nanoseconds(const struct resp *desk, const char *text, const char *name);

struct counts counts_at_begin(struct resp *desk, const struct key *key, pid_t process)
{
    struct counts counts = {0};
    ask_value(desk, key, &counts);
    ask_commands(desk, &counts);
    ask_usage(desk, &counts);
    read_process(process, &counts);
    return counts;
}

struct counts counts_at_end(struct resp *desk, const struct key *key, pid_t process)
{
    struct counts counts = {0};
    read_process(process, &counts);
    ask_usage(desk, &counts);
    ask_commands(desk, &counts);
    ask_value(desk, key, &counts);
    return counts;
}

static void ask_value(struct resp *desk, const struct key *key, struct counts *counts)
{
    const struct reply reply = RESP_ASK(desk, '$', "GET", key->padded);
    if (reply.text == NULL) {
        fail("the key %s is gone from the redis server at %s", key->name, desk->server);
    }
    counts->value = strtoull(reply.text, NULL, 10);
}

/* A line such as "cmdstat_incr:calls=20,usec=31,usec_per_call=1.55,…", which is missing before the first. */
static void ask_commands(struct resp *desk, struct counts *counts)
{
    const struct reply reply = RESP_ASK(desk, '$', "INFO", "commandstats");
    const char *line = reply.text == NULL ? NULL : find(reply.text, "cmdstat_incr:");
    if (line != NULL) {
        sscanf(line, "calls=%" SCNu64 ",usec=%" SCNu64, &counts->incr_calls, &counts->incr_usec);
    }
}

/* In microseconds, from getrusage(2), of all its threads. */
static void ask_usage(struct resp *desk, struct counts *counts)
{
    const struct reply reply = RESP_ASK(desk, '$', "INFO", "cpu");
    counts->usage.user_ns = nanoseconds(desk, reply.text, "used_cpu_user:");
    counts->usage.sys_ns = nanoseconds(desk, reply.text, "used_cpu_sys:");
}

static uint64_t nanoseconds(const struct resp *desk, const char *text, const char *name)
{
    const char *value = text == NULL ? NULL : find(text, name);
    if (value == NULL) {
        fail("the redis server at %s does not tell %s in INFO cpu", desk->server, name);
    }
    return (uint64_t)(strtod(value, NULL) * 1e9 + 0.5);
}

/* Its clock counts nanoseconds, and it need not be asked: a question costs it some 30 microseconds. */
static void read_process(pid_t process, struct counts *counts)
{
    if (process != 0) {
        counts->cpu_ns = process_cpu_ns(process);
        process_read_switches(process, &counts->usage);
    }
}

/* As the clock tells it, shared out between user and system as the server tells it. */
struct usage counts_usage(const struct counts *before, const struct counts *after)
{
    struct usage used = {
        .user_ns = after->usage.user_ns - before->usage.user_ns,
        .sys_ns = after->usage.sys_ns - before->usage.sys_ns,
        .voluntary_switches = after->usage.voluntary_switches - before->usage.voluntary_switches,
        .involuntary_switches = after->usage.involuntary_switches - before->usage.involuntary_switches,
    };
    if (before->cpu_ns != 0 && after->cpu_ns != 0) {
        usage_scale(&used, after->cpu_ns - before->cpu_ns);
    }
    return used;
}

pid_t counts_process(struct resp *desk)
{
    const struct reply reply = RESP_ASK(desk, '$', "INFO", "server");
    const char *number = reply.text == NULL ? NULL : find(reply.text, "process_id:");
    return number == NULL ? 0 : (pid_t)strtol(number, NULL, 10);
}

void counts_version(struct resp *desk, char *version, size_t capacity)
{
    const struct reply reply = RESP_ASK(desk, '$', "INFO", "server");
    const char *found = reply.text == NULL ? NULL : find(reply.text, "redis_version:");
    if (found == NULL) {
        fail("the server at %s does not tell a version of redis in INFO server; is it redis?", desk->server);
    }
    snprintf(version, capacity, "%.*s", (int)strcspn(found, "\r\n"), found);
}

/* What follows a name at the begin of a line; NULL where there is no such line. */
static const char *find(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, name, length) == 0) {
            return line + length;
        }
    }
    return NULL;
}
