-- Decides requests for one key, in their order, charges what is admitted, changes what is to be changed without deciding, and
-- gives back what the row held before.
--
-- `ask_text` has for each request the nanosecond, the cost, what is done, the nanosecond of the receipt, and seven numbers for each
-- policy. What is done: 0 decide, 1 charge, 2 refund, 3 surcharge and 4 return by a receipt. The second number of a policy says of a
-- decision whether it binds, of anything else whether it is changed; the last what charges may bring it to (-1: anything).
--   1, binds, need, refill, top (-1: none), is never, most      bucket
--   2, binds, limit, start, end, 0, most                        fixed window
--   3, binds, limit, period, 0, 0, most                         weighted windows
--   4, binds, limit, period, width of a slice, is log, most     log (a slice is a nanosecond) and counters
-- `kept` has for each policy the same kind, how many numbers follow, and these: 1 spent; 2 count; 3 current, previous;
-- 4 times and counts. All numbers are whole and of any size, so nothing is rounded.
CREATE OR REPLACE FUNCTION tollgate_change(
    ask_tag BIGINT, ask_name TEXT, ask_shape BIGINT, policies INT, ask_text TEXT,
    OUT is_other BOOLEAN, OUT found_charged TEXT, OUT found_kept TEXT, OUT verdicts BOOLEAN[]
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    asks CONSTANT NUMERIC[] := ask_text::NUMERIC[];
    -- Of an ask:
    place INT := 1;
    ask_now NUMERIC;
    now_ns NUMERIC;
    cost NUMERIC;
    tokens NUMERIC;
    op INT;
    receipt NUMERIC;
    most NUMERIC;
    is_changed BOOLEAN;
    -- As many bits as nodes count with.
    u64 CONSTANT NUMERIC := 18446744073709551615;
    u128 CONSTANT NUMERIC := 340282366920938463463374607431768211455;
    passes BOOLEAN;
    is_charged BOOLEAN;
    -- Of a policy: its terms, what it remembers, what becomes of that.
    a NUMERIC; b NUMERIC; c NUMERIC;
    x NUMERIC; y NUMERIC; start NUMERIC;
    admits BOOLEAN;
    entry INT; first INT; last INT; i INT;
    piece NUMERIC[];
    -- The state, and the one that the ask makes of it.
    old tollgate_state%ROWTYPE;
    at_ns NUMERIC;
    state NUMERIC[] := '{}';
    fresh NUMERIC := 0;
    is_dirty BOOLEAN := FALSE;
    new_state NUMERIC[];
    new_fresh NUMERIC;
BEGIN
    is_other := FALSE;
    verdicts := '{}';
    LOOP
        SELECT * INTO old FROM tollgate_state WHERE tag = ask_tag AND name = ask_name FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO tollgate_state (tag, name, shape, kept, fresh_s, touched_s)
            VALUES (ask_tag, ask_name, ask_shape, '{}', 0, extract(epoch FROM now())::BIGINT)
            ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        -- Somebody else made the row just now: it is there to be locked, unless it is gone again.
    END LOOP;
    IF old.charged IS NOT NULL THEN
        IF old.shape <> ask_shape THEN
            is_other := TRUE;
            RETURN;
        END IF;
        found_charged := old.charged;
        found_kept := old.kept;
        at_ns := old.charged::NUMERIC;
        state := old.kept::NUMERIC[];
        fresh := old.fresh_s::NUMERIC * 1000000000;
    END IF;
    WHILE place <= cardinality(asks) LOOP
        ask_now := asks[place];
        now_ns := greatest(ask_now, at_ns);
        cost := asks[place + 1];
        tokens := greatest(cost, 1);
        op := asks[place + 2];
        receipt := asks[place + 3];
        place := place + 4;
        passes := TRUE;
        is_charged := FALSE;
        new_state := '{}';
        -- The terms of a window are those of the ask's own time: where that was before the newest charge, what was
        -- written by then stands.
        new_fresh := CASE WHEN at_ns > ask_now THEN fresh ELSE now_ns END;
        entry := 1;
        FOR policy IN 1..policies LOOP
            a := asks[place + 2];
            b := asks[place + 3];
            most := asks[place + 6];
            is_changed := op > 0 AND asks[place + 1] = 1;
            admits := TRUE;
            CASE asks[place]
            WHEN 1 THEN
                c := asks[place + 4];
                x := greatest(0, coalesce(state[entry + 2], 0) - (now_ns - coalesce(at_ns, now_ns)) * b);
                IF op = 0 THEN
                    admits := asks[place + 5] = 0 AND (c < 0 OR x + a <= c);
                    x := CASE WHEN admits THEN least(x + a, u128) ELSE x END;
                ELSIF is_changed AND op IN (1, 3) THEN
                    y := least(x + a, u128);
                    x := CASE WHEN most < 0 THEN y ELSE greatest(x, least(y, most)) END;
                ELSIF is_changed THEN
                    x := greatest(0, x - a);
                END IF;
                new_state := new_state || ARRAY[1, 1, x];
                new_fresh := greatest(new_fresh, now_ns + div(x + b - 1, b));
                entry := entry + 3;
            WHEN 2 THEN
                x := CASE WHEN at_ns >= b THEN coalesce(state[entry + 2], 0) ELSE 0 END;
                IF op = 0 THEN
                    admits := x + tokens <= a;
                    x := CASE WHEN admits THEN x + tokens ELSE x END;
                ELSIF is_changed AND op IN (1, 3) THEN
                    x := least(u64, x + least(tokens, CASE WHEN most < 0 THEN tokens ELSE greatest(0, most - x) END));
                ELSIF is_changed AND (op = 2 OR (receipt >= b AND now_ns < asks[place + 4])) THEN
                    x := greatest(0, x - tokens);
                END IF;
                new_state := new_state || ARRAY[2, 1, x];
                new_fresh := greatest(new_fresh, asks[place + 4]);
                entry := entry + 3;
            WHEN 3 THEN
                x := 0;
                y := 0;
                start := now_ns - mod(now_ns, b);
                IF at_ns >= start THEN
                    x := coalesce(state[entry + 2], 0);
                    y := coalesce(state[entry + 3], 0);
                ELSIF at_ns >= start - b THEN
                    y := coalesce(state[entry + 2], 0);
                END IF;
                IF op = 0 THEN
                    admits := y * (start + b - now_ns) + (x + tokens) * b <= a * b;
                    x := CASE WHEN admits THEN x + tokens ELSE x END;
                ELSIF is_changed AND op IN (1, 3) THEN
                    c := CASE WHEN most < 0 THEN tokens
                        ELSE greatest(0, most - div(y * (start + b - now_ns) + x * b + b - 1, b)) END;
                    x := least(u64, x + least(tokens, c));
                ELSIF is_changed AND op = 2 THEN
                    y := greatest(0, y - greatest(0, tokens - x));
                    x := greatest(0, x - tokens);
                ELSIF is_changed AND receipt >= start THEN
                    x := greatest(0, x - tokens);
                ELSIF is_changed AND receipt >= start - b THEN
                    y := greatest(0, y - tokens);
                END IF;
                new_state := new_state || ARRAY[3, 2, x, y];
                new_fresh := greatest(new_fresh, start + 2 * b);
                entry := entry + 4;
            ELSE
                start := now_ns - mod(now_ns, asks[place + 4]);
                first := entry + 2;
                last := entry + 1 + coalesce(state[entry + 1], 0)::INT;
                WHILE first < last AND state[first] <= start - b LOOP
                    first := first + 2;
                END LOOP;
                x := 0;
                FOR item IN first + 1..last BY 2 LOOP
                    x := x + state[item];
                END LOOP;
                piece := state[first:last];
                c := 0;
                -- The entry that is changed: of the receipt, where it still counts.
                y := start;
                IF op > 2 THEN
                    y := receipt - mod(receipt, asks[place + 4]);
                END IF;
                IF op = 0 THEN
                    admits := x + tokens <= a;
                    c := CASE WHEN admits THEN tokens ELSE 0 END;
                ELSIF is_changed AND op IN (1, 3) THEN
                    y := CASE WHEN y > start - b THEN y ELSE start END;
                    c := least(tokens, CASE WHEN most < 0 THEN tokens ELSE greatest(0, most - x) END);
                ELSIF is_changed AND op = 2 THEN
                    c := tokens;
                    WHILE c > 0 AND cardinality(piece) > 0 LOOP
                        i := cardinality(piece);
                        x := least(c, piece[i]);
                        piece[i] := piece[i] - x;
                        c := c - x;
                        IF piece[i] = 0 THEN
                            piece := piece[:i - 2];
                        END IF;
                    END LOOP;
                    c := 0;
                ELSIF is_changed AND y > start - b THEN
                    c := -tokens;
                END IF;
                IF c <> 0 THEN
                    i := cardinality(piece) - 1;
                    WHILE i > 0 AND piece[i] > y LOOP
                        i := i - 2;
                    END LOOP;
                    IF i > 0 AND piece[i] = y THEN
                        x := x - piece[i + 1];
                        piece[i + 1] := least(u64, greatest(0, piece[i + 1] + c));
                        x := x + piece[i + 1];
                        IF piece[i + 1] = 0 THEN
                            piece := piece[:i - 1] || piece[i + 2:];
                        END IF;
                    ELSIF c > 0 THEN
                        x := x + c;
                        piece := piece[:i + 1] || ARRAY[y, c] || piece[i + 2:];
                    END IF;
                    -- As long as newer entries reach the limit by themselves, the oldest of too many say nothing.
                    WHILE op IN (1, 3) AND asks[place + 5] = 1 AND cardinality(piece) > 2 * greatest(a, 256)
                            AND x - piece[2] >= a LOOP
                        x := x - piece[2];
                        piece := piece[3:];
                    END LOOP;
                END IF;
                new_state := new_state || ARRAY[4, cardinality(piece)::NUMERIC] || piece;
                new_fresh := greatest(new_fresh, start + b);
                entry := last + 1;
            END CASE;
            passes := passes AND (admits OR asks[place + 1] = 0);
            is_charged := is_charged OR admits;
            place := place + 7;
        END LOOP;
        verdicts := verdicts || passes;
        IF passes AND is_charged AND cost > 0 THEN
            at_ns := now_ns;
            state := new_state;
            fresh := new_fresh;
            is_dirty := TRUE;
        END IF;
    END LOOP;
    IF is_dirty THEN
        UPDATE tollgate_state SET shape = ask_shape, charged = at_ns::TEXT, kept = state::TEXT,
                fresh_s = least(ceil(fresh / 1000000000), 9223372036854775807)::BIGINT,
                touched_s = extract(epoch FROM now())::BIGINT
            WHERE tag = ask_tag AND name = ask_name;
    END IF;
END $$;
