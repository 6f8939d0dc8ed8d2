import io.lettuce.core.ClientOptions;
import io.lettuce.core.protocol.ProtocolVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/**
 * Spring Integration's RedisLockRegistry on Lettuce, in the mode that polls and in the one that waits for messages.
 *
 * Threads of one registry exclude each other by a lock in their process, and only one of them asks the server. So whoever
 * competes here has a registry of its own, as another process would.
 */
final class SpringSuite {
    static final boolean BY_MESSAGES = Scenarios.VARIANT.equals("spring-pubsub");
    /** Of what is renewed: it must outlive three of these, which is to take seconds, not minutes. */
    static final long LEASE_MS = 3000;
    static final Duration SHORT = Duration.ofMillis(300);
    static final Duration LONG = Duration.ofMillis(Scenarios.FOREVER_MS);
    static final String REGISTRY = "locks";

    static LettuceConnectionFactory connect(RedisStandaloneConfiguration where, String name, ProtocolVersion protocol) {
        LettuceClientConfiguration.LettuceClientConfigurationBuilder how = LettuceClientConfiguration.builder()
            .commandTimeout(Duration.ofMillis(Scenarios.PATIENCE_MS)) // a loaded machine is slow, not broken
            .clientOptions(ClientOptions.builder().protocolVersion(protocol).build());
        if (name != null) {
            how.clientName(name);
        }
        LettuceConnectionFactory factory = new LettuceConnectionFactory(where, how.build());
        factory.afterPropertiesSet();
        factory.start();
        return factory;
    }

    static LettuceConnectionFactory connect() {
        return connect(new RedisStandaloneConfiguration(Scenarios.HOST, Scenarios.PORT), null, null);
    }

    static RedisLockRegistry registry(LettuceConnectionFactory on, Duration lease) {
        RedisLockRegistry registry = new RedisLockRegistry(on, REGISTRY, lease.toMillis());
        registry.setRedisLockType(BY_MESSAGES ? RedisLockType.PUB_SUB_LOCK : RedisLockType.SPIN_LOCK);
        return registry;
    }

    static LettuceConnectionFactory factory;
    static StringRedisTemplate redis;
    /** Two who compete. */
    static RedisLockRegistry one;
    static RedisLockRegistry two;

    public static void main(String[] arguments) throws Exception {
        factory = connect();
        if (arguments.length > 0) {
            RedisLockRegistry own = registry(factory, Duration.ofMillis(LEASE_MS));
            own.setRenewalTaskScheduler(scheduler());
            own.obtain(arguments[0]).lock();
            Scenarios.readyUntilKilled();
        }
        redis = new StringRedisTemplate(factory);
        one = registry(factory, LONG);
        two = registry(factory, LONG);
        Scenarios scenarios = new Scenarios()
            .add("handshake", SpringSuite::handshake)
            .add("acquire_release", () -> acquireRelease(one))
            .add("refused_while_held", SpringSuite::refusedWhileHeld)
            .add("wakes_on_release", SpringSuite::wakesOnRelease)
            .add("extend", SpringSuite::extend)
            .add("expiry_frees", SpringSuite::expiryFrees)
            .add("release_of_expired_or_foreign", SpringSuite::releaseOfExpiredOrForeign)
            .add("reentrancy", SpringSuite::reentrancy)
            .add("watchdog", SpringSuite::watchdog)
            .add("counter", () -> withRegistries(10, all -> Scenarios.counter(() -> taken(all, "counter"))))
            .add("fairness", () -> withRegistries(5, all -> Scenarios.fairness(() -> taken(all, "fair"))))
            .add("resp2", () -> withProtocol(ProtocolVersion.RESP2))
            .add("resp3", () -> withProtocol(ProtocolVersion.RESP3))
            .add("usage_errors", SpringSuite::usageErrors)
            .add("latency", () -> withRegistries(8, all -> Scenarios.latency(() -> taken(all, "latency"))))
            .add("reconnect", SpringSuite::reconnect);
        if (BY_MESSAGES) {
            scenarios.add("hand_offs", SpringSuite::handOffs);
        }
        scenarios.run("Spring Integration " + Scenarios.versionOf(RedisLockRegistry.class) + (BY_MESSAGES ? " pubsub" : " spin"));
        System.exit(0);
    }

