import io.lettuce.core.ClientOptions;
import io.lettuce.core.KeyValue;
import io.lettuce.core.LettuceVersion;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/** Lettuce: all threads share one connection. */
final class LettuceDriver implements Driver {
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    LettuceDriver(Options how) {
        RedisURI.Builder where = RedisURI.builder().withHost(Scenarios.HOST).withPort(Scenarios.PORT)
            .withDatabase(how.database()).withTimeout(Duration.ofMillis(2 * Scenarios.PATIENCE_MS));
        if (how.user() != null) {
            where.withAuthentication(how.user(), how.password());
        }
        if (how.name() != null) {
            where.withClientName(how.name());
        }
        client = RedisClient.create(where.build());
        if (how.protocol() != 0) {
            ProtocolVersion version = how.protocol() == 2 ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3;
            client.setOptions(ClientOptions.builder().protocolVersion(version).build());
        }
        connection = client.connect();
    }

    static String version() {
        return LettuceVersion.getVersion().replaceAll("/.*", "");
    }

    @Override
    public boolean setIfAbsent(String key, String token, long milliseconds) {
        return "OK".equals(connection.sync().set(key, token, SetArgs.Builder.nx().px(milliseconds)));
    }

    @Override
    public long evaluate(String script, String key, String... arguments) {
        Long number = connection.sync().eval(script, ScriptOutputType.INTEGER, new String[] {key}, arguments);
        return number;
    }

    @Override
    public boolean deleteInTransaction(String key, String token, Scenarios.Action beforeExec) throws Exception {
        // WATCH belongs to a connection, and that one to everybody.
        try (StatefulRedisConnection<String, String> own = client.connect()) {
            RedisCommands<String, String> commands = own.sync();
            commands.watch(key);
            if (!token.equals(commands.get(key))) {
                commands.unwatch();
                return false;
            }
            commands.multi();
            commands.del(key);
            beforeExec.act();
            var done = commands.exec();
            return !done.wasDiscarded() && List.of(1L).equals(done.stream().toList());
        }
    }

    @Override
    public String blockingPop(String list, int seconds) {
        KeyValue<String, String> popped = connection.sync().blpop(seconds, list);
        return popped == null ? null : popped.getValueOrElse(null);
    }

    /** A word that is the name of a command. */
    private record Keyword(String name) implements ProtocolKeyword {
        @Override
        public byte[] getBytes() {
            return name.getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** A reply that is a number, a text or nothing. */
    private static final class Scalar extends CommandOutput<String, String, Object> {
        Scalar() {
            super(StringCodec.UTF8, null);
        }

        @Override
        public void set(ByteBuffer bytes) {
            output = bytes == null ? null : codec.decodeValue(bytes);
        }

        @Override
        public void set(long number) {
            output = number;
        }
    }

    @Override
    public Object command(String... words) {
        CommandArgs<String, String> rest = new CommandArgs<>(StringCodec.UTF8);
        for (String word : List.of(words).subList(1, words.length)) {
            rest.add(word);
        }
        return connection.sync().dispatch(new Keyword(words[0]), new Scalar(), rest);
    }

    @Override
    public void close() {
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
