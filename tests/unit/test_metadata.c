/*
 * Metadata services: what SDKs of three clouds ask, and what else could be
 * asked. Through the responder alone, and through a gate.
 */
#include "inspect_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/metadata.h"
#include "wire/sigv4.h"

#define AKIA "AKIAPLACEHOLDER00000"
#define GCP_PH "ya29.placeholder-of-gcp"
#define AZURE_PH "eyJ0.placeholder-of-azure"
#define EMAIL "ci@acme-prod.iam.gserviceaccount.com"
#define CLIENT "11111111-2222-3333-4444-555555555555"
#define RESOURCE "https://management.azure.com/"

static const uint8_t key[METADATA_KEY_BYTES] = { 1, 2, 3 };

static const struct message_grant grants_of[] = {
	{ .port = 443,
	    .host_count = 1,
	    .hosts = { "s3.example.org" },
	    .placeholder = AKIA,
	    .metadata = { GRANT_CLOUD_AWS, "agent", "eu-west-1" } },
	{ .port = 443,
	    .host_count = 1,
	    .hosts = { "storage.example.org" },
	    .placeholder = GCP_PH,
	    .metadata = { GRANT_CLOUD_GCP, EMAIL, "acme-prod" } },
	{ .port = 443,
	    .host_count = 1,
	    .hosts = { "arm.example.org" },
	    .placeholder = AZURE_PH,
	    .metadata = { GRANT_CLOUD_AZURE, CLIENT, RESOURCE } },
	/* the second of its cloud, and one of none */
	{ .port = 443,
	    .host_count = 1,
	    .hosts = { "pubsub.example.org" },
	    .placeholder = "ya29.the-second",
	    .metadata = { GRANT_CLOUD_GCP, "two@x.iam.gserviceaccount.com",
		"x" } },
	{ .port = 443,
	    .host_count = 1,
	    .hosts = { "api.example.org" },
	    .placeholder = "ghp_of-none" },
};
#define ALL (sizeof(grants_of) / sizeof(grants_of[0]))

static struct grants *
tell(struct grants *g, const struct message_grant *m, size_t count)
{
	static uint8_t buf[GRANT_BODY_MAX_BYTES];
	const struct message_grants_whole whole = { (uint32_t)count };
	struct wr w;
	struct rd r;

	for (size_t i = 0; i < count; i++) {
		w = wr_init(buf, sizeof(buf));
		message_grant_encode(&w, &m[i]);
		r = rd_init(buf, w.len);
		assert_int_equal(grants_on_grant(g, &r), 0);
	}
	w = wr_init(buf, sizeof(buf));
	message_grants_whole_encode(&w, &whole);
	r = rd_init(buf, w.len);
	assert_int_equal(grants_on_whole(g, &r), 0);
	return g;
}

/* --- the responder -------------------------------------------------------- */

static uint64_t boot_ms = 1000000;

/* line: "GET /path"; fields: "Name: value\r\n" each. */
static struct metadata_answer
ask(const struct grants *g, const char *line, const char *host,
    const char *fields)
{
	static char text[4096];
	struct metadata_request ask = { .wall_ms = UINT64_C(1795000000000),
		.boot_ms = boot_ms };
	struct metadata_answer a;
	struct http_request req;
	struct span head;

	(void)snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
	    line, host, fields);
	head = span_of(text);
	assert_int_equal(http_request_parse_at(head, METADATA_ADDRESS, &req),
	    HTTP_OK);
	ask.method = req.method;
	ask.is_google_name = strcmp(req.authority.host, METADATA_GOOGLE) == 0;
	ask.path = req.path;
	if (req.has_query)
		ask.query = req.query;
	ask.fields = &req.fields;
	metadata_answer(g, key, &ask, &a);
	assert_true(a.len < sizeof(a.body));
	a.body[a.len] = '\0';
	return a;
}

