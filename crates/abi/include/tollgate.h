/* libtollgate: decides, for any key, whether a request may pass, must wait, or is refused.
 *
 * Any number of threads may use one limiter. Every function that can fail returns a code, and `tollgate_last_error` says in
 * words what to do. Pointers may be null only where this says so; null elsewhere is `TOLLGATE_CODE_NULL`, never a crash.
 *
 * Made by `cargo xtask header` from the sources; do not edit. */

#ifndef TOLLGATE_H
#define TOLLGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 The length of a text that ends with a NUL byte.
 */
#define TOLLGATE_NUL_TERMINATED SIZE_MAX

/*
 The most entries of a key.
 */
#define TOLLGATE_ENTRIES_MAX 64

/*
 The most bytes of a key: all names and values together.
 */
#define TOLLGATE_KEY_BYTES_MAX 65536

/*
 Bytes of a name in an answer, its NUL among them. Longer names are cut at a character.
 */
#define TOLLGATE_NAME_BYTES 64

/*
 The version of this interface: the major one times 65536, plus the minor one. A program that was compiled against
 one major version works with any later minor one.
 */
#define TOLLGATE_ABI_VERSION 65536

/*
 The most bytes of a contract.
 */
#define TOLLGATE_CONTRACT_BYTES_MAX 67108864

/*
 The most nodes that a limiter by leases is told.
 */
#define TOLLGATE_NODES_MAX 256

/*
 What became of a call. A request that is refused is no failure: the call is `TOLLGATE_CODE_OK` and the answer says
 so.
 */
enum tollgate_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   It is done.
   */
  TOLLGATE_CODE_OK = 0,
  /*
   A pointer is null that must not be.
   */
  TOLLGATE_CODE_NULL = 1,
  /*
   A text is not UTF-8.
   */
  TOLLGATE_CODE_UTF8 = 2,
  /*
   A text, a key or a list is longer than it may be.
   */
  TOLLGATE_CODE_TOO_LONG = 3,
  /*
   A key mixes a bare value with other entries.
   */
  TOLLGATE_CODE_BAD_KEY = 4,
  /*
   The contract is wrong; the error shows where.
   */
  TOLLGATE_CODE_BAD_CONTRACT = 5,
  /*
   A file cannot be read.
   */
  TOLLGATE_CODE_FILE = 6,
  /*
   The contract asks for other nodes or a disk, which this limiter does not have.
   */
  TOLLGATE_CODE_NEEDS_COMPANY = 7,
  /*
   A receipt is another limiter's, or was settled before.
   */
  TOLLGATE_CODE_BAD_RECEIPT = 8,
  /*
   The machine gives no randomness, or no thread.
   */
  TOLLGATE_CODE_MACHINE = 9,
  /*
   A limiter by leases of nodes cannot do this; ask a node to.
   */
  TOLLGATE_CODE_UNSUPPORTED = 10,
  /*
   A bug in the library. The limiter can still be used and closed.
   */
  TOLLGATE_CODE_PANICKED = 11,
  /*
   Options name no node, or something that cannot be.
   */
  TOLLGATE_CODE_BAD_OPTIONS = 12,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tollgate_code tollgate_code;
#else
typedef int32_t tollgate_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 May a request pass?
 */
enum tollgate_verdict
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   At once; the cost was taken.
   */
  TOLLGATE_VERDICT_ALLOW = 0,
  /*
   After `wait_ns`; the cost was taken.
   */
  TOLLGATE_VERDICT_DELAY = 1,
  /*
   No; nothing was taken. The same request would pass after `retry_after_ns` if nothing else came.
   */
  TOLLGATE_VERDICT_DENY = 2,
  /*
   Never: the cost is more than a policy can ever hold.
   */
  TOLLGATE_VERDICT_NEVER = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tollgate_verdict tollgate_verdict;
#else
typedef int32_t tollgate_verdict;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 How an answer was found.
 */
enum tollgate_path
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   In this process, by its own contract.
   */
  TOLLGATE_PATH_HERE = 0,
  /*
   In this process, by a lease of a node.
   */
  TOLLGATE_PATH_LEASE = 1,
  /*
   By a lease that the call waited for.
   */
  TOLLGATE_PATH_WAITED = 2,
  /*
   In this process, as a node said to refuse for a while, or as no lease is at hand and the call was not to wait.
   */
  TOLLGATE_PATH_DENIED = 3,
  /*
   By a node, as the key is not lent.
   */
  TOLLGATE_PATH_ASKED = 4,
  /*
   By nobody: no node answered, so it is as the options or the contract say.
   */
  TOLLGATE_PATH_FAILED = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tollgate_path tollgate_path;
#else
typedef int32_t tollgate_path;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 A limiter, by a contract or by leases of nodes. Any number of threads may use one at the same time.
 */
typedef struct tollgate_limiter tollgate_limiter;

/*
 What a request was charged, to be settled at the real cost. Any thread may settle and free it.
 */
typedef struct tollgate_receipt tollgate_receipt;

