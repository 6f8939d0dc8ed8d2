import io.lettuce.core.protocol.ProtocolVersion;
import java.lang.reflect.Constructor;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** ShedLock, which never waits: who finds a lock taken skips this run. On Spring Data Redis with Lettuce. */
final class ShedLockSuite {
    /** Of what is kept alive: it must outlive three of these, which is to take seconds, not minutes. */
    static final Duration LEASE = Duration.ofSeconds(6);
    static final Duration SHORT = Duration.ofMillis(300);
    static final Duration LONG = Duration.ofMillis(Scenarios.FOREVER_MS);
    static final String ENVIRONMENT = "suite";

    /** Without `safe` it deletes and extends whatever is there. */
    interface Providers extends AutoCloseable {
        ExtensibleLockProvider get(boolean safe);

        @Override
        void close();
    }

    static Providers open(Driver.Options how) {
        RedisStandaloneConfiguration where = new RedisStandaloneConfiguration(Scenarios.HOST, Scenarios.PORT);
        where.setUsername(how.user());
        where.setPassword(how.password());
        where.setDatabase(how.database());
        LettuceConnectionFactory factory = SpringSuite.connect(where, how.name(),
            how.protocol() == 0 ? null : how.protocol() == 2 ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3);
        return new Providers() {
            @Override
            public ExtensibleLockProvider get(boolean safe) {
                return new RedisLockProvider.Builder(factory).environment(ENVIRONMENT).safeUpdate(safe).build();
            }

            @Override
            public void close() {
                factory.destroy();
            }
        };
    }

    static Driver look;
    static Providers all;
    static ExtensibleLockProvider provider;

    public static void main(String[] arguments) throws Exception {
        all = open(Driver.Options.NONE);
        provider = all.get(true);
        if (arguments.length > 0) {
            // Time counts from when a lock is described, and the first one has to connect.
            take(arguments[0] + " before", LONG, 20).unlock();
            keptAlive().lock(about(arguments[0], LEASE)).orElseThrow();
            Scenarios.readyUntilKilled();
        }
        look = new JedisDriver(Driver.Options.NONE);
        new Scenarios()
            .add("handshake", ShedLockSuite::handshake)
            .add("acquire_release", () -> acquireRelease(provider))
            .add("refused_while_held", ShedLockSuite::refusedWhileHeld)
            .none("wakes_on_release", "ShedLock never waits: who finds a lock taken skips this run")
            .add("extend", ShedLockSuite::extend)
            .add("expiry_frees", ShedLockSuite::expiryFrees)
            .add("release_of_expired_or_foreign", ShedLockSuite::releaseOfExpiredOrForeign)
            .add("reentrancy", ShedLockSuite::reentrancy)
            .add("watchdog", ShedLockSuite::watchdog)
            .add("counter", () -> Scenarios.counter(() -> taken("counter", 100))) // 50 workers
            .add("fairness", () -> Scenarios.fairness(() -> taken("fair", 20)))
            .add("resp2", () -> withProtocol(2))
            .add("resp3", () -> withProtocol(3))
            .add("usage_errors", ShedLockSuite::usageErrors)
            .add("at_least", () -> atLeast(true))
            .add("at_least_unsafe", () -> atLeast(false))
            .add("reconnect", ShedLockSuite::reconnect)
            .run("ShedLock " + Scenarios.versionOf(KeepAliveLockProvider.class));
        System.exit(0);
    }

