/*
 * The denial tests: what a careful person tries before trusting a sandbox, from
 * inside a real guest. Each row says what was tried, what happened, and whether
 * that is right.
 */
#ifndef TAPWARD_CLI_VERIFY_H
#define TAPWARD_CLI_VERIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "cli/session.h"

#define VERIFY_FOUND_SIZE 256
/* The only thing that its policy allows: GET of /allowed/ over plain HTTP. */
#define VERIFY_HOST "verify.example"
#define VERIFY_POLICY                                                          \
	"[policy]\nversion = 1\n\n[allow verify]\nhost = " VERIFY_HOST "\n"    \
	"port = 80\nscheme = http\nmethod = GET\npath = /allowed/**\n"

/* What the rows share while they run. */
struct verify {
	const struct cli *cli;
	const char *name; /* of the sandbox */
	const json_t *about;
	struct session *session;
	int listener;    /* a service of this host, on every address */
	char port[8];    /* of it */
	char canary[64]; /* a file of this host */
	int memory_mib;
};

/* True: as it must be. found is what happened, for people. */
struct verify_row {
	const char *what;
	bool (*run)(struct verify *v, const struct verify_row *row,
	    char found[VERIFY_FOUND_SIZE]);
	const char *argv[6]; /* of a probe */
	const char *want;    /* beginnings of the right words, '|' between */
};

extern const struct verify_row verify_rows[];
extern const size_t verify_row_count;

#endif
