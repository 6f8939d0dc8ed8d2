package Scenarios;

# What the suites in Perl share: where the server is, how an outcome is told, workers (processes).

use strict;
use warnings;
use Exporter 'import';
use File::Temp ();
use IO::Socket::INET;
use JSON::PP;
use Time::HiRes qw(sleep clock_gettime CLOCK_MONOTONIC);

our $HOST = $ENV{LOCK_HOST} // '127.0.0.1';
our $PORT = $ENV{LOCK_PORT};
# Somebody who needs a password, on every server; who does not log in may do everything as well.
our $USER     = $ENV{LOCK_USER}     // 'default';
our $PASSWORD = $ENV{LOCK_PASSWORD} // 'any';
# Seconds; long enough for a loaded machine. Only something broken takes it.
our $PATIENCE = 60;
# Milliseconds. Nobody has a lock of this lease for any other reason than its release.
our $FOREVER    = 3_600_000;
our $WORKERS    = 50;
our $INCREMENTS = $ENV{LOCK_INCREMENTS} // 200;

our @EXPORT = qw($HOST $PORT $USER $PASSWORD $PATIENCE $FOREVER none run check between wait_until restart_server fails_with counter
    fairness wakes_on_release);

# A scenario for which the library has no call.
sub none {
    my ($why) = @_;
    return sub { die { not_applicable => $why } };
}

sub say_json {
    my (%what) = @_;
    local $| = 1;
    print JSON::PP->new->canonical->encode(\%what), "\n";
    return;
}

# Runs name => function, ... and tells the outcomes. A function may return what it saw, to stand in the report.
sub run {
    my ($version, @scenarios) = @_;
    say_json(version => $version);
    my $only = $ENV{LOCK_ONLY};    # for those who look into one of them
    while (my ($name, $play) = splice @scenarios, 0, 2) {
        next if $only && $only ne $name;
        my ($outcome, $reason) = ('pass', '');
        if (!eval { $reason = $play->() // ''; 1 }) {
            my $error = $@;
            ($outcome, $reason) = ref $error ? ('na', $error->{not_applicable}) : ('fail', "$error");
        }
        say_json(scenario => $name, outcome => $outcome, reason => "$reason");
    }
    return;
}

sub check {
    my ($holds, $what) = @_;
    if (!$holds) {
        my (undef, $file, $line) = caller;
        die "$what at $file line $line\n";
    }
    return;
}

sub between {
    my ($low, $high, $seen) = @_;
    check($low <= $seen && $seen <= $high, "expected $low to $high, saw $seen");
    return;
}

sub now { return clock_gettime(CLOCK_MONOTONIC) }

sub wait_until {
    my ($what, $condition) = @_;
    my $end = now() + $PATIENCE;
    while (!$condition->()) {
        check(now() < $end, "not in time: $what");
        sleep 0.01;
    }
    return;
}

sub fails_with {
    my ($words, $call) = @_;
    check(!eval { $call->(); 1 }, "no error: $words");
    check(index($@, $words) >= 0, "it says $@");
    return;
}

sub restart_server {
    my $control = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ENV{LOCK_CONTROL}) or die "no control: $@";
    print {$control} "restart\n";
    $control->flush;
    check((readline($control) // '') eq "done\n", 'the server could not be restarted');
    return;
}

# Runs the function so many times at once, each in a process of its own.
sub in_processes {
    my ($count, $work) = @_;
    my @children;
    for my $me (0 .. $count - 1) {
        my $child = fork // die "no process: $!";
        if (!$child) {
            my $done = eval { $work->($me); 1 };
            print STDERR $@ if !$done;
            require POSIX;
            POSIX::_exit($done ? 0 : 1);
        }
        push @children, $child;
    }
    my $bad = 0;
    for my $child (@children) {
        waitpid $child, 0;
        $bad++ if $?;
    }
    check(!$bad, "$bad of $count workers failed");
    return;
}

# A number in a file, which nothing protects.
sub read_number {
    my ($file) = @_;
    open my $in, '<', $file or die "$file: $!";
    return 0 + (readline($in) // 0);
}

sub write_number {
    my ($file, $number) = @_;
    open my $out, '+<', $file or die "$file: $!";
    print {$out} "$number\n";
    close $out or die "$file: $!";
    return;
}

# The scenarios that are the same whatever the library. `open` connects anew, for each process once; what it gives waits for
# a lock (key, milliseconds) and gives its release.
sub counter {
    my ($open) = @_;
    my $file = File::Temp->new;
    in_processes($WORKERS, sub {
        my $take = $open->();
        for (1 .. $INCREMENTS) {
            my $release = $take->('counter', $FOREVER);
            write_number($file->filename, 1 + read_number($file->filename));
            $release->();
        }
    });
    my $count = read_number($file->filename);
    check($count == $WORKERS * $INCREMENTS, "$count of " . $WORKERS * $INCREMENTS);
    return;
}

sub fairness {
    my ($open) = @_;
    my $folder = File::Temp->newdir;
    my @files  = map { "$folder/$_" } 0 .. 4;
    for my $file (@files) {
        open my $out, '>', $file or die "$file: $!";
    }
    my $hungry = sub { grep { read_number($_) < 5 } @files };
    in_processes(scalar @files, sub {
        my ($me) = @_;
        my $take = $open->();
        while ($hungry->()) {
            my $release = $take->('fair', $FOREVER);
            write_number($files[$me], 1 + read_number($files[$me]));
            $release->();
            sleep 0.001;
        }
    });
    return 'turns until everybody had 5: ' . join ' ', map { read_number($_) } @files;
}

sub wakes_on_release {
    my ($open) = @_;
    my $release = $open->()->('wakes', $FOREVER);
    pipe my $in, my $out or die "no pipe: $!";
    my $child = fork // die "no process: $!";
    if (!$child) {
        require POSIX;
        my $other = $open->()->('wakes', $FOREVER);
        syswrite $out, now() . "\n";
        $other->();
        POSIX::_exit(0);
    }
    close $out;
    sleep 0.5;    # it has asked a few times by now
    my $ready = '';
    vec($ready, fileno($in), 1) = 1;
    check(!select($ready, undef, undef, 0), 'two have it');
    $release->();
    my $released = now();
    my $woken    = readline $in;
    waitpid $child, 0;
    check(defined $woken && !$?, 'it never had it');
    my $late = $woken - $released;
    return sprintf '%.0f ms', $late < 0 ? 0 : 1000 * $late;
}

1;
