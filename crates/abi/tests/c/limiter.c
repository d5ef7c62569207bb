/* Asks a limiter a few times and prints what it says. Exits with 1 where a call fails that must not, or the other way round. */

#include "tollgate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char CONTRACT[] =
    "contracts:\n"
    "  - id: users\n"
    "    key: [user]\n"
    "    policies: [{ name: daily, limit: 5, per: 1d, algorithm: token-bucket }]\n";

static const char *const VERDICTS[] = {"allow", "delay", "deny", "never"};

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, tollgate_last_error());
    return 1;
}

static tollgate_entry user(const char *name)
{
    tollgate_entry entry = {{"user", 4}, {NULL, TOLLGATE_NUL_TERMINATED}};
    entry.value.data = name;
    return entry;
}

static int ask(const tollgate_limiter *limiter, const char *name, uint64_t cost)
{
    tollgate_entry entry = user(name);
    tollgate_key key = {&entry, 1};
    tollgate_answer answer;
    if (tollgate_check(limiter, &key, cost, &answer) != TOLLGATE_CODE_OK) {
        return failed("check");
    }
    printf("%s cost %" PRIu64 ": %s, %" PRIu64 " left of %" PRIu64 " (%s/%s)\n", name, cost,
           VERDICTS[answer.verdict], answer.remaining, answer.limit, answer.contract, answer.policy);
    return 0;
}

static int settle(const tollgate_limiter *limiter)
{
    tollgate_entry entry = user("eve");
    tollgate_key key = {&entry, 1};
    tollgate_answer answer;
    tollgate_receipt *receipt;
    if (tollgate_reserve(limiter, &key, 5, &answer, &receipt) != TOLLGATE_CODE_OK || receipt == NULL) {
        return failed("reserve");
    }
    if (tollgate_settle(limiter, receipt, 1) != TOLLGATE_CODE_OK) {
        return failed("settle");
    }
    tollgate_receipt_free(receipt);
    if (tollgate_peek(limiter, &key, &answer) != TOLLGATE_CODE_OK) {
        return failed("peek");
    }
    printf("settled at 1: %" PRIu64 " left\n", answer.remaining);
    return 0;
}

static int refusals(const tollgate_limiter *limiter)
{
    tollgate_limiter *none = NULL;
    tollgate_answer answer;
    if (tollgate_open("contracts: 7", 12, NULL, &none) != TOLLGATE_CODE_BAD_CONTRACT || none != NULL) {
        return failed("open of a bad contract");
    }
    if (strstr(tollgate_last_error(), "line 1") == NULL) {
        return failed("the error does not say where");
    }
    if (tollgate_check(limiter, NULL, 1, &answer) != TOLLGATE_CODE_NULL) {
        return failed("check of null");
    }
    return 0;
}

int main(void)
{
    tollgate_limiter *limiter;
    int bad = 0;
    if (tollgate_abi_version() >> 16 != TOLLGATE_ABI_VERSION >> 16) {
        return failed("version");
    }
    if (tollgate_open(CONTRACT, sizeof CONTRACT - 1, NULL, &limiter) != TOLLGATE_CODE_OK) {
        return failed("open");
    }
    bad |= ask(limiter, "ada", 3);
    bad |= ask(limiter, "ada", 3);
    bad |= ask(limiter, "ada", 6);
    bad |= ask(limiter, "bob", 5);
    bad |= settle(limiter);
    bad |= refusals(limiter);
    tollgate_close(limiter);
    return bad;
}
