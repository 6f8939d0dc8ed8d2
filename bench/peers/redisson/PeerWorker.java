import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RLock or RFairLock: threads of several instances of Redisson, as of so many services. */
final class PeerWorker {
    /** An instance is a service: its threads share connections and subscriptions. */
    static final int THREADS_AN_INSTANCE = 10;

    static final class Client {
        final List<long[]> rows = new ArrayList<>();
        volatile long asked;
    }

    static RedissonClient connect() {
        Config config = new Config();
        config.setNettyThreads(2).setThreads(2);
        config.useSingleServer()
            .setAddress("redis://127.0.0.1:" + System.getenv("PEER_PORT"))
            .setConnectionMinimumIdleSize(THREADS_AN_INSTANCE)
            .setConnectionPoolSize(2 * THREADS_AN_INSTANCE)
            .setSubscriptionConnectionPoolSize(THREADS_AN_INSTANCE)
            .setTimeout(20_000);
        return Redisson.create(config);
    }

    public static void main(String[] arguments) throws Exception {
        int first = Integer.parseInt(System.getenv("PEER_FIRST"));
        int count = Integer.parseInt(System.getenv("PEER_CLIENTS"));
        long hold = Long.parseLong(System.getenv("PEER_HOLD_US"));
        String key = System.getenv("PEER_KEY");
        boolean fair = System.getenv("PEER_VARIANT").equals("fair");

        Client[] clients = new Client[count];
        long[] end = new long[1];
        CountDownLatch gate = new CountDownLatch(1);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        RedissonClient redisson = null;
        for (int i = 0; i < count; ++i) {
            if (i % THREADS_AN_INSTANCE == 0) {
                redisson = connect();
            }
            Client client = clients[i] = new Client();
            RLock lock = fair ? redisson.getFairLock(key) : redisson.getLock(key);
            Thread thread = new Thread(() -> {
                try {
                    gate.await();
                    work(client, lock, end[0], hold);
                } catch (Throwable error) {
                    failure.compareAndSet(null, error);
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("# version " + Redisson.class.getPackage().getImplementationVersion());
        System.out.println("ready");
        end[0] = Long.parseLong(new BufferedReader(new InputStreamReader(System.in)).readLine().trim());
        gate.countDown();
        Thread.sleep(Math.max(0, (end[0] - System.nanoTime()) / 1_000_000 + 1));
        report(clients, first, failure.get());
    }

    static void work(Client client, RLock lock, long end, long hold) throws InterruptedException {
        while (true) {
            long asked = System.nanoTime();
            if (asked >= end) {
                return;
            }
            client.asked = asked;
            // No lease of its own: the watchdog renews it, as most users have it.
            lock.lock();
            long granted = System.nanoTime();
            client.asked = 0;
            if (hold > 0) {
                Thread.sleep(hold / 1000, (int) (hold % 1000) * 1000);
            }
            long gaveBack = System.nanoTime();
            lock.unlock();
            synchronized (client.rows) {
                client.rows.add(new long[] {asked, granted, gaveBack});
            }
        }
    }

    static void report(Client[] clients, int first, Throwable failure) {
        if (failure != null) {
            System.err.println(failure);
            Runtime.getRuntime().halt(1);
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < clients.length; ++i) {
            long asked = clients[i].asked;
            synchronized (clients[i].rows) {
                for (long[] row : clients[i].rows) {
                    text.append(first + i).append(' ').append(row[0]).append(' ').append(row[1]).append(' ')
                        .append(row[2]).append('\n');
                }
            }
            if (asked != 0) {
                text.append(first + i).append(' ').append(asked).append(" - -\n");
            }
        }
        System.out.print(text);
        System.out.flush();
        // Its threads would wait for ever.
        Runtime.getRuntime().halt(0);
    }
}
