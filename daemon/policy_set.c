/* Policies in the supervisor, see policy_set.h. */
#include "daemon/policy_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "conf/hostconf.h"

static int
read_ports(struct policy_set *p, const struct policy_pair *pair)
{
	uint16_t *ports = calloc(NET_PORTS_MAX, sizeof(ports[0]));
	size_t n;

	if (ports == NULL)
		return -ENOMEM;
	n = policy_ports(pair, ports, NET_PORTS_MAX);
	if (n > NET_PORTS_MAX) {
		free(ports);
		return -E2BIG;
	}
	free(p->ports);
	p->ports = ports;
	p->port_count = n;
	return 0;
}

static int
read_reserved(struct policy_set *p, const struct policy_pair *pair)
{
	size_t n = policy_tcp_all(pair, NULL, 0);
	AUTO_FREE struct policy_tcp *tcp = calloc(n + 1, sizeof(tcp[0]));
	struct net_reserved *reserved;

	if (n >= NET_RESERVED_MAX)
		return -E2BIG;
	reserved = calloc(n + 1, sizeof(reserved[0]));
	if (tcp == NULL || reserved == NULL) {
		free(reserved);
		return -ENOMEM;
	}
	(void)policy_tcp_all(pair, tcp, n);
	for (size_t i = 0; i < n; i++) {
		reserved[i].address = tcp[i].address;
		reserved[i].port = tcp[i].port;
	}
	reserved[n].address = NET_METADATA_IP;
	reserved[n].port = NET_METADATA_PORT;
	free(p->reserved);
	p->reserved = reserved;
	p->reserved_count = n;
	return 0;
}

int
policy_set_map(struct policy_set *p, const struct policy *ceiling)
{
	int rc = policy_map(p->image_fd, &p->policy);

	return rc == 0 ? policy_set_read(p, ceiling) : rc;
}

int
policy_set_read(struct policy_set *p, const struct policy *ceiling)
{
	const struct policy_pair pair = { p->policy, ceiling };
	int rc = read_ports(p, &pair);

	return rc == 0 ? read_reserved(p, &pair) : rc;
}

int
policy_set_unlearn(struct policy_set *p, const struct policy *ceiling)
{
	struct policy_set after = POLICY_SET_NONE;
	AUTO_FREE uint8_t *image = NULL;
	size_t len;
	int rc = policy_copy_unlearned(p->policy, &image, &len);

	if (rc == 0)
		rc = fd_memfd_sealed("tapward-policy", image, len,
		    &after.image_fd);
	if (rc == 0)
		rc = policy_set_map(&after, ceiling);
	if (rc != 0) {
		policy_set_done(&after);
		return rc;
	}
	after.text_fd = steal_fd(&p->text_fd);
	memcpy(after.digest, p->digest, sizeof(after.digest));
	memcpy(after.display_name, p->display_name, sizeof(after.display_name));
	policy_set_done(p);
	*p = after;
	return 0;
}

bool
policy_set_learns(const struct policy_set *p)
{
	return p->policy != NULL && policy_learns(p->policy);
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
