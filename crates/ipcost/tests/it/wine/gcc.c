/*
 * Stands in for gcc under Wine: has this system's cross compiler do all that it is told.
 *
 * Wine starts programs of this system, but neither waits for them nor lends them its pipes. So a script (gcc.sh) puts
 * what the compiler says into a file, and then its status into another, which is looked for.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { LOOK_AGAIN_MS = 5, PATIENCE_MS = 600000 };

static int wait_for_status(const char *path)
{
    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += LOOK_AGAIN_MS) {
        int status;
        FILE *file = fopen(path, "r");
        const int found = file == NULL ? 0 : fscanf(file, "%d", &status);
        if (file != NULL) {
            fclose(file);
        }
        if (found == 1) {
            remove(path);
            return status;
        }
        Sleep(LOOK_AGAIN_MS);
    }
    return 5;
}

static void pass_on(const char *path, FILE *to)
{
    static char piece[4096];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return;
    }
    while (fgets(piece, sizeof piece, file) != NULL) {
        fputs(piece, to);
    }
    fclose(file);
    remove(path);
}

int main(int count, char **words)
{
    static char line[32768], said[1024], ended[1100];
    snprintf(said, sizeof said, "%s/gcc-%lu", getenv("STAND_INS"), (unsigned long)GetCurrentProcessId());
    snprintf(ended, sizeof ended, "%s-ended", said);
    snprintf(line, sizeof line, "Z:\\bin\\sh \"%s/gcc.sh\" \"%s\"", getenv("STAND_INS"), said);
    for (int place = 1; place < count; place++) {
        if (strlen(line) + strlen(words[place]) + sizeof " \"\"" > sizeof line) {
            return 3;
        }
        strcat(strcat(strcat(line, " \""), words[place]), "\"");
    }
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION process;
    remove(ended);
    if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &process)) {
        return 4;
    }
    const int status = wait_for_status(ended);
    pass_on(said, status == 0 ? stdout : stderr);
    return status;
}