#define AT METADATA_ADDRESS
#define GOOGLE "Metadata-Flavor: Google\r\n"
#define AZURE "Metadata: true\r\n"
#define V1 "/computeMetadata/v1/"
#define SA V1 "instance/service-accounts/"
#define ARM "/metadata/identity/oauth2/token?api-version=2018-02-01"
#define ROLES "/latest/meta-data/iam/security-credentials/"

struct row {
	const char *claim, *line, *host, *fields;
	unsigned int status;
	const char *body; /* a part of it */
};

static const struct row rows[] = {
	{ "gcp: is there one?", "GET /", AT, GOOGLE, 200, "computeMetadata/" },
	{ "as google-auth-library asks", "GET " V1 "instance", AT, GOOGLE, 200,
	    "service-accounts/" },
	{ "by its name", "GET " V1 "instance", METADATA_GOOGLE, GOOGLE, 200,
	    "" },
	{ "the project", "GET " V1 "project/project-id", METADATA_GOOGLE,
	    GOOGLE, 200, "acme-prod" },
	{ "the universe", "GET " V1 "universe/universe-domain", AT, GOOGLE, 200,
	    "googleapis.com" },
	{ "accounts", "GET " SA, AT, GOOGLE, 200, "default/\n" EMAIL "/\n" },
	{ "a token", "GET " SA "default/token", METADATA_GOOGLE, GOOGLE, 200,
	    "{\"access_token\":\"" GCP_PH "\",\"expires_in\":3599,"
	    "\"token_type\":\"Bearer\"}" },
	{ "a token for scopes",
	    "GET " SA "default/token?scopes=https://x,https://y", AT, GOOGLE,
	    200, GCP_PH },
	{ "a token by the account's name", "GET " SA EMAIL "/token", AT, GOOGLE,
	    200, GCP_PH },
	{ "which may be encoded",
	    "GET " SA "ci%40acme-prod.iam.gserviceaccount.com/token", AT,
	    GOOGLE, 200, GCP_PH },
	{ "as google-auth for Python asks", "GET " SA "default/?recursive=true",
	    AT, GOOGLE, 200,
	    "{\"aliases\":[\"default\"],\"email\":\"" EMAIL "\",\"scopes\":["
	    "\"https://www.googleapis.com/auth/cloud-platform\"]}" },
	{ "the list", "GET " SA "default/", AT, GOOGLE, 200, "token\n" },
	{ "the e-mail address", "GET " SA "default/email", AT, GOOGLE, 200,
	    EMAIL },
	{ "the scopes", "GET " SA "default/scopes", AT, GOOGLE, 200,
	    "cloud-platform\n" },
	{ "without its field", "GET " SA "default/token", AT, "", 403, "" },
	{ "with another value", "GET " SA "default/token", AT,
	    "Metadata-Flavor: google\r\n", 403, "" },
	{ "with the field twice", "GET " SA "default/token", AT, GOOGLE GOOGLE,
	    403, "" },
	{ "with the old field", "GET " SA "default/token", AT,
	    "X-Google-Metadata-Request: True\r\n", 403, "" },
	{ "through a proxy", "GET " SA "default/token", AT,
	    GOOGLE "X-Forwarded-For: 10.0.0.1\r\n", 403, "" },
	{ "as RFC 7239 has it", "GET " SA "default/token", AT,
	    GOOGLE "Forwarded: for=10.0.0.1\r\n", 403, "" },
	{ "a token that is signed", "GET " SA "default/identity?audience=x", AT,
	    GOOGLE, 404, "" },
	{ "of another account", "GET " SA "evil@x.example/token", AT, GOOGLE,
	    404, "" },
	{ "of one that begins like it", "GET " SA EMAIL "x/token", AT, GOOGLE,
	    404, "" },
	{ "keys of ssh", "GET " V1 "project/attributes/ssh-keys", AT, GOOGLE,
	    404, "" },
	{ "dots", "GET " SA "default/../default/token", AT, GOOGLE, 404, "" },
	{ "a slash that is encoded", "GET " SA "default%2Ftoken", AT, GOOGLE,
	    404, "" },
	{ "an older version", "GET /computeMetadata/v1beta1/instance", AT,
	    GOOGLE, 404, "" },
	{ "another method", "POST " SA "default/token", AT, GOOGLE, 405, "" },
	{ "HEAD", "HEAD " SA "default/token", AT, GOOGLE, 405, "" },

	{ "aws: without a session", "GET " ROLES, AT, "", 401, "" },
	{ "with one that we did not give", "GET " ROLES, AT,
	    "X-aws-ec2-metadata-token: 0000000000000000"
	    "00000000000000000000000000000000\r\n",
	    401, "" },
	{ "a session of no length", "PUT /latest/api/token", AT, "", 400, "" },
	{ "of nothing", "PUT /latest/api/token", AT,
	    "X-aws-ec2-metadata-token-ttl-seconds: 0\r\n", 400, "" },
	{ "of too long", "PUT /latest/api/token", AT,
	    "X-aws-ec2-metadata-token-ttl-seconds: 21601\r\n", 400, "" },
	{ "of a number that is none", "PUT /latest/api/token", AT,
	    "X-aws-ec2-metadata-token-ttl-seconds: 6h\r\n", 400, "" },
	{ "through a proxy", "PUT /latest/api/token", AT,
	    "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n"
	    "X-Forwarded-For: 10.0.0.1\r\n",
	    403, "" },
	{ "by GET", "GET /latest/api/token", AT, "", 405, "" },
	{ "of Google's name", "PUT /latest/api/token", METADATA_GOOGLE,
	    "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n", 404, "" },
	{ "what a user has left for it", "GET /latest/user-data", AT, "", 404,
	    "" },

	{ "azure: as @azure/identity asks",
	    "GET /metadata/identity/oauth2/token/?api-version=2018-02-01"
	    "&resource=https%3A%2F%2Fmanagement.azure.com",
	    AT, AZURE, 200,
	    "{\"access_token\":\"" AZURE_PH "\",\"client_id\":\"" CLIENT
	    "\",\"expires_in\":\"86399\",\"expires_on\":\"1795086399\","
	    "\"ext_expires_in\":\"86399\",\"not_before\":\"1795000000\","
	    "\"resource\":\"" RESOURCE "\",\"token_type\":\"Bearer\"}" },
	{ "as it is written", "GET " ARM "&resource=" RESOURCE, AT, AZURE, 200,
	    AZURE_PH },
	{ "of the application by its id",
	    "GET " ARM "&client_id=" CLIENT "&resource=" RESOURCE, AT, AZURE,
	    200, AZURE_PH },
	{ "of another", "GET " ARM "&client_id=1&resource=" RESOURCE, AT, AZURE,
	    400, "Identity not found" },
	{ "of an object", "GET " ARM "&object_id=1&resource=" RESOURCE, AT,
	    AZURE, 400, "Identity not found" },
	{ "without its field", "GET " ARM "&resource=" RESOURCE, AT, "", 400,
	    "invalid_request" },
	{ "with another value", "GET " ARM "&resource=" RESOURCE, AT,
	    "Metadata: yes\r\n", 400, "invalid_request" },
	{ "another resource", "GET " ARM "&resource=https://graph.example/", AT,
	    AZURE, 400, "invalid_resource" },
	{ "one that is longer", "GET " ARM "&resource=" RESOURCE "x", AT, AZURE,
	    400, "invalid_resource" },
	{ "none", "GET " ARM, AT, AZURE, 400, "invalid_resource" },
	{ "two", "GET " ARM "&resource=" RESOURCE "&resource=" RESOURCE, AT,
	    AZURE, 400, "invalid_resource" },
	{ "of no version",
	    "GET /metadata/identity/oauth2/token?resource=" RESOURCE, AT, AZURE,
	    400, "api-version" },
	{ "through a proxy", "GET " ARM "&resource=" RESOURCE, AT,
	    AZURE "X-Forwarded-For: 10.0.0.1\r\n", 403, "" },
	{ "the machine", "GET /metadata/instance?api-version=2021-02-01", AT,
	    AZURE, 404, "" },

	{ "nothing of a cloud", "GET /openstack/latest", AT, GOOGLE AZURE, 404,
	    "" },
};

