/* A program that is held back right before it moves its first byte. */
#ifndef HOLD_H
#define HOLD_H

#include "program/program.h"

/* Starts it and stops it there, once all that it has to open is open. */
struct child hold_start(const struct launch *launch);

/* Lets it go. */
void hold_release(const struct child *child);

#endif