    static ThreadPoolTaskScheduler scheduler() {
        ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
        scheduler.initialize();
        return scheduler;
    }

    interface WithRegistries {
        Object play(ThreadLocal<RedisLockRegistry> mine) throws Exception;
    }

    /** So many processes, as it were, among which the threads are divided. */
    static Object withRegistries(int count, WithRegistries work) throws Exception {
        List<RedisLockRegistry> all = new ArrayList<>();
        AtomicInteger next = new AtomicInteger();
        for (int i = 0; i < count; i++) {
            all.add(registry(factory, LONG));
        }
        try {
            return work.play(ThreadLocal.withInitial(() -> all.get(next.getAndIncrement() % count)));
        } finally {
            all.forEach(RedisLockRegistry::destroy);
        }
    }

    static Scenarios.Action taken(ThreadLocal<RedisLockRegistry> mine, String name) {
        DistributedLock lock = mine.get().obtain(name);
        lock.lock();
        return lock::unlock;
    }

    /** Who waits for a message does not notice that a lease has ended, but only that its own would have. */
    static void takeByAsking(DistributedLock lock) throws Exception {
        Scenarios.waitUntil("the end of a lease", lock::tryLock);
    }

    static String key(String name) {
        return REGISTRY + ":" + name;
    }

    static Object handshake() throws Exception {
        RedisStandaloneConfiguration where = new RedisStandaloneConfiguration(Scenarios.HOST, Scenarios.PORT);
        where.setUsername(Scenarios.USER);
        where.setPassword(Scenarios.PASSWORD);
        where.setDatabase(3);
        LettuceConnectionFactory other = connect(where, "suite", null);
        try {
            DistributedLock lock = registry(other, LONG).obtain("hello");
            lock.lock();
            Scenarios.check(!redis.hasKey(key("hello")), "another database has the same lock");
            lock.unlock();
            return null;
        } finally {
            other.destroy();
        }
    }

    static Object acquireRelease(RedisLockRegistry by) {
        DistributedLock lock = by.obtain("acquire");
        Scenarios.check(lock.tryLock(), "a free lock was refused");
        Scenarios.between(Scenarios.FOREVER_MS - 60_000, Scenarios.FOREVER_MS,
            redis.getExpire(key("acquire"), TimeUnit.MILLISECONDS));
        lock.unlock();
        Scenarios.check(!redis.hasKey(key("acquire")), "it is still there");
        return null;
    }

    static Object refusedWhileHeld() throws Exception {
        DistributedLock lock = one.obtain("refused");
        lock.lock();
        String owner = redis.opsForValue().get(key("refused"));
        Scenarios.check(!two.obtain("refused").tryLock(), "two have it");
        Scenarios.check(!two.obtain("refused").tryLock(300, TimeUnit.MILLISECONDS), "two have it after a while");
        Scenarios.equal(owner, redis.opsForValue().get(key("refused")));
        lock.unlock();
        return null;
    }

    static Object wakesOnRelease() throws Exception {
        long[] woken = new long[1];
        DistributedLock lock = one.obtain("wakes");
        lock.lock();
        Scenarios.Worker waiter = new Scenarios.Worker(() -> {
            DistributedLock other = two.obtain("wakes");
            other.lock();
            woken[0] = System.nanoTime();
            other.unlock();
        });
        waiter.untilItWaits();
        long released = System.nanoTime();
        lock.unlock();
        waiter.join();
        return (woken[0] - released) / 1000 + " us, " + (BY_MESSAGES ? "by a message" : "polls every 100 ms");
    }

    static Object handOffs() throws Exception {
        return Scenarios.handOffs(
            () -> taken(ThreadLocal.withInitial(() -> one), "hand-offs"),
            () -> taken(ThreadLocal.withInitial(() -> two), "hand-offs"), "by a message");
    }

    static Object extend() throws Exception {
        DistributedLock lock = one.obtain("extend");
        lock.lock(Duration.ofSeconds(10));
        one.renewLock("extend", Duration.ofSeconds(100));
        Scenarios.between(90_000, 100_000, redis.getExpire(key("extend"), TimeUnit.MILLISECONDS));
        one.renewLock("extend");
        Scenarios.between(Scenarios.FOREVER_MS - 60_000, Scenarios.FOREVER_MS,
            redis.getExpire(key("extend"), TimeUnit.MILLISECONDS));
        lock.unlock();
        Scenarios.expect(IllegalStateException.class, () -> one.renewLock("extend"));
        return null;
    }