static bool
hands_out(const struct metadata_answer *a)
{
	return strstr(a->body, AKIA) != NULL ||
	    strstr(a->body, GCP_PH) != NULL ||
	    strstr(a->body, AZURE_PH) != NULL ||
	    strstr(a->body, "ya29") != NULL || strstr(a->body, "ghp_") != NULL;
}

static void
answers_what_sdks_ask_and_nothing_else(void **state)
{
	struct grants *g = tell(grants_new(), grants_of, ALL);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		const struct metadata_answer a =
		    ask(g, row->line, row->host, row->fields);
		const bool is_google =
		    strstr(row->line, "computeMetadata") != NULL ||
		    strstr(row->line, " / ") != NULL;

		if (a.status != row->status ||
		    strstr(a.body, row->body) == NULL ||
		    (a.status != 200 && hands_out(&a)))
			fail_msg("%s: %s: %u %s", row->claim, row->line,
			    a.status, a.body);
		if (is_google && strcmp(a.value, "Google") != 0)
			fail_msg("%s: no Metadata-Flavor", row->claim);
	}
	grants_free(g);
}

static void
a_cloud_that_is_not_granted_is_not_there(void **state)
{
	struct grants *g = tell(grants_new(), grants_of + 4, 1);

	(void)state;
	assert_false(metadata_is_asked(g, SCHEME_HTTP, AT, 80));
	assert_false(metadata_is_asked(NULL, SCHEME_HTTP, AT, 80));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct metadata_answer a =
		    ask(g, rows[i].line, rows[i].host, rows[i].fields);

		if (a.status != 404 && a.status != 403)
			fail_msg("%s: %u", rows[i].claim, a.status);
		assert_false(hands_out(&a));
	}
	/* One of them is, the other two are not. */
	(void)tell(g, grants_of, 1);
	assert_true(metadata_is_asked(g, SCHEME_HTTP, AT, 80));
	assert_false(metadata_is_asked(g, SCHEME_HTTPS, AT, 80));
	assert_false(metadata_is_asked(g, SCHEME_HTTP, AT, 8080));
	assert_false(metadata_is_asked(g, SCHEME_HTTP, "api.example.org", 80));
	assert_int_equal(ask(g, "GET " SA "default/token", AT, GOOGLE).status,
	    404);
	assert_int_equal(ask(g, "GET " ARM "&resource=" RESOURCE, AT, AZURE)
			     .status,
	    404);
	assert_int_equal(ask(g, "GET " ROLES, AT, "").status, 401);
	grants_free(g);
}

