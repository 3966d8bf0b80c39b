/*
 * What a guest is shown when it is refused: status, fields and one line that
 * a person can act on, in the forms that clients print (facts about npm, git,
 * composer, docker and others decide each of them).
 */
#ifndef TAPWARD_PROXY_DENY_H
#define TAPWARD_PROXY_DENY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/reason.h"
#include "conf/verdict.h"

#define DENY_TEXT_MAX 200
#define DENY_BODY_MAX 2560

/*
 * Where the client prints what it is told. Only what it sees differs: nothing
 * is let through by any of them.
 */
enum deny_form {
	DENY_FORM_TEXT, /* text/plain */
	DENY_FORM_JSON,
	DENY_FORM_LFS,  /* JSON of the type that git-lfs reads */
	DENY_FORM_TYPE, /* 300, the line in Content-Type */
	DENY_FORM_PING, /* 401 without a challenge, then JSON */
};

/* What is refused and why. Everything is borrowed. */
struct deny {
	enum reason reason;
	bool by_ceiling;
	unsigned int status;        /* 0: the reason's own */
	unsigned int retry_after_s; /* of a 429; 0: a second */
	const char *rule;           /* "-" without one */
	const char *file;           /* "" without one */
	uint32_t line;
	const char *say;        /* the rule's text for whoever is refused, "" */
	const char *detail;     /* one more clause, printable; "" */
	const char *credential; /* whose lease was not to be had; "" */
	/* the request, as far as it was read */
	struct span method;
	enum scheme scheme;
	const char *host; /* "" when it is not known */
	uint16_t port;
	struct span path;
	enum deny_form form;
	/* git's own answer to a push (proxy/push_report.h), or empty. */
	struct span report;
	/*
	 * The origin did not look at it: in HTTP/2 the guest is told so
	 * instead, and may ask again by itself (RFC 9113 8.7).
	 */
	bool is_unseen;
};

/* With every pointer set. */
struct deny deny_init(enum reason reason);
struct deny deny_of(const struct verdict *v);

/* The answer, version-neutral. Texts end with a NUL. */
struct deny_answer {
	unsigned int status;
	char phrase[128];       /* reason phrase of HTTP/1.1 */
	char code[48];          /* of Tapward-Reason */
	char proxy_status[128]; /* RFC 9209 */
	bool has_retry_after;
	unsigned int retry_after_s;
	const char *content_type; /* of this struct, or static */
	char type[DENY_TEXT_MAX + 32];
	char body[DENY_BODY_MAX];
	size_t body_len;
	struct span report; /* instead of body, if it is not empty; borrowed */
};

/* What is sent; borrows from a. */
struct span deny_content(const struct deny_answer *a);

void deny_answer(const struct deny *d, struct deny_answer *ret);
/* The status that it goes out with. */
unsigned int deny_status(const struct deny *d);
/* By the table in deny.c, of a request's fields and path. */
struct http_fields;
enum deny_form deny_form_of(const struct http_fields *f, struct span path);

#endif
