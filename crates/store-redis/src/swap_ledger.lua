-- Writes the ledger KEYS[1], if nobody did since it was loaded. The first eight bytes say which state it is.
--
-- ARGV    the eight bytes that must be there ('' for no ledger), the whole ledger, milliseconds to keep it for
if string.sub(redis.call('GET', KEYS[1]) or '', 1, 8) ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