static struct metadata_answer
ask_with(const struct grants *g, const char *line, const char *token)
{
	char fields[sizeof(((struct metadata_answer *)0)->body) + 64];

	(void)snprintf(fields, sizeof(fields),
	    "X-aws-ec2-metadata-token: %s\r\n", token);
	return ask(g, line, AT, fields);
}

static void
aws_gives_a_session_and_by_it_a_key_that_is_none(void **state)
{
	struct grants *g = tell(grants_new(), grants_of, ALL);
	struct metadata_answer a, session;
	char secret[SIGV4_PLACEHOLDER_SIZE], want[256];

	(void)state;
	session = ask(g, "PUT /latest/api/token", AT,
	    "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n"
	    "Content-Length: 0\r\n");
	assert_int_equal(session.status, 200);
	assert_string_equal(session.type, "text/plain");
	assert_string_equal(session.name,
	    "X-aws-ec2-metadata-token-ttl-seconds");
	assert_string_equal(session.value, "60");
	a = ask_with(g, "GET " ROLES, session.body);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body, "agent");
	a = ask_with(g, "GET " ROLES "agent", session.body);
	assert_int_equal(sigv4_placeholder_secret(AKIA, secret), 0);
	(void)snprintf(want, sizeof(want),
	    "\"AccessKeyId\":\"" AKIA "\",\"SecretAccessKey\":\"%s\","
	    "\"Token\":\"tapward-placeholder\","
	    "\"Expiration\":\"2026-11-18T17:06:40Z\"}",
	    secret);
	assert_non_null(strstr(a.body, want));
	assert_non_null(strstr(a.body, "{\"Code\":\"Success\","));
	assert_string_equal(a.type, "application/json");
	a = ask_with(g, "GET /latest/meta-data/placement/region", session.body);
	assert_string_equal(a.body, "eu-west-1");
	a = ask_with(g, "GET /latest/meta-data/placement/availability-zone",
	    session.body);
	assert_string_equal(a.body, "eu-west-1a");
	grants_free(g);
}

