/* What this host has, see probe.h. */
#include "daemon/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netfilter/net_host.h"
#include "netfilter/output_drops.h"

/* A dump that a change has torn is asked for again, so often. */
#define TRIES 5

static void
on_drop(const char *family, const char *table, const char *chain, void *arg)
{
	(void)arg;
	(void)printf("drops %s %s %s\n", family, table, chain);
}

/* A chain may then come twice, which says no more than once. */
static int
print_drops(void)
{
	int rc = -EINTR;

	for (int i = 0; rc == -EINTR && i < TRIES; i++)
		rc = output_drops_each(on_drop, NULL);
	return rc;
}

int
probe(void)
{
	struct net_host host;
	struct err err = { "" };
	int rc;

	if (geteuid() != 0) {
		(void)puts("sandbox only root can find out");
		return EXIT_FAILURE;
	}
	rc = net_host_init(&host, &err);
	if (rc != 0) {
		(void)printf("sandbox %s\n", err.text);
		return EXIT_FAILURE;
	}
	net_host_done(&host);
	(void)puts("sandbox ok");
	rc = print_drops();
	if (rc != 0)
		(void)printf("drops - - %s\n", strerror(-rc));
	return fflush(stdout) == 0 && rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
