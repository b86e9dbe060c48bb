#include "cell.h"

#include <string.h>

#include "control.h"
#include "fields.h"
#include "stamps.h"

enum {
    LARGEST_SIZE = 1 << 30,
    MOST_WORKERS = 100000,
    SERVER_BUFFER = 65537,
    LEAST_RECV_BUFFER = 65536,
    BACKLOG = 4096,
    LARGEST_BACKLOG = 65535,
    HIGHEST_RATE = 1000000000,
};

/* A minute. */
static const uint64_t LONGEST_NS = UINT64_C(60000000000);

const char *const PATTERN_NAMES[PATTERNS] = {"connect", "rr", "stream"};
const char *const TRANSPORT_NAMES[TRANSPORTS] = {"pipe", "fifo", "unix", "unix-abstract",
                                                 "socketpair", "tcp", "tcp6", "mq", "shm-slot"};
const char *const OPTION_NAMES[OPTIONS] = {
    [OPTION_FRAMING] = "framing",
    [OPTION_SERVER_BUFFER] = "server_buffer",
    [OPTION_RECV_BUFFER] = "recv_buffer",
    [OPTION_SEND_OFFSET] = "send_offset",
    [OPTION_RECV_OFFSET] = "recv_offset",
    [OPTION_TOUCH] = "touch",
    [OPTION_SEND_MEMORY] = "send_memory",
    [OPTION_CLOCK] = "clock",
    [OPTION_WORKERS] = "workers",
    [OPTION_DESCRIPTOR_TABLE] = "descriptor_table",
    [OPTION_TCP_NODELAY] = "tcp_nodelay",
    [OPTION_TCP_CONGESTION] = "tcp_congestion",
    [OPTION_SO_SNDBUF] = "so_sndbuf",
    [OPTION_SO_RCVBUF] = "so_rcvbuf",
    [OPTION_IO] = "io",
    [OPTION_PIPE_SIZE] = "pipe_size",
    [OPTION_PIPE_CALLS] = "pipe_calls",
    [OPTION_WAIT] = "wait",
    [OPTION_BACKLOG] = "backlog",
    [OPTION_CLOSES_FIRST] = "closes_first",
    [OPTION_SPREAD_SOURCES] = "spread_sources",
    [OPTION_THINK] = "think",
    [OPTION_RATE] = "rate",
    [OPTION_ARRIVALS] = "arrivals",
    [OPTION_PACER] = "pacer",
    [OPTION_POLLUTE] = "pollute",
    [OPTION_TIMER_SLACK] = "timer_slack",
};

static int find_name(struct json object, const char *name, const char *const *names, int count);
static void read_options(struct cell *cell, struct json options);
static void check_pace(const struct cell *cell);
static enum cell_option find_option(const char *name);
static void read_option(struct cell *cell, enum cell_option option, struct json value);
static size_t read_size(const char *name, struct json value);
static int read_offset(const char *name, struct json value);
static int value_word(const char *name, struct json value, const char *const words[3], int count);

