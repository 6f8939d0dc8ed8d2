// A lock by hand on hiredis: SET NX PX, and the two scripts that everybody copies. A connection for each thread.

#include <hiredis/hiredis.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios.h"

static const char release_text[] =
    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else return 0 end";
static const char extend_text[] =
    "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"pexpire\",KEYS[1],ARGV[2]) else return 0 end";

struct lock {
    redisContext* on;
    const char* key;
    char token[40];
};

static redisContext* open_client(void) {
    redisContext* client = redisConnect(host, port);
    check(client != NULL && client->err == 0, "no connection: %s", client ? client->errstr : "");
    return client;
}

/// What is answered; an error of the connection or of the server ends the scenario.
static redisReply* ask(redisContext* on, const char* format, ...) {
    va_list more;
    va_start(more, format);
    redisReply* reply = redisvCommand(on, format, more);
    va_end(more);
    check(reply != NULL, "%s: %s", format, on->errstr);
    check(reply->type != REDIS_REPLY_ERROR, "%s: %s", format, reply->str);
    return reply;
}

static long long number(redisReply* reply) {
    check(reply->type == REDIS_REPLY_INTEGER, "a reply of type %d is no integer", reply->type);
    const long long value = reply->integer;
    freeReplyObject(reply);
    return value;
}

static bool is_nil(redisReply* reply) {
    const bool nil = reply->type == REDIS_REPLY_NIL;
    freeReplyObject(reply);
    return nil;
}

static bool is_text(redisReply* reply, const char* wanted) {
    const bool same = (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS) &&
                      strcmp(reply->str, wanted) == 0;
    freeReplyObject(reply);
    return same;
}

static void fails_with(const char* words, redisContext* on, const char* format, ...) {
    va_list more;
    va_start(more, format);
    redisReply* reply = redisvCommand(on, format, more);
    va_end(more);
    check(reply != NULL && reply->type == REDIS_REPLY_ERROR, "no error: %s", format);
    check(strstr(reply->str, words) != NULL, "%s: %s", format, reply->str);
    freeReplyObject(reply);
}

