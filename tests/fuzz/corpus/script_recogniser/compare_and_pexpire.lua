local held = redis.pcall("GET", KEYS[1]);
if (held ~= ARGV[1]) then return 0; end;
return redis.call([[pexpire]], KEYS[1], ARGV[2]);
