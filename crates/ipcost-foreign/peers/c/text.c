#include "text.h"

#include <stdio.h>
#include <string.h>

#include "json.h"

size_t text_escape(char *to, const char *text)
{
    static const char DIGITS[] = "0123456789abcdef";
    const char *end = text + strlen(text);
    char *next = to;
    while (text < end) {
        /* Text may have been cut inside a character. */
        const size_t length = utf8_length(text, end);
        if (length == 0) {
            *next++ = '?';
            text++;
        } else if (*text == '"' || *text == '\\') {
            *next++ = '\\';
            *next++ = *text++;
        } else if (length == 1 && *text < 0x20) {
            memcpy(next, "\\u00", 4);
            next[4] = DIGITS[*text >> 4];
            next[5] = DIGITS[*text & 0xf];
            next += 6;
            text++;
        } else {
            memcpy(next, text, length);
            next += length;
            text += length;
        }
    }
    return (size_t)(next - to);
}

void text_print(const char *text)
{
    const char *end_of_text = text + strlen(text);
    putchar('"');
    while (text < end_of_text) {
        /* By characters, so that none is cut; invalid UTF-8 goes byte by byte. */
        const size_t character = utf8_length(text, end_of_text);
        const size_t length = character == 0 ? 1 : character;
        char one[5] = {0};
        char escaped[6];
        memcpy(one, text, length);
        fwrite(escaped, 1, text_escape(escaped, one), stdout);
        text += length;
    }
    putchar('"');
}
