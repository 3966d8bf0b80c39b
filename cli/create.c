/* See create.h. */
#include "cli/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/duration.h"
#include "cli/policy_file.h"
#include "conf/limits.h"
#include "conf/policy.h"
#include "vmm/vm_image.h"

/* A namespace by its path, or by the name that ip-netns(8) knows it by. */
static int
open_netns(const char *name, int *ret_fd, struct err *err)
{
	char path[512];
	int fd;

	if (strchr(name, '/') != NULL)
		(void)snprintf(path, sizeof(path), "%s", name);
	else
		(void)snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return err_os(err, -errno,
		    "%s (--netns takes a path, or a name of `ip netns`)", path);
	*ret_fd = fd;
	return 0;
}

static int
add_number(json_t *body, const char *key, const char *text, struct err *err)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v >= UINT32_MAX)
		return err_at(err, NULL, 0, "--%s takes a number", key);
	(void)json_object_set_new(body, key, json_integer((json_int_t)v));
	return 0;
}

static int
add_ttl(json_t *body, const char *text, struct err *err)
{
	uint32_t ttl_s;

	if (!duration_parse(text, &ttl_s))
		return err_at(err, NULL, 0,
		    "--ttl takes a duration: 90s, 30m, 12h, 7d");
	(void)json_object_set_new(body, "ttl", json_integer(ttl_s));
	return 0;
}

/* The policy's text and name into body. JSON wants UTF-8; the compiler ASCII.
 */
int
create_add_policy(json_t *body, const char *path, struct err *err)
{
	struct policy_file file;
	json_t *text;
	int rc = policy_file_read(path, POLICY_TEXT_MAX_BYTES, &file, err);

	if (rc != 0)
		return rc;
	text = json_stringn(file.text, file.len);
	if (text == NULL || strlen(file.text) != file.len)
		rc = err_at(err, file.path, 0,
		    "holds bytes that are not text: write it in ASCII");
	else
		(void)json_object_set(body, "policy", text);
	(void)json_object_set_new(body, "policy_name",
	    json_string(policy_file_name(&file)));
	json_decref(text);
	policy_file_done(&file);
	return rc;
}

/* What is learned from nothing begins with a policy that allows nothing. */
static void
add_empty_policy(json_t *body)
{
	(void)json_object_set_new(body, "policy",
	    json_string("[policy]\nversion = 1\n"));
	(void)json_object_set_new(body, "policy_name", json_string("none"));
}

static int
create_body(const struct create_options *o, json_t *body, int *ret_fd,
    struct err *err)
{
	int rc = create_add_policy(body, o->policy, err);

	if (rc == -ENOENT && o->learns) {
		add_empty_policy(body);
		rc = 0;
	}
	(void)json_object_set_new(body, "name", json_string(o->name));
	if (o->device != NULL)
		(void)json_object_set_new(body, "device",
		    json_string(o->device));
	if (o->ca != NULL)
		(void)json_object_set_new(body, "ca", json_string(o->ca));
	if (rc == 0 && o->owner != NULL)
		rc = add_number(body, "owner", o->owner, err);
	if (rc == 0 && o->ttl != NULL)
		rc = add_ttl(body, o->ttl, err);
	if (o->hold_fd != -1)
		(void)json_object_set_new(body, "tied", json_true());
	if (o->learns)
		(void)json_object_set_new(body, "learn", json_true());
	if (rc == 0 && o->netns != NULL)
		rc = open_netns(o->netns, ret_fd, err);
	return rc;
}

int
create_sandbox(const struct cli *cli, const struct create_options *o,
    struct reply *ret)
{
	AUTO_CLOSE int netns = -1;
	struct call q = { .method = "POST", .path = "/v1/sandboxes" };
	struct err err = { "" };
	json_t *body = json_object();
	int rc = create_body(o, body, &netns, &err);

	if (rc != 0) {
		json_decref(body);
		return cli_fail(&err, CLI_FAILED);
	}
	q.body = body;
	if (netns != -1)
		q.fds[q.fd_count++] = netns;
	else if (o->hold_fd != -1)
		q.fds[q.fd_count++] = o->hold_fd;
	rc = call_or_complain(cli, &q, ret);
	json_decref(body);
	return rc;
}

void
remove_sandbox(const struct cli *cli, const char *name)
{
	char path[SANDBOX_NAME_SIZE + 32];
	struct reply reply;

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	if (call_quietly(cli, "DELETE", path, &reply) == 0)
		reply_done(&reply);
}