struct cell cell_read(struct json object)
{
    struct cell cell = {
        .pattern = (enum pattern)find_name(object, "pattern", PATTERN_NAMES, PATTERNS),
        .transport = (enum transport)find_name(object, "transport", TRANSPORT_NAMES, TRANSPORTS),
        .size = field_number(object, "size", 1, LARGEST_SIZE),
        .reply = field_number(object, "reply", 0, LARGEST_SIZE),
        .concurrency = field_number(object, "concurrency", 1, MOST_WORKERS),
        .server_speaks_first =
            value_is_second(field(object, "speaks_first"), "speaks_first", "client", "server"),
        .server_buffer = SERVER_BUFFER,
        .send_offset = ANYWHERE,
        .recv_offset = ANYWHERE,
        .backlog = BACKLOG,
        .spread_sources = true,
        .timer_slack_ns = 1, /* as early as the kernel can wake a thread */
    };
    /* A stream leaves Nagle's algorithm on, as is the system's default. */
    cell.tcp_nodelay = cell.pattern != STREAM;
    struct json options;
    if (json_member(object, "options", &options)) {
        read_options(&cell, options);
    }
    if (cell.recv_buffer == 0) {
        cell.recv_buffer = cell.size > LEAST_RECV_BUFFER ? cell.size : LEAST_RECV_BUFFER;
    }
    if (cell.pattern != STREAM && cell.reply == 0) {
        fail("protocol: \"reply\" must be at least 1 in pattern %s", PATTERN_NAMES[cell.pattern]);
    }
    if (cell.pattern == CONNECT && !transport_connects(cell.transport)) {
        fail("protocol: pattern connect cannot be had over %s", TRANSPORT_NAMES[cell.transport]);
    }
    if (cell.signals && (cell.pattern != RR || cell.concurrency > 1)) {
        fail("protocol: signals take pattern rr and one worker");
    }
    if (cell.stdio && cell.newline_framing) {
        fail("protocol: with pipe_calls=stdio nobody looks for a newline; leave framing out");
    }
    if (cell.arrivals == USUAL_ARRIVALS) {
        cell.arrivals = cell.rate > 0 ? RANDOM_ARRIVALS : CONSTANT_ARRIVALS;
    }
    check_pace(&cell);
    return cell;
}

bool cell_has_pace(const struct cell *cell)
{
    return cell->thinks || cell->rate > 0;
}

static void check_pace(const struct cell *cell)
{
    if (cell->thinks && cell->rate > 0) {
        fail("protocol: a pause follows the answer and a rate does not wait for it; give think or rate");
    }
    if (cell->pattern == STREAM && cell_has_pace(cell) && cell->size < STAMP_BYTES) {
        fail("protocol: with think or rate a message of a stream carries when it was sent in %d bytes, so \"size\" "
             "must be at least that",
             STAMP_BYTES);
    }
}

bool transport_connects(enum transport transport)
{
    return transport == UNIX || transport == UNIX_ABSTRACT || transport == TCP || transport == TCP6;
}

static int find_name(struct json object, const char *name, const char *const *names, int count)
{
    char text[64];
    field_text(object, name, text, sizeof text);
    for (int index = 0; index < count; index++) {
        if (strcmp(text, names[index]) == 0) {
            return index;
        }
    }
    fail("protocol: there is no %s \"%s\" here", name, text);
}

static void read_options(struct cell *cell, struct json options)
{
    if (!json_is_object(options)) {
        fail("protocol: \"options\" must be an object");
    }
    struct json_walk walk = json_walk(options);
    struct json name;
    struct json value;
    while (json_next(&walk, &name, &value)) {
        char text[64];
        value_text(name, "an option's name", text, sizeof text);
        read_option(cell, find_option(text), value);
    }
}

static enum cell_option find_option(const char *name)
{
    for (int option = 0; option < OPTIONS; option++) {
        if (strcmp(name, OPTION_NAMES[option]) == 0 && option_exists((enum cell_option)option)) {
            return (enum cell_option)option;
        }
    }
    fail("protocol: there is no option \"%s\" here", name);
}

bool option_exists(enum cell_option option)
{
#ifdef __linux__
    (void)option;
    return true;
#else
    return option != OPTION_TIMER_SLACK;
#endif
}

