/*
 * The denial tests: what a careful person tries before trusting a sandbox, from
 * inside a real guest. Each row says what was tried, what happened, and whether
 * that is right.
 *
 * A row passes only if it saw the refusal that it asks for: a probe that could
 * not be run, or a daemon that does not answer, fails it.
 */
#ifndef TAPWARD_CLI_VERIFY_H
#define TAPWARD_CLI_VERIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "cli/cli.h"
#include "cli/session.h"

#define VERIFY_FOUND_SIZE 256
#define VERIFY_HOST_SIZE 64
/* The only thing that its policy allows: GET of /allowed/ over plain HTTP. */
#define VERIFY_HOST "verify.example"
#define VERIFY_POLICY                                                          \
	"[policy]\nversion = 1\n\n[allow verify]\nhost = " VERIFY_HOST "\n"    \
	"port = 80\nscheme = http\nmethod = GET\npath = /allowed/**\n"
/*
 * The same with a credential that its host does not grant, or does not any
 * more: whatever else allows the request, it must not go without.
 */
#define VERIFY_CREDENTIAL "verify-revoked"
#define VERIFY_CREDENTIAL_POLICY                                               \
	VERIFY_POLICY "\n[allow lent]\nhost = " VERIFY_HOST                    \
		      "\ncredential = " VERIFY_CREDENTIAL "\n"
/* That of a second sandbox, which the first must not get the use of. */
#define VERIFY_NEIGHBOUR_HOST "neighbour.verify.example"
#define VERIFY_NEIGHBOUR_POLICY                                                \
	"[policy]\nversion = 1\n\n[allow verify]\nhost "                       \
	"= " VERIFY_NEIGHBOUR_HOST "\nport = 80\nscheme = http\n"

/* What the rows share while they run. */
struct verify {
	const struct cli *cli;
	const char *name; /* of the sandbox */
	bool is_fresh; /* made for this, with VERIFY_POLICY, and no other's */
	char neighbour[SANDBOX_NAME_SIZE];
	const json_t *about;
	struct session *session; /* NULL once the sandbox is removed */
	int listener;            /* a service of this host, on every address */
	char port[8];            /* of it */
	char canary[64];         /* a file of this host */
	char
	    unheard[VERIFY_HOST_SIZE]; /* a host that nobody asked for before */
};

/* When a row can be tried. */
enum verify_when {
	VERIFY_ALWAYS,
	VERIFY_POLICY_ONLY, /* it is about what VERIFY_POLICY allows */
	VERIFY_CURL_ONLY,   /* the same, by TLS: for an image with curl(1) */
	VERIFY_ALONE_ONLY,  /* it would harm what else runs in the guest */
	VERIFY_ROOT_ONLY,   /* the same, and nobody else may see it */
};

/* True: as it must be. found is what happened, for people. */
struct verify_row {
	const char *what;
	bool (*run)(struct verify *v, const struct verify_row *row,
	    char found[VERIFY_FOUND_SIZE]);
	const char *argv[6]; /* of a probe */
	const char *want;    /* beginnings of the right words, '|' between */
	enum verify_when when;
};

extern const struct verify_row verify_rows[];
extern const size_t verify_row_count;

/*
 * Runs a probe of the guest's agent (vmm/agent/probe.h); found is its word.
 * ret_end may be NULL. False, with the reason in found, if it could not be run.
 */
bool verify_probe(struct verify *v, const char *const *argv,
    uint32_t timeout_ms, char found[VERIFY_FOUND_SIZE],
    struct session_end *ret_end);
struct verify_program {
	const char *const *argv;
	uint32_t timeout_ms; /* 0: as long as a row may take */
	char *buf;           /* for the start of what it writes */
	size_t size;
};

/*
 * Runs a program of the guest; what it writes is the guest's. False, with the
 * reason in found, if it could not be run.
 */
bool verify_run(struct verify *v, const struct verify_program *p,
    char found[VERIFY_FOUND_SIZE], struct session_end *ret_end);
/* The guest's image has it. */
bool verify_has(struct verify *v, const char *path);

#endif