static bool try_lock(redisContext* on, const char* key, int ms, struct lock* taken) {
    static int count;
    *taken = (struct lock){.on = on, .key = key};
    snprintf(taken->token, sizeof taken->token, "%p:%d", (void*)on,
             __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
    redisReply* reply = ask(on, "SET %s %s NX PX %d", key, taken->token, ms);
    const bool won = reply->type == REDIS_REPLY_STATUS;
    check(won || reply->type == REDIS_REPLY_NIL, "a reply of type %d", reply->type);
    freeReplyObject(reply);
    return won;
}

static struct lock take(redisContext* on, const char* key, int ms) {
    struct lock taken;
    while (!try_lock(on, key, ms, &taken)) {
        sleep_ms(20);
    }
    return taken;
}

static long long release(const struct lock* held) {
    return number(ask(held->on, "EVAL %s 1 %s %s", release_text, held->key, held->token));
}

static long long extend(const struct lock* held, int ms) {
    return number(ask(held->on, "EVAL %s 1 %s %s %d", extend_text, held->key, held->token, ms));
}

static void acquire_release(void) {
    redisContext* client = open_client();
    struct lock one;
    check(try_lock(client, "acquire", 10000, &one), "a free lock was refused");
    between(9000, 10000, number(ask(client, "PTTL acquire")));
    check(release(&one) == 1, "not released");
    check(number(ask(client, "EXISTS acquire")) == 0, "it is still there");
    check(is_nil(ask(client, "GET acquire")), "null has another shape");
}

static void handshake(void) {
    redisContext* client = open_client();
    check(is_text(ask(client, "AUTH %s %s", user, password), "OK"), "not let in");
    check(is_text(ask(client, "CLIENT SETNAME suite"), "OK"), "no name");
    check(is_text(ask(client, "SELECT 3"), "OK"), "no database");
    check(is_text(ask(client, "CLIENT GETNAME"), "suite"), "it has no name");
    const struct lock one = take(client, "hello", 10000);
    check(number(ask(open_client(), "EXISTS hello")) == 0, "another database has the same lock");
    check(release(&one) == 1, "not released");
}

static void refused_while_held(void) {
    redisContext* client = open_client();
    const struct lock one = take(client, "refused", forever);
    struct lock other;
    check(!try_lock(open_client(), "refused", forever, &other), "two have it");
    check(is_text(ask(client, "GET refused"), one.token), "it changed hands");
    check(release(&one) == 1, "not released");
}

static struct lock waited_for;
static double released, woken;

static void wait_or_release(int me) {
    if (me == 0) {
        const struct lock one = take(open_client(), "wakes", forever);
        const double now = now_ms();
        __atomic_store(&woken, &now, __ATOMIC_SEQ_CST);
        release(&one);
    } else {
        sleep_ms(500);  // it has asked a few times by now
        check(woken == 0, "two have it");
        check(release(&waited_for) == 1, "not released");
        released = now_ms();
    }
}

static void wakes_on_release(void) {
    waited_for = take(open_client(), "wakes", forever);
    in_threads(2, wait_or_release);
    tell("%.0f ms, polls every 20 ms", woken < released ? 0 : woken - released);
}

static void extend_lease(void) {
    redisContext* client = open_client();
    const struct lock one = take(client, "extend", 10000);
    check(extend(&one, 100000) == 1, "not extended");
    between(90000, 100000, number(ask(client, "PTTL extend")));
    check(release(&one) == 1, "not released");
    check(extend(&one, 1000) == 0, "extended after its end");
}

static void expiry_frees(void) {
    redisContext* client = open_client();
    take(client, "expiry", 300);
    const struct lock one = take(client, "expiry", forever);
    check(release(&one) == 1, "not released");
}

static void release_of_expired_or_foreign(void) {
    redisContext* client = open_client();
    const struct lock late = take(client, "foreign", 300);
    const struct lock one = take(client, "foreign", forever);
    check(release(&late) == 0, "released what is not its own");
    check(extend(&late, 1000) == 0, "extended what is not its own");
    check(release(&one) == 1, "it was taken away");
    check(release(&one) == 0, "released twice");
}

static volatile int count;

static void increment(int me) {
    (void)me;
    redisContext* client = open_client();
    for (int i = 0; i < increments; ++i) {
        const struct lock one = take(client, "counter", forever);
        const int seen = count;
        sched_yield();  // another thread may run
        count = seen + 1;
        check(release(&one) == 1, "not released");
    }
    redisFree(client);
}

static void counter(void) {
    in_threads(workers, increment);
    check(count == workers * increments, "%d of %d", count, workers * increments);
}

enum { rivals = 5 };
static int turns[rivals];

static bool everybody_had_five(void) {
    for (int i = 0; i < rivals; ++i) {
        if (__atomic_load_n(&turns[i], __ATOMIC_RELAXED) < 5) {
            return false;
        }
    }
    return true;
}

static void compete(int me) {
    redisContext* client = open_client();
    while (!everybody_had_five()) {
        const struct lock one = take(client, "fair", forever);
        __atomic_add_fetch(&turns[me], 1, __ATOMIC_RELAXED);
        check(release(&one) == 1, "not released");
        sleep_ms(1);
    }
    redisFree(client);
}

static void fairness(void) {
    in_threads(rivals, compete);
    tell("turns until everybody had 5: %d %d %d %d %d", turns[0], turns[1], turns[2], turns[3], turns[4]);
}

static void usage_errors(void) {
    redisContext* client = open_client();
    number(ask(client, "RPUSH errors element"));
    struct lock one;
    check(!try_lock(client, "errors", 1000, &one), "a lock that is a list");
    fails_with("WRONGTYPE Operation against a key holding the wrong kind of value", client, "GET errors");
    fails_with("WRONGTYPE", client, "EVAL %s 1 errors x", release_text);
    number(ask(client, "DEL errors"));
    fails_with("ERR invalid expire time in 'set' command", client, "SET errors x NX PX 0");
    fails_with("ERR syntax error", client, "SET errors x NX XX");
    fails_with("ERR wrong number of arguments for 'get' command", client, "GET");
}

static void reconnect(void) {
    redisContext* client = open_client();
    const struct lock one = take(client, "restart", forever);
    check(release(&one) == 1, "not released");
    restart_server();
    check(redisCommand(client, "PING") == NULL && client->err != 0, "the connection outlived the server");
    check(redisReconnect(client) == REDIS_OK, "no connection: %s", client->errstr);
    const struct lock next = take(client, "after", forever);
    check(release(&next) == 1, "not released");
}

int main(void) {
    char version[64];
    snprintf(version, sizeof version, "hiredis %d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
    const struct scenario all[] = {
        {"handshake", handshake, NULL},
        {"acquire_release", acquire_release, NULL},
        {"refused_while_held", refused_while_held, NULL},
        {"wakes_on_release", wakes_on_release, NULL},
        {"extend", extend_lease, NULL},
        {"expiry_frees", expiry_frees, NULL},
        {"release_of_expired_or_foreign", release_of_expired_or_foreign, NULL},
        {"reentrancy", NULL, "a driver has no locks of its own; SET NX is not reentrant"},
        {"watchdog", NULL, "a driver has no locks of its own"},
        {"counter", counter, NULL},
        {"fairness", fairness, NULL},
        {"resp2", acquire_release, NULL},
        {"resp3", NULL, "hiredis speaks RESP3 from 1.0 on; Debian 12 has 0.14"},
        {"usage_errors", usage_errors, NULL},
        {"reconnect", reconnect, NULL},
        {NULL, NULL, NULL},
    };
    run(version, all);
    return 0;
}
