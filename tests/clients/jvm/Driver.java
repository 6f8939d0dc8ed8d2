/** What a lock by hand needs of a driver. Any number of threads call one of these at a time. */
interface Driver extends AutoCloseable {
    /** How to connect; null and 0 are the driver's own choice. */
    record Options(String user, String password, String name, int database, int protocol) {
        static final Options NONE = new Options(null, null, null, 0, 0);

        static Options ofProtocol(int protocol) {
            return new Options(null, null, null, 0, protocol);
        }
    }

    /** By the driver's own call for SET key token NX PX milliseconds. */
    boolean setIfAbsent(String key, String token, long milliseconds);

    /** A script of one key that returns an integer. */
    long evaluate(String script, String key, String... arguments);

    /** WATCH, a look whether it is the token's, then MULTI, DEL and EXEC. False if it is not, or changed meanwhile. */
    boolean deleteInTransaction(String key, String token, Scenarios.Action beforeExec) throws Exception;

    /** BLPOP of one list: its element, or null after so many seconds. On a connection that nobody else uses. */
    String blockingPop(String list, int seconds);

    /** Any other command, by its words: a Long, a String or null. */
    Object command(String... words);

    @Override
    void close();
}
