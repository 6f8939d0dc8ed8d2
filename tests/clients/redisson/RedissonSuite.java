import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.Protocol;

/** Redisson's locks and semaphores, in the single server mode. */
final class RedissonSuite {
    /** Of the watchdog; what it renews must outlive three of these, which is to take seconds, not minutes. */
    static final long LEASE_MS = 3000;

    /** No lease, but the watchdog's. */
    static final long WATCHED = -1;

    static Config config(String port) {
        Config config = new Config();
        config.setLockWatchdogTimeout(LEASE_MS);
        config.useSingleServer()
            .setAddress("redis://" + Scenarios.HOST + ":" + port)
            .setConnectionMinimumIdleSize(4)
            .setConnectionPoolSize(32)
            .setSubscriptionConnectionPoolSize(8)
            // A loaded machine is slow, not broken.
            .setTimeout(20_000);
        return config;
    }

    static RedissonClient connect() {
        return Redisson.create(config("" + Scenarios.PORT));
    }

    static RedissonClient client;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            child(arguments);
            return;
        }
        client = connect();
        new Scenarios()
            .add("handshake", RedissonSuite::handshake)
            .add("acquire_release", () -> acquireRelease(client))
            .add("refused_while_held", RedissonSuite::refusedWhileHeld)
            .add("wakes_on_release", RedissonSuite::wakesOnRelease)
            .add("extend", RedissonSuite::extend)
            .add("expiry_frees", RedissonSuite::expiryFrees)
            .add("release_of_expired_or_foreign", RedissonSuite::releaseOfExpiredOrForeign)
            .add("reentrancy", RedissonSuite::reentrancy)
            .add("watchdog", RedissonSuite::watchdog)
            .add("counter", () -> Scenarios.counter(() -> taken("counter", Scenarios.FOREVER_MS)))
            .add("fairness", () -> Scenarios.fairness(() -> taken("fair", WATCHED)))
            .add("resp2", () -> withProtocol(Protocol.RESP2))
            .add("resp3", () -> withProtocol(Protocol.RESP3))
            .add("usage_errors", RedissonSuite::usageErrors)
            .add("try_with_wait_and_lease", RedissonSuite::tryWithWaitAndLease)
            .add("fair_order", RedissonSuite::fairOrder)
            .add("fair_dead_waiter", RedissonSuite::fairDeadWaiter)
            .add("fair_gives_up", RedissonSuite::fairGivesUp)
            .add("read_write", RedissonSuite::readWrite)
            .add("read_write_watchdog", RedissonSuite::readWriteWatchdog)
            .add("spin_lock", RedissonSuite::spinLock)
            .add("non_reentrant", RedissonSuite::nonReentrant)
            .add("fenced_lock", RedissonSuite::fencedLock)
            .add("fenced_get_token", RedissonSuite::fencedGetToken)
            .add("multi_lock", RedissonSuite::multiLock)
            .add("red_lock", RedissonSuite::redLock)
            .add("semaphore", RedissonSuite::semaphore)
            .add("permit_expirable_semaphore", RedissonSuite::permitExpirableSemaphore)
            .add("hand_offs", RedissonSuite::handOffs)
            .add("latency", () -> Scenarios.latency(() -> taken("latency", WATCHED)))
            .add("reconnect", RedissonSuite::reconnect)
            .run("Redisson " + Scenarios.versionOf(Redisson.class));
        System.exit(0);
    }

    /** What another process of this suite does until it is killed. */
    static void child(String[] arguments) throws Exception {
        RedissonClient own = "fair".equals(arguments[0]) ? Redisson.create(usual()) : connect();
        switch (arguments[0]) {
            case "hold" -> own.getLock(arguments[1]).lock();
            case "write" -> own.getReadWriteLock(arguments[1]).writeLock().lock();
            case "fair" -> new Scenarios.Worker(() -> own.getFairLock(arguments[1]).lock()).untilItWaits();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        Scenarios.readyUntilKilled();
    }

    static Object handshake() throws Exception {
        Config config = config("" + Scenarios.PORT);
        config.useSingleServer().setUsername(Scenarios.USER).setPassword(Scenarios.PASSWORD).setClientName("suite").setDatabase(3);
        RedissonClient one = Redisson.create(config);
        try {
            RLock lock = one.getLock("hello");
            lock.lock();
            Scenarios.check(!client.getLock("hello").isLocked(), "another database has the same lock");
            lock.unlock();
            return null;
        } finally {
            one.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    static Object acquireRelease(RedissonClient on) throws Exception {
        RLock lock = on.getLock("acquire");
        Scenarios.check(lock.tryLock(), "a free lock was refused");
        Scenarios.check(lock.isLocked() && lock.isHeldByCurrentThread(), "it is not held");
        Scenarios.equal(1, lock.getHoldCount());
        Scenarios.between(1, LEASE_MS, lock.remainTimeToLive());
        lock.unlock();
        Scenarios.check(!lock.isLocked(), "it is still there");
        lock.lock(10, TimeUnit.SECONDS);
        Scenarios.between(9_000, 10_000, lock.remainTimeToLive());
        lock.unlock();
        Scenarios.equal(-2L, lock.remainTimeToLive());
        return null;
    }

    static Object refusedWhileHeld() throws Exception {
        RLock lock = client.getLock("refused");
        lock.lock();
        new Scenarios.Worker(() -> {
            RLock other = client.getLock("refused");
            Scenarios.check(!other.tryLock(), "two have it");
            Scenarios.check(!other.tryLock(300, TimeUnit.MILLISECONDS), "two have it after a while");
            Scenarios.check(other.isLocked() && !other.isHeldByCurrentThread(), "whose is it?");
        }).join();
        lock.unlock();
        return null;
    }

    static Object wakesOnRelease() throws Exception {
        RedissonClient elsewhere = connect();
        try {
            long[] woken = new long[1];
            RLock lock = client.getLock("wakes");
            lock.lock(Scenarios.FOREVER_MS, TimeUnit.MILLISECONDS);
            Scenarios.Worker waiter = new Scenarios.Worker(() -> {
                RLock other = elsewhere.getLock("wakes");
                other.lock();
                woken[0] = System.nanoTime();
                other.unlock();
            });
            waiter.untilItWaits();
            long released = System.nanoTime();
            lock.unlock();
            waiter.join();
            return (woken[0] - released) / 1000 + " us, by a message";
        } finally {
            elsewhere.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    static Object handOffs() throws Exception {
        RedissonClient elsewhere = connect();
        try {
            return Scenarios.handOffs(() -> taken("hand-offs", Scenarios.FOREVER_MS), () -> {
                RLock lock = elsewhere.getLock("hand-offs");
                lock.lock(Scenarios.FOREVER_MS, TimeUnit.MILLISECONDS);
                return lock::unlock;
            }, "by a message");
        } finally {
            elsewhere.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    static Object extend() throws Exception {
        RLock lock = client.getLock("extend");
        lock.lock(10, TimeUnit.SECONDS);
        Scenarios.check(client.getBucket("extend", StringCodec.INSTANCE).expire(java.time.Duration.ofSeconds(100)), "not extended");
        Scenarios.between(90_000, 100_000, lock.remainTimeToLive());
        lock.unlock();
        return "by expire(); a lock has no call for it";
    }

    static Object expiryFrees() throws Exception {
        RLock lock = client.getLock("expiry");
        lock.lock(300, TimeUnit.MILLISECONDS);
        new Scenarios.Worker(() -> {
            RLock other = client.getLock("expiry");
            other.lock();
            other.unlock();
        }).join();
        Scenarios.check(!lock.isHeldByCurrentThread(), "it has not ended");
        return null;
    }

    static Object releaseOfExpiredOrForeign() throws Exception {
        RLock lock = client.getLock("foreign");
        lock.lock(200, TimeUnit.MILLISECONDS);
        Scenarios.waitUntil("the end of a lease", () -> !lock.isLocked());
        Scenarios.expect(IllegalMonitorStateException.class, lock::unlock);
        lock.lock();
        new Scenarios.Worker(() -> {
            RLock other = client.getLock("foreign");
            Scenarios.expect(IllegalMonitorStateException.class, other::unlock);
        }).join();
        Scenarios.check(lock.isHeldByCurrentThread(), "it was taken away");
        new Scenarios.Worker(() -> Scenarios.check(client.getLock("foreign").forceUnlock(), "not broken")).join();
        Scenarios.check(!lock.isLocked(), "forceUnlock had no effect");
        Scenarios.expect(IllegalMonitorStateException.class, lock::unlock);
        return null;
    }

    static Object reentrancy() throws Exception {
        RLock lock = client.getLock("reenter");
        lock.lock();
        Scenarios.check(lock.tryLock(), "its owner was refused");
        lock.lock(20, TimeUnit.SECONDS);
        Scenarios.equal(3, lock.getHoldCount());
        lock.unlock();
        lock.unlock();
        Scenarios.check(lock.isHeldByCurrentThread(), "given up too early");
        lock.unlock();
        Scenarios.check(!lock.isLocked(), "still held");
        return null;
    }

    static Object watchdog() throws Exception {
        RLock lock = client.getLock("watchdog");
        try (Scenarios.Child child = new Scenarios.Child("RedissonSuite", "hold", "watchdog")) {
            outlives(lock, "watchdog");
            child.kill();
        }
        lock.lock();
        lock.unlock();
        return null;
    }

    /** Looks again and again for longer than three leases. */
    static void outlives(RLock lock, String what) throws Exception {
        long end = System.nanoTime() + (3 * LEASE_MS + 500) * 1_000_000;
        while (System.nanoTime() < end) {
            Scenarios.check(lock.isLocked() && !lock.tryLock(), what + " was lost while its process lived");
            Thread.sleep(50);
        }
    }

    static Scenarios.Action taken(String name, long lease) {
        RLock lock = client.getLock(name);
        lock.lock(lease, TimeUnit.MILLISECONDS);
        return lock::unlock;
    }

    static Object withProtocol(Protocol protocol) throws Exception {
        Config config = config("" + Scenarios.PORT);
        config.setProtocol(protocol);
        RedissonClient one = Redisson.create(config);
        try {
            acquireRelease(one);
            RLock lock = one.getLock("protocol");
            lock.lock();
            Scenarios.Worker waiter = new Scenarios.Worker(() -> {
                one.getLock("protocol").lock();
                one.getLock("protocol").unlock();
            });
            waiter.untilItWaits();
            lock.unlock();
            waiter.join();
            return null;
        } finally {
            one.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    static Object usageErrors() throws Exception {
        Scenarios.expect(IllegalMonitorStateException.class, () -> client.getLock("never taken").unlock());
        client.getList("errors", StringCodec.INSTANCE).add("a list");
        String text = Scenarios.expect(Exception.class, () -> client.getLock("errors").lock());
        Scenarios.check(text.contains("WRONGTYPE"), text);
        text = Scenarios.expect(Exception.class, () -> client.getBucket("errors", StringCodec.INSTANCE).get());
        Scenarios.check(text.contains("WRONGTYPE"), text);
        client.getKeys().delete("errors");
        return null;
    }

    static Object tryWithWaitAndLease() throws Exception {
        RLock lock = client.getLock("try");
        Scenarios.check(lock.tryLock(1, 20, TimeUnit.SECONDS), "a free lock was refused");
        Scenarios.between(19_000, 20_000, lock.remainTimeToLive());
        Scenarios.Worker late = new Scenarios.Worker(() ->
            Scenarios.check(!client.getLock("try").tryLock(400, 1000, TimeUnit.MILLISECONDS), "two have it"));
        late.join();
        Scenarios.Worker waiter = new Scenarios.Worker(() -> {
            Scenarios.check(client.getLock("try").tryLock(Scenarios.PATIENCE_MS, 500, TimeUnit.MILLISECONDS), "not woken");
            // Not released: its lease ends by itself, for a lease that was given is not renewed.
        });
        waiter.untilItWaits();
        lock.unlock();
        waiter.join();
        lock.lock();
        lock.unlock();
        return null;
    }

    /** A place in the line of a fair lock is kept for so long after its turn has come. */
    static Config patient() {
        Config config = config("" + Scenarios.PORT);
        // On Redis one that has gone keeps the others waiting for so long; on Lockkeeper nobody must need it.
        config.setFairLockWaitTimeout(Scenarios.KIND.equals("redis") ? 3_000 : 10 * Scenarios.PATIENCE_MS);
        return config;
    }

    /** The default of that time, 5 minutes, but on Redis, which has nothing else to go by when a waiter dies. */
    static Config usual() {
        Config config = config("" + Scenarios.PORT);
        if (Scenarios.KIND.equals("redis")) {
            config.setFairLockWaitTimeout(3_000);
        }
        return config;
    }

    static Object fairOrder() throws Exception {
        RedissonClient one = Redisson.create(patient());
        RedissonClient two = Redisson.create(patient());
        try {
            RLock held = one.getFairLock("order");
            held.lock();
            List<Integer> order = Collections.synchronizedList(new ArrayList<>());
            List<Scenarios.Worker> workers = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                int me = i;
                workers.add(new Scenarios.Worker(() -> {
                    RLock mine = (me % 2 == 0 ? one : two).getFairLock("order");
                    mine.lock();
                    order.add(me);
                    mine.unlock();
                }));
                workers.get(i).untilItWaits();
            }
            held.unlock();
            for (Scenarios.Worker worker : workers) {
                worker.join();
            }
            Scenarios.equal(List.of(0, 1, 2, 3, 4, 5), order);
            return null;
        } finally {
            one.shutdown(0, 0, TimeUnit.SECONDS);
            two.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    static Object fairDeadWaiter() throws Exception {
        RedissonClient one = Redisson.create(usual());
        try {
            RLock held = one.getFairLock("dead");
            held.lock();
            long[] got = new long[1];
            Scenarios.Worker waiter;
            try (Scenarios.Child dead = new Scenarios.Child("RedissonSuite", "fair", "dead")) {
                waiter = new Scenarios.Worker(() -> {
                    RLock mine = one.getFairLock("dead");
                    mine.lock();
                    got[0] = System.nanoTime();
                    mine.unlock();
                });
                waiter.untilItWaits();
                dead.kill();
            }
            long released = System.nanoTime();
            held.unlock();
            waiter.join();
            long waited = (got[0] - released) / 1_000_000;
            Scenarios.check(Scenarios.KIND.equals("redis") || waited < 2000, "the next waiter had it only after " + waited + " ms");
            return waited + " ms after the release, behind a waiter that was killed";
        } finally {
            one.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    static Object fairGivesUp() throws Exception {
        RedissonClient one = Redisson.create(patient());
        try {
            RLock held = one.getFairLock("gives up");
            held.lock();
            Scenarios.Worker first = new Scenarios.Worker(() ->
                Scenarios.check(!one.getFairLock("gives up").tryLock(700, TimeUnit.MILLISECONDS), "two have it"));
            first.untilItWaits();
            Scenarios.Worker second = new Scenarios.Worker(() -> {
                one.getFairLock("gives up").lock();
                one.getFairLock("gives up").unlock();
            });
            first.join();
            held.unlock();
            second.join();
            return null;
        } finally {
            one.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    static Object readWrite() throws Exception {
        RReadWriteLock lock = client.getReadWriteLock("rw");
        lock.readLock().lock();
        new Scenarios.Worker(() -> {
            Scenarios.check(client.getReadWriteLock("rw").readLock().tryLock(), "two readers exclude each other");
            Scenarios.check(!client.getReadWriteLock("rw").writeLock().tryLock(), "a reader writes");
            client.getReadWriteLock("rw").readLock().unlock();
        }).join();
        CountDownLatch written = new CountDownLatch(1);
        Scenarios.Worker writer = new Scenarios.Worker(() -> {
            client.getReadWriteLock("rw").writeLock().lock();
            written.countDown();
            // The owner of the write lock may also read, and keeps reading after it has written.
            client.getReadWriteLock("rw").readLock().lock();
            client.getReadWriteLock("rw").writeLock().unlock();
            client.getReadWriteLock("rw").readLock().unlock();
        });
        writer.untilItWaits();
        Scenarios.equal(1L, written.getCount());
        lock.readLock().unlock();
        writer.join();
        lock.writeLock().lock();
        lock.writeLock().lock();
        new Scenarios.Worker(() -> {
            Scenarios.check(!client.getReadWriteLock("rw").readLock().tryLock(), "read while written");
            Scenarios.expect(IllegalMonitorStateException.class, () -> client.getReadWriteLock("rw").readLock().unlock());
        }).join();
        List<Scenarios.Worker> readers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            readers.add(new Scenarios.Worker(() -> {
                client.getReadWriteLock("rw").readLock().lock();
                client.getReadWriteLock("rw").readLock().unlock();
            }));
            readers.get(i).untilItWaits();
        }
        lock.writeLock().unlock();
        Scenarios.check(lock.writeLock().isLocked(), "given up too early");
        lock.writeLock().unlock();
        for (Scenarios.Worker one : readers) {
            one.join();
        }
        return null;
    }

    static Object readWriteWatchdog() throws Exception {
        RReadWriteLock lock = client.getReadWriteLock("rw watchdog");
        lock.readLock().lock();
        long end = System.nanoTime() + (3 * LEASE_MS + 500) * 1_000_000;
        while (System.nanoTime() < end) {
            Scenarios.check(lock.readLock().isHeldByCurrentThread(), "the read lock was lost");
            Thread.sleep(50);
        }
        lock.readLock().unlock();
        try (Scenarios.Child child = new Scenarios.Child("RedissonSuite", "write", "rw watchdog")) {
            outlives(lock.writeLock(), "the write lock");
            child.kill();
        }
        lock.readLock().lock();
        lock.readLock().unlock();
        return null;
    }

    static Object spinLock() throws Exception {
        RLock lock = client.getSpinLock("spin");
        lock.lock();
        Scenarios.check(lock.tryLock(), "its owner was refused");
        lock.unlock();
        new Scenarios.Worker(() -> Scenarios.check(!client.getSpinLock("spin").tryLock(), "two have it")).join();
        Scenarios.Worker waiter = new Scenarios.Worker(() -> {
            client.getSpinLock("spin").lock();
            client.getSpinLock("spin").unlock();
        });
        Thread.sleep(200);
        Scenarios.check(waiter.busy(), "two have it");
        lock.unlock();
        waiter.join();
        Scenarios.expect(IllegalMonitorStateException.class, lock::unlock);
        return null;
    }

    static Object nonReentrant() throws Exception {
        for (RLock lock : List.of(client.getNonReentrantLock("once"), client.getNonReentrantFairLock("once fair"))) {
            lock.lock();
            Scenarios.expect(IllegalMonitorStateException.class, lock::lock);
            Scenarios.expect(IllegalMonitorStateException.class, lock::tryLock);
            new Scenarios.Worker(() -> Scenarios.check(!lock.tryLock(), "two have it")).join();
            Scenarios.Worker waiter = new Scenarios.Worker(() -> {
                lock.lock();
                lock.unlock();
            });
            waiter.untilItWaits();
            lock.unlock();
            waiter.join();
        }
        return null;
    }

    static Object fencedLock() throws Exception {
        RFencedLock lock = client.getFencedLock("fenced");
        long first = lock.lockAndGetToken();
        lock.unlock();
        Long second = lock.tryLockAndGetToken(10, 10, TimeUnit.SECONDS);
        Scenarios.check(second > first, second + " is not above " + first);
        new Scenarios.Worker(() -> Scenarios.check(!client.getFencedLock("fenced").tryLock(), "two have it")).join();
        lock.unlock();
        Long third = lock.lockAndGetToken(10, TimeUnit.SECONDS);
        Scenarios.check(third > second, third + " is not above " + second);
        lock.unlock();
        return null;
    }

    static Object fencedGetToken() throws Exception {
        RFencedLock lock = client.getFencedLock("token");
        long token = lock.lockAndGetToken();
        Scenarios.equal(token, lock.getToken());
        lock.unlock();
        return null;
    }

    static Object multiLock() throws Exception {
        List<RedissonClient> clients = new ArrayList<>();
        try {
            for (String port : Scenarios.PORTS) {
                clients.add(Redisson.create(config(port)));
            }
            RLock[] locks = clients.stream().map(one -> one.getLock("multi")).toArray(RLock[]::new);
            RLock all = client.getMultiLock(locks);
            all.lock();
            for (RLock one : locks) {
                Scenarios.check(one.isHeldByCurrentThread(), "one of them is not held");
            }
            new Scenarios.Worker(() -> {
                RLock other = client.getMultiLock(clients.stream().map(c -> c.getLock("multi")).toArray(RLock[]::new));
                Scenarios.check(!other.tryLock(), "two have it");
            }).join();
            all.unlock();
            Scenarios.check(all.tryLock(5, 10, TimeUnit.SECONDS), "refused");
            for (RLock one : locks) {
                Scenarios.between(5_000, 10_000, one.remainTimeToLive());
            }
            all.unlock();
            for (RLock one : locks) {
                Scenarios.check(!one.isLocked(), "one of them is still held");
            }
            return "over " + locks.length + " servers";
        } finally {
            clients.forEach(one -> one.shutdown(0, 0, TimeUnit.SECONDS));
        }
    }

    /** A majority of the servers is enough. */
    @SuppressWarnings("deprecation")
    static Object redLock() throws Exception {
        List<RedissonClient> clients = new ArrayList<>();
        try {
            for (String port : Scenarios.PORTS) {
                clients.add(Redisson.create(config(port)));
            }
            RLock[] locks = clients.stream().map(one -> one.getLock("red")).toArray(RLock[]::new);
            RLock all = client.getRedLock(locks);
            Scenarios.check(all.tryLock(10, 20, TimeUnit.SECONDS), "refused");
            for (RLock one : locks) {
                Scenarios.check(one.isHeldByCurrentThread(), "one of them is not held");
            }
            new Scenarios.Worker(() -> {
                RLock other = client.getRedLock(clients.stream().map(c -> c.getLock("red")).toArray(RLock[]::new));
                Scenarios.check(!other.tryLock(300, 20_000, TimeUnit.MILLISECONDS), "two have it");
            }).join();
            for (RLock one : locks) {
                Scenarios.check(one.isHeldByCurrentThread(), "the one who was refused has taken it away");
            }
            all.unlock();
            new Scenarios.Worker(() ->
                clients.get(1).getLock("red").lock(Scenarios.FOREVER_MS, TimeUnit.MILLISECONDS)).join();
            Scenarios.check(all.tryLock(10, 20, TimeUnit.SECONDS), "refused by a minority");
            Scenarios.check(!locks[1].isHeldByCurrentThread(), "two have it");
            all.unlock();
            Scenarios.check(locks[1].isLocked() && !locks[0].isLocked() && !locks[2].isLocked(), "whose are they?");
            locks[1].forceUnlock();
            return "over " + locks.length + " servers, one of which refuses";
        } finally {
            clients.forEach(one -> one.shutdown(0, 0, TimeUnit.SECONDS));
        }
    }

    static Object semaphore() throws Exception {
        RSemaphore semaphore = client.getSemaphore("semaphore");
        Scenarios.check(semaphore.trySetPermits(3), "permits were there before");
        Scenarios.check(!semaphore.trySetPermits(5), "permits were set twice");
        semaphore.acquire(2);
        Scenarios.equal(1, semaphore.availablePermits());
        Scenarios.check(!semaphore.tryAcquire(2), "more permits than there are");
        Scenarios.Worker waiter = new Scenarios.Worker(() -> client.getSemaphore("semaphore").acquire(2));
        waiter.untilItWaits();
        semaphore.release();
        waiter.join();
        Scenarios.equal(0, semaphore.availablePermits());
        semaphore.release(3);
        semaphore.addPermits(2);
        Scenarios.equal(5, semaphore.drainPermits());
        Scenarios.equal(0, semaphore.availablePermits());
        Scenarios.check(!semaphore.tryAcquire(1, java.time.Duration.ofMillis(200)), "a permit from nowhere");
        return null;
    }

    static Object permitExpirableSemaphore() throws Exception {
        RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore("permits");
        Scenarios.check(semaphore.trySetPermits(2), "permits were there before");
        String one = semaphore.acquire();
        String two = semaphore.acquire(400, TimeUnit.MILLISECONDS);
        Scenarios.check(!one.equals(two), "the same permit twice");
        Scenarios.equal(0, semaphore.availablePermits());
        Scenarios.check(semaphore.tryAcquire() == null, "more permits than there are");
        String three = semaphore.tryAcquire(Scenarios.PATIENCE_MS, 10_000, TimeUnit.MILLISECONDS);
        Scenarios.check(three != null, "an expired permit did not come back");
        Scenarios.check(!semaphore.tryRelease(two), "an expired permit was released");
        Scenarios.check(semaphore.updateLeaseTime(three, 20, TimeUnit.SECONDS), "its lease was not changed");
        semaphore.release(one);
        Scenarios.equal(1, semaphore.availablePermits());
        semaphore.release(three);
        Scenarios.equal(2, semaphore.availablePermits());
        return null;
    }

    static Object reconnect() throws Exception {
        RLock lock = client.getLock("restart");
        lock.lock();
        lock.unlock();
        Scenarios.restartServer();
        RLock after = client.getLock("after");
        Scenarios.waitUntil("a lock after a restart", () -> {
            try {
                return after.tryLock();
            } catch (Exception notYet) {
                return false;
            }
        });
        // Waiting needs the other connection, the one for messages.
        Scenarios.Worker waiter = new Scenarios.Worker(() -> {
            client.getLock("after").lock();
            client.getLock("after").unlock();
        });
        waiter.untilItWaits();
        after.unlock();
        waiter.join();
        return null;
    }
}
