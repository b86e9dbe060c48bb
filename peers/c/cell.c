#include "cell.h"

#include <string.h>

#include "control.h"
#include "fields.h"

enum {
    LARGEST_SIZE = 1 << 30,
    MOST_WORKERS = 100000,
    SERVER_BUFFER = 65537,
    LEAST_RECV_BUFFER = 65536,
    BACKLOG = 4096,
    LARGEST_BACKLOG = 65535,
};

const char *const PATTERN_NAMES[PATTERNS] = {"connect", "rr", "stream"};
const char *const TRANSPORT_NAMES[TRANSPORTS] = {"pipe", "fifo", "unix", "unix-abstract",
                                                 "socketpair", "tcp", "tcp6", "mq", "shm-slot"};

static int find_name(struct json object, const char *name, const char *const *names, int count);
static void read_options(struct cell *cell, struct json options);
static void read_option(struct cell *cell, const char *name, struct json value);
static size_t read_size(const char *name, struct json value);
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
        .backlog = BACKLOG,
        .spread_sources = true,
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
    return cell;
}

bool cell_option(struct json cell, const char *name, struct json *value)
{
    struct json options;
    return json_member(cell, "options", &options) && json_member(options, name, value);
}

void cell_allow_options(struct json cell, const char *const *names, const char *program)
{
    struct json options;
    if (!json_member(cell, "options", &options)) {
        return;
    }
    struct json_walk walk = json_walk(options);
    struct json name;
    struct json value;
    while (json_next(&walk, &name, &value)) {
        char text[64];
        value_text(name, "an option's name", text, sizeof text);
        const char *const *known = names;
        while (*known != NULL && strcmp(*known, text) != 0) {
            known++;
        }
        if (*known == NULL) {
            fail("%s cannot follow option %s; leave it out", program, text);
        }
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
        read_option(cell, text, value);
    }
}

/* Options are read, and checked, also where they act on other transports or patterns than the cell's. */
static void read_option(struct cell *cell, const char *name, struct json value)
{
    if (strcmp(name, "framing") == 0) {
        cell->newline_framing = value_is_second(value, name, "length", "newline");
    } else if (strcmp(name, "server_buffer") == 0) {
        cell->server_buffer = read_size(name, value);
    } else if (strcmp(name, "recv_buffer") == 0) {
        cell->recv_buffer = read_size(name, value);
    } else if (strcmp(name, "workers") == 0) {
        cell->workers_are_processes = value_is_second(value, name, "threads", "processes");
    } else if (strcmp(name, "descriptor_table") == 0) {
        cell->table_is_shared = value_is_second(value, name, "private", "shared");
        cell->table_is_private = !cell->table_is_shared;
    } else if (strcmp(name, "tcp_nodelay") == 0) {
        cell->tcp_nodelay = value_boolean(value, name);
    } else if (strcmp(name, "so_sndbuf") == 0) {
        cell->so_sndbuf = (int)read_size(name, value);
    } else if (strcmp(name, "so_rcvbuf") == 0) {
        cell->so_rcvbuf = (int)read_size(name, value);
    } else if (strcmp(name, "io") == 0) {
        cell->sends = value_is_second(value, name, "blocking", "send");
    } else if (strcmp(name, "clock") == 0) {
        cell->is_clocked = value_is_second(value, name, "batch", "each");
    } else if (strcmp(name, "pipe_calls") == 0) {
        static const char *const CALLS[] = {"system", "stdio", "stdio-signals"};
        const int calls = value_word(name, value, CALLS, 3);
        cell->stdio = calls > 0;
        cell->signals = calls > 1;
    } else if (strcmp(name, "wait") == 0) {
        static const char *const WAITS[WAITINGS] = {"block", "spin", "hybrid"};
        cell->waiting = (enum waiting)value_word(name, value, WAITS, WAITINGS);
    } else if (strcmp(name, "pipe_size") == 0) {
        cell->pipe_size = (int)read_size(name, value);
    } else if (strcmp(name, "backlog") == 0) {
        cell->backlog = (int)value_number(value, name, 1, LARGEST_BACKLOG);
    } else if (strcmp(name, "closes_first") == 0) {
        static const char *const WORDS[CLOSINGS] = {"server", "client", "any"};
        cell->closing = (enum closing)value_word(name, value, WORDS, CLOSINGS);
    } else if (strcmp(name, "spread_sources") == 0) {
        cell->spread_sources = value_boolean(value, name);
    } else {
        fail("protocol: there is no option \"%s\" here", name);
    }
}

static size_t read_size(const char *name, struct json value)
{
    return value_number(value, name, 1, LARGEST_SIZE);
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
