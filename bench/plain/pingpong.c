// A ping-pong over a Unix socket pair, for timing as a whole: two processes, N round trips of 64 bytes. Other tools
// time it in `cargo xtask bench verdict`, for comparison with this one.
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void move_all(ssize_t (*move)(int, void *, size_t), int fd, char *buffer, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t count = move(fd, buffer + done, size - done);
        if (count <= 0) {
            exit(1);
        }
        done += (size_t)count;
    }
}

static ssize_t put(int fd, void *buffer, size_t size) {
    return write(fd, buffer, size);
}

int main(int argc, char **argv) {
    long trips = argc == 2 ? atol(argv[1]) : 0;
    int ends[2];
    char message[64] = {0};
    if (trips <= 0) {
        fputs("usage: pingpong ROUND_TRIPS\n", stderr);
        return 2;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        perror("socketpair");
        return 1;
    }
    pid_t server = fork();
    if (server == 0) {
        close(ends[0]);
        for (long trip = 0; trip < trips; trip++) {
            move_all(read, ends[1], message, sizeof message);
            move_all(put, ends[1], message, sizeof message);
        }
        return 0;
    }
    close(ends[1]);
    for (long trip = 0; trip < trips; trip++) {
        move_all(put, ends[0], message, sizeof message);
        move_all(read, ends[0], message, sizeof message);
    }
    int status = 1;
    return waitpid(server, &status, 0) == server ? status : 1;
}
