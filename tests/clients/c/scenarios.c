#include "scenarios.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char* host = "127.0.0.1";
int port;
const char* user = "default";
const char* password = "any";
int increments = 200;

static int report;  // the pipe to the process that prints

static void say(const char* format, ...) {
    char text[1024];
    va_list more;
    va_start(more, format);
    const int length = vsnprintf(text, sizeof text, format, more);
    va_end(more);
    if (write(report, text, length < (int)sizeof text ? length : (int)sizeof text - 1) < 0) {
        _exit(2);
    }
}

void check(bool holds, const char* what, ...) {
    if (holds) {
        return;
    }
    char text[1024];
    va_list more;
    va_start(more, what);
    vsnprintf(text, sizeof text, what, more);
    va_end(more);
    say("%s", text);
    _exit(1);
}

void between(long long low, long long high, long long seen) {
    check(low <= seen && seen <= high, "expected %lld to %lld, saw %lld", low, high, seen);
}

void tell(const char* what, ...) {
    char text[1024];
    va_list more;
    va_start(more, what);
    vsnprintf(text, sizeof text, what, more);
    va_end(more);
    say("%s", text);
}

void sleep_ms(int ms) {
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

struct worker {
    pthread_t thread;
    void (*work)(int);
    int me;
};

static void* begin(void* argument) {
    const struct worker* one = argument;
    one->work(one->me);
    return NULL;
}

void in_threads(int count, void (*work)(int me)) {
    struct worker all[workers];
    check(count <= workers, "too many workers");
    for (int i = 0; i < count; ++i) {
        all[i] = (struct worker){.work = work, .me = i};
        check(pthread_create(&all[i].thread, NULL, begin, &all[i]) == 0, "no thread");
    }
    for (int i = 0; i < count; ++i) {
        pthread_join(all[i].thread, NULL);
    }
}

void restart_server(void) {
    const int control = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr_in where = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)atoi(getenv("LOCK_CONTROL"))),
                                      .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    check(connect(control, (const struct sockaddr*)&where, sizeof where) == 0, "no control");
    check(write(control, "restart\n", 8) == 8, "no control");
    char answer[16] = "";
    size_t have = 0;
    for (ssize_t got; have < 5 && (got = read(control, answer + have, 5 - have)) > 0; have += got) {
    }
    check(strcmp(answer, "done\n") == 0, "the server could not be restarted");
    close(control);
}

static void print_escaped(const char* text) {
    for (; *text; ++text) {
        const unsigned char c = *text;
        if (c == '"' || c == '\\' || c < ' ') {
            printf("\\u%04x", c);
        } else {
            putchar(c);
        }
    }
}

static void outcome(const struct scenario* one, const char* how, const char* reason) {
    printf("{\"scenario\": \"%s\", \"outcome\": \"%s\", \"reason\": \"", one->name, how);
    print_escaped(reason);
    puts("\"}");
    fflush(stdout);
}

static void play(const struct scenario* one) {
    int ends[2];
    if (pipe(ends) != 0) {
        exit(2);
    }
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        report = ends[1];
        one->play();
        _exit(0);
    }
    close(ends[1]);
    char said[4096] = "";
    size_t have = 0;
    for (ssize_t got; (got = read(ends[0], said + have, sizeof said - 1 - have)) > 0; have += got) {
    }
    said[have] = '\0';
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        snprintf(said + have, sizeof said - have, " (signal %d)", WTERMSIG(status));
    }
    outcome(one, status == 0 ? "pass" : "fail", said);
}

void run(const char* version, const struct scenario* scenarios) {
    host = getenv("LOCK_HOST") ? getenv("LOCK_HOST") : host;
    port = atoi(getenv("LOCK_PORT"));
    user = getenv("LOCK_USER") ? getenv("LOCK_USER") : user;
    password = getenv("LOCK_PASSWORD") ? getenv("LOCK_PASSWORD") : password;
    increments = getenv("LOCK_INCREMENTS") ? atoi(getenv("LOCK_INCREMENTS")) : increments;
    printf("{\"version\": \"%s\"}\n", version);
    fflush(stdout);
    const char* only = getenv("LOCK_ONLY");  // for those who look into one of them
    for (; scenarios->name != NULL; ++scenarios) {
        if (only != NULL && strcmp(only, scenarios->name) != 0) {
            continue;
        }
        if (scenarios->play == NULL) {
            outcome(scenarios, "na", scenarios->not_applicable);
        } else {
            play(scenarios);
        }
    }
}
