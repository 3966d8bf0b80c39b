/*
 * Questions to issuers, see fetch.h.
 */
#include "credential-broker/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/log.h"
#include "credential-broker/fetch_private.h"

#define AREA "fetch"
#define CONNECT_TIMEOUT_MS 4000

static void
fetch_free(struct fetch *t)
{
	LIST_REMOVE(t, link);
	fetch_loop_remove(t);
	dialler_lookup_cancel(t->lookup);
	if (t->deadline != NULL)
		event_free(t->deadline);
	if (t->easy != NULL)
		curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->resolve);
	secret_done(&t->request);
	secret_done(&t->answer);
	free(t);
}

/* Takes t: it is out of everything before its owner hears of it. */
static void
finish(struct fetch *t, enum mint_fault fault)
{
	t->result.fault = fault;
	fetch_circuit_note(t->circuit, fault);
	if (t->is_running && fetch_has_wanted_type(t))
		t->result.body = (struct span){ t->answer.ptr, t->answer_len };
	fetch_loop_remove(t);
	if (fault != MINT_OK)
		log_info(AREA, "host=%s port=%u status=%ld fault=%s", t->host,
		    (unsigned int)t->port, t->result.status,
		    mint_faults[fault].word);
	t->done(&t->result, t->arg);
	fetch_free(t);
}

void
fetch_finished(struct fetch *t, CURLcode code)
{
	if (code != CURLE_OK) {
		log_debug(AREA, "host=%s curl=%s", t->host,
		    curl_easy_strerror(code));
		t->answer_len = 0;
		finish(t, fetch_fault_of_code(t, code));
		return;
	}
	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE,
	    &t->result.status);
	finish(t, fetch_fault_of_status(t, t->result.status));
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct fetch *t = arg;

	(void)fd;
	(void)what;
	t->is_late = true;
	t->answer_len = 0;
	finish(t, MINT_TIMEOUT);
}

/* "host:port:address,address": the only addresses libcurl ever learns. */
static int
tell_addresses(struct fetch *t, const struct address *addresses,
    unsigned int count)
{
	char line[FETCH_HOST_SIZE + 16 + 8 * (ADDRESS_TEXT_SIZE + 3)];
	struct wr w = wr_init(line, sizeof(line));

	wr_fmt(&w, "%s:%u:", t->way_host, (unsigned int)t->way_port);
	for (unsigned int i = 0; i < count && i < 8; i++) {
		char text[ADDRESS_TEXT_SIZE];

		address_format(&addresses[i], text);
		wr_text(&w, i == 0 ? "" : ",");
		wr_text(&w, text);
	}
	wr_u8(&w, '\0');
	if (!wr_ok(&w))
		return -E2BIG;
	t->resolve = curl_slist_append(NULL, line);
	if (t->resolve == NULL ||
	    curl_easy_setopt(t->easy, CURLOPT_RESOLVE, t->resolve) != CURLE_OK)
		return -ENOMEM;
	return 0;
}

static void
on_resolved(const struct address *addresses, unsigned int count,
    enum dialler_fault why, void *arg)
{
	struct fetch *t = arg;

	t->lookup = NULL;
	if (count == 0) {
		log_info(AREA, "host=%s resolve=%s", t->way_host,
		    dialler_fault_word(why));
		finish(t, MINT_UNREACHABLE);
		return;
	}
	if (tell_addresses(t, addresses, count) != 0 || fetch_loop_add(t) != 0)
		finish(t, MINT_LOCAL);
}

/* One option that must hold, or the question is not asked. */
struct option {
	CURLoption name;
	long value;
};

