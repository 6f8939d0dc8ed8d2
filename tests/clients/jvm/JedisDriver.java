import java.util.List;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.SafeEncoder;

/** Jedis: a pool of connections, one of which belongs to a call while it lasts. */
final class JedisDriver implements Driver {
    private final RedisClient client;

    JedisDriver(Options how) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
            .user(how.user()).password(how.password()).clientName(how.name()).database(how.database())
            .socketTimeoutMillis(20_000) // a loaded machine is slow, not broken
            .blockingSocketTimeoutMillis(0);
        if (how.protocol() != 0) {
            config.protocol(how.protocol() == 2 ? RedisProtocol.RESP2 : RedisProtocol.RESP3);
        }
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(64);
        pool.setMaxIdle(64);
        client = RedisClient.builder().hostAndPort(new HostAndPort(Scenarios.HOST, Scenarios.PORT))
            .clientConfig(config.build()).poolConfig(pool).build();
    }

    static String version() {
        return Scenarios.versionOf(Jedis.class);
    }

    @Override
    public boolean setIfAbsent(String key, String token, long milliseconds) {
        return "OK".equals(client.set(key, token, SetParams.setParams().nx().px(milliseconds)));
    }

    @Override
    public long evaluate(String script, String key, String... arguments) {
        return (Long) client.eval(script, List.of(key), List.of(arguments));
    }

    @Override
    public boolean deleteInTransaction(String key, String token, Scenarios.Action beforeExec) throws Exception {
        // A transaction of Jedis reads nothing between WATCH and MULTI: the look is over another connection.
        try (AbstractTransaction transaction = client.transaction(false)) {
            transaction.watch(key);
            if (!token.equals(client.get(key))) {
                transaction.unwatch();
                return false;
            }
            transaction.multi();
            Response<Long> deleted = transaction.del(key);
            beforeExec.act();
            return transaction.exec() != null && deleted.get() == 1;
        }
    }

    @Override
    public String blockingPop(String list, int seconds) {
        List<String> popped = client.blpop(seconds, list);
        return popped == null ? null : popped.get(1);
    }

    @Override
    public Object command(String... words) {
        byte[] name = SafeEncoder.encode(words[0]);
        Object reply = client.sendCommand(() -> name, List.of(words).subList(1, words.length).toArray(String[]::new));
        return reply instanceof byte[] text ? SafeEncoder.encode(text) : reply;
    }

    @Override
    public void close() {
        client.close();
    }
}