/*
 How a limiter is set up. All zero is the default.
 */
typedef struct tollgate_options {
  /*
   The most bytes that all keys together may take; 0 is one gibibyte.
   */
  uint64_t bytes_max;
  /*
   Counts in this process only, even where a contract asks for other nodes or a disk.
   */
  bool alone;
  /*
   Refuses a new key where there is no room, instead of forgetting the key closest to fresh.
   */
  bool refuse_when_full;
} tollgate_options;

/*
 Bytes of the caller: `length` of them, or up to a NUL where `length` is `TOLLGATE_NUL_TERMINATED`. The library only
 reads them, and only during the call.
 */
typedef struct tollgate_text {
  /*
   The first byte.
   */
  const char *data;
  /*
   How many.
   */
  size_t length;
} tollgate_text;

/*
 How a limiter by leases is set up. Whatever is zero is as usual; a text whose `data` is null is not given.
 */
typedef struct tollgate_client_options {
  /*
   Nodes to talk to: `host:port` or `unix:/path` of their RESP doors, each with `zone=` before it where it is in
   one.
   */
  const struct tollgate_text *nodes;
  /*
   How many, at most `TOLLGATE_NODES_MAX`.
   */
  size_t nodes_count;
  /*
   A token of the nodes, where they have any.
   */
  struct tollgate_text token;
  /*
   The zone this process is in: nodes of it are taken before others.
   */
  struct tollgate_text zone;
  /*
   A name that no other process has and that stays over restarts, so that a node frees at once what the last start
   held.
   */
  struct tollgate_text name;
  /*
   How long a call waits for a node; 0 is 200 milliseconds.
   */
  uint64_t timeout_ns;
  /*
   The most keys of which something is kept; 0 is 65536.
   */
  uint64_t keys_max;
  /*
   Admits requests of unknown keys when no node answers; else they are refused.
   */
  bool allow_when_away;
} tollgate_client_options;

/*
 One entry of a key: a name such as `user` and a value such as `42`, both UTF-8. An entry whose `name.data` is null
 is a bare value, any bytes at all; it is then the only entry, and stands for the one that a contract counts by.
 */
typedef struct tollgate_entry {
  /*
   What the entry is called.
   */
  struct tollgate_text name;
  /*
   Whom it names.
   */
  struct tollgate_text value;
} tollgate_entry;

/*
 Who or what a request is counted for: entries in order, at most `TOLLGATE_ENTRIES_MAX`.
 */
typedef struct tollgate_key {
  /*
   The first entry; may be null where there are none.
   */
  const struct tollgate_entry *entries;
  /*
   How many.
   */
  size_t count;
} tollgate_key;

/*
 The answer to one request. Spans that do not fit are `UINT64_MAX`. A limiter by leases does not know contracts: it
 says whether the request passes, how that was found, when it could pass, and as `remaining` what it holds of the key
 itself.
 */
typedef struct tollgate_answer {
  /*
   May it pass?
   */
  tollgate_verdict verdict;
  /*
   How that was found.
   */
  tollgate_path path;
  /*
   Whether it passes, at once or after a wait.
   */
  bool allowed;
  /*
   Whether a contract binds it; where none does it passes, and the rest is zero. A limiter by leases takes it that
   one does.
   */
  bool bound;
  /*
   Whether a policy that is not enforced would have refused.
   */
  bool shadowed;
  /*
   Limit of the policy that refused longest, or that has the least left. A bucket may hold more.
   */
  uint64_t limit;
  /*
   Whole tokens left in that policy.
   */
  uint64_t remaining;
  /*
   How long to hold the request back; zero unless the verdict is to delay.
   */
  uint64_t wait_ns;
  /*
   When a denied request could pass; zero unless the verdict is to deny.
   */
  uint64_t retry_after_ns;
  /*
   Until that policy is as if the key had never been seen.
   */
  uint64_t reset_after_ns;
  /*
   The contract of that policy, in UTF-8 with a NUL; empty where there is none.
   */
  char contract[TOLLGATE_NAME_BYTES];
  /*
   The policy that refused longest, or else the one with the least left.
   */
  char policy[TOLLGATE_NAME_BYTES];
} tollgate_answer;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 What the last call that failed on this thread has to say, in UTF-8; empty before the first. It is valid until the
 next call fails on this thread, and is not to be freed.
 */
const char *tollgate_last_error(void);

/*
 The version that the library has. Compare its upper half with that of `TOLLGATE_ABI_VERSION`.
 */
uint32_t tollgate_abi_version(void);

/*
 Makes a limiter by the text of a contract file, `length` bytes of UTF-8. `options` may be null. `*limiter` is null
 where this fails.

 Safety: `text` points at `length` bytes, `options` is null or points at options, `limiter` points at room for a pointer.
 */
tollgate_code tollgate_open(const char *text,
                            size_t length,
                            const struct tollgate_options *options,
                            struct tollgate_limiter **limiter);

