/*
 * Loading the host's configuration. A secret that it names is opened here and
 * handed to the broker unread; only `env:` is copied, from our environment
 * into a memfd.
 */
#include "daemon/config.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "conf/hostconf_setting.h"
#include "wire/address.h"

void
config_free(struct config *c)
{
	if (c == NULL)
		return;
	hostconf_free(c->host);
	free(c->dialler);
	free(c);
}

/* Who else may read or write it is looked at by the broker, which says so. */
static int
open_file(const char *path, int *ret_fd)
{
	AUTO_CLOSE int fd =
	    open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* What is missing or no file is told before anything changes. */
static int
check_cas(const char *path, const struct hostconf *h, struct err *err)
{
	for (size_t i = 0; i < h->ca_count; i++) {
		const struct hostconf_ca *a = &h->cas[i];
		AUTO_CLOSE int fd = -1;
		int rc = open_file(a->set.file, &fd);

		if (rc != 0)
			return err_at(err, path, a->file_line,
			    "[ca %s] file = %s: %s; write the CA's "
			    "certificate into it, as PEM",
			    a->set.name, a->set.file,
			    rc == -EINVAL ? "not a regular file"
					  : strerror(-rc));
	}
	return 0;
}

/* The file decides what every guest may do: only root may write it. */
static int
check_owner(const char *path, int fd, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return err_os(err, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_at(err, path, 0, "not a regular file");
	if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return err_at(err, path, 0,
		    "must belong to root and be writable by root only; "
		    "chown root and chmod go-w mend it");
	return 0;
}

static int
read_host(const char *path, struct hostconf **ret, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE char *text = NULL;
	size_t len;
	int rc;

	if (fd == -1)
		return err_os(err, -errno, "%s", path);
	rc = check_owner(path, fd, err);
	if (rc != 0)
		return rc;
	rc = fd_read_all(fd, HOSTCONF_TEXT_MAX_BYTES, &text, &len);
	if (rc != 0)
		return err_os(err, rc, "%s", path);
	return hostconf_parse(path, (struct span){ (const uint8_t *)text, len },
	    ret, err);
}

static int
find_group(struct config *c, const char *path, struct err *err)
{
	const struct group *gr = getgrnam(c->host->group);

	if (gr == NULL)
		return err_at(err, path, 0,
		    "group %s does not exist; groupadd --system %s makes it, "
		    "or name another in [daemon] group",
		    c->host->group, c->host->group);
	c->group = gr->gr_gid;
	return 0;
}

static int
make_plan(struct config *c, struct err *err)
{
	const struct hostconf *h = c->host;

	c->plan = net_plan_default();
	c->plan.guest_ip = h->guest_ip;
	c->plan.gateway_ip = h->gateway_ip;
	c->plan.prefix_len = h->prefix_len;
	c->plan.synthetic_net = h->synthetic_net;
	c->plan.synthetic_prefix_len = h->synthetic_prefix_len;
	return net_plan_check(&c->plan, err);
}

static struct message_range
range_of(uint32_t address, uint8_t bits)
{
	uint32_t mask = bits >= 32 ? UINT32_MAX : ~(UINT32_MAX >> bits);
	struct address a = address_from_ipv4(address & mask);
	struct message_range r = { .address.family = 4, .bits = bits };

	memcpy(r.address.bytes, a.bytes, sizeof(r.address.bytes));
	return r;
}

static int
make_dialler(struct config *c, struct err *err)
{
	const struct hostconf *h = c->host;
	struct message_dialler_config *d = calloc(1, sizeof(*d));

	c->dialler = d;
	if (d == NULL)
		return err_os(err, -ENOMEM, "configuration");
	d->limits = hostconf_dialler_limits(h);
	d->resolver_count = h->resolver_count;
	memcpy(d->resolvers, h->resolvers, sizeof(d->resolvers));
	d->proxy = h->proxy;
	d->own_ranges[d->own_range_count++] =
	    range_of(h->gateway_ip, h->prefix_len);
	d->own_ranges[d->own_range_count++] =
	    range_of(h->synthetic_net, h->synthetic_prefix_len);
	if (h->address_count > DIALLER_EXCEPTIONS_MAX)
		return err_at(err, NULL, 0, "more than %d [address] sections",
		    DIALLER_EXCEPTIONS_MAX);
	for (size_t i = 0; i < h->address_count; i++)
		d->exceptions[i] = h->addresses[i].exception;
	d->exception_count = (unsigned int)h->address_count;
	return 0;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN
#endif

/*
 * A limit above our own hard one, which a container may forbid to raise, would
 * keep every child from starting: they get what there is, and it is told.
 */
static void
cut_limit(uint64_t *value, __rlimit_resource_t what, const char *name)
{
	struct rlimit r;

	if (getrlimit(what, &r) == -1 || *value <= r.rlim_max)
		return;
	r.rlim_max = *value;
	if (setrlimit(what, &r) == 0)
		return;
	(void)getrlimit(what, &r);
	log_warn("config",
	    "limit=%s wanted=%" PRIu64 " given=%" PRIu64
	    ": this system allows no more",
	    name, *value, (uint64_t)r.rlim_max);
	*value = r.rlim_max;
}

static void
cut_limits(struct process_limits *l)
{
	cut_limit(&l->nofile, RLIMIT_NOFILE, "files");
	cut_limit(&l->memlock_bytes, RLIMIT_MEMLOCK, "locked-memory");
	cut_limit(&l->nproc, RLIMIT_NPROC, "processes");
	cut_limit(&l->as_bytes, RLIMIT_AS, "memory");
#ifdef HAS_ASAN
	/* Its shadow takes terabytes of addresses. */
	l->as_bytes = 0;
#endif
}

int
config_load(const char *path, struct config **ret, struct err *err)
{
	struct config *c = calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return err_os(err, -ENOMEM, "configuration");
	rc = read_host(path, &c->host, err);
	assert(rc != 0 || c->host != NULL);
	if (rc == 0)
		rc = check_cas(path, c->host, err);
	if (rc == 0)
		rc = find_group(c, path, err);
	if (rc == 0)
		rc = make_plan(c, err);
	if (rc == 0)
		rc = make_dialler(c, err);
	if (rc != 0) {
		config_free(c);
		return rc;
	}
	c->gate_process = hostconf_gate_process(c->host);
	c->service_process = hostconf_service_process(c->host);
	cut_limits(&c->gate_process);
	cut_limits(&c->service_process);
	*ret = c;
	return 0;
}

static const struct message_broker_credential *
find_credential(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->host->credential_count; i++)
		if (strcmp(c->host->credentials[i].def->name, name) == 0)
			return c->host->credentials[i].def;
	return NULL;
}

void
config_tell_credential(const struct config *c,
    struct message_api_credential *ret)
{
	const struct message_broker_credential *d =
	    find_credential(c, ret->name);

	ret->placeholder[0] = ret->region[0] = '\0';
	if (d == NULL)
		return;
	memcpy(ret->placeholder, d->placeholder, sizeof(ret->placeholder));
	for (unsigned int i = 0; i < d->setting_count; i++) {
		const struct message_broker_setting *s = &d->settings[i];

		if (d->apply == LEASE_APPLY_SIGV4 && ret->region[0] == '\0' &&
		    strcmp(s->name, "region") == 0 &&
		    strlen(s->text) < sizeof(ret->region))
			memcpy(ret->region, s->text, strlen(s->text) + 1);
	}
}

static socklen_t
metrics_address(const struct hostconf *h, struct sockaddr_storage *ret)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(h->metrics_port),
	};
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(h->metrics_port),
	};

	*ret = (struct sockaddr_storage){ 0 };
	if (h->metrics_address.family == 4) {
		memcpy(&in.sin_addr, h->metrics_address.bytes, 4);
		memcpy(ret, &in, sizeof(in));
		return sizeof(in);
	}
	memcpy(&in6.sin6_addr, h->metrics_address.bytes, 16);
	memcpy(ret, &in6, sizeof(in6));
	return sizeof(in6);
}

