/*
 * The compiled policy: an image of offsets in one sealed memfd, mapped
 * read-only and shared by every process that asks it. This header is all that
 * the gate, the dialler, the broker and `tapward explain` see: they ask the
 * same functions. Parsing and compiling are in conf/compile.h, which only
 * tapward-compile and the command line link.
 */
#ifndef TAPWARD_CONF_POLICY_H
#define TAPWARD_CONF_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "conf/budget.h"
#include "conf/verdict.h"

struct policy;

/* A repo's policy text, and an image made of one with its presets. */
#define POLICY_TEXT_MAX_BYTES 262144
/* A ceiling may hold millions of names. */
#define POLICY_IMAGE_MAX_BYTES (256u << 20)

/*
 * Maps the image in fd (borrowed): header and extents are checked here in
 * constant time, every offset, count and index when it is followed, so that a
 * hostile image is read in bounds and what is not sound denies. fd must be a
 * sealed memfd (fd_is_sealed). -EBADMSG for an image that is not sound,
 * -EPROTO for another version, else 0 or -errno.
 */
int policy_map(int fd, struct policy **ret_policy);
/* The same over bytes in memory, which are borrowed: for tests and fuzzing. */
int policy_map_bytes(const void *ptr, size_t len, struct policy **ret_policy);
struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy *p); /* NULL is fine */

/* The display name the text was compiled under, and its SHA-256 in hex. */
const char *policy_file(const struct policy *p);
const char *policy_digest(const struct policy *p);
bool policy_is_ceiling(const struct policy *p);
/*
 * Of a policy: its sandbox learns. Of a ceiling: the host permits that. Both
 * are said when the text is compiled, by whoever may say so, and never in it.
 */
bool policy_learns(const struct policy *p);
/* The image of p for a sandbox that does not learn; the caller's. -ENOMEM. */
int policy_copy_unlearned(const struct policy *p, uint8_t **ret_image,
    size_t *ret_len);
size_t policy_rule_count(const struct policy *p);
size_t policy_host_count(const struct policy *p);

/*
 * Both policies that bind a sandbox. ceiling NULL: the host config says
 * `policy = none`. policy NULL: everything is denied, REASON_NO_POLICY.
 */
struct policy_pair {
	const struct policy *policy;
	const struct policy *ceiling;
};

/*
 * The sandbox learns, and the host permits it: what no rule of the policy
 * lets through is judged by the ceiling alone, inspected, without a
 * credential, and its verdict says so (struct verdict_learned). What a rule
 * of the policy denies, asks about or has ended stays so, as does a push that
 * [git] rules of the policy judge; budgets of the whole policy count. False
 * without a ceiling: nothing would bound it.
 */
bool policy_pair_learns(const struct policy_pair *pair);

/*
 * May the guest open a connection to host:port at all, and how is it to be
 * treated (scheme, tls)? Allow means that some request there could be
 * allowed. No I/O, no allocation; the wall clock only for rules with an end:
 * one that has come denies what the rule matches, as all budgets of all rules
 * that match count. A connection that is inspected is denied when all have.
 *
 * host is canonical (wire/host.h: lower case, no final dot). The stricter of
 * both verdicts counts. A scheme or tls mode that only one file's deciding
 * rule gives falls back: passthrough to inspect; http and tcp to a denial.
 */
struct verdict policy_judge_connect(const struct policy_pair *pair,
    const char *host, uint16_t port);

/*
 * The same for whoever connects to the origin: a host that only [ask] rules
 * name is to be asked about, though its guest's side is opened to hear what
 * there is to ask.
 */
struct verdict policy_judge_dial(const struct policy_pair *pair,
    const char *host, uint16_t port);

/*
 * What a question for a name is recorded with, since it names no port: the
 * widest that is said of 443 and of the ports that any rule of the policy
 * names. The name is answered whatever this says.
 */
struct verdict policy_judge_name(const struct policy_pair *pair,
    const char *host);

/* A request on a connection that was inspected. Spans are borrowed. */
struct policy_request {
	const char *host; /* canonical */
	uint16_t port;
	enum scheme scheme; /* SCHEME_HTTPS or SCHEME_HTTP */
	struct span method;
	struct span path;  /* as it will be forwarded, before '?' */
	struct span query; /* after '?', without it */
	bool has_query;
	bool is_websocket;
	/*
	 * From path_read() (wire/path.h), independent of each other. An allow
	 * or ask rule with a path never matches an ambiguous one, and one with
	 * an encoded slash only if it opted in. A deny rule with a path
	 * matches both: whatever the origin makes of it is denied.
	 */
	bool is_ambiguous;
	bool has_encoded_slash;
};

struct verdict policy_judge_request(const struct policy_pair *pair,
    const struct policy_request *req);

/* One command of a push. */
struct policy_command {
	enum git_operation operation;
	struct span ref;
	bool has_options; /* options of the push: what the origin makes of them
			   */
};

