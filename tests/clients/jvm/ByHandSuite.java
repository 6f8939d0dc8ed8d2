import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** What applications write by hand on a driver: SET NX PX, and the two scripts that everybody copies. */
final class ByHandSuite {
    static final String RELEASE =
        "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"del\",KEYS[1]) else return 0 end";
    static final String EXTEND =
        "if redis.call(\"get\",KEYS[1]) == ARGV[1] then return redis.call(\"pexpire\",KEYS[1],ARGV[2]) else return 0 end";
    /** Between two attempts. */
    static final long PAUSE_MS = 20;

    interface Opener {
        Driver open(Driver.Options how) throws Exception;
    }

    /** A hold of a lock. */
    record Hold(Driver on, String key, String token) {
        boolean extend(long milliseconds) {
            return on.evaluate(EXTEND, key, token, "" + milliseconds) == 1;
        }

        boolean release() {
            return on.evaluate(RELEASE, key, token) == 1;
        }
    }

    final Opener opener;
    final Driver client;
    final AtomicInteger refusals = new AtomicInteger();

    ByHandSuite(Opener opener) throws Exception {
        this.opener = opener;
        client = opener.open(Driver.Options.NONE);
    }

    public static void main(String[] arguments) throws Exception {
        switch (Scenarios.VARIANT) {
            case "jedis" -> new ByHandSuite(JedisDriver::new).run("Jedis " + JedisDriver.version());
            case "lettuce" -> new ByHandSuite(LettuceDriver::new).run("Lettuce " + LettuceDriver.version());
            default -> throw new IllegalArgumentException(Scenarios.VARIANT);
        }
        System.exit(0);
    }

    void run(String version) {
        new Scenarios()
            .add("handshake", this::handshake)
            .add("acquire_release", () -> acquireRelease(client))
            .add("refused_while_held", this::refusedWhileHeld)
            .add("wakes_on_release", this::wakesOnRelease)
            .add("extend", this::extend)
            .add("expiry_frees", this::expiryFrees)
            .add("release_of_expired_or_foreign", this::releaseOfExpiredOrForeign)
            .none("reentrancy", "a driver has no locks of its own; SET NX is not reentrant")
            .none("watchdog", "a driver has no locks of its own")
            .add("counter", () -> Scenarios.counter(() -> taken("counter", 100))) // 50 workers
            .add("fairness", () -> Scenarios.fairness(() -> taken("fair", PAUSE_MS)))
            .add("resp2", () -> withProtocol(2))
            .add("resp3", () -> withProtocol(3))
            .add("usage_errors", this::usageErrors)
            .add("transaction", this::transaction)
            .add("blocking_pop", this::blockingPop)
            .add("reconnect", this::reconnect)
            .run(version);
    }

    static Hold tryTake(Driver on, String key, long milliseconds) {
        String token = UUID.randomUUID().toString();
        return on.setIfAbsent(key, token, milliseconds) ? new Hold(on, key, token) : null;
    }

    Hold take(String key, long milliseconds, long pause) throws InterruptedException {
        for (;;) {
            Hold hold = tryTake(client, key, milliseconds);
            if (hold != null) {
                return hold;
            }
            refusals.incrementAndGet();
            Thread.sleep(pause);
        }
    }

    Hold take(String key, long milliseconds) throws InterruptedException {
        return take(key, milliseconds, PAUSE_MS);
    }

    Object handshake() throws Exception {
        try (Driver one = opener.open(new Driver.Options(Scenarios.USER, Scenarios.PASSWORD, "suite", 3, 0))) {
            Scenarios.equal("suite", one.command("CLIENT", "GETNAME"));
            Hold hold = tryTake(one, "hello", 10_000);
            Scenarios.check(hold != null, "a free lock was refused");
            Scenarios.equal(0L, client.command("EXISTS", "hello"));
            Scenarios.check(hold.release(), "not released");
        }
        String refused = Scenarios.expect(RuntimeException.class, () -> {
            try (Driver one = opener.open(new Driver.Options(Scenarios.USER, "a wrong one", null, 0, 0))) {
                tryTake(one, "hello", 10_000);
            }
        });
        Scenarios.check(refused.contains("WRONGPASS"), refused);
        return null;
    }

    Object acquireRelease(Driver on) {
        Hold hold = tryTake(on, "acquire", 10_000);
        Scenarios.check(hold != null, "a free lock was refused");
        Scenarios.equal(hold.token(), on.command("GET", "acquire"));
        Scenarios.between(9_000, 10_000, (Long) on.command("PTTL", "acquire"));
        Scenarios.check(hold.release(), "not released");
        Scenarios.equal(0L, on.command("EXISTS", "acquire"));
        Scenarios.check(on.command("GET", "acquire") == null, "null has another shape");
        return null;
    }

    Object refusedWhileHeld() throws Exception {
        Hold hold = take("refused", Scenarios.FOREVER_MS);
        Scenarios.check(tryTake(client, "refused", 10_000) == null, "two have it");
        Scenarios.equal(hold.token(), client.command("GET", "refused"));
        Scenarios.check(hold.release(), "it was taken away");
        return null;
    }

    Object wakesOnRelease() throws Exception {
        Hold held = take("wakes", Scenarios.FOREVER_MS);
        long[] woken = new long[1];
        int before = refusals.get();
        Scenarios.Worker waiter = new Scenarios.Worker(() -> {
            Hold hold = take("wakes", Scenarios.FOREVER_MS);
            woken[0] = System.nanoTime();
            hold.release();
        });
        Scenarios.waitUntil("it has asked a few times", () -> refusals.get() > before + 3);
        long released = System.nanoTime();
        held.release();
        waiter.join();
        return (woken[0] - released) / 1_000_000 + " ms, polls every " + PAUSE_MS + " ms";
    }

