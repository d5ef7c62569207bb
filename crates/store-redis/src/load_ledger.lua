-- Shows the ledger KEYS[1], and the time.
local time = redis.call('TIME')
return {time[1], time[2], redis.call('GET', KEYS[1])}
