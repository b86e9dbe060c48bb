/* JSON strings. */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>

/* Escapes text for a JSON string, at most six bytes per input byte; returns the length. */
size_t text_escape(char *to, const char *text);

/* Prints text to standard output, in quotes. */
void text_print(const char *text);

#endif
