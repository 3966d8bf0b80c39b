/*
 * Requests of local users. tapward-api is trusted to say who asks, and with
 * nothing else: each field and each descriptor is judged here.
 */
#include "daemon/api_requests_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/counters.h"
#include "daemon/jobs.h"
#include "daemon/learning.h"
#include "daemon/link_api.h"
#include "daemon/link_recorder.h"
#include "daemon/metrics.h"
#include "daemon/supervisor.h"

#ifndef TAPWARD_VERSION
#define TAPWARD_VERSION "0.1.0"
#endif

void
request_refuse(const struct request *r, enum api_result result,
    const char *text)
{
	link_api_refuse(r->sv, &r->to, result, text);
}

void
request_answer_ok(const struct request *r, int fd)
{
	const struct message_api_answer a = { .result = API_OK, .text = "" };

	link_api_answer(r->sv, &r->to, &a, fd);
}

/* fd: one that goes along, borrowed; -1 for none. */
static void
answer_sandbox(const struct request *r, int fd)
{
	struct message_api_sandbox about;
	const struct message_api_answer a = {
		.result = API_OK,
		.payload = API_PAYLOAD_SANDBOX,
		.text = "",
		.sandbox = &about,
	};

	sandbox_describe(r->sandbox, &about);
	link_api_answer(r->sv, &r->to, &a, fd);
}

bool
api_may(const struct state *state, uint32_t uid)
{
	return uid == 0 || uid == state->owner_uid;
}

