/*
 * The words of a verdict, shared by everything that asks for one or shows one.
 */
#ifndef TAPWARD_CONF_VERDICT_H
#define TAPWARD_CONF_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reason.h"
#include "wire/git.h"

/* Zeroed memory denies. Ordered: the larger is the wider. */
enum action {
	ACTION_DENY = 0,
	ACTION_ASK = 1,
	ACTION_ALLOW = 2,
};

/* What is spoken on a port. Zeroed memory is the most inspected. */
enum scheme {
	SCHEME_HTTPS = 0,
	SCHEME_HTTP,
	SCHEME_TCP,
};

enum tls_mode {
	TLS_MODE_INSPECT = 0,
	TLS_MODE_PASSTHROUGH,
};

/* Rights that widen; each holds only where both deciding rules say so. */
enum {
	WIDEN_WEBSOCKET = 1 << 0,
	WIDEN_REDIRECT = 1 << 1,
	WIDEN_ENCODED_SLASH = 1 << 2,
};

/* What a command of a push does to a reference. Zeroed memory is no command. */
enum git_operation {
	GIT_OPERATION_NONE,
	GIT_CREATE,
	GIT_UPDATE, /* to what descends from what it was */
	GIT_DELETE,
	GIT_FORCE, /* an update of which that was not shown */
	GIT_OPERATIONS
};

/* Longest name of a rule or of a credential, its NUL included. */
#define RULE_NAME_SIZE 64
/* Longest "file:line" we show, its NUL included. */
#define RULE_AT_SIZE 128

/* The two files of a verdict, as indices. */
enum { VERDICT_POLICY, VERDICT_CEILING, VERDICT_FILES };

/*
 * Of what the ceiling alone let through, since the sandbox learns: what the
 * policy says of it, which is always a denial.
 */
struct verdict_learned {
	enum reason reason; /* REASON_NONE: the policy says it itself */
	const char *rule;
	const char *file;
	uint32_t line;
	bool is_git; /* the rule is a [git] rule */
};

/* Strings borrow from the policy images that were asked. Never NULL. */
struct verdict {
	enum action action;
	enum reason reason; /* REASON_NONE when allowed */
	bool by_ceiling;    /* the ceiling refused; "ceiling-" goes before */
	const char *rule;   /* name of the deciding rule, "-" without one */
	const char *file;   /* display name of the file that decided */
	uint32_t line;      /* of the rule, or of [policy] without a rule */
	const char *say;    /* text of the rule for whoever is refused, "" */
	enum scheme scheme;
	enum tls_mode tls;
	uint32_t widen;         /* WIDEN_ bits that hold */
	const char *credential; /* to inject, "" for none */
	bool is_git;            /* the rule is a [git] rule */
	/*
	 * A push whose commands have to be judged one by one
	 * (policy_judge_push) before anything of it goes on.
	 */
	bool reads_push;
	/* The same of a body of LFS, which is judged as a push is. */
	bool reads_lfs;
	uint64_t
	    max_push; /* bytes of a push that one command may be in, or 0 */
	/*
	 * What it counts for: bit i is policy_budget_at(i) of that file. Of
	 * every rule that matches, not of the deciding one only. Zero in a
	 * denial.
	 */
	uint64_t budgets[VERDICT_FILES];
	struct verdict_learned learned; /* strings only with a reason */
};

const char *action_name(enum action a);
const char *scheme_name(enum scheme s);
/* "create", "update", "delete", "force". */
const char *git_operation_name(enum git_operation op);
/* The kind of the deciding rule's section: "allow", "git", ... */
const char *verdict_section(const struct verdict *v);
/* "ceiling-no-rule": the code with its prefix. buf holds 48 bytes. */
const char *verdict_code(const struct verdict *v, char buf[48]);

#endif
