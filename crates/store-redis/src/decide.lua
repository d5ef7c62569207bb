-- Decides requests for one key, all policies or none, or changes it without deciding, and writes what became of it. See exact.rs for
-- why no step rounds.
--
-- KEYS[1]  the head: {version, shape, seconds, nanoseconds, then for each policy its kind and numbers}
--            bucket 1: spent   window 2: count   weighted 3: current, previous
--            entries 4 (log) or 5 (slices): sum, seconds and nanoseconds of the newest, how many; they have a list of their own
-- KEYS[2…] the lists, oldest first, in the order of the policies that have one
-- ARGV[1]  (unpacked already, where decide_many.lua calls)
--          {shape, until (seconds, nanoseconds), linger ms, place of the first request, then the policies, then the requests}
-- ARGV[2]  where the one request changes the key without deciding: {what: 1 charge, 2 refund, 3 surcharge and 4 return by a receipt,
--          then for each policy: whether it is changed, the time of the receipt's entry, what charges may bring it to (-1: anything)}
-- Answers  {0 decided | 1 not for me | 2 other terms, please; the head found; verdicts; the entries looked at, by list}
local raw = redis.call('GET', KEYS[1])
local a = type(ARGV[1]) == 'table' and ARGV[1] or cmsgpack.unpack(ARGV[1])
local first, last = a[5], #a
local w = ARGV[2] and cmsgpack.unpack(ARGV[2])
local op = w and w[1] or 0
local x, is_wide
if raw then
    x = cmsgpack.unpack(raw)
    is_wide = x[2] ~= a[1]
    for i = 5, #x do
        is_wide = is_wide or type(x[i]) ~= 'number'
    end
else
    x = {0, a[1], 0, 0}
end

local function everything(status)
    local answer = {status, raw, ''}
    for k = 2, #KEYS do
        answer[k + 2] = redis.call('LRANGE', KEYS[k], 0, -1)
    end
    return answer
end

if is_wide then
    return everything(1)
end
if x[3] > a[2] or (x[3] == a[2] and x[4] >= a[3]) then
    return {2, raw, ''}
end

-- The policies: place of the terms in `a`, place of the numbers in `x`.
local terms, slots, lists = {}, {}, {}
local policies, p, slot = 0, 6, 5
while p < first do
    local kind = a[p]
    policies = policies + 1
    terms[policies], slots[policies] = p, slot + 1
    x[slot] = kind
    if kind == 1 then
        x[slot + 1] = x[slot + 1] or 0
        p, slot = p + 6, slot + 2
    elseif kind == 2 then
        x[slot + 1] = x[slot + 1] or 0
        p, slot = p + 7, slot + 2
    elseif kind == 3 then
        x[slot + 1], x[slot + 2] = x[slot + 1] or 0, x[slot + 2] or 0
        p, slot = p + 7, slot + 3
    else
        for i = slot + 1, slot + 4 do
            x[i] = x[i] or 0
        end
        local key = KEYS[#lists + 2]
        local list = {key = key, stored = x[slot + 4], gone = 0, added = {}, seen = {}, raw = {}, looked = 0}
        lists[#lists + 1], lists[-policies] = list, list
        if list.stored > 0 and redis.call('LLEN', key) ~= list.stored then
            return everything(1)
        end
        p, slot = p + 7, slot + 5
    end
end

-- The entry at `i` of a list, from 0, those of this call after those stored.
local function entry(list, i)
    if i >= list.stored then
        return list.added[i - list.stored + 1]
    end
    if i >= list.looked then
        list.looked = i + 1
    end
    local seen = #list.seen
    if i >= seen then
        for place, packed in ipairs(redis.call('LRANGE', list.key, seen, math.max(i, 2 * seen) + 7)) do
            list.raw[seen + place] = packed
            list.seen[seen + place] = {cmsgpack.unpack(packed)}
        end
    end
    return list.seen[i + 1]
end

-- `factor` times (`s` seconds and `ns`), as seven digits of 10^7, the lowest first.
local function product(factor, s, ns)
    local digits, carry = {}, 0
    local n0 = math.fmod(ns, 1e7)
    local u = s * 100 + (ns - n0) / 1e7
    local u0 = math.fmod(u, 1e7)
    local t = {n0, u0, (u - u0) / 1e7}
    local f0 = math.fmod(factor, 1e7)
    local rest = (factor - f0) / 1e7
    local f1 = math.fmod(rest, 1e7)
    local f = {f0, f1, (rest - f1) / 1e7}
    for place = 1, 7 do
        local sum = carry
        for i = math.max(1, place - 2), math.min(3, place) do
            sum = sum + f[i] * t[place - i + 1]
        end
        digits[place] = math.fmod(sum, 1e7)
        carry = (sum - digits[place]) / 1e7
    end
    return digits
end

-- Whether previous * left <= room * period, where lengths of time are (seconds, nanoseconds).
local function weighs_within(previous, left_s, left_ns, room, period_s, period_ns)
    local used, free = previous * (left_s * 1e9 + left_ns), room * (period_s * 1e9 + period_ns)
    -- Both are right to within a few parts of 10^16: only where they are close are they worked out.
    if used < free * 0.999999999999 then
        return true
    elseif used * 0.999999999999 > free then
        return false
    end
    local x, y = product(previous, left_s, left_ns), product(room, period_s, period_ns)
    for place = 7, 1, -1 do
        if x[place] ~= y[place] then
            return x[place] < y[place]
        end
    end
    return true
end

-- Milliseconds to keep something for, from the time of the asker, which may be before that of the key.
local function ms_until(item, s, ns)
    return (s - a[item]) * 1e3 + (ns - a[item + 1]) / 1e6
end

-- Whether (s, ns) is before the time of a receipt, or at it.
local function is_by_receipt(i, s, ns)
    return s < w[4 * i - 1] or (s == w[4 * i - 1] and ns <= w[4 * i])
end

-- How much of `tokens` a charge adds where so much is in use.
local function chargeable(i, tokens, used)
    local most = w and w[4 * i + 1] or -1
    return most < 0 and tokens or math.max(0, math.min(tokens, most - used))
end

-- Takes a list over whole, and changes the entry of a receipt or the newest ones; the new sum, `nil` where it is not for Lua.
local function edited(i, list, sum, tokens)
    local all, s, ns = {}, w[4 * i - 1], w[4 * i]
    for k = list.going, list.stored - 1 do
        all[#all + 1] = entry(list, k)
    end
    local place = #all
    while op ~= 2 and place > 0 and not is_by_receipt(i, all[place][1], all[place][2]) do
        place = place - 1
    end
    local is_there = place > 0 and (op == 2 or (all[place][1] == s and all[place][2] == ns))
    if op == 3 then
        tokens = chargeable(i, tokens, sum)
        if sum + tokens >= 9e15 then
            return nil
        elseif is_there then
            all[place][3] = all[place][3] + tokens
        elseif tokens > 0 then
            table.insert(all, place + 1, {s, ns, tokens})
        end
        sum = sum + tokens
    end
    while op ~= 3 and is_there and tokens > 0 do
        local taken = math.min(tokens, all[place][3])
        tokens, sum, all[place][3] = tokens - taken, sum - taken, all[place][3] - taken
        if all[place][3] == 0 then
            table.remove(all, place)
        end
        place = place - 1
        is_there = op == 2 and place > 0
    end
    list.stored, list.gone, list.added = 0, 0, all
    return sum
end

local verdicts, y, fits, px = {}, {}, {}, nil
for item = first, last, 3 do
    local s, ns, cost = a[item], a[item + 1], a[item + 2]
    if s < x[3] or (s == x[3] and ns < x[4]) then
        s, ns = x[3], x[4]
    end
    local tokens = math.max(cost, 1)
    local admitted, is_charged = true, false
    -- Brings every policy to this time, in `y`, and asks it.
    for i = 1, policies do
        local p, j = terms[i], slots[i]
        local kind, fit = a[p], nil
        if kind == 1 then
            local spent, grain, top = x[j], a[p + 2], a[p + 4]
            if spent > 0 then
                if s - x[3] > 9e6 then
                    spent = 0
                else
                    local refilled = ((s - x[3]) * 1e9 + (ns - x[4])) * a[p + 3]
                    spent = refilled < spent and spent - refilled or 0
                end
            end
            y[j] = spent
            if tokens > a[p + 5] then
                fit = false
            elseif top < 0 then
                if tokens * grain > 9e15 - spent then
                    return everything(1)
                end
                fit = true
            else
                fit = tokens * grain <= top - spent
            end
        elseif kind == 2 then
            local count = x[j]
            if x[3] < a[p + 3] or (x[3] == a[p + 3] and x[4] < a[p + 4]) then
                count = 0
            end
            y[j] = count
            fit = tokens <= a[p + 2] - count
        elseif kind == 3 then
            local current, previous = x[j], x[j + 1]
            local start_s, start_ns, period_s, period_ns = a[p + 3], a[p + 4], a[p + 5], a[p + 6]
            if x[3] < start_s or (x[3] == start_s and x[4] < start_ns) then
                local then_s, then_ns = start_s - period_s, start_ns - period_ns
                if then_ns < 0 then
                    then_s, then_ns = then_s - 1, then_ns + 1e9
                end
                if x[3] < then_s or (x[3] == then_s and x[4] < then_ns) then
                    current = 0
                end
                current, previous = 0, current
            end
            y[j], y[j + 1] = current, previous
            local room = a[p + 2] - current - tokens
            if room < 0 then
                fit = false
            elseif previous == 0 then
                fit = true
            else
                local left_s, left_ns = start_s + period_s - s, start_ns + period_ns - ns
                if left_ns < 0 then
                    left_s, left_ns = left_s - 1, left_ns + 1e9
                elseif left_ns >= 1e9 then
                    left_s, left_ns = left_s + 1, left_ns - 1e9
                end
                fit = weighs_within(previous, left_s, left_ns, room, period_s, period_ns)
            end
        else
            local list = lists[-i]
            -- Entries count while they are younger than the period, at this time or at the start of this slice.
            local then_s, then_ns = s - a[p + 3], ns - a[p + 4]
            if kind == 5 then
                then_s, then_ns = a[p + 5] - a[p + 3], a[p + 6] - a[p + 4]
            end
            if then_ns < 0 then
                then_s, then_ns = then_s - 1, then_ns + 1e9
            end
            local sum, gone = x[j], list.gone
            local held = list.stored + #list.added
            while gone < held do
                local e = entry(list, gone)
                if e[1] > then_s or (e[1] == then_s and e[2] > then_ns) then
                    break
                end
                sum, gone = sum - e[3], gone + 1
            end
            y[j], list.going, list.then_s, list.then_ns = sum, gone, then_s, then_ns
            fit = tokens <= a[p + 2] - sum
        end
        fits[i] = fit
        admitted = admitted and (fit or a[p + 1] == 0)
        is_charged = is_charged or fit
    end
    verdicts[#verdicts + 1] = admitted and '1' or '0'
    for i = 1, policies do
        local list = op == 0 and lists[-i]
        if list then
            -- Who is told when to come back, for this cost or for one token, needs the entries that have to go first.
            local p, sum, at = terms[i], y[slots[i]], list.going
            local limit, wanted = a[p + 2], 1
            if admitted and fits[i] then
                sum = sum + cost
            elseif not fits[i] and tokens <= limit then
                wanted = tokens
            end
            while sum > limit - wanted and at < list.stored do
                sum, at = sum - entry(list, at)[3], at + 1
            end
        end
    end
    if op > 0 or (admitted and is_charged and cost > 0) then
        x[3], x[4] = s, ns
        px = 0
        for i = 1, policies do
            local p, j = terms[i], slots[i]
            local kind, taken, ms = a[p], fits[i] and cost or 0, 0
            local charges = op == 0 or op % 2 == 1
            if op > 0 then
                taken = w[4 * i - 2] * cost
            end
            if kind == 1 then
                local grains = taken * a[p + 2]
                if not charges then
                    x[j] = math.max(0, y[j] - grains)
                elseif op > 0 and grains >= 9e15 - y[j] then
                    return everything(1)
                else
                    x[j] = y[j] + (op > 0 and chargeable(i, grains, y[j]) or grains)
                end
                ms = x[j] / a[p + 3] / 1e6 + ms_until(item, s, ns)
            elseif kind == 2 then
                if charges then
                    taken = chargeable(i, taken, y[j])
                elseif op == 2 or is_by_receipt(i, a[p + 3], a[p + 4]) then
                    taken = -math.min(taken, y[j])
                else
                    taken = 0
                end
                x[j] = y[j] + taken
                ms = ms_until(item, a[p + 5], a[p + 6])
            elseif kind == 3 then
                local current, previous = y[j], y[j + 1]
                local then_s, then_ns = a[p + 3] - a[p + 5], a[p + 4] - a[p + 6]
                if then_ns < 0 then
                    then_s, then_ns = then_s - 1, then_ns + 1e9
                end
                if charges then
                    if taken > 0 and previous > 0 and w and w[4 * i + 1] >= 0 then
                        return everything(1)
                    end
                    current = current + chargeable(i, taken, current)
                elseif op == 2 then
                    current, previous = math.max(0, current - taken), math.max(0, previous - math.max(0, taken - current))
                elseif is_by_receipt(i, a[p + 3], a[p + 4]) then
                    current = math.max(0, current - taken)
                elseif is_by_receipt(i, then_s, then_ns) then
                    previous = math.max(0, previous - taken)
                end
                x[j], x[j + 1] = current, previous
                ms = ms_until(item, a[p + 3] + 2 * a[p + 5], a[p + 4] + 2 * a[p + 6])
            else
                local list = lists[-i]
                local time_s, time_ns = s, ns
                if kind == 5 then
                    time_s, time_ns = a[p + 5], a[p + 6]
                end
                list.gone = list.going
                local counts = op > 2 and is_by_receipt(i, list.then_s, list.then_ns)
                    and (w[4 * i - 1] ~= list.then_s or w[4 * i] ~= list.then_ns)
                if taken > 0 and (op == 2 or counts) then
                    local sum = edited(i, list, y[j], taken)
                    local newest = list.added[#list.added]
                    if not sum or (kind == 4 and charges and #list.added > math.max(a[p + 2], 256)) then
                        return everything(1)
                    end
                    x[j], taken = sum, 0
                    if newest then
                        x[j + 1], x[j + 2] = newest[1], newest[2]
                    end
                else
                    taken = charges and chargeable(i, taken, y[j]) or 0
                    x[j] = y[j] + taken
                end
                local held = list.stored + #list.added
                if op > 0 and kind == 4 and held - list.gone >= math.max(a[p + 2], 256) and taken > 0 then
                    return everything(1)
                end
                if taken > 0 then
                    if held > list.gone and x[j + 1] == time_s and x[j + 2] == time_ns then
                        local newest = list.added[#list.added]
                        if newest then
                            newest[3] = newest[3] + taken
                        else
                            -- The newest one stored is taken out and put back with this call's.
                            local _, _, before = cmsgpack.unpack(redis.call('LINDEX', list.key, -1))
                            list.added[1] = {time_s, time_ns, before + taken}
                            list.stored, list.is_newest_out = list.stored - 1, true
                        end
                    else
                        list.added[#list.added + 1] = {time_s, time_ns, taken}
                        held = held + 1
                    end
                    x[j + 1], x[j + 2] = time_s, time_ns
                end
                x[j + 3] = held - list.gone
                ms = ms_until(item, x[j + 1] + a[p + 3], x[j + 2] + a[p + 4])
            end
            if x[j] >= 9e15 then
                return everything(1)
            end
            px = math.max(px, ms)
        end
    end
end

if px then
    x[1] = x[1] + 1
    px = math.floor(px) + 2 + a[4]
    redis.call('SET', KEYS[1], cmsgpack.pack(x), 'PX', px)
    for _, list in ipairs(lists) do
        if not raw or list.gone >= list.stored then
            redis.call('DEL', list.key)
        else
            if list.is_newest_out then
                redis.call('RPOP', list.key)
            end
            if list.gone > 0 then
                redis.call('LTRIM', list.key, list.gone, -1)
            end
        end
        for i = math.max(0, list.gone - list.stored) + 1, #list.added do
            redis.call('RPUSH', list.key, cmsgpack.pack(unpack(list.added[i])))
        end
        redis.call('PEXPIRE', list.key, px)
    end
end

local answer = {0, raw, table.concat(verdicts)}
for k, list in ipairs(lists) do
    for i = list.looked + 1, #list.raw do
        list.raw[i] = nil
    end
    answer[k + 3] = list.raw
end
return answer