    Object extend() throws Exception {
        Hold hold = take("extend", 10_000);
        Scenarios.check(hold.extend(100_000), "not extended");
        Scenarios.between(90_000, 100_000, (Long) client.command("PTTL", "extend"));
        Scenarios.check(hold.release(), "not released");
        Scenarios.check(!hold.extend(1_000), "extended after its end");
        return null;
    }

    Object expiryFrees() throws Exception {
        take("expiry", 300);
        Scenarios.check(take("expiry", Scenarios.FOREVER_MS).release(), "not released");
        return null;
    }

    Object releaseOfExpiredOrForeign() throws Exception {
        Hold late = take("foreign", 300);
        Hold now = take("foreign", Scenarios.FOREVER_MS);
        Scenarios.check(!late.release(), "released what is not its own");
        Scenarios.check(!late.extend(1_000), "extended what is not its own");
        Scenarios.check(now.release(), "it was taken away");
        Scenarios.check(!now.release(), "released twice");
        return null;
    }

    Scenarios.Action taken(String key, long pause) throws Exception {
        Hold hold = take(key, Scenarios.FOREVER_MS, pause);
        return () -> {
            Scenarios.check(hold.release(), "it was taken away");
            Thread.sleep(1); // others poll
        };
    }

    Object withProtocol(int protocol) throws Exception {
        try (Driver one = opener.open(Driver.Options.ofProtocol(protocol))) {
            acquireRelease(one);
            // The shape of an EXEC that was refused differs between the two.
            Hold hold = tryTake(one, "protocol", 10_000);
            Scenarios.check(!one.deleteInTransaction("protocol", hold.token(), () ->
                client.command("PEXPIRE", "protocol", "20000")), "it changed, and was deleted all the same");
            Scenarios.check(one.deleteInTransaction("protocol", hold.token(), () -> { }), "not deleted");
        }
        return null;
    }

    Object usageErrors() throws Exception {
        client.command("RPUSH", "errors", "a list");
        Scenarios.check(tryTake(client, "errors", 1_000) == null, "a lock that is a list");
        String text = Scenarios.expect(Exception.class, () -> client.command("GET", "errors"));
        Scenarios.check(text.startsWith("WRONGTYPE"), text);
        text = Scenarios.expect(Exception.class, () -> client.evaluate(RELEASE, "errors", "x"));
        Scenarios.check(text.contains("WRONGTYPE"), text);
        client.command("DEL", "errors");
        text = Scenarios.expect(Exception.class, () -> client.setIfAbsent("errors", "x", 0));
        Scenarios.check(text.contains("ERR invalid expire time in 'set' command"), text);
        text = Scenarios.expect(Exception.class, () -> client.command("SET", "errors", "x", "NX", "XX"));
        Scenarios.check(text.startsWith("ERR syntax error"), text);
        text = Scenarios.expect(Exception.class, () -> client.command("SET", "errors"));
        Scenarios.check(text.startsWith("ERR wrong number of arguments for 'set' command"), text);
        return null;
    }

    /** A release as drivers had it before there were scripts. */
    Object transaction() throws Exception {
        Hold hold = take("transaction", Scenarios.FOREVER_MS);
        Scenarios.check(!client.deleteInTransaction("transaction", "another", () -> { }), "released what is not its own");
        Scenarios.check(!client.deleteInTransaction("transaction", hold.token(), () -> {
            client.command("DEL", "transaction");
            client.command("SET", "transaction", "another");
        }), "released what has become another's");
        Scenarios.equal("another", client.command("GET", "transaction"));
        Scenarios.check(client.deleteInTransaction("transaction", "another", () -> { }), "not released");
        Scenarios.equal(0L, client.command("EXISTS", "transaction"));
        return null;
    }

    /** A list with one element is a lock for which clients wait in line. */
    Object blockingPop() throws Exception {
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        List<Scenarios.Worker> workers = new ArrayList<>();
        List<Driver> own = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                int me = i;
                own.add(opener.open(Driver.Options.NONE));
                workers.add(new Scenarios.Worker(() -> {
                    String element = own.get(me).blockingPop("baton", 60);
                    Scenarios.equal("go", element);
                    order.add(me);
                    client.command("RPUSH", "baton", element);
                }));
                int waiting = i + 1;
                Scenarios.waitUntil("it waits", () -> blocked() == waiting);
            }
            client.command("RPUSH", "baton", "go");
            for (Scenarios.Worker one : workers) {
                one.join();
            }
            Scenarios.equal(List.of(0, 1, 2, 3), order);
            Scenarios.check(own.get(0).blockingPop("nothing", 1) == null, "an element from nowhere");
            return null;
        } finally {
            own.forEach(Driver::close);
        }
    }

    long blocked() {
        String text = (String) client.command("INFO", "clients");
        return text.lines().filter(line -> line.startsWith("blocked_clients:"))
            .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1).strip())).sum();
    }

    Object reconnect() throws Exception {
        take("restart", 10_000).release();
        Scenarios.restartServer();
        AtomicReference<Hold> hold = new AtomicReference<>();
        Scenarios.waitUntil("a lock after a restart", () -> {
            try {
                hold.set(tryTake(client, "after", 10_000));
            } catch (RuntimeException notYet) {
                return false;
            }
            return hold.get() != null;
        });
        Scenarios.check(hold.get().release(), "not released");
        return null;
    }
}
