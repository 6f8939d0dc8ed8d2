local function each(list, f)
  for _, item in ipairs(list) do f(item) end
end
each(KEYS, function(key) redis.call('persist', key) end)
return {n = #KEYS; 'x', [1] = 2.5e-3, 0xff}
