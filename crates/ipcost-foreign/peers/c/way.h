/* How bytes travel over a channel: by calls on its descriptors, or in another way. */
#ifndef WAY_H
#define WAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "cell.h"

enum way {
    CALLS,   /* read and write */
    SENDS,   /* recv and send */
    STDIO,   /* fread, and fwrite with fflush */
    QUEUE,   /* mq_receive and mq_send */
    SLOT,    /* one message in shared memory, behind a word that says whose turn it is */
    SIGNALS  /* as STDIO from client to server; a signal each way, which the other waits for */
};

/* What a way needs besides descriptors. */
struct other {
    int read_fd;
    int write_fd;
    FILE *in;
    FILE *out;

    atomic_uint *word;
    unsigned char *payload;
    unsigned own; /* this side's turn, as the word expresses it */
    bool has_turn;
    enum waiting waiting;
    size_t at; /* unread: bytes `at` to `end` of the message that came with the turn */
    size_t end;

    bool is_server;
    pid_t partner; /* the process to signal; 0 until known */
};

/* What a channel over these descriptors needs for its cell's way; NULL if nothing. */
struct other *way_open(const struct cell *cell, bool is_server, int read_fd, int write_fd);

/* The way of a cell. */
enum way way_of(const struct cell *cell);

/* Over stdio, a queue and with signals; as send_all and receive_some. */
bool way_send(enum way way, struct other *other, const unsigned char *bytes, size_t size);
ssize_t way_receive(enum way way, struct other *other, unsigned char *bytes, size_t size);

/* A slot's word: a side has finished; the turn is the server's; the side without the turn sleeps; message length. */
#define SLOT_CLOSED (1u << 31)
#define SLOT_SERVERS (1u << 30)
#define SLOT_SLEEPS (1u << 29)
#define SLOT_COUNT (SLOT_SLEEPS - 1)

/* Waits until the word says that it is this side's turn, or that the other side has finished. */
unsigned slot_wait(const struct other *slot);
void slot_wake(const struct other *slot);

/* Whether the other side still exists. */
static inline bool slot_give(struct other *slot, size_t count)
{
    slot->has_turn = false;
    const unsigned before = atomic_exchange(slot->word, (slot->own ^ SLOT_SERVERS) | (unsigned)count);
    if (before & SLOT_SLEEPS) {
        slot_wake(slot);
    }
    if (before & SLOT_CLOSED) {
        atomic_fetch_or(slot->word, SLOT_CLOSED);
    }
    return !(before & SLOT_CLOSED);
}

static inline bool slot_take(struct other *slot)
{
    const unsigned now = slot_wait(slot);
    if ((now & SLOT_SERVERS) != slot->own) {
        return false;
    }
    slot->has_turn = true;
    slot->at = 0;
    slot->end = now & SLOT_COUNT;
    return true;
}

static inline bool slot_send(struct other *slot, const unsigned char *bytes, size_t size)
{
    if (!slot->has_turn && !slot_take(slot)) {
        return false;
    }
    memcpy(slot->payload, bytes, size);
    return slot_give(slot, size);
}

static inline ssize_t slot_receive(struct other *slot, unsigned char *bytes, size_t size)
{
    while (slot->at == slot->end) {
        if ((slot->has_turn && !slot_give(slot, 0)) || !slot_take(slot)) {
            return 0;
        }
    }
    const size_t left = slot->end - slot->at;
    const size_t count = left < size ? left : size;
    memcpy(bytes, slot->payload + slot->at, count);
    slot->at += count;
    return (ssize_t)count;
}

#endif