/* Another role, and what else a machine is told. */
static void
aws_gives_nothing_else(void **state)
{
	static const char *const lines[] = { "GET " ROLES "admin",
		"GET " ROLES "agent/", "GET /latest/meta-data/" };
	struct grants *g = tell(grants_new(), grants_of, ALL);
	struct metadata_answer session = ask(g, "PUT /latest/api/token", AT,
	    "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n");

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(ask_with(g, lines[i], session.body).status,
		    404);
	grants_free(g);
}

static void
a_session_of_aws_ends_and_cannot_be_made(void **state)
{
	struct grants *g = tell(grants_new(), grants_of, ALL);
	struct metadata_answer session = ask(g, "PUT /latest/api/token", AT,
	    "X-aws-ec2-metadata-token-ttl-seconds: 60\r\n");
	const uint64_t before = boot_ms;

	(void)state;
	for (size_t i = 0; i < session.len; i++) {
		char other[64];

		memcpy(other, session.body, session.len + 1);
		other[i] = other[i] == '0' ? '1' : '0';
		if (ask_with(g, "GET " ROLES, other).status != 401)
			fail_msg("byte %zu of it says nothing", i);
	}
	boot_ms += 59999;
	assert_int_equal(ask_with(g, "GET " ROLES, session.body).status, 200);
	boot_ms++;
	assert_int_equal(ask_with(g, "GET " ROLES, session.body).status, 401);
	boot_ms = before;
	grants_free(g);
}

/* --- through a gate ------------------------------------------------------- */

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = plain.example.org\nport = 80\n"                 \
	"scheme = http\n"

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static int
teardown(void **state)
{
	fix_free(*state);
	return 0;
}

#define TOKEN(host, fields)                                                    \
	"GET " SA "default/token HTTP/1.1\r\nHost: " host "\r\n" fields "\r\n"

struct gate_row {
	const char *claim, *request;
	bool is_granted, is_explicit;
	const char *answer; /* its first line begins so */
	bool is_given;
};

