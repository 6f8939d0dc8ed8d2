<?php
// A lock by hand on phpredis.

declare(strict_types=1);

require __DIR__ . '/by_hand.php';

final class PhpRedis implements Driver
{
    private Redis $client;

    public function __construct(string $user = '', string $password = '', string $name = '', int $database = 0)
    {
        $this->client = new Redis();
        $this->client->connect(HOST, PORT, PATIENCE, null, 0, PATIENCE);
        if ($user !== '') {
            check($this->client->auth([$user, $password]), 'not let in');
        }
        if ($name !== '') {
            check($this->client->client('setname', $name), 'no name');
        }
        if ($database !== 0) {
            check($this->client->select($database), 'no database');
        }
    }

    public function setNx(string $key, string $token, int $ms): bool
    {
        return $this->told($this->client->set($key, $token, ['NX', 'PX' => $ms])) === true;
    }

    public function evaluate(string $script, string $key, string ...$arguments): int
    {
        $answer = $this->client->evalSha(sha1($script), [$key, ...$arguments], 1);
        if ($answer === false && str_starts_with((string) $this->client->getLastError(), 'NOSCRIPT')) {
            $this->client->clearLastError();
            $answer = $this->client->eval($script, [$key, ...$arguments], 1);
        }
        return $this->told($answer);
    }

    public function command(string ...$words): mixed
    {
        $answer = $this->told($this->client->rawCommand(...$words));
        return $answer === false ? null : $answer;
    }

    /** phpredis says false for null, and remembers errors. */
    private function told(mixed $answer): mixed
    {
        $error = $this->client->getLastError();
        $this->client->clearLastError();
        return $error === null ? $answer : throw new RuntimeException($error);
    }
}

run('phpredis ' . phpversion('redis'), scenarios(fn (...$how) => new PhpRedis(...$how)));
