#define _GNU_SOURCE 1

#include "hold.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "program/process.h"

static bool stop_first(void);
static bool be_traced(void);
static int await_stop(struct child *child);
static bool begins_to_wait(const struct child *child);
static void trace(int request, const struct child *child, long argument);

/*
 * socat opens both its ends, then waits until bytes can be moved, then moves them: its first call of poll(2) or
 * select(2) is where its work begins. So its calls are watched (ptrace(2)) until then. Once it is let go,
 * nobody watches any more.
 */
struct child hold_start(const struct launch *launch)
{
    struct launch traced = *launch;
    if (process_is_watched()) {
        /* A process has one tracer at most, and with another one nothing is timed: it is held before its start. */
        traced.before_exec = stop_first;
        struct child child = child_start(&traced);
        while (await_stop(&child) != SIGSTOP) {
        }
        return child;
    }
    traced.before_exec = be_traced;
    struct child child = child_start(&traced);
    await_stop(&child);
    trace(PTRACE_SETOPTIONS, &child, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    int passed_on = 0;
    do {
        trace(PTRACE_SYSCALL, &child, passed_on);
        const int stopped_by = await_stop(&child);
        const bool is_call = stopped_by == (SIGTRAP | 0x80);
        passed_on = is_call ? 0 : stopped_by;
    } while (passed_on != 0 || !begins_to_wait(&child));
    /* The call still is carried out, and finds that bytes can be moved at once; then the signal stops it. */
    if (kill(child.process, SIGSTOP) != 0) {
        fail_with_reason("cannot stop %s", child.program->name);
    }
    trace(PTRACE_DETACH, &child, 0);
    while (await_stop(&child) != SIGSTOP) {
    }
    return child;
}

void hold_release(const struct child *child)
{
    if (kill(child->process, SIGCONT) != 0) {
        fail_with_reason("cannot let %s go on", child->program->name);
    }
}

/* In the new process. */
static bool stop_first(void)
{
    return raise(SIGSTOP) == 0;
}

/* In the new process. */
static bool be_traced(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
        return true;
    }
    dprintf(STDERR_FILENO, "--started needs ptrace(2), which is not allowed here: ");
    return false;
}

/* Waits until it stops, and tells by which signal; a program that ends instead ends the peer. */
static int await_stop(struct child *child)
{
    siginfo_t what = {0};
    while (waitid(P_PID, (id_t)child->process, &what, WEXITED | WSTOPPED | WNOWAIT) != 0) {
        if (errno != EINTR) {
            fail_with_reason("cannot wait for %s", child->program->name);
        }
    }
    if (what.si_code != CLD_TRAPPED && what.si_code != CLD_STOPPED) {
        child_wait(child);
        fail("%s ended before it moved anything", child->program->name);
    }
    int status;
    waitpid(child->process, &status, WUNTRACED);
    return WSTOPSIG(status);
}

/* Whether it has just called poll(2), select(2) or one of their kin. */
static bool begins_to_wait(const struct child *child)
{
    struct __ptrace_syscall_info call = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child->process, sizeof call, &call) <= 0) {
        fail_with_reason("cannot see what %s does", child->program->name);
    }
    if (call.op != PTRACE_SYSCALL_INFO_ENTRY) {
        return false;
    }
    switch (call.entry.nr) {
#ifdef SYS_poll
    case SYS_poll:
#endif
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
        return true;
    default:
        return false;
    }
}

static void trace(int request, const struct child *child, long argument)
{
    if (ptrace((enum __ptrace_request)request, child->process, NULL, argument) != 0) {
        fail_with_reason("cannot trace %s", child->program->name);
    }
}