static const struct option options[] = {
	{ CURLOPT_NOSIGNAL, 1 },
	{ CURLOPT_FOLLOWLOCATION, 0 },
	{ CURLOPT_MAXREDIRS, 0 },
	{ CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
	{ CURLOPT_HTTP09_ALLOWED, 0 },
	{ CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2 },
	{ CURLOPT_SSL_VERIFYPEER, 1 },
	{ CURLOPT_SSL_VERIFYHOST, 2 },
	{ CURLOPT_NETRC, CURL_NETRC_IGNORED },
	{ CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS },
	{ CURLOPT_TIMEOUT_MS, FETCH_TIMEOUT_MS },
	{ CURLOPT_MAXFILESIZE, FETCH_BODY_MAX_BYTES },
	/* The circuit and the deadline are ours; a dead one is found so. */
	{ CURLOPT_TCP_KEEPALIVE, 1 },
	{ CURLOPT_MAXAGE_CONN, 60 },
};

static CURLcode
set_options(struct fetch *t, bool is_https)
{
	CURL *e = t->easy;
	CURLcode rc = CURLE_OK;

	for (size_t i = 0;
	     i < sizeof(options) / sizeof(options[0]) && rc == CURLE_OK; i++)
		rc = curl_easy_setopt(e, options[i].name, options[i].value);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR,
		    is_https ? "https" : "http");
	if (rc == CURLE_OK)
		rc = fetch_proxy_set(t);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(e, CURLOPT_CAINFO, NULL);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	if (rc == CURLE_OK && is_https)
		rc = fetch_roots_set(t);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(e, CURLOPT_USERAGENT, "tapward");
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	return rc;
}

static CURLcode
set_callbacks(struct fetch *t)
{
	CURL *e = t->easy;
	CURLcode rc = curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, fetch_on_body);

	if (rc == CURLE_OK)
		rc = curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(e, CURLOPT_HEADERFUNCTION,
		    fetch_on_header);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	return rc;
}

static bool
add_header(struct fetch *t, const char *line)
{
	struct curl_slist *more = curl_slist_append(t->headers, line);

	if (more != NULL)
		t->headers = more;
	return more != NULL;
}

static int
set_headers(struct fetch *t, const struct fetch_request *req)
{
	/* No 100-continue: nothing that we send is large. */
	if (!add_header(t, "Expect:"))
		return -ENOMEM;
	if (req->body_type != NULL) {
		char type[128];

		(void)snprintf(type, sizeof(type), "Content-Type: %s",
		    req->body_type);
		if (!add_header(t, type))
			return -ENOMEM;
	}
	for (int i = 0; i < FETCH_HEADERS_MAX && req->headers[i] != NULL; i++)
		if (!add_header(t, req->headers[i]))
			return -ENOMEM;
	return curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers) ==
		CURLE_OK
	    ? 0
	    : -ENOMEM;
}

static int
set_body(struct fetch *t, const struct fetch_request *req)
{
	CURL *e = t->easy;

	if (req->body.ptr != NULL) {
		const int rc =
		    secret_set(&t->request, req->body.ptr, req->body.len);

		if (rc != 0)
			return rc;
		if (curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE,
			(long)t->request.len) != CURLE_OK ||
		    curl_easy_setopt(e, CURLOPT_POSTFIELDS,
			t->request.ptr == NULL
			    ? (const char *)""
			    : (const char *)t->request.ptr) != CURLE_OK)
			return -ENOMEM;
	}
	if (strcmp(req->method, "GET") == 0 && req->body.ptr == NULL)
		return 0;
	return curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, req->method) ==
		CURLE_OK
	    ? 0
	    : -ENOMEM;
}

/* 0 or -errno. */
static int
set_up(struct fetch *t, const struct fetch_request *req, bool is_https)
{
	static const struct timeval deadline = { FETCH_TIMEOUT_MS / 1000,
		FETCH_TIMEOUT_MS % 1000 * 1000L };
	int rc = secret_alloc(&t->answer, FETCH_BODY_MAX_BYTES);

	if (rc != 0)
		return rc;
	t->easy = curl_easy_init();
	t->deadline = evtimer_new(t->fetcher->base, on_deadline, t);
	if (t->easy == NULL || t->deadline == NULL ||
	    event_add(t->deadline, &deadline) == -1)
		return -ENOMEM;
	if (set_options(t, is_https) != CURLE_OK ||
	    set_callbacks(t) != CURLE_OK ||
	    curl_easy_setopt(t->easy, CURLOPT_URL, req->url) != CURLE_OK)
		return -EINVAL;
	rc = set_headers(t, req);
	if (rc == 0)
		rc = set_body(t, req);
	return rc;
}

