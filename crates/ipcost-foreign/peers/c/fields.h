/*
 * Required members of objects, with checked types: anything else ends the peer with an error.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"

struct json field(struct json object, const char *name);
struct json field_object(struct json object, const char *name);

/* Text without NUL. */
void field_text(struct json object, const char *name, char *buffer, size_t capacity);

uint64_t field_number(struct json object, const char *name, uint64_t least, uint64_t most);

/* The same for a value already found; `name` is for the error. */
void value_text(struct json value, const char *name, char *buffer, size_t capacity);
uint64_t value_number(struct json value, const char *name, uint64_t least, uint64_t most);
bool value_boolean(struct json value, const char *name);

/* Which of two words a text is: true for the second. */
bool value_is_second(struct json value, const char *name, const char *first, const char *second);

#endif
