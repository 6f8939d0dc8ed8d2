local count = 0
for i, key in ipairs(KEYS) do
  -- ours?
  if redis.call('get', key) == ARGV[1] then count = count + redis.call('del', key) end
end
return count
