import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/** What the suites in Java share: where the server is, how an outcome is told, workers, processes that die. */
final class Scenarios {
    static final String HOST = env("LOCK_HOST", "127.0.0.1");
    static final int PORT = Integer.parseInt(env("LOCK_PORT", "0"));
    static final String[] PORTS = env("LOCK_PORTS", "" + PORT).split(",");
    /** Somebody who needs a password, on every server; who does not log in may do everything as well. */
    static final String USER = env("LOCK_USER", "default");
    static final String PASSWORD = env("LOCK_PASSWORD", "any");
    static final String KIND = env("LOCK_KIND", "redis");
    static final String VARIANT = env("LOCK_VARIANT", "");
    /** Long enough for a loaded machine; only something broken takes it. */
    static final long PATIENCE_MS = 60_000;
    /** Nobody has a lock of this lease for any other reason than its release. */
    static final long FOREVER_MS = 3_600_000;
    /**
     * Somebody who is told of a release has the lock within so many milliseconds, in half of so many hand-offs: it takes one
     * or two, and a machine that is busy may be slow in some of them.
     */
    static final int HAND_OFFS = 20;
    static final int SOON_MS = 50;
    /** A measurement of waits ends with the first of these. */
    static final int COUNTED_WAITS = 200;
    static final int GRANTS_MAX = 8000;
    static final int WORKERS = 50;
    static final int INCREMENTS = Integer.parseInt(env("LOCK_INCREMENTS", "200"));

    /** A scenario may return what it saw, to stand in the report. */
    interface Scenario {
        Object play() throws Exception;
    }

    interface Action {
        void act() throws Exception;
    }

    /** Thrown by a scenario for which the library has no call; the text says so. */
    static final class NotApplicable extends RuntimeException {
        NotApplicable(String why) {
            super(why);
        }
    }

    private static final PrintStream OUT = System.out;
    private final Map<String, Scenario> all = new LinkedHashMap<>();

    Scenarios() {
        // Libraries that print must not be taken for outcomes.
        System.setOut(System.err);
    }

    Scenarios add(String name, Scenario scenario) {
        all.put(name, scenario);
        return this;
    }

    Scenarios none(String name, String why) {
        return add(name, () -> {
            throw new NotApplicable(why);
        });
    }

    void run(String version) {
        say("{\"version\": " + quote(version) + "}");
        List<String> only = List.of(env("LOCK_ONLY", "").split(",")); // for those who look into one of them
        all.forEach((name, scenario) -> {
            if (only.contains("") ? name.equals("latency") : !only.contains(name)) {
                return;
            }
            String outcome = "pass";
            String reason = "";
            try {
                Object said = scenario.play();
                reason = said == null ? "" : said.toString();
            } catch (NotApplicable why) {
                outcome = "na";
                reason = why.getMessage();
            } catch (Throwable error) {
                outcome = "fail";
                reason = story(error);
            }
            say("{\"scenario\": " + quote(name) + ", \"outcome\": \"" + outcome + "\", \"reason\": " + quote(reason) + "}");
        });
    }

    static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    /** As the manifest of its jar tells it, or else the jar's own name. */
    static String versionOf(Class<?> library) {
        String version = library.getPackage().getImplementationVersion();
        String jar = library.getProtectionDomain().getCodeSource().getLocation().getPath();
        return version != null ? version : jar.replaceAll(".*-([0-9].*)\\.jar", "$1");
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void equal(Object expected, Object seen) {
        check(expected.equals(seen), "expected " + expected + ", saw " + seen);
    }

    static void between(long low, long high, long seen) {
        check(low <= seen && seen <= high, "expected " + low + " to " + high + ", saw " + seen);
    }

    /** The error's text, with those of its causes: libraries wrap what the server says. */
    static String expect(Class<? extends Throwable> kind, Action action) {
        try {
            action.act();
        } catch (Throwable error) {
            check(kind.isInstance(error), "expected " + kind.getName() + ", saw " + error);
            StringBuilder text = new StringBuilder();
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                text.append(cause.getMessage()).append('\n');
            }
            return text.toString();
        }
        throw new AssertionError("no " + kind.getName());
    }

    static void waitUntil(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + PATIENCE_MS * 1_000_000;
        while (!condition.call()) {
            check(System.nanoTime() < end, "not in time: " + what);
            Thread.sleep(10);
        }
    }

    static void restartServer() throws Exception {
        try (Socket control = new Socket("127.0.0.1", Integer.parseInt(System.getenv("LOCK_CONTROL")))) {
            control.getOutputStream().write("restart\n".getBytes());
            String answer = new BufferedReader(new InputStreamReader(control.getInputStream())).readLine();
            check("done".equals(answer), "the server could not be restarted");
        }
    }

    /** A thread that has begun; join() throws what it threw. */
    static final class Worker {
        private final AtomicReference<Throwable> error = new AtomicReference<>();
        final Thread thread;