static int
by_name(const void *a, const void *b)
{
	const struct message_api_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void
fill_entry(const struct sandbox *s, struct message_api_entry *ret)
{
	struct message_api_sandbox about;

	sandbox_describe(s, &about);
	memcpy(ret->name, about.name, sizeof(ret->name));
	ret->state = about.state;
	ret->device = about.device;
	ret->owner_uid = about.owner_uid;
	ret->created_wall_ms = about.created_wall_ms;
	ret->learns = about.learns;
}

/* Those that count: not what is still being made. */
static size_t
fill_all(const struct supervisor *sv, struct message_api_entry *ret)
{
	const struct sandbox *s;
	size_t n = 0;

	LIST_FOREACH(s, &sv->sandboxes, entry)
	if (s->net != NULL && s->phase != SANDBOX_CREATING)
		fill_entry(s, &ret[n++]);
	qsort(ret, n, sizeof(*ret), by_name);
	return n;
}

static void
do_list(struct request *r)
{
	AUTO_FREE struct message_api_entry *all =
	    calloc((size_t)r->sv->sandbox_count + 1, sizeof(*all));
	struct message_api_page page = { 0 };
	const struct message_api_answer a = {
		.result = API_OK,
		.payload = API_PAYLOAD_LIST,
		.text = "",
		.page = &page,
	};
	size_t n, first = 0;

	if (all == NULL) {
		request_refuse(r, API_FAILED, "out of memory");
		return;
	}
	n = fill_all(r->sv, all);
	while (first < n && strcmp(all[first].name, r->m->name) <= 0)
		first++;
	page.entries = all + first;
	page.has_more = n - first > API_PAGE_MAX;
	page.count = page.has_more ? API_PAGE_MAX : (uint32_t)(n - first);
	link_api_answer(r->sv, &r->to, &a, -1);
}

static void
do_show(struct request *r)
{
	AUTO_CLOSE int counts_fd = -1;

	counters_read(r->sandbox);
	/* Without them it is shown all the same. */
	(void)sandbox_open_counts(r->sandbox, O_RDONLY, &counts_fd);
	answer_sandbox(r, counts_fd);
}

/* A sealed text of a size that may be a policy. */
static bool
check_text(const struct request *r)
{
	struct stat st;

	if (r->fd_count < 1 || !fd_is_sealed(r->fds[0]) ||
	    fstat(r->fds[0], &st) == -1) {
		request_refuse(r, API_INVALID,
		    "no policy came with the request");
		return false;
	}
	if (st.st_size > POLICY_TEXT_MAX_BYTES) {
		request_refuse(r, API_INVALID,
		    "the policy is larger than 256 KiB; make it smaller, or "
		    "put long lists of hosts into the host's ceiling");
		return false;
	}
	if (r->m->display_name[0] == '\0') {
		request_refuse(r, API_INVALID, "the policy has no name");
		return false;
	}
	return true;
}

static unsigned int
count_of(const struct supervisor *sv, uint32_t uid)
{
	const struct sandbox *s;
	unsigned int n = 0;

	LIST_FOREACH(s, &sv->sandboxes, entry)
	if (s->state.owner_uid == uid)
		n++;
	return n;
}

static bool
check_room(const struct request *r)
{
	const struct supervisor *sv = r->sv;
	const uint64_t *limits = sv->config->host->limits;

	if (sandbox_find(sv, r->m->name) != NULL) {
		request_refuse(r, API_EXISTS,
		    "a sandbox of this name exists; choose another, or end it "
		    "with tapward rm");
		return false;
	}
	if (sv->sandbox_count >= limits[LIMIT_SANDBOXES]) {
		request_refuse(r, API_LIMIT,
		    "this host has as many sandboxes as [limits] sandboxes "
		    "allows; end one first");
		return false;
	}
	if (r->m->peer_uid != 0 &&
	    count_of(sv, r->m->peer_uid) >= limits[LIMIT_SANDBOXES_PER_OWNER]) {
		request_refuse(r, API_LIMIT,
		    "you have as many sandboxes as [limits] "
		    "sandboxes-per-owner allows; end one first");
		return false;
	}
	return true;
}

/*
 * A CA is shared among sandboxes of one owner, and only by name: one that is
 * not asked for is never shared.
 */
static bool
check_ca(const struct request *r)
{
	const char *id = r->m->ca[0] == '\0' ? r->m->name : r->m->ca;
	const struct sandbox *s;

	LIST_FOREACH(s, &r->sv->sandboxes, entry)
	{
		if (strcmp(s->state.ca_id, id) != 0)
			continue;
		if (s->state.owner_uid != r->m->peer_uid) {
			request_refuse(r, API_FORBIDDEN,
			    "this CA is another user's; choose another --ca");
			return false;
		}
		if (r->m->ca[0] == '\0') {
			request_refuse(r, API_EXISTS,
			    "another sandbox has a CA of this name; choose "
			    "another name, or share it with --ca");
			return false;
		}
	}
	return true;
}

static bool
check_owner(const struct request *r)
{
	if (r->m->owner_uid == API_OWNER_PEER ||
	    r->m->owner_uid == r->m->peer_uid || r->m->peer_uid == 0)
		return true;
	request_refuse(r, API_FORBIDDEN,
	    "only root may make a tap for another user");
	return false;
}

/* Who owns the user namespace that the network namespace belongs to. */
static int
netns_owner(int fd, uid_t *ret_uid)
{
	AUTO_CLOSE int user_fd = ioctl(fd, NS_GET_USERNS);

	if (user_fd == -1 || ioctl(user_fd, NS_GET_OWNER_UID, ret_uid) == -1)
		return -errno;
	return 0;
}

static bool
is_ours(const struct supervisor *sv, uint64_t inode)
{
	const struct sandbox *s;

	if (inode == sv->host.home_inode || pool_has_inode(&sv->pool, inode))
		return true;
	LIST_FOREACH(s, &sv->sandboxes, entry)
	if (s->state.netns_inode == inode)
		return true;
	return false;
}

/*
 * Where the other end of a veth goes. A name in /run/netns can be opened by
 * anybody, so that a caller could open it says little: the namespace must be
 * the caller's own, by its user namespace, unless the caller is root.
 */
static bool
check_netns(const struct request *r)
{
	uint64_t inode;
	uid_t owner = (uid_t)-1; /* nobody's */

	if (r->m->device != API_DEVICE_VETH) {
		if (r->fd_count == 1 || r->m->is_tied)
			return true;
		request_refuse(r, API_INVALID, "--netns is for --device veth");
		return false;
	}
	if (r->fd_count != 2 || netns_inode(r->fds[1], &inode) != 0) {
		request_refuse(r, API_INVALID,
		    "--device veth needs the network namespace of the guest; "
		    "name it with --netns");
		return false;
	}
	if (is_ours(r->sv, inode)) {
		request_refuse(r, API_FORBIDDEN,
		    "this is the namespace of the host or of a sandbox; make "
		    "one for the guest");
		return false;
	}
	if (r->m->peer_uid != 0 &&
	    (netns_owner(r->fds[1], &owner) != 0 || owner != r->m->peer_uid)) {
		request_refuse(r, API_FORBIDDEN,
		    "this namespace is not yours; only root may use others'");
		return false;
	}
	return true;
}

/* What a caller keeps the other end of; only a tap can be tied. */
static bool
check_hold(const struct request *r)
{
	struct stat st;

	if (!r->m->is_tied)
		return true;
	if (r->m->device == API_DEVICE_TAP && r->fd_count == 2 &&
	    fstat(r->fds[1], &st) == 0 &&
	    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return true;
	request_refuse(r, API_INVALID,
	    "a tied sandbox has a tap, and comes with a pipe or socket that "
	    "the caller holds");
	return false;
}

static bool
check_learning(const struct request *r)
{
	const char *fault = r->m->learns
	    ? learning_fault(r->sv, r->m->name, r->m->peer_uid)
	    : NULL;

	if (fault != NULL)
		request_refuse(r, API_FORBIDDEN, fault);
	return fault == NULL;
}

static void
do_create(struct request *r)
{
	struct create_fds fds = { -1, -1, -1 };

	if (r->m->name[0] == '\0') {
		request_refuse(r, API_INVALID, "a sandbox needs a name");
		return;
	}
	if (!r->sv->is_serving) {
		request_refuse(r, API_UNAVAILABLE,
		    "tapwardd is starting; try again");
		return;
	}
	if (!check_text(r) || !check_room(r) || !check_ca(r) ||
	    !check_owner(r) || !check_learning(r) || !check_hold(r) ||
	    !check_netns(r))
		return;
	fds.text = steal_fd(&r->fds[0]);
	if (r->fd_count == 2)
		*(r->m->is_tied ? &fds.hold : &fds.netns) =
		    steal_fd(&r->fds[1]);
	create_start(r->sv, r->m, &r->to, &fds);
}

static void
do_remove(struct request *r)
{
	if (r->sandbox->phase == SANDBOX_CREATING) {
		request_refuse(r, API_UNAVAILABLE, "it is still being made");
		return;
	}
	remove_sandbox(r->sandbox, "removed");
	request_answer_ok(r, -1);
}

static void
do_reload(struct request *r)
{
	if (!check_text(r))
		return;
	/* A guest that ends its gate again and again cannot keep a policy. */
	if (r->sandbox->phase != SANDBOX_RESTARTING &&
	    (r->sandbox->phase != SANDBOX_RUNNING ||
		r->sandbox->job.is_running)) {
		request_refuse(r, API_UNAVAILABLE,
		    "something else is being done to it; try again");
		return;
	}
	reload_start(r->sandbox, r->m, &r->to, steal_fd(&r->fds[0]));
}

static void
do_attach(struct request *r)
{
	const struct sandbox *s = r->sandbox;
	AUTO_CLOSE int fd = -1;
	int rc;

	if (r->m->in_netns) {
		request_answer_ok(r, sandbox_net_fd(s->net));
		return;
	}
	if (s->state.device != API_DEVICE_TAP) {
		request_refuse(r, API_INVALID,
		    "it has a veth, and no tap to attach");
		return;
	}
	rc = sandbox_net_open_tap(s->net, 0, &fd);
	if (rc == -EBUSY)
		request_refuse(r, API_EXISTS,
		    "its tap is attached already; a tap has one owner");
	else if (rc != 0)
		request_refuse(r, API_FAILED, strerror(-rc));
	else
		request_answer_ok(r, fd);
}

/* A descriptor that lines can be written to as they are taken. */
static bool
check_sink(const struct request *r)
{
	struct stat st;

	if (r->fd_count == 1 && fstat(r->fds[0], &st) == 0 &&
	    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return true;
	request_refuse(r, API_INVALID,
	    "no pipe or socket came with the request");
	return false;
}

static void
hand_over(const struct request *r, int rc)
{
	if (rc == 0)
		request_answer_ok(r, -1);
	else
		request_refuse(r, API_UNAVAILABLE,
		    "the recorder is being restarted; try again");
}

static void
do_log(struct request *r)
{
	struct message_recorder_read m = {
		.denied_only = r->m->denied_only,
		.follow = r->m->follow,
	};

	if (!check_sink(r))
		return;
	memcpy(m.sandbox, r->m->name, sizeof(m.sandbox));
	/* The name may have been another user's before: that is root's to read.
	 */
	if (r->m->peer_uid != 0)
		m.generation = r->sandbox->state.generation;
	hand_over(r, link_recorder_read(r->sv, &m, r->fds[0]));
}

static void
do_metrics(struct request *r)
{
	uint8_t buf[METRICS_MAX];
	struct wr w = wr_init(buf, sizeof(buf));

	if (!check_sink(r))
		return;
	metrics_write(&w, r->sv);
	/* Less than a pipe holds; whoever gave us another gets less. */
	if (fd_set_nonblock(r->fds[0], true) != 0 || !wr_ok(&w) ||
	    fd_write_all(r->fds[0], w.buf, w.len) != 0)
		log_warn("metrics", "not all was written");
	/* Without a recorder these are all there is, and say that it is down.
	 */
	(void)link_recorder_metrics(r->sv, r->fds[0]);
	request_answer_ok(r, -1);
}

static void
do_reload_host(struct request *r)
{
	if (r->m->peer_uid != 0)
		request_refuse(r, API_FORBIDDEN,
		    "only root may reload the host's configuration");
	else if (!r->sv->is_serving)
		request_refuse(r, API_UNAVAILABLE,
		    "tapwardd is starting; try again");
	else
		reloading_start(r->sv, &r->to);
}

static const struct {
	void (*take)(struct request *r);
	bool needs_sandbox; /* that is the peer's, or the peer is root */
} ops[API_OP_COUNT] = {
	[API_LIST] = { do_list, false },
	[API_SHOW] = { do_show, true },
	[API_CREATE] = { do_create, false },
	[API_REMOVE] = { do_remove, true },
	[API_RELOAD] = { do_reload, true },
	[API_ATTACH] = { do_attach, true },
	[API_LOG] = { do_log, false },
	[API_METRICS] = { do_metrics, false },
	[API_STATUS] = { request_status, false },
	[API_VM_START] = { request_vm_start, true },
	[API_VM_STOP] = { request_vm_stop, true },
	[API_SESSION] = { request_session, true },
	[API_RELOAD_HOST] = { do_reload_host, false },
	[API_ASKS] = { request_asks, false },
	[API_ANSWER] = { request_answer, false },
	[API_TOP] = { request_top, false },
	[API_TOP_ONE] = { request_top_one, true },
};

/* Finds it and checks that the peer may; refuses otherwise. */
static bool
find_for_peer(struct request *r)
{
	r->sandbox = sandbox_find(r->sv, r->m->name);
	if (r->sandbox == NULL) {
		request_refuse(r, API_NOT_FOUND,
		    "there is no such sandbox; tapward list shows all");
		return false;
	}
	if (!api_may(&r->sandbox->state, r->m->peer_uid)) {
		request_refuse(r, API_FORBIDDEN,
		    "it is another user's; only its owner and root may");
		return false;
	}
	if (r->sandbox->net == NULL || r->sandbox->phase == SANDBOX_CREATING) {
		request_refuse(r, API_UNAVAILABLE, "it is still being made");
		return false;
	}
	return true;
}

/* A log can be read when its sandbox is gone: by root. */
static bool
may_read_log(struct request *r)
{
	if (r->m->peer_uid == 0)
		return true;
	if (r->m->name[0] != '\0')
		return find_for_peer(r);
	request_refuse(r, API_FORBIDDEN,
	    "only root may read the log of all; name a sandbox of yours");
	return false;
}

void
api_request_take(struct supervisor *sv, const struct message_api_request *m,
    struct sandbox_request to, int *fds, unsigned int fd_count)
{
	struct request r = { sv, m, to, fds, fd_count, NULL };

	if (ops[m->op].needs_sandbox && !find_for_peer(&r))
		return;
	if (m->op == API_LOG && !may_read_log(&r))
		return;
	ops[m->op].take(&r);
}
