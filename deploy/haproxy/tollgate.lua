-- Asks Tollgate about a request and leaves the answer in variables:
--   txn.tollgate_denied   whether it is refused
--   txn.tollgate_limit, txn.tollgate_policy, txn.tollgate_retry, txn.tollgate_body   what to tell the client
-- Without Tollgate requests pass.

local timeout_ms = 1000

local function first(headers, name)
    local values = headers and headers[name]
    return values and values[0]
end

core.register_action("tollgate", { "http-req" }, function(txn, url)
    -- Only what is told here is known to Tollgate; nothing is copied from the client.
    local answer = core.httpclient():get({
        url = url,
        timeout = timeout_ms,
        headers = {
            ["x-forwarded-for"] = { txn.f:src() },
            ["x-forwarded-method"] = { txn.f:method() },
            ["x-forwarded-host"] = { txn.f:req_hdr("host") or "" },
            ["x-forwarded-uri"] = { txn.f:url() },
            -- ["authorization"] = { "Bearer <token>" },
        },
    })
    if not answer or not first(answer.headers, "date") then
        return
    end
    -- What Tollgate cannot read (4xx) is denied too: the client may be why.
    local unread = answer.status >= 400 and answer.status < 500
    txn:set_var("txn.tollgate_denied", unread or first(answer.headers, "x-tollgate-denied") == "1")
    txn:set_var("txn.tollgate_body", answer.body or "")
    for variable, name in pairs({ limit = "ratelimit", policy = "ratelimit-policy", retry = "retry-after" }) do
        local value = first(answer.headers, name)
        if value then
            txn:set_var("txn.tollgate_" .. variable, value)
        end
    end
end, 1)
