-- Rows change in place: half of each page is kept for the next versions of its rows, and no index names what changes.
ALTER TABLE tollgate_state SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Decides requests for one key, in their order, charges what is admitted, and gives back what the row held before.
--
-- `ask_text` has for each request the nanosecond, the cost, and six numbers for each policy:
--   1, binds, need, refill, top (-1: none), is never      bucket
--   2, binds, limit, start, end, 0                        fixed window
--   3, binds, limit, period, 0, 0                         weighted windows
--   4, binds, limit, period, width of a slice, 0          log (a slice is a nanosecond) and counters
-- `kept` has for each policy the same kind, how many numbers follow, and these: 1 spent; 2 count; 3 current, previous;
-- 4 times and counts. All numbers are whole and of any size, so nothing is rounded.
CREATE OR REPLACE FUNCTION tollgate_decide(
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
    passes BOOLEAN;
    is_charged BOOLEAN;
    -- Of a policy: its terms, what it remembers, what becomes of that.
    a NUMERIC; b NUMERIC; c NUMERIC;
    x NUMERIC; y NUMERIC; start NUMERIC;
    admits BOOLEAN;
    entry INT; first INT; last INT;
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
        place := place + 2;
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
            CASE asks[place]
            WHEN 1 THEN
                c := asks[place + 4];
                x := greatest(0, coalesce(state[entry + 2], 0) - (now_ns - coalesce(at_ns, now_ns)) * b);
                admits := asks[place + 5] = 0 AND (c < 0 OR x + a <= c);
                IF admits THEN
                    -- As many bits as the nodes have.
                    x := least(x + a, 340282366920938463463374607431768211455);
                END IF;
                new_state := new_state || ARRAY[1, 1, x];
                new_fresh := greatest(new_fresh, now_ns + div(x + b - 1, b));
                entry := entry + 3;
            WHEN 2 THEN
                x := CASE WHEN at_ns >= b THEN coalesce(state[entry + 2], 0) ELSE 0 END;
                admits := x + tokens <= a;
                new_state := new_state || ARRAY[2, 1, CASE WHEN admits THEN x + tokens ELSE x END];
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
                admits := y * (start + b - now_ns) + (x + tokens) * b <= a * b;
                new_state := new_state || ARRAY[3, 2, CASE WHEN admits THEN x + tokens ELSE x END, y];
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
                FOR i IN first + 1..last BY 2 LOOP
                    x := x + state[i];
                END LOOP;
                admits := x + tokens <= a;
                piece := state[first:last];
                IF admits AND first < last AND state[last - 1] = start THEN
                    piece[cardinality(piece)] := state[last] + tokens;
                ELSIF admits THEN
                    piece := piece || ARRAY[start, tokens];
                END IF;
                new_state := new_state || ARRAY[4, cardinality(piece)::NUMERIC] || piece;
                new_fresh := greatest(new_fresh, start + b);
                entry := last + 1;
            END CASE;
            passes := passes AND (admits OR asks[place + 1] = 0);
            is_charged := is_charged OR admits;
            place := place + 6;
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

-- Changes a row if it is still the one that was read: `was` is the transaction that wrote it, NULL where there was none.
-- Without `new_charged` the row goes. Gives back whether it was.
CREATE OR REPLACE FUNCTION tollgate_swap(
    ask_tag BIGINT, ask_name TEXT, was TEXT,
    new_shape BIGINT, new_charged TEXT, new_kept TEXT, new_fresh BIGINT
) RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    second CONSTANT BIGINT := extract(epoch FROM now())::BIGINT;
BEGIN
    IF was IS NULL THEN
        INSERT INTO tollgate_state (tag, name, shape, charged, kept, fresh_s, touched_s)
            VALUES (ask_tag, ask_name, new_shape, new_charged, new_kept, new_fresh, second)
            ON CONFLICT DO NOTHING;
    ELSIF new_charged IS NULL THEN
        DELETE FROM tollgate_state WHERE tag = ask_tag AND name = ask_name AND xmin::TEXT = was;
    ELSE
        UPDATE tollgate_state SET shape = new_shape, charged = new_charged, kept = new_kept,
                fresh_s = new_fresh, touched_s = second
            WHERE tag = ask_tag AND name = ask_name AND xmin::TEXT = was;
    END IF;
    RETURN FOUND;
END $$;
