# A lock by hand on Redis.pm: SET NX PX, and the two scripts that everybody copies. Workers are processes.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../harness";
use Digest::SHA 'sha1_hex';
use Redis;
use Scenarios;
use Time::HiRes 'sleep';

my $RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end';
my $EXTEND  = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end';

# Reconnects by itself, as is recommended there.
sub connect_with {
    my (%options) = @_;
    return Redis->new(server => "$HOST:$PORT", reconnect => $PATIENCE, every => 20_000, %options);
}

# By its SHA-1 first.
sub evaluate {
    my ($client, $script, $key, @arguments) = @_;
    my $answer = eval { $client->evalsha(sha1_hex($script), 1, $key, @arguments) };
    if ($@) {
        die $@ if $@ !~ /NOSCRIPT/;
        $answer = $client->eval($script, 1, $key, @arguments);
    }
    return $answer;
}

my $count = 0;

# undef if somebody else has it.
sub try_lock {
    my ($client, $key, $ms) = @_;
    my $token = join ':', $$, ++$count;
    return if !defined $client->set($key, $token, 'NX', 'PX', $ms);
    return {
        token   => $token,
        release => sub { evaluate($client, $RELEASE, $key, $token) },
        extend  => sub { evaluate($client, $EXTEND,  $key, $token, $_[0]) },
    };
}

sub taking {
    my ($client) = @_;
    return sub {
        my ($key, $ms) = @_;
        my $lock;
        while (!($lock = try_lock($client, $key, $ms))) {
            sleep 0.02;
        }
        return sub { check($lock->{release}->() == 1, 'not released') };
    };
}

my $client = connect_with();
my $take   = taking($client);
my $open   = sub { taking(connect_with()) };

sub acquire_release {
    my $lock = try_lock($client, 'acquire', 10_000);
    check($lock, 'a free lock was refused');
    between(9_000, 10_000, $client->pttl('acquire'));
    check($lock->{release}->() == 1, 'not released');
    check(!$client->exists('acquire'), 'it is still there');
    check(!defined $client->get('acquire'), 'null has another shape');
    return;
}

sub handshake {
    my $one = connect_with(username => $USER, password => $PASSWORD, name => 'suite', on_connect => sub { $_[0]->select(3) });
    check($one->client_getname eq 'suite', 'it has no name');
    my $lock = try_lock($one, 'hello', 10_000);
    check(!$client->exists('hello'), 'another database has the same lock');
    $lock->{release}->();
    $one->quit;
    return;
}

sub refused_while_held {
    my $lock = try_lock($client, 'refused', $FOREVER);
    check(!try_lock($client, 'refused', $FOREVER), 'two have it');
    check($client->get('refused') eq $lock->{token}, 'it changed hands');
    $lock->{release}->();
    return;
}

sub extend_lease {
    my $lock = try_lock($client, 'extend', 10_000);
    check($lock->{extend}->(100_000) == 1, 'not extended');
    between(90_000, 100_000, $client->pttl('extend'));
    $lock->{release}->();
    check($lock->{extend}->(1_000) == 0, 'extended after its end');
    return;
}

sub expiry_frees {
    try_lock($client, 'expiry', 300);
    $take->('expiry', $FOREVER)->();
    return;
}

sub release_of_expired_or_foreign {
    my $late    = try_lock($client, 'foreign', 300);
    my $release = $take->('foreign', $FOREVER);
    check($late->{release}->() == 0,     'released what is not its own');
    check($late->{extend}->(1_000) == 0, 'extended what is not its own');
    $release->();
    return;
}

sub usage_errors {
    $client->rpush('errors', 'a list');
    check(!try_lock($client, 'errors', 1_000), 'a lock that is a list');
    fails_with('WRONGTYPE Operation against a key holding the wrong kind of value', sub { $client->get('errors') });
    fails_with('WRONGTYPE', sub { $client->eval($RELEASE, 1, 'errors', 'x') });
    $client->del('errors');
    fails_with("ERR invalid expire time in 'set' command", sub { $client->set('errors', 'x', 'NX', 'PX', 0) });
    fails_with('ERR syntax error', sub { $client->set('errors', 'x', 'NX', 'XX') });
    return;
}

sub reconnect {
    $take->('restart', $FOREVER)->();
    restart_server();
    $take->('after', $FOREVER)->();
    return;
}

run("Redis.pm $Redis::VERSION",
    handshake                     => \&handshake,
    acquire_release               => \&acquire_release,
    refused_while_held            => \&refused_while_held,
    wakes_on_release              => sub { wakes_on_release($open) . ', polls every 20 ms' },
    extend                        => \&extend_lease,
    expiry_frees                  => \&expiry_frees,
    release_of_expired_or_foreign => \&release_of_expired_or_foreign,
    reentrancy                    => none('a driver has no locks of its own; SET NX is not reentrant'),
    watchdog                      => none('a driver has no locks of its own'),
    counter                       => sub { counter($open) },
    fairness                      => sub { fairness($open) },
    resp2                         => \&acquire_release,
    resp3                         => none('Redis.pm speaks RESP2 only'),
    usage_errors                  => \&usage_errors,
    reconnect                     => \&reconnect,
);
