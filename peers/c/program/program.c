#define _GNU_SOURCE 1

#include "program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"

enum {
    MOST_ARGUMENTS = 64,
    MOST_FILES = 2,
    LINE_BYTES = 512,
    NOT_STARTED = 127, /* the exit status where a program could not be started, as a shell's */
};

/* What is to go with this process; handlers of signals look at it. */
static volatile pid_t running;
static char owned_files[MOST_FILES][PATH_MAX];
static size_t owned_count;

static bool is_program(const char *path);
static int nowhere(int flags);
static _Noreturn void become(const struct launch *launch, int complaint, pid_t parent);
static void take_along(void);
static int reap(struct child *child, struct rusage *used);
static void last_line(int complaint, char line[LINE_BYTES]);

/* Finding. */

struct program program_find(const char *name, const char *package)
{
    const char *path = getenv("PATH");
    if (path == NULL) {
        path = "/usr/local/bin:/usr/bin:/bin";
    }
    struct program program = {.name = name};
    for (;;) {
        const size_t length = strcspn(path, ":");
        const int needed =
            snprintf(program.path, sizeof program.path, "%.*s/%s", (int)length, path, name);
        if (length > 0 && needed < (int)sizeof program.path && is_program(program.path)) {
            return program;
        }
        if (path[length] == '\0') {
            fail("%s was not found; install Debian's package %s", name, package);
        }
        path += length + 1;
    }
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

void program_version(const struct program *program, const char *argument, const char *before, char *version,
                     size_t capacity)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail_with_reason("cannot make a pipe");
    }
    struct child child = child_start(
        &(struct launch){.program = program, .arguments = (const char *[]){argument, NULL}, .output = ends[1]});
    close(ends[1]);
    char text[4096];
    size_t used = 0;
    ssize_t count;
    do {
        count = receive_some(ends[0], (unsigned char *)text + used, sizeof text - 1 - used);
        used += count > 0 ? (size_t)count : 0;
    } while (count > 0 && used < sizeof text - 1);
    /* What it says beyond that is not waited for: it then ends because nobody reads. */
    close(ends[0]);
    reap(&child, NULL);
    text[used] = '\0';
    const char *found = strstr(text, before);
    if (found == NULL) {
        fail("%s %s does not tell a version; is it the program of that name?", program->path, argument);
    }
    found += strlen(before);
    snprintf(version, capacity, "%.*s", (int)strcspn(found, " \t\r\n"), found);
}

/* Starting. */

struct child child_start(const struct launch *launch)
{
    struct child child = {.program = launch->program};
    child.complaint = memfd_create("complaint", MFD_CLOEXEC);
    if (child.complaint < 0) {
        fail_with_reason("cannot have a file in memory");
    }
    control_before_end(take_along);
    const pid_t parent = getpid();
    child.process = fork();
    if (child.process < 0) {
        fail_with_reason("cannot start %s", launch->program->path);
    }
    if (child.process == 0) {
        become(launch, child.complaint, parent);
    }
    running = child.process;
    return child;
}

static _Noreturn void become(const struct launch *launch, int complaint, pid_t parent)
{
    char *arguments[MOST_ARGUMENTS + 2] = {(char *)(uintptr_t)launch->program->name};
    for (size_t index = 0; launch->arguments[index] != NULL && index < MOST_ARGUMENTS; index++) {
        arguments[index + 1] = (char *)(uintptr_t)launch->arguments[index];
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(NOT_STARTED);
    }
    /* This process ignores it, and that would go on. */
    signal(SIGPIPE, SIG_DFL);
    const int input = launch->input != 0 ? launch->input : nowhere(O_RDONLY);
    const int output = launch->output != 0 ? launch->output : nowhere(O_WRONLY);
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(complaint, STDERR_FILENO) >= 0 &&
        dup2(launch->complains_on_output ? complaint : output, STDOUT_FILENO) >= 0) {
        if (launch->before_exec == NULL || launch->before_exec()) {
            execv(launch->program->path, arguments);
        }
    }
    dprintf(complaint, "it could not be started: %s\n", strerror(errno));
    _exit(NOT_STARTED);
}

static int nowhere(int flags)
{
    return open("/dev/null", flags | O_CLOEXEC);
}

/* Ending. */

void program_owns_file(const char *path)
{
    if (owned_count == MOST_FILES) {
        fail("there is no room for the file %s", path);
    }
    snprintf(owned_files[owned_count], sizeof *owned_files, "%s", path);
    owned_count++;
    control_before_end(take_along);
}

void program_remove_files(void)
{
    for (size_t index = 0; index < owned_count; index++) {
        /* The program may have removed it already. */
        unlink(owned_files[index]);
    }
    owned_count = 0;
}

static void take_along(void)
{
    if (running > 0) {
        kill(running, SIGKILL);
        waitpid(running, NULL, 0);
    }
    program_remove_files();
}

bool child_has_ended(const struct child *child)
{
    siginfo_t end = {0};
    return waitid(P_PID, (id_t)child->process, &end, WEXITED | WNOWAIT | WNOHANG) == 0 && end.si_pid != 0;
}

void child_await_end(const struct child *child)
{
    siginfo_t end;
    while (waitid(P_PID, (id_t)child->process, &end, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
}

struct usage child_wait(struct child *child)
{
    struct rusage used;
    const int status = reap(child, &used);
    if (status != 0) {
        child_fail(child, status);
    }
    close(child->complaint);
    return (struct usage){
        .user_ns = (uint64_t)used.ru_utime.tv_sec * 1000000000 + (uint64_t)used.ru_utime.tv_usec * 1000,
        .sys_ns = (uint64_t)used.ru_stime.tv_sec * 1000000000 + (uint64_t)used.ru_stime.tv_usec * 1000,
        .voluntary_switches = (uint64_t)used.ru_nvcsw,
        .involuntary_switches = (uint64_t)used.ru_nivcsw,
    };
}

void child_kill(struct child *child)
{
    if (child->process != 0) {
        kill(child->process, SIGKILL);
        reap(child, NULL);
        close(child->complaint);
    }
}

/*
 * Waits for its end first and takes note of it second, with signals held back: no handler must ever kill a
 * process whose number is free again.
 */
static int reap(struct child *child, struct rusage *used)
{
    child_await_end(child);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    int status = -1;
    const pid_t reaped = wait4(child->process, &status, 0, used);
    running = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (reaped != child->process) {
        fail_with_reason("cannot wait for %s", child->program->name);
    }
    child->process = 0;
    return status;
}

void child_fail(struct child *child, int status)
{
    char how[64];
    char line[LINE_BYTES];
    if (WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(status));
    } else {
        snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(status));
    }
    last_line(child->complaint, line);
    fail("%s %s%s%s", child->program->name, how, line[0] == '\0' ? "" : ": ", line);
}

static void last_line(int complaint, char line[LINE_BYTES])
{
    const off_t end = lseek(complaint, 0, SEEK_END);
    const off_t begin = end < LINE_BYTES ? 0 : end - LINE_BYTES + 1;
    const ssize_t count = end < 0 ? 0 : pread(complaint, line, LINE_BYTES - 1, begin);
    size_t length = count > 0 ? (size_t)count : 0;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) {
        length--;
    }
    line[length] = '\0';
    const char *newline = strrchr(line, '\n');
    if (newline != NULL) {
        memmove(line, newline + 1, strlen(newline));
    }
}
