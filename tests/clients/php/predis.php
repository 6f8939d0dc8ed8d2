<?php
// A lock by hand on Predis.

declare(strict_types=1);

require __DIR__ . '/by_hand.php';
require 'Predis/autoload.php';

final class PredisDriver implements Driver
{
    private Predis\Client $client;

    public function __construct(string $user = '', string $password = '', string $name = '', int $database = 0)
    {
        $this->client = new Predis\Client(['host' => HOST, 'port' => PORT, 'read_write_timeout' => PATIENCE]);
        if ($user !== '') {
            $this->command('AUTH', $user, $password); // its own 'password' has no user in this version
        }
        if ($name !== '') {
            $this->client->client('setname', $name);
        }
        if ($database !== 0) {
            $this->client->select($database);
        }
    }

    public function setNx(string $key, string $token, int $ms): bool
    {
        return $this->client->set($key, $token, 'PX', $ms, 'NX') !== null;
    }

    public function evaluate(string $script, string $key, string ...$arguments): int
    {
        try {
            return $this->client->evalsha(sha1($script), 1, $key, ...$arguments);
        } catch (Predis\Response\ServerException $error) {
            if ($error->getErrorType() !== 'NOSCRIPT') {
                throw $error;
            }
            return $this->client->eval($script, 1, $key, ...$arguments);
        }
    }

    public function command(string ...$words): mixed
    {
        $answer = $this->client->executeRaw($words, $failed);
        return $failed ? throw new RuntimeException($answer) : $answer;
    }
}

run('Predis ' . Predis\Client::VERSION, scenarios(fn (...$how) => new PredisDriver(...$how)));
