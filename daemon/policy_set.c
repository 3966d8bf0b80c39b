/* Policies in the supervisor, see policy_set.h. */
#include "daemon/policy_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "conf/hostconf.h"

static int
read_ports(struct policy_set *p)
{
	p->ports = calloc(NET_PORTS_MAX, sizeof(p->ports[0]));
	if (p->ports == NULL)
		return -ENOMEM;
	p->port_count = policy_ports(p->policy, p->ports, NET_PORTS_MAX);
	return p->port_count > NET_PORTS_MAX ? -E2BIG : 0;
}

static int
read_reserved(struct policy_set *p)
{
	struct policy_tcp tcp;
	size_t n = 0;

	while (n < NET_RESERVED_MAX && policy_tcp_at(p->policy, n, &tcp))
		n++;
	if (n == NET_RESERVED_MAX)
		return -E2BIG;
	p->reserved = calloc(n + 1, sizeof(p->reserved[0]));
	if (p->reserved == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		(void)policy_tcp_at(p->policy, i, &tcp);
		p->reserved[i].address = tcp.address;
		p->reserved[i].port = tcp.port;
	}
	p->reserved[n].address = NET_METADATA_IP;
	p->reserved[n].port = NET_METADATA_PORT;
	p->reserved_count = n;
	return 0;
}

int
policy_set_map(struct policy_set *p)
{
	int rc = policy_map(p->image_fd, &p->policy);

	if (rc == 0)
		rc = read_ports(p);
	if (rc == 0)
		rc = read_reserved(p);
	return rc;
}

static bool
is_defined(const struct hostconf *host, const char *name)
{
	for (size_t i = 0; i < host->credential_count; i++)
		if (strcmp(host->credentials[i].def->name, name) == 0)
			return true;
	return false;
}

int
policy_set_check_credentials(const struct policy_set *p,
    const struct hostconf *host, struct err *err)
{
	const char *name;

	for (size_t i = 0; *(name = policy_credential_at(p->policy, i)) != '\0';
	     i++) {
		const char *file = policy_file(p->policy);
		uint32_t line;

		if (is_defined(host, name))
			continue;
		line = policy_credential_line(p->policy, name, &file);
		return err_at(err, file, line,
		    "this host defines no credential \"%s\": ask whoever runs "
		    "it, or remove the line",
		    name);
	}
	return 0;
}

struct net_opening
policy_set_opening(const struct policy_set *p, bool has_metadata)
{
	return (struct net_opening){
		.ports = p->ports,
		.port_count = p->port_count,
		.reserved = p->reserved,
		.reserved_count = p->reserved_count + (has_metadata ? 1 : 0),
	};
}

void
policy_set_done(struct policy_set *p)
{
	fd_close(&p->text_fd);
	fd_close(&p->image_fd);
	policy_unref(p->policy);
	free(p->ports);
	free(p->reserved);
	*p = POLICY_SET_NONE;
}

struct policy_set
policy_set_steal(struct policy_set *p)
{
	struct policy_set stolen = *p;

	*p = POLICY_SET_NONE;
	return stolen;
}