static const struct gate_row gate_rows[] = {
	{ "by the address", TOKEN(AT, GOOGLE), true, false, "HTTP/1.1 200 OK",
	    true },
	{ "by the address and port", TOKEN(AT ":80", GOOGLE), true, false,
	    "HTTP/1.1 200 OK", true },
	{ "by the name", TOKEN(METADATA_GOOGLE, GOOGLE), true, false,
	    "HTTP/1.1 200 OK", true },
	{ "through the explicit proxy",
	    "GET http://" AT SA "default/token HTTP/1.1\r\nHost: " AT
	    "\r\n" GOOGLE "\r\n",
	    true, true, "HTTP/1.1 200 OK", true },
	{ "without its field", TOKEN(AT, ""), true, false,
	    "HTTP/1.1 403 Forbidden", false },
	{ "a sandbox without a grant, by the address", TOKEN(AT, GOOGLE), false,
	    false, "HTTP/1.1 400 ", false },
	{ "and by the name", TOKEN(METADATA_GOOGLE, GOOGLE), false, false,
	    "HTTP/1.1 403 no rule names this host", false },
	{ "another port", TOKEN(AT ":81", GOOGLE), true, false, "HTTP/1.1 421 ",
	    false },
	{ "another spelling of the address", TOKEN("169.254.43518", GOOGLE),
	    true, false, "HTTP/1.1 400 ", false },
	{ "another address of that range", TOKEN("169.254.169.253", GOOGLE),
	    true, false, "HTTP/1.1 400 ", false },
	{ "two hosts", TOKEN(AT, "Host: " AT "\r\n" GOOGLE), true, false,
	    "HTTP/1.1 400 ", false },
	{ "a chunked body",
	    "GET " SA "default/token HTTP/1.1\r\nHost: " AT
	    "\r\nTransfer-Encoding: chunked\r\n" GOOGLE
	    "\r\n1\r\na\r\n0\r\n\r\n",
	    true, false, "HTTP/1.1 400 ", false },
	{ "a body",
	    "GET " SA "default/token HTTP/1.1\r\nHost: " AT
	    "\r\nContent-Length: 1\r\n" GOOGLE "\r\na",
	    true, false, "HTTP/1.1 400 ", false },
	{ "a method behind the method",
	    TOKEN(AT, GOOGLE "X-HTTP-Method-Override: PUT\r\n"), true, false,
	    "HTTP/1.1 400 ", false },
	{ "CONNECT to it",
	    "CONNECT " AT ":80 HTTP/1.1\r\nHost: " AT ":80\r\n\r\n", true, true,
	    "HTTP/1.1 400 ", false },
};

static void
is_reached_by_its_address_where_it_is_granted(void **state)
{
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(gate_rows) / sizeof(gate_rows[0]); i++) {
		const struct gate_row *row = &gate_rows[i];

		(void)tell(f->grants, grants_of + 1, row->is_granted ? 1 : 0);
		if (row->is_explicit)
			fix_open_explicit(f);
		else
			fix_open_http(f);
		peer_say(&f->guest, row->request);
		fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
		if (!peer_has(&f->guest, row->answer) ||
		    peer_has(&f->guest, GCP_PH) != row->is_given)
			fail_msg("%s: %.200s", row->claim, fix_guest_text(f));
		assert_int_equal(f->dial_count, 0);
		fix_close(f);
	}
}

static void
a_connection_is_kept_and_each_request_is_recorded(void **state)
{
	struct fix *f = *state;

	(void)tell(f->grants, grants_of + 1, 1);
	fix_open_http(f);
	peer_say(&f->guest, TOKEN(AT, GOOGLE));
	fix_until(f, peer_has(&f->guest, "}"));
	assert_true(peer_has(&f->guest, "Metadata-Flavor: Google\r\n"));
	assert_true(peer_has(&f->guest, "Cache-Control: no-store\r\n"));
	assert_true(peer_has(&f->guest, "Content-Type: application/json\r\n"));
	peer_clear(&f->guest);
	peer_say(&f->guest, TOKEN(AT, GOOGLE));
	fix_until(f, peer_has(&f->guest, "}"));
	assert_int_equal(f->record_count, 2);
	assert_string_equal(f->records[1].host, AT);
	assert_int_equal(f->records[1].r.status, 200);
	assert_non_null(strstr(f->records[1].detail, "metadata service"));
	/* What is taken back is gone at once. */
	(void)tell(f->grants, grants_of + 4, 1);
	peer_clear(&f->guest);
	peer_say(&f->guest, TOKEN(AT, GOOGLE));
	fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
	assert_true(peer_has(&f->guest, "HTTP/1.1 400 "));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_what_sdks_ask_and_nothing_else),
		cmocka_unit_test(a_cloud_that_is_not_granted_is_not_there),
		cmocka_unit_test(
		    aws_gives_a_session_and_by_it_a_key_that_is_none),
		cmocka_unit_test(aws_gives_nothing_else),
		cmocka_unit_test(a_session_of_aws_ends_and_cannot_be_made),
		cmocka_unit_test_setup_teardown(
		    is_reached_by_its_address_where_it_is_granted, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    a_connection_is_kept_and_each_request_is_recorded, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