        Worker(Action action) {
            thread = new Thread(() -> {
                try {
                    action.act();
                } catch (Throwable thrown) {
                    error.set(thrown);
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        boolean busy() {
            return thread.isAlive();
        }

        /** Until the thread has waited for something for a while: it has done whatever it does before it waits. */
        void untilItWaits() throws Exception {
            int quiet = 0;
            while (quiet < 30) {
                check(thread.isAlive(), "ended instead of waiting: " + error.get());
                Thread.State state = thread.getState();
                quiet = state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING ? quiet + 1 : 0;
                Thread.sleep(10);
            }
        }

        void join() throws Exception {
            thread.join(10 * PATIENCE_MS);
            check(!thread.isAlive(), "a worker did not end");
            if (error.get() != null) {
                throw new AssertionError(story(error.get()));
            }
        }
    }

    static void inThreads(int count, Action action) throws Exception {
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            workers.add(new Worker(action));
        }
        for (Worker one : workers) {
            one.join();
        }
    }

    /** Takes a lock, however long that takes; what it returns gives it back. */
    interface Taker {
        Action take() throws Exception;
    }

    private static int count;

    /** Many workers, each of which adds to a number that nothing but the lock protects. */
    static Object counter(Taker taker) throws Exception {
        count = 0;
        inThreads(WORKERS, () -> {
            for (int i = 0; i < INCREMENTS; i++) {
                Action release = taker.take();
                int seen = count;
                Thread.yield();
                count = seen + 1;
                release.act();
            }
        });
        equal(WORKERS * INCREMENTS, count);
        return null;
    }

    /** Nobody is left out. */
    static Object fairness(Taker taker) throws Exception {
        List<AtomicInteger> turns = Stream.generate(AtomicInteger::new).limit(5).toList();
        AtomicInteger next = new AtomicInteger();
        inThreads(turns.size(), () -> {
            AtomicInteger mine = turns.get(next.getAndIncrement());
            while (turns.stream().mapToInt(AtomicInteger::get).min().getAsInt() < 5) {
                Action release = taker.take();
                mine.incrementAndGet();
                release.act();
            }
        });
        return "turns until everybody had 5: " + turns;
    }

    /**
     * How soon somebody who waits by notification has the lock after its release: `one` takes it, and `other` waits for it
     * in another thread.
     */
    static String handOffs(Taker one, Taker other, String how) throws Exception {
        List<Double> waits = new ArrayList<>();
        for (int i = 0; i < HAND_OFFS; i++) {
            long[] woken = new long[1];
            Action release = one.take();
            Worker waiter = new Worker(() -> {
                Action back = other.take();
                woken[0] = System.nanoTime();
                back.act();
            });
            waiter.untilItWaits();
            long released = System.nanoTime();
            release.act();
            waiter.join();
            waits.add((woken[0] - released) / 1e6);
        }
        Collections.sort(waits);
        String seen = String.format(Locale.ROOT, "median %.1f ms, best %.1f ms, worst %.1f ms of %d hand-offs, %s",
            waits.get(HAND_OFFS / 2), waits.get(0), waits.get(HAND_OFFS - 1), HAND_OFFS, how);
        check(waits.get(HAND_OFFS / 2) <= SOON_MS, seen);
        return seen;
    }

    private static Thread previous;

    /**
     * How long 8 workers wait for one lock that each holds for about a millisecond. Only the waits of those who have it from
     * somebody else count: who releases and takes it again at once has not waited. Figures are no verdict: played only if it
     * is asked for by name.
     */
    static String latency(Taker taker) throws Exception {
        List<Long> waits = Collections.synchronizedList(new ArrayList<>());
        AtomicInteger grants = new AtomicInteger();
        previous = null;
        inThreads(8, () -> {
            while (waits.size() < COUNTED_WAITS && grants.get() < GRANTS_MAX) {
                long begin = System.nanoTime();
                Action release = taker.take();
                if (previous != null && previous != Thread.currentThread()) {
                    waits.add(System.nanoTime() - begin);
                }
                previous = Thread.currentThread(); // nothing but the lock protects it
                grants.incrementAndGet();
                Thread.sleep(1);
                release.act();
            }
        });
        Collections.sort(waits);
        return String.format(Locale.ROOT, "median %.1f ms, p90 %.1f ms, p99 %.1f ms of %d hand-offs in %d grants",
            waits.get(waits.size() / 2) / 1e6, waits.get(waits.size() * 90 / 100) / 1e6,
            waits.get(waits.size() * 99 / 100) / 1e6, waits.size(), grants.get());
    }

    /** Another process of this suite: main() is called with these arguments, and says a line when it is so far. */
    static final class Child implements AutoCloseable {
        final Process process;

        Child(String mainClass, String... arguments) throws Exception {
            List<String> command = new ArrayList<>(List.of(
                System.getProperty("java.home") + "/bin/java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                "-Xmx128m", "-cp", System.getProperty("java.class.path"), mainClass));
            command.addAll(List.of(arguments));
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            String line = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
            check("ready".equals(line), "the other process said " + line);
        }

        void kill() throws Exception {
            process.destroyForcibly().waitFor(); // SIGKILL
        }

        @Override
        public void close() throws Exception {
            kill();
        }
    }

    /** In a Child: tells that it is so far, and stays until it is killed. */
    static void readyUntilKilled() throws Exception {
        OUT.println("ready");
        OUT.flush();
        Thread.sleep(FOREVER_MS);
    }

    private static synchronized void say(String line) {
        OUT.println(line);
        OUT.flush();
    }

    static String story(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            text.append(cause).append('\n');
            StackTraceElement[] stack = cause.getStackTrace();
            for (int i = 0; i < Math.min(6, stack.length); i++) {
                text.append("  at ").append(stack[i]).append('\n');
            }
        }
        return text.toString();
    }

    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < 0x20) {
                quoted.append(String.format("\\u%04x", (int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }
}