/* A literal, or a name that lies in the cache: MINT_OK, or it is asked for. */
static enum mint_fault
find_addresses(struct fetch *t)
{
	struct dialler_cached known;
	struct address literal;

	if (strcmp(t->way_host, "localhost") == 0)
		literal = address_from_ipv4(0x7f000001);
	else if (!fetch_is_literal(t->way_host, &literal)) {
		if (!dialler_resolver_known(t->fetcher->resolver, t->way_host,
			&known)) {
			t->lookup = dialler_resolver_ask(t->fetcher->resolver,
			    t->way_host, RESOLVER_OURS, on_resolved, t);
			return t->lookup == NULL ? MINT_BUSY : MINT_OK;
		}
		if (known.count == 0)
			return MINT_UNREACHABLE;
		if (tell_addresses(t, known.addresses, known.count) != 0 ||
		    fetch_loop_add(t) != 0)
			return MINT_LOCAL;
		return MINT_OK;
	}
	return tell_addresses(t, &literal, 1) != 0 || fetch_loop_add(t) != 0
	    ? MINT_LOCAL
	    : MINT_OK;
}

struct fetch *
fetch_start(struct fetcher *f, const struct fetch_request *req,
    fetch_done *done, void *arg, enum mint_fault *ret_fault)
{
	struct fetch_target target;
	struct fetch *t;

	*ret_fault = MINT_LOCAL;
	if (f->config == NULL || fetch_read_target(req->url, &target) != NULL ||
	    (!target.is_https && !req->may_be_clear))
		return NULL;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	t->fetcher = f;
	t->done = done;
	t->arg = arg;
	t->port = target.port;
	t->want_type = req->want_type;
	memcpy(t->host, target.host, sizeof(t->host));
	LIST_INSERT_HEAD(&f->fetches, t, link);
	t->circuit = fetch_circuit(f, t->host, t->port);
	if (fetch_circuit_rests(t->circuit))
		*ret_fault = MINT_BUSY;
	else if (set_up(t, req, target.is_https) == 0)
		*ret_fault = find_addresses(t);
	if (*ret_fault == MINT_OK)
		return t;
	fetch_free(t);
	return NULL;
}

void
fetch_cancel(struct fetch *t)
{
	if (t != NULL)
		fetch_free(t);
}

int
fetcher_new(struct event_base *base, struct fetcher **ret)
{
	struct fetcher *f = calloc(1, sizeof(*f));
	int rc;

	if (f == NULL)
		return -ENOMEM;
	f->base = base;
	LIST_INIT(&f->fetches);
	rc = fetch_loop_new(f);
	if (rc == 0)
		rc = dialler_resolver_new(base, &f->resolver);
	if (rc != 0) {
		fetcher_free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void
fetcher_watch_resolvers(struct fetcher *f, void (*changed)(void *arg),
    void *arg)
{
	dialler_resolver_watch(f->resolver, changed, arg);
}

void
fetcher_tell_resolvers(const struct fetcher *f, struct chan *to)
{
	dialler_resolver_tell(f->resolver, to);
}

void
fetcher_free(struct fetcher *f)
{
	struct fetch *t, *next;

	if (f == NULL)
		return;
	for (t = LIST_FIRST(&f->fetches); t != NULL; t = next) {
		next = LIST_NEXT(t, link);
		fetch_free(t);
	}
	fetch_loop_free(f);
	dialler_resolver_free(f->resolver);
	secret_done(&f->proxy_password);
	free(f->config);
	fetch_roots_free(f);
	free(f);
}

void
fetch_end_all(struct fetcher *f)
{
	while (!LIST_EMPTY(&f->fetches))
		finish(LIST_FIRST(&f->fetches), MINT_UNREACHABLE);
}

int
fetcher_configure(struct fetcher *f, struct message_dialler_config *config,
    const struct message_dialler_fds *fds)
{
	struct message_dialler_config *before = f->config;
	int rc;

	/* Those on their way borrow the one before. */
	fetch_end_all(f);
	f->config = config;
	rc = dialler_resolver_configure(f->resolver, config, fds->roots);
	free(before);
	return rc != 0 ? rc : fetch_proxy_load(f, fds->password);
}
