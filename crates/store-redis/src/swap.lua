-- Writes what was decided elsewhere, if nothing was written since.
--
-- KEYS[1] the head, KEYS[2…] the lists
-- ARGV    the head that was found ('' for none), the next ('' to forget), milliseconds to keep it for, and for each list
--         the entries, or 0 where they stay
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
    return 0
end
if ARGV[2] == '' then
    redis.call('DEL', unpack(KEYS))
    return 1
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
for k, entries in ipairs(cmsgpack.unpack(ARGV[4])) do
    local key = KEYS[k + 1]
    if entries ~= 0 then
        redis.call('DEL', key)
        for i = 1, #entries, 1000 do
            redis.call('RPUSH', key, unpack(entries, i, math.min(i + 999, #entries)))
        end
    end
    redis.call('PEXPIRE', key, ARGV[3])
end
return 1