    static Object expiryFrees() throws Exception {
        one.obtain("expiry").lock(SHORT);
        takeByAsking(two.obtain("expiry"));
        two.obtain("expiry").unlock();
        return null;
    }

    static Object releaseOfExpiredOrForeign() throws Exception {
        DistributedLock lock = one.obtain("foreign");
        lock.lock(SHORT);
        Scenarios.waitUntil("the end of a lease", () -> !redis.hasKey(key("foreign")));
        Scenarios.expect(ConcurrentModificationException.class, lock::unlock);
        lock.lock(SHORT);
        DistributedLock other = two.obtain("foreign");
        takeByAsking(other);
        String text = Scenarios.expect(ConcurrentModificationException.class, lock::unlock);
        Scenarios.check(redis.hasKey(key("foreign")), "it was taken away");
        new Scenarios.Worker(() -> Scenarios.expect(IllegalStateException.class, other::unlock)).join();
        other.unlock();
        Scenarios.check(!redis.hasKey(key("foreign")), "it is still there");
        return text.strip();
    }

    static Object reentrancy() throws Exception {
        DistributedLock lock = one.obtain("reenter");
        lock.lock();
        Scenarios.check(lock.tryLock(), "its owner was refused");
        lock.unlock();
        Scenarios.check(!two.obtain("reenter").tryLock(), "given up too early");
        lock.unlock();
        Scenarios.check(two.obtain("reenter").tryLock(), "still held");
        two.obtain("reenter").unlock();
        return null;
    }

    static Object watchdog() throws Exception {
        try (Scenarios.Child child = new Scenarios.Child("SpringSuite", "watchdog")) {
            long end = System.nanoTime() + (3 * LEASE_MS + 500) * 1_000_000;
            while (System.nanoTime() < end) {
                Scenarios.check(redis.hasKey(key("watchdog")), "it was lost while its process lived");
                Thread.sleep(50);
            }
            child.kill();
        }
        takeByAsking(one.obtain("watchdog"));
        one.obtain("watchdog").unlock();
        return null;
    }

    static Object withProtocol(ProtocolVersion protocol) throws Exception {
        LettuceConnectionFactory other =
            connect(new RedisStandaloneConfiguration(Scenarios.HOST, Scenarios.PORT), null, protocol);
        RedisLockRegistry three = registry(other, LONG);
        try {
            acquireRelease(three);
            DistributedLock lock = one.obtain("protocol");
            lock.lock();
            Scenarios.Worker waiter = new Scenarios.Worker(() -> {
                three.obtain("protocol").lock();
                three.obtain("protocol").unlock();
            });
            waiter.untilItWaits();
            lock.unlock();
            waiter.join();
            return null;
        } finally {
            three.destroy();
            other.destroy();
        }
    }

    static Object usageErrors() throws Exception {
        Scenarios.expect(IllegalArgumentException.class, () -> one.obtain(7));
        Scenarios.expect(IllegalStateException.class, () -> one.obtain("never taken").unlock());
        Scenarios.expect(UnsupportedOperationException.class, () -> one.obtain("errors").newCondition());
        redis.opsForList().rightPush(key("errors"), "a list");
        String text = Scenarios.expect(Exception.class, () -> one.obtain("errors").tryLock());
        Scenarios.check(text.contains("WRONGTYPE"), text);
        text = Scenarios.expect(Exception.class, () -> redis.opsForValue().get(key("errors")));
        Scenarios.check(text.contains("WRONGTYPE"), text);
        redis.delete(key("errors"));
        return null;
    }

    static Object reconnect() throws Exception {
        one.obtain("restart").lock();
        one.obtain("restart").unlock();
        Scenarios.restartServer();
        DistributedLock after = one.obtain("after");
        Scenarios.waitUntil("a lock after a restart", () -> {
            try {
                return after.tryLock();
            } catch (Exception notYet) {
                return false;
            }
        });
        // Waiting by messages needs the other connection.
        Scenarios.Worker waiter = new Scenarios.Worker(() -> {
            two.obtain("after").lock();
            two.obtain("after").unlock();
        });
        waiter.untilItWaits();
        after.unlock();
        waiter.join();
        return null;
    }
}