/* As git writes the name of one in full. */
static bool
commit_is_valid(const char *text)
{
	size_t len = strlen(text);

	return (len == 40 || len == 64) &&
	    strspn(text, "0123456789abcdef") == len;
}

bool
guest_take_option(struct guest_options *g, int opt, const char *arg)
{
	switch (opt) {
	case GUEST_IMAGE:
		g->image = arg;
		return true;
	case GUEST_DRIVER:
		g->driver = arg;
		return true;
	case GUEST_CPUS:
		g->cpus = arg;
		return true;
	case GUEST_MEMORY:
		g->memory = arg;
		return true;
	case GUEST_DISK:
		g->disk = arg;
		return true;
	case GUEST_MAX_DURATION:
		g->max_duration = arg;
		return true;
	case GUEST_KVM:
		g->needs_kvm = true;
		return true;
	case GUEST_COMMIT:
		g->commit = arg;
		return commit_is_valid(arg);
	default:
		return false;
	}
}

bool
guest_has_options(const struct guest_options *g)
{
	return g->driver != NULL || g->cpus != NULL || g->memory != NULL ||
	    g->disk != NULL || g->max_duration != NULL || g->commit != NULL ||
	    g->needs_kvm;
}

/* "512M", "2G": rounded up to whole MiB. */
static int
add_size(json_t *body, const char *option, const char *key, const char *text,
    struct err *err)
{
	uint64_t bytes;

	if (text == NULL)
		return 0;
	if (!limit_parse(UNIT_BYTES, span_of(text), &bytes) || bytes == 0)
		return err_at(err, NULL, 0, "--%s takes a size: 512M, 2G, 1GiB",
		    option);
	(void)json_object_set_new(body, key,
	    json_integer((json_int_t)((bytes + (1 << 20) - 1) >> 20)));
	return 0;
}

static int
guest_body(const struct guest_options *g, json_t *body, struct err *err)
{
	uint32_t duration_s;
	int rc = add_size(body, "memory", "memory_mib", g->memory, err);

	if (rc == 0)
		rc = add_size(body, "disk", "disk_mib", g->disk, err);
	if (rc == 0 && g->cpus != NULL)
		rc = add_number(body, "cpus", g->cpus, err);
	if (rc != 0)
		return rc;
	if (g->driver != NULL)
		(void)json_object_set_new(body, "driver",
		    json_string(g->driver));
	if (g->needs_kvm)
		(void)json_object_set_new(body, "require_kvm", json_true());
	if (g->commit != NULL)
		(void)json_object_set_new(body, "commit",
		    json_string(g->commit));
	if (g->max_duration == NULL)
		return 0;
	if (!duration_parse(g->max_duration, &duration_s))
		return err_at(err, NULL, 0,
		    "--max-duration takes a duration: 90s, 30m, 12h");
	(void)json_object_set_new(body, "max_duration",
	    json_integer(duration_s));
	return 0;
}

static int
guest_ask(const struct cli *cli, const char *name, json_t *body,
    const struct vm_image *image, json_t **ret_about)
{
	char path[SANDBOX_NAME_SIZE + 32];
	struct call q = { .method = "PUT",
		.path = path,
		.body = body,
		.fds = { image->fds[VM_IMAGE_KERNEL],
		    image->fds[VM_IMAGE_MODULES], image->fds[VM_IMAGE_ROOT] },
		.fd_count = VM_IMAGE_FILES,
		.patience_s = CALL_PATIENCE_VM_S };
	struct reply reply;
	int rc;

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/vm", name);
	rc = call_or_complain(cli, &q, &reply);
	if (rc != 0)
		return rc;
	if (ret_about != NULL)
		*ret_about = json_incref(reply.json);
	reply_done(&reply);
	return 0;
}

int
guest_start(const struct cli *cli, const char *name,
    const struct guest_options *g, json_t **ret_about)
{
	struct vm_image image = VM_IMAGE_NONE;
	struct err err = { "" };
	json_t *body = json_object();
	int rc = guest_body(g, body, &err);

	if (rc == 0)
		rc = vm_image_open(g->image, &image, &err);
	if (rc == 0)
		(void)json_object_set_new(body, "image",
		    json_string(image.digest));
	rc = rc == 0 ? guest_ask(cli, name, body, &image, ret_about)
		     : cli_fail(&err, CLI_FAILED);
	vm_image_done(&image);
	json_decref(body);
	return rc;
}
