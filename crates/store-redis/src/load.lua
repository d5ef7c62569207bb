-- Shows all that is kept for a key: KEYS[1] the head, KEYS[2…] the lists. Answers as decide.lua where it does not decide.
local answer = {1, redis.call('GET', KEYS[1]), ''}
for k = 2, #KEYS do
    answer[k + 2] = redis.call('LRANGE', KEYS[k], 0, -1)
end
return answer