/* Options are read, and checked, also where they act on other transports or patterns than the cell's. */
static void read_option(struct cell *cell, enum cell_option option, struct json value)
{
    static const char *const CALLS[] = {"system", "stdio", "stdio-signals"};
    static const char *const WAITS[WAITINGS] = {"block", "spin", "hybrid"};
    static const char *const ARRIVALS[] = {"poisson", "exponential", "constant", "in-step"};
    static const enum arrivals MEANT[] = {RANDOM_ARRIVALS, RANDOM_ARRIVALS, CONSTANT_ARRIVALS, IN_STEP_ARRIVALS};
    static const char *const SIDES[CLOSINGS] = {"server", "client", "any"};
    const char *name = OPTION_NAMES[option];
    switch (option) {
    case OPTION_FRAMING:
        cell->newline_framing = value_is_second(value, name, "length", "newline");
        break;
    case OPTION_SERVER_BUFFER:
        cell->server_buffer = read_size(name, value);
        break;
    case OPTION_RECV_BUFFER:
        cell->recv_buffer = read_size(name, value);
        break;
    case OPTION_SEND_OFFSET:
        cell->send_offset = read_offset(name, value);
        break;
    case OPTION_RECV_OFFSET:
        cell->recv_offset = read_offset(name, value);
        break;
    case OPTION_TOUCH:
        cell->touches = value_is_second(value, name, "none", "every-byte");
        break;
    case OPTION_SEND_MEMORY:
        cell->send_memory = read_size(name, value);
        break;
    case OPTION_CLOCK:
        cell->is_clocked = value_is_second(value, name, "batch", "each");
        break;
    case OPTION_WORKERS:
        cell->workers_are_processes = value_is_second(value, name, "threads", "processes");
        break;
    case OPTION_DESCRIPTOR_TABLE:
        cell->table_is_shared = value_is_second(value, name, "private", "shared");
        cell->table_is_private = !cell->table_is_shared;
        break;
    case OPTION_TCP_NODELAY:
        cell->tcp_nodelay = value_boolean(value, name);
        break;
    case OPTION_TCP_CONGESTION:
        value_text(value, name, cell->tcp_congestion, sizeof cell->tcp_congestion);
        break;
    case OPTION_SO_SNDBUF:
        cell->so_sndbuf = (int)read_size(name, value);
        break;
    case OPTION_SO_RCVBUF:
        cell->so_rcvbuf = (int)read_size(name, value);
        break;
    case OPTION_IO:
        cell->sends = value_is_second(value, name, "blocking", "send");
        break;
    case OPTION_PIPE_SIZE:
        cell->pipe_size = (int)read_size(name, value);
        break;
    case OPTION_PIPE_CALLS: {
        const int calls = value_word(name, value, CALLS, 3);
        cell->stdio = calls > 0;
        cell->signals = calls > 1;
        break;
    }
    case OPTION_WAIT:
        cell->waiting = (enum waiting)value_word(name, value, WAITS, WAITINGS);
        break;
    case OPTION_BACKLOG:
        cell->backlog = (int)value_number(value, name, 1, LARGEST_BACKLOG);
        break;
    case OPTION_CLOSES_FIRST:
        cell->closing = (enum closing)value_word(name, value, SIDES, CLOSINGS);
        break;
    case OPTION_SPREAD_SOURCES:
        cell->spread_sources = value_boolean(value, name);
        break;
    case OPTION_THINK:
        cell->thinks = true;
        cell->think_ns = value_number(value, name, 0, LONGEST_NS);
        break;
    case OPTION_RATE:
        cell->rate = value_number(value, name, 1, HIGHEST_RATE);
        break;
    case OPTION_ARRIVALS:
        cell->arrivals = MEANT[value_word(name, value, ARRIVALS, 4)];
        break;
    case OPTION_PACER:
        cell->pacer_spins = value_is_second(value, name, "sleep", "spin");
        break;
    case OPTION_POLLUTE:
        cell->polluted_bytes = read_size(name, value);
        break;
    case OPTION_TIMER_SLACK:
        cell->timer_slack_ns = value_number(value, name, 1, LONGEST_NS);
        break;
    case OPTIONS:
        break;
    }
}

static size_t read_size(const char *name, struct json value)
{
    return value_number(value, name, 1, LARGEST_SIZE);
}

static int read_offset(const char *name, struct json value)
{
    return (int)value_number(value, name, 0, PAGE_BYTES - 1);
}

/* Which of three words a text is. */
static int value_word(const char *name, struct json value, const char *const words[3], int count)
{
    char text[64];
    value_text(value, name, text, sizeof text);
    for (int index = 0; index < count; index++) {
        if (strcmp(text, words[index]) == 0) {
            return index;
        }
    }
    fail("protocol: \"%s\" must be \"%s\", \"%s\" or \"%s\", not \"%s\"", name, words[0], words[1], words[2], text);
}