/*
 * One command of the push that req asks for; to be asked for each of them when
 * the verdict on req says reads_push. For a body of LFS (reads_lfs) that writes
 * it is an update, by force if it takes somebody's lock away; its reference may
 * be empty. A file without [git] rules for the host
 * and port says of it what it says of req.
 */
struct verdict policy_judge_push(const struct policy_pair *pair,
    const struct policy_request *req, const struct policy_command *cmd);

/*
 * For how many seconds the answer to a request that is allowed may let its
 * guest follow a redirect to host (canonical); 0: it may not. The deciding
 * rules of both files must say so, and the shorter time counts.
 */
uint32_t policy_redirect_s(const struct policy_pair *pair,
    const struct policy_request *req, const char *host);
/*
 * As policy_judge_request() (req NULL: policy_judge_dial()), for somebody
 * who holds a grant for the URL: what is denied is allowed if some rule of
 * each file has a redirect there, in the name of that of the policy and
 * without a credential. GET and HEAD of https on port 443 only. A deny rule,
 * and a rule to be asked, stand against it. A dialler asks it of host and
 * port alone, so a gate that makes grants up gets no further than patterns,
 * those of `lfs-host` too: of these a ceiling may hold none, if it allows the
 * dial.
 */
struct verdict policy_judge_redirect(const struct policy_pair *pair,
    const char *host, uint16_t port, const struct policy_request *req);

/*
 * What an answer about objects of LFS grants: one of their URLs, to be used
 * with one method. Rules by name, so that a new policy is asked again; "": no
 * [git] rule of that file let the question through, so that its other rules
 * must let the URL through.
 */
struct policy_lfs {
	bool writes; /* an upload, or what follows it */
	bool is_own; /* at the repository's own host and port */
	char rules[VERDICT_FILES][RULE_NAME_SIZE];
};

/*
 * May the answer to req, which is let through, grant an URL at host:port? Both
 * files have to say so: lfs = yes, a push if it writes, and an lfs-host if it
 * is elsewhere, which then is on port 443.
 */
bool policy_lfs_grants(const struct policy_pair *pair,
    const struct policy_request *req, const char *host, uint16_t port,
    bool writes, struct policy_lfs *ret);
/*
 * As policy_judge_request(), for somebody who holds that grant for the URL and
 * method of req. A deny rule, and one to be asked, stand against it. The rule's
 * credential goes along only where the URL is of LFS and of one of the rule's
 * repositories.
 */
struct verdict policy_judge_lfs(const struct policy_pair *pair,
    const struct policy_request *req, const struct policy_lfs *lfs);
/*
 * As policy_judge_request(), for the broker, who is not told of grants: what is
 * denied is allowed if a grant for it could be, at the repository's own host
 * and by a path of LFS.
 */
struct verdict policy_judge_object(const struct policy_pair *pair,
    const struct policy_request *req);

/*
 * Does any rule of the policy (as narrowed by the ceiling) on host:port name
 * a credential? Then guest-supplied credential headers are stripped there,
 * whichever rule matches.
 */
bool policy_has_credential_at(const struct policy_pair *pair, const char *host,
    uint16_t port);

/* A `scheme = tcp` host has a synthetic address of its own (DESIGN 4). */
struct policy_tcp {
	const char *host;
	uint16_t port;
	uint32_t address; /* IPv4, host byte order, from 198.18.0.0/16 */
};
/*
 * Those of the policy, and of the ceiling where the sandbox learns: at most
 * max are written, each once; the result says how many there are. Only exact
 * hosts.
 */
size_t policy_tcp_all(const struct policy_pair *pair, struct policy_tcp *ret,
    size_t max);
/* The address reserved for host, 0 without one. */
uint32_t policy_tcp_address(const struct policy_pair *pair, const char *host);
/* The one with this address and port, false without one. */
bool policy_tcp_find(const struct policy_pair *pair, uint32_t address,
    uint16_t port, struct policy_tcp *ret);

/* The i-th budget of the file, below BUDGETS_MAX; false past the last. */
struct policy_budget {
	const char *rule; /* "-": of the file as a whole */
	const char *file;
	uint32_t line;
	const char *say;
	struct budget budget;
};
bool policy_budget_at(const struct policy *p, size_t i,
    struct policy_budget *ret);

/*
 * Ports named by allow and ask rules of the policy, and of the ceiling where
 * the sandbox learns, ascending, each once: for nftables. At most ports_max
 * are written; the result says how many there are.
 */
size_t policy_ports(const struct policy_pair *pair, uint16_t *ret_ports,
    size_t ports_max);
/* Credentials the policy names, "" past the last. */
const char *policy_credential_at(const struct policy *p, size_t i);
/* The line of the first rule that names it, and that rule's file; 0: none. */
uint32_t policy_credential_line(const struct policy *p, const char *name,
    const char **ret_file);

#endif
