/* Stands in for Go under Wine: tells a version, and copies what was built elsewhere. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "version") == 0) {
        puts("go version of-another-system windows/amd64");
        return 0;
    }
    for (int place = 2; place + 1 < count; place++) {
        if (strcmp(words[place], "-o") == 0) {
            return !CopyFileA(getenv("BUILT_ELSEWHERE"), words[place + 1], FALSE);
        }
    }
    return 2;
}