    static LockConfiguration about(String name, Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.now(), name, atMost, atLeast);
    }

    static LockConfiguration about(String name, Duration atMost) {
        return about(name, atMost, Duration.ZERO);
    }

    static String key(String name) {
        return "job-lock:" + ENVIRONMENT + ":" + name;
    }

    /** By hand, for the library has no call for it. */
    static SimpleLock take(String name, Duration atMost, long pause) throws InterruptedException {
        for (;;) {
            Optional<SimpleLock> lock = provider.lock(about(name, atMost));
            if (lock.isPresent()) {
                return lock.get();
            }
            Thread.sleep(pause);
        }
    }

    static Scenarios.Action taken(String name, long pause) throws InterruptedException {
        SimpleLock lock = take(name, LONG, pause);
        return () -> {
            lock.unlock();
            Thread.sleep(1); // others poll
        };
    }

    static Object handshake() throws Exception {
        try (Providers other = open(new Driver.Options(Scenarios.USER, Scenarios.PASSWORD, "suite", 3, 0))) {
            SimpleLock lock = other.get(true).lock(about("hello", LONG)).orElseThrow();
            Scenarios.equal(0L, look.command("EXISTS", key("hello")));
            lock.unlock();
        }
        return null;
    }

    static Object acquireRelease(LockProvider by) {
        SimpleLock lock = by.lock(about("acquire", LONG)).orElseThrow();
        Scenarios.between(Scenarios.FOREVER_MS - 60_000, Scenarios.FOREVER_MS, (Long) look.command("PTTL", key("acquire")));
        lock.unlock();
        Scenarios.equal(0L, look.command("EXISTS", key("acquire")));
        return null;
    }

    static Object refusedWhileHeld() {
        SimpleLock lock = provider.lock(about("refused", LONG)).orElseThrow();
        Object value = look.command("GET", key("refused"));
        Scenarios.check(provider.lock(about("refused", LONG)).isEmpty(), "two have it");
        AtomicInteger runs = new AtomicInteger();
        new DefaultLockingTaskExecutor(provider).executeWithLock((Runnable) runs::incrementAndGet, about("refused", LONG));
        Scenarios.equal(0, runs.get());
        Scenarios.equal(value, look.command("GET", key("refused")));
        lock.unlock();
        return null;
    }

    static Object extend() {
        SimpleLock lock = provider.lock(about("extend", Duration.ofSeconds(10))).orElseThrow();
        SimpleLock longer = lock.extend(Duration.ofSeconds(100), Duration.ZERO).orElseThrow();
        Scenarios.between(90_000, 100_000, (Long) look.command("PTTL", key("extend")));
        longer.unlock();
        SimpleLock unsafe = all.get(false).lock(about("extend", Duration.ofSeconds(10))).orElseThrow();
        unsafe = unsafe.extend(Duration.ofSeconds(100), Duration.ZERO).orElseThrow();
        Scenarios.between(90_000, 100_000, (Long) look.command("PTTL", key("extend")));
        unsafe.unlock();
        Scenarios.equal(0L, look.command("EXISTS", key("extend")));
        return "with safeUpdate and without";
    }

    static Object expiryFrees() throws Exception {
        provider.lock(about("expiry", SHORT)).orElseThrow();
        take("expiry", LONG, 20).unlock();
        return null;
    }

    static Object releaseOfExpiredOrForeign() throws Exception {
        SimpleLock late = provider.lock(about("foreign", SHORT)).orElseThrow();
        SimpleLock lock = take("foreign", LONG, 20);
        Scenarios.check(late.extend(LONG, Duration.ZERO).isEmpty(), "extended what is not its own");
        SimpleLock later = provider.lock(about("foreign 2", SHORT)).orElseThrow();
        SimpleLock another = take("foreign 2", LONG, 20);
        later.unlock(); // says nothing, and must do nothing
        Scenarios.equal(1L, look.command("EXISTS", key("foreign 2")));
        Scenarios.expect(IllegalStateException.class, later::unlock);
        another.unlock();
        lock.unlock();
        return "with safeUpdate; without it ShedLock deletes whatever is there";
    }

    static Object reentrancy() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        DefaultLockingTaskExecutor executor = new DefaultLockingTaskExecutor(provider);
        executor.executeWithLock((Runnable) () -> {
            executor.executeWithLock((Runnable) runs::incrementAndGet, about("reenter", LONG));
            Scenarios.equal(1L, look.command("EXISTS", key("reenter")));
        }, about("reenter", LONG));
        Scenarios.equal(1, runs.get());
        Scenarios.equal(0L, look.command("EXISTS", key("reenter")));
        return "a task within a task; LockProvider itself refuses";
    }

    /** Takes no less than 30 s, but by the constructor of its own tests. */
    static KeepAliveLockProvider keptAlive() throws Exception {
        Constructor<KeepAliveLockProvider> maker = KeepAliveLockProvider.class.getDeclaredConstructor(
            ExtensibleLockProvider.class, ScheduledExecutorService.class, Duration.class);
        maker.setAccessible(true);
        return maker.newInstance(provider, Executors.newScheduledThreadPool(1), LEASE);
    }

    static Object watchdog() throws Exception {
        try (Scenarios.Child child = new Scenarios.Child("ShedLockSuite", "watchdog")) {
            long end = System.nanoTime() + LEASE.multipliedBy(3).plusMillis(500).toNanos();
            while (System.nanoTime() < end) {
                Scenarios.equal(1L, look.command("EXISTS", key("watchdog")));
                Thread.sleep(50);
            }
            child.kill();
        }
        take("watchdog", LONG, 20).unlock();
        return null;
    }

    static Object withProtocol(int protocol) {
        try (Providers other = open(Driver.Options.ofProtocol(protocol))) {
            acquireRelease(other.get(true));
            acquireRelease(other.get(false));
            SimpleLock lock = provider.lock(about("protocol", LONG)).orElseThrow();
            Scenarios.check(other.get(true).lock(about("protocol", LONG)).isEmpty(), "two have it");
            lock.unlock();
        }
        return null;
    }

    static Object usageErrors() {
        Scenarios.expect(IllegalArgumentException.class, () -> about("errors", Duration.ofSeconds(-1)));
        Scenarios.expect(IllegalArgumentException.class, () -> about("errors", SHORT, LONG));
        look.command("RPUSH", key("errors"), "a list");
        Scenarios.check(provider.lock(about("errors", LONG)).isEmpty(), "a lock that is a list");
        look.command("DEL", key("errors"));
        SimpleLock lock = provider.lock(about("errors", LONG)).orElseThrow();
        look.command("DEL", key("errors"));
        look.command("RPUSH", key("errors"), "a list");
        String text = Scenarios.expect(Exception.class, lock::unlock);
        Scenarios.check(text.contains("WRONGTYPE"), text);
        look.command("DEL", key("errors"));
        return null;
    }

    /** What is released early stays taken until then. */
    static Object atLeast(boolean safe) throws Exception {
        Duration least = Duration.ofMillis(Scenarios.FOREVER_MS / 2);
        all.get(safe).lock(about("least", LONG, least)).orElseThrow().unlock();
        Scenarios.between(least.toMillis() - 60_000, least.toMillis(), (Long) look.command("PTTL", key("least")));
        Scenarios.check(provider.lock(about("least", LONG)).isEmpty(), "two in so short a time");
        look.command("DEL", key("least"));
        return null;
    }

    static Object reconnect() throws Exception {
        take("restart", LONG, 20).unlock();
        Scenarios.restartServer();
        AtomicReference<Optional<SimpleLock>> lock = new AtomicReference<>();
        Scenarios.waitUntil("a lock after a restart", () -> {
            try {
                lock.set(provider.lock(about("after", Duration.ofSeconds(10))));
            } catch (RuntimeException notYet) {
                return false;
            }
            return lock.get().isPresent();
        });
        lock.get().get().unlock();
        return null;
    }
}