/*
 Makes a limiter by a contract file. `path` is UTF-8 with a NUL; `options` may be null. `*limiter` is null where this
 fails.

 Safety: `path` points at a text with a NUL, `options` is null or points at options, `limiter` points at room for a pointer.
 */
tollgate_code tollgate_open_file(const char *path,
                                 const struct tollgate_options *options,
                                 struct tollgate_limiter **limiter);

/*
 Ends a limiter; null is nothing. No other call may use it meanwhile or afterwards. Receipts of it can still be
 freed.

 Safety: `limiter` is null, or came from a function that makes limiters and is used no more.
 */
void tollgate_close(struct tollgate_limiter *limiter);

/*
 Makes a limiter by leases of nodes, for contracts under `coordination: lease`: nodes lend it small buckets, and it
 decides in this process while they last. It does not wait for nodes: until one answers, requests are answered as for
 when none does. `*limiter` is null where this fails. Closing the limiter gives back what it holds.

 Safety: `options` points at options as they say of themselves, `limiter` at room for a pointer.
 */
tollgate_code tollgate_connect(const struct tollgate_client_options *options, struct tollgate_limiter **limiter);

/*
 May this key spend `cost` now? It is charged where it may. A cost of zero only asks. A limiter by leases waits for a
 node where no lease is at hand, at most for its timeout.

 Safety: The pointers are null or point at what their types say; `answer` at room for one.
 */
tollgate_code tollgate_check(const struct tollgate_limiter *limiter,
                             const struct tollgate_key *key,
                             uint64_t cost,
                             struct tollgate_answer *answer);

/*
 The same without ever waiting: where no lease is at hand, a limiter by leases refuses and asks for one.

 Safety: The pointers are null or point at what their types say; `answer` at room for one.
 */
tollgate_code tollgate_try_check(const struct tollgate_limiter *limiter,
                                 const struct tollgate_key *key,
                                 uint64_t cost,
                                 struct tollgate_answer *answer);

/*
 As `tollgate_check`, for a bare key: a text with a NUL, at most `TOLLGATE_KEY_BYTES_MAX` bytes.

 Safety: The pointers are null or point at what their types say; `key` at a text with a NUL, `answer` at room for one.
 */
tollgate_code tollgate_check_text(const struct tollgate_limiter *limiter,
                                  const char *key,
                                  uint64_t cost,
                                  struct tollgate_answer *answer);

/*
 How does this key stand? Nothing is charged: the answer is the one that a cost of 1 would get. A limiter by leases
 says what it holds, and asks nobody.

 Safety: The pointers are null or point at what their types say; `answer` at room for one.
 */
tollgate_code tollgate_peek(const struct tollgate_limiter *limiter,
                            const struct tollgate_key *key,
                            struct tollgate_answer *answer);

/*
 Asks as `tollgate_check` does and, where the request passes, gives a receipt by which `tollgate_settle` charges the
 real cost later. `*receipt` is null where it does not pass, cannot be settled (a node decided) or the call fails. A
 receipt is freed by `tollgate_receipt_free`.

 Safety: The pointers are null or point at what their types say; `answer` and `receipt` at room for one each.
 */
tollgate_code tollgate_reserve(const struct tollgate_limiter *limiter,
                               const struct tollgate_key *key,
                               uint64_t cost,
                               struct tollgate_answer *answer,
                               struct tollgate_receipt **receipt);

/*
 Charges the difference between what a request really cost and what it was charged. A receipt can be settled once, at
 the limiter that gave it; it still has to be freed.

 Safety: The pointers are null or point at what their types say.
 */
tollgate_code tollgate_settle(const struct tollgate_limiter *limiter,
                              const struct tollgate_receipt *receipt,
                              uint64_t actual);

/*
 Frees a receipt; null is nothing. What it was charged stays charged.

 Safety: `receipt` is null, or came from `tollgate_reserve` and is used no more.
 */
void tollgate_receipt_free(struct tollgate_receipt *receipt);

/*
 Charges without asking, for what has happened already; the key may go into debt. A limiter by leases cannot.

 Safety: The pointers are null or point at what their types say.
 */
tollgate_code tollgate_charge(const struct tollgate_limiter *limiter, const struct tollgate_key *key, uint64_t cost);

/*
 Gives tokens back. A limiter by leases cannot.

 Safety: The pointers are null or point at what their types say.
 */
tollgate_code tollgate_refund(const struct tollgate_limiter *limiter, const struct tollgate_key *key, uint64_t cost);

/*
 Forgets everything about a key. A limiter by leases cannot.

 Safety: The pointers are null or point at what their types say.
 */
tollgate_code tollgate_reset(const struct tollgate_limiter *limiter, const struct tollgate_key *key);

/*
 Gives back what a limiter by leases holds of a key, so that others can have it. Elsewhere it does nothing.

 Safety: The pointers are null or point at what their types say.
 */
tollgate_code tollgate_release(const struct tollgate_limiter *limiter, const struct tollgate_key *key);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TOLLGATE_H */
