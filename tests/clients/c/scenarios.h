#pragma once

#include <stdbool.h>

/// What suites in C share: where the server is, how an outcome is told, workers.
///
/// Every scenario has a process of its own, so that a thread anywhere may end it.

/// Seconds, long enough for a loaded machine. Only something broken takes it.
enum { patience = 60 };
/// Milliseconds. Nobody has a lock of this lease for any other reason than its release.
enum { forever = 3600 * 1000 };
enum { workers = 50 };

struct scenario {
    const char* name;
    void (*play)(void);
    const char* not_applicable;  ///< why, if there is nothing to play
};

extern const char* host;
extern int port;
/// Somebody who needs a password, on every server; who does not log in may do everything as well.
extern const char* user;
extern const char* password;
extern int increments;

/// Plays them all; ends with scenarios[i].name == NULL.
void run(const char* version, const struct scenario* scenarios);

/// Ends the scenario unless it holds.
void check(bool holds, const char* what, ...) __attribute__((format(printf, 2, 3)));
void between(long long low, long long high, long long seen);
/// What was seen, to stand in the report.
void tell(const char* what, ...) __attribute__((format(printf, 1, 2)));

void restart_server(void);
void sleep_ms(int ms);
double now_ms(void);
/// Runs the function so many times at once, with 0, 1, ... as argument.
void in_threads(int count, void (*work)(int me));