int
config_listen_metrics(const struct config *c, int *ret_fd)
{
	struct sockaddr_storage ss;
	socklen_t len = metrics_address(c->host, &ss);
	AUTO_CLOSE int fd =
	    socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (fd == -1 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1 ||
	    bind(fd, (const struct sockaddr *)&ss, len) == -1 ||
	    listen(fd, SOMAXCONN) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int
config_source_path(const char *text, char *buf, size_t size)
{
	enum hostconf_source source;
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	size_t used;
	int n = -1;

	if (hostconf_parse_source(span_of(text), &source, &used) != NULL)
		return -ENOENT;
	if (source == HOSTCONF_SOURCE_FILE)
		n = snprintf(buf, size, "%s", text + used);
	else if (source == HOSTCONF_SOURCE_CREDENTIAL && folder != NULL)
		n = snprintf(buf, size, "%s/%s", folder, text + used);
	else
		return -ENOENT;
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int
config_open_source(const char *text, int *ret_fd)
{
	enum hostconf_source source;
	size_t used;
	char path[512];
	int rc;

	if (hostconf_parse_source(span_of(text), &source, &used) != NULL)
		return -EINVAL;
	if (source == HOSTCONF_SOURCE_ENV) {
		const char *value = getenv(text + used);

		if (value == NULL)
			return -ENOENT;
		return fd_memfd_sealed("tapward-env", value, strlen(value),
		    ret_fd);
	}
	rc = config_source_path(text, path, sizeof(path));
	return rc == 0 ? open_file(path, ret_fd) : rc;
}
