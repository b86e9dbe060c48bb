/* Text as JSON writes it. */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>

/* Writes text as it stands within quotes, at most six bytes for each of its own; how many it took. */
size_t text_escape(char *to, const char *text);

/* Prints text to standard output, in quotes. */
void text_print(const char *text);

#endif
