-- Decides requests for several keys by the same policies, each key by itself, as decide.lua does, whose text is the function `decide`.
--
-- KEYS     their heads; no policy has a list
-- ARGV[1]  {shape, until (seconds, nanoseconds), linger ms, place of the first request, then the policies}
-- ARGV[2]  for each key how many requests, then the requests
-- Answers  for each key {status; the head found, or nothing; verdicts}, packed
local terms, requests = cmsgpack.unpack(ARGV[1]), cmsgpack.unpack(ARGV[2])
local answers, at = {}, 1
for k, key in ipairs(KEYS) do
    local a, behind = {}, at + 3 * requests[at]
    for i = 1, #terms do
        a[i] = terms[i]
    end
    for i = at + 1, behind do
        a[#a + 1] = requests[i]
    end
    at = behind + 1
    local answer = decide({key}, {a})
    answers[k] = {answer[1], answer[2] or '', answer[3]}
end
return cmsgpack.pack(answers)
