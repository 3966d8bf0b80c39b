/*
 * Metadata services, see metadata.h. Paths, fields and answers as the clouds
 * document them, and as their own SDKs ask.
 */
#include "proxy/metadata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/message_lease.h"
#include "wire/sigv4.h"
#include "wire/token.h"

#define PORT 80
#define TEXT "text/plain"
#define JSON "application/json" /* google-auth for Python compares it whole */

/* SDKs ask again long before; what they hold is the same then. */
#define AWS_LIFE_S 21600
#define GCP_LIFE_S 3599
#define AZURE_LIFE_S 86399
/* A session token of AWS: when it ends, and a tag. */
#define TOKEN_TAG_BYTES 16
#define TOKEN_LEN (16 + 2 * TOKEN_TAG_BYTES)
#define TOKEN_LIFE_MAX_S 21600

#define ROLES "/latest/meta-data/iam/security-credentials/"
#define PLACEMENT "/latest/meta-data/placement/"
#define GCE "/computeMetadata/v1/"
#define ACCOUNTS GCE "instance/service-accounts/"
#define INSTANCE "service-accounts/\n"
#define SCOPE "https://www.googleapis.com/auth/cloud-platform"

struct context {
	const struct metadata_request *req;
	const uint8_t *key;
	struct grants_metadata is;
	struct metadata_answer *out;
	struct wr w; /* into out->body */
};

/* --- answers -------------------------------------------------------------- */

static void
refuse(struct context *c, unsigned int status, const char *phrase)
{
	c->out->status = status;
	c->out->phrase = phrase;
	c->out->type = TEXT;
	c->w = wr_init(c->out->body, sizeof(c->out->body));
	wr_fmt(&c->w, "%s\n", phrase);
}

/* As 2026-11-30T05:00:00Z. */
static void
write_time(uint64_t wall_ms, char ret[CLOCK_TEXT_SIZE])
{
	(void)clock_text(wall_ms, ret);
	memcpy(strchr(ret, '.'), "Z", 2);
}

static const struct http_field *
only_field(const struct context *c, const char *name)
{
	const struct http_fields *f = c->req->fields;

	return http_field_find(f, name, 1) != NULL
	    ? NULL
	    : http_field_find(f, name, 0);
}

/* --- AWS: IMDS version 2 -------------------------------------------------- */

static int
token_tag(const struct context *c, const char *end, char ret[DIGEST_HEX_SIZE])
{
	uint8_t digest[DIGEST_BYTES];
	int rc = digest_hmac((struct span){ c->key, METADATA_KEY_BYTES },
	    (struct span){ (const uint8_t *)end, 16 }, digest);

	if (rc == 0)
		digest_hex(digest, ret);
	return rc;
}

static void
aws_token(struct context *c)
{
	const struct http_field *f =
	    only_field(c, "x-aws-ec2-metadata-token-ttl-seconds");
	char end[24], tag[DIGEST_HEX_SIZE];
	uint64_t life_s;

	if (f == NULL || !token_decimal(f->value, TOKEN_LIFE_MAX_S, &life_s) ||
	    life_s == 0) {
		refuse(c, 400, "Bad Request");
		return;
	}
	(void)snprintf(end, sizeof(end), "%016" PRIx64,
	    c->req->boot_ms + life_s * 1000);
	if (token_tag(c, end, tag) != 0) {
		refuse(c, 500, "Internal Server Error");
		return;
	}
	wr_fmt(&c->w, "%s%.*s", end, 2 * TOKEN_TAG_BYTES, tag);
	(void)snprintf(c->out->value, sizeof(c->out->value), "%" PRIu64,
	    life_s);
	c->out->name = "X-aws-ec2-metadata-token-ttl-seconds";
}

static bool
read_hex(const char *text, uint64_t *ret)
{
	uint64_t n = 0;

	for (int i = 0; i < 16; i++) {
		const int digit = ascii_hex((uint8_t)text[i]);

		if (digit < 0)
			return false;
		n = n << 4 | (uint64_t)digit;
	}
	*ret = n;
	return true;
}

static bool
aws_may(struct context *c)
{
	const struct http_field *f = only_field(c, "x-aws-ec2-metadata-token");
	char text[TOKEN_LEN + 1], tag[DIGEST_HEX_SIZE];
	uint64_t end;

	if (f == NULL || f->value.len != TOKEN_LEN)
		return false;
	memcpy(text, f->value.ptr, TOKEN_LEN);
	text[TOKEN_LEN] = '\0';
	return token_tag(c, text, tag) == 0 &&
	    CRYPTO_memcmp(text + 16, tag, (size_t)2 * TOKEN_TAG_BYTES) == 0 &&
	    read_hex(text, &end) && c->req->boot_ms < end;
}

static void
aws_role(struct context *c)
{
	wr_text(&c->w, c->is.identity);
}

static void
aws_region(struct context *c)
{
	wr_text(&c->w, c->is.place);
}

/* From which botocore reads the region. */
static void
aws_zone(struct context *c)
{
	wr_fmt(&c->w, "%sa", c->is.place);
}

static void
aws_key(struct context *c)
{
	char secret[SIGV4_PLACEHOLDER_SIZE], now[CLOCK_TEXT_SIZE];
	char end[CLOCK_TEXT_SIZE];
	struct json j = json_init(&c->w);

	if (sigv4_placeholder_secret(c->is.placeholder, secret) != 0) {
		refuse(c, 500, "Internal Server Error");
		return;
	}
	write_time(c->req->wall_ms, now);
	write_time(c->req->wall_ms + AWS_LIFE_S * UINT64_C(1000), end);
	c->out->type = JSON;
	json_open_object(&j, NULL);
	json_str(&j, "Code", "Success");
	json_str(&j, "LastUpdated", now);
	json_str(&j, "Type", "AWS-HMAC");
	json_str(&j, "AccessKeyId", c->is.placeholder);
	json_str(&j, "SecretAccessKey", secret);
	/* A role's key has one; the gate takes it away. */
	json_str(&j, "Token", "tapward-placeholder");
	json_str(&j, "Expiration", end);
	json_close_object(&j);
}

/* --- Google Cloud --------------------------------------------------------- */

static bool
gcp_may(struct context *c)
{
	const struct http_field *f = only_field(c, "metadata-flavor");

	return f != NULL && span_is(f->value, "Google");
}

static void
gcp_project(struct context *c)
{
	/* Nobody said which it is. */
	if (c->is.place[0] == '\0')
		refuse(c, 404, "Not Found");
	else
		wr_text(&c->w, c->is.place);
}

static void
gcp_accounts(struct context *c)
{
	wr_fmt(&c->w, "default/\n%s/\n", c->is.identity);
}

static void
gcp_account(struct context *c)
{
	struct json j = json_init(&c->w);
	struct span rest = c->req->query;
	bool is_recursive = false;

	while (rest.ptr != NULL)
		is_recursive |=
		    span_is_case(token_cut(&rest, '&'), "recursive=true");
	if (!is_recursive) {
		wr_text(&c->w, "aliases\nemail\nscopes\ntoken\n");
		return;
	}
	c->out->type = JSON;
	json_open_object(&j, NULL);
	json_open_array(&j, "aliases");
	json_str(&j, NULL, "default");
	json_close_array(&j);
	json_str(&j, "email", c->is.identity);
	json_open_array(&j, "scopes");
	json_str(&j, NULL, SCOPE);
	json_close_array(&j);
	json_close_object(&j);
}

static void
gcp_email(struct context *c)
{
	wr_text(&c->w, c->is.identity);
}

static void
gcp_token(struct context *c)
{
	struct json j = json_init(&c->w);

	c->out->type = JSON;
	json_open_object(&j, NULL);
	json_str(&j, "access_token", c->is.placeholder);
	json_u64(&j, "expires_in", GCP_LIFE_S);
	json_str(&j, "token_type", "Bearer");
	json_close_object(&j);
}

/* --- Azure ---------------------------------------------------------------- */

static bool
azure_may(struct context *c)
{
	const struct http_field *f = only_field(c, "metadata");

	return f != NULL && span_is_case(f->value, "true");
}

/* Does the value of a parameter, percent-encoded, say text? */
static bool
says(struct span encoded, const char *text)
{
	struct rd r = rd_span(encoded);

	for (; *text != '\0'; text++) {
		uint8_t byte = rd_u8(&r);

		if (byte == '%') {
			const int high = ascii_hex(rd_u8(&r));
			const int low = ascii_hex(rd_u8(&r));

			if (high < 0 || low < 0)
				return false;
			byte = (uint8_t)(high << 4 | low);
		}
		if (!rd_ok(&r) || byte != (uint8_t)*text)
			return false;
	}
	return rd_left(&r) == 0;
}

/* The parameter of this name; false: it is not there just once. */
static bool
parameter(const struct context *c, const char *name, struct span *ret)
{
	struct span rest = c->req->query;
	unsigned int count = 0;

	while (rest.ptr != NULL) {
		struct span value = token_cut(&rest, '&');

		if (!span_is(token_cut(&value, '='), name))
			continue;
		*ret = value;
		count++;
	}
	return count == 1 && ret->ptr != NULL;
}

/* With and without the slash at its end it is one resource. */
static bool
is_resource(const struct context *c)
{
	char with[GRANT_TEXT_SIZE + 2], without[GRANT_TEXT_SIZE];
	size_t len = strlen(c->is.place);
	struct span value;

	if (!parameter(c, "resource", &value))
		return false;
	while (len > 0 && c->is.place[len - 1] == '/')
		len--;
	if (len >= sizeof(without))
		return false;
	memcpy(without, c->is.place, len);
	without[len] = '\0';
	(void)snprintf(with, sizeof(with), "%s/", without);
	return says(value, without) || says(value, with);
}

static void
azure_refuse(struct context *c, const char *error, const char *why)
{
	struct json j;

	refuse(c, 400, "Bad Request");
	c->w = wr_init(c->out->body, sizeof(c->out->body));
	j = json_init(&c->w);
	c->out->type = JSON;
	json_open_object(&j, NULL);
	json_str(&j, "error", error);
	json_str(&j, "error_description", why);
	json_close_object(&j);
}

static void
number(struct json *j, const char *key, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	json_str(j, key, text);
}

static void
azure_token(struct context *c)
{
	const uint64_t now_s = c->req->wall_ms / 1000;
	struct span value = { NULL, 0 };
	struct json j = json_init(&c->w);

	if (!parameter(c, "api-version", &value)) {
		azure_refuse(c, "invalid_request", "api-version is missing");
		return;
	}
	if (!is_resource(c)) {
		azure_refuse(c, "invalid_resource",
		    "no credential of this sandbox is for this resource");
		return;
	}
	value = (struct span){ NULL, 0 };
	if ((parameter(c, "client_id", &value) &&
		!says(value, c->is.identity)) ||
	    parameter(c, "object_id", &value) ||
	    parameter(c, "msi_res_id", &value)) {
		azure_refuse(c, "invalid_request", "Identity not found");
		return;
	}
	c->out->type = JSON;
	json_open_object(&j, NULL);
	json_str(&j, "access_token", c->is.placeholder);
	json_str(&j, "client_id", c->is.identity);
	number(&j, "expires_in", AZURE_LIFE_S);
	number(&j, "expires_on", now_s + AZURE_LIFE_S);
	number(&j, "ext_expires_in", AZURE_LIFE_S);
	number(&j, "not_before", now_s);
	json_str(&j, "resource", c->is.place);
	json_str(&j, "token_type", "Bearer");
	json_close_object(&j);
}

/* --- the table ------------------------------------------------------------ */

typedef void write_fn(struct context *c);

struct row {
	enum grant_cloud cloud;
	const char *method, *path;
	write_fn *write;  /* or NULL, and */
	const char *text; /* what there is to say */
};

static const struct row rows[] = {
	/* Where the right to ask for the others is had. */
	{ GRANT_CLOUD_AWS, "PUT", "/latest/api/token", aws_token, NULL },
	{ GRANT_CLOUD_AWS, "GET", ROLES, aws_role, NULL },
	{ GRANT_CLOUD_AWS, "GET", ROLES "*", aws_key, NULL },
	{ GRANT_CLOUD_AWS, "GET", PLACEMENT "region", aws_region, NULL },
	{ GRANT_CLOUD_AWS, "GET", PLACEMENT "availability-zone", aws_zone,
	    NULL },
	{ GRANT_CLOUD_GCP, "GET", "/", NULL, "computeMetadata/\n" },
	{ GRANT_CLOUD_GCP, "GET", GCE, NULL, "instance/\nproject/\n" },
	{ GRANT_CLOUD_GCP, "GET", GCE "instance", NULL, INSTANCE },
	{ GRANT_CLOUD_GCP, "GET", GCE "instance/", NULL, INSTANCE },
	{ GRANT_CLOUD_GCP, "GET", GCE "project/project-id", gcp_project, NULL },
	{ GRANT_CLOUD_GCP, "GET", GCE "universe/universe-domain", NULL,
	    "googleapis.com" },
	{ GRANT_CLOUD_GCP, "GET", ACCOUNTS, gcp_accounts, NULL },
	{ GRANT_CLOUD_GCP, "GET", ACCOUNTS "*", gcp_account, NULL },
	{ GRANT_CLOUD_GCP, "GET", ACCOUNTS "*email", gcp_email, NULL },
	{ GRANT_CLOUD_GCP, "GET", ACCOUNTS "*aliases", NULL, "default\n" },
	{ GRANT_CLOUD_GCP, "GET", ACCOUNTS "*scopes", NULL, SCOPE "\n" },
	{ GRANT_CLOUD_GCP, "GET", ACCOUNTS "*token", gcp_token, NULL },
	{ GRANT_CLOUD_AZURE, "GET", "/metadata/identity/oauth2/token",
	    azure_token, NULL },
	/* @azure/identity writes one slash more */
	{ GRANT_CLOUD_AZURE, "GET", "/metadata/identity/oauth2/token/",
	    azure_token, NULL },
};

/* How much of path is "default/" or the account's own name; 0: neither. */
static size_t
account_len(struct span path, const char *email)
{
	struct span rest = path, name = token_cut(&rest, '/');

	if (rest.ptr == NULL)
		return 0;
	return span_is(name, "default") || says(name, email) ? name.len + 1 : 0;
}

/* '*' stands for the role, or for the account and a slash. */
static bool
fits(const struct context *c, const struct row *row)
{
	const char *star = strchr(row->path, '*');
	struct span rest = c->req->path;
	size_t len;

	if (star == NULL)
		return span_is(rest, row->path);
	len = (size_t)(star - row->path);
	if (rest.len < len || memcmp(rest.ptr, row->path, len) != 0)
		return false;
	rest = (struct span){ rest.ptr + len, rest.len - len };
	len = row->cloud == GRANT_CLOUD_AWS ? strlen(c->is.identity)
					    : account_len(rest, c->is.identity);
	if (len == 0 || rest.len < len ||
	    (row->cloud == GRANT_CLOUD_AWS &&
		memcmp(rest.ptr, c->is.identity, len) != 0))
		return false;
	return span_is((struct span){ rest.ptr + len, rest.len - len },
	    star + 1);
}

static bool
begins(struct span path, const char *with)
{
	const size_t len = strlen(with);

	return path.len >= len && memcmp(path.ptr, with, len) == 0;
}

static enum grant_cloud
cloud_of(const struct metadata_request *req)
{
	if (begins(req->path, "/computeMetadata/") || span_is(req->path, "/"))
		return GRANT_CLOUD_GCP;
	if (req->is_google_name)
		return GRANT_CLOUD_NONE;
	if (begins(req->path, "/latest/"))
		return GRANT_CLOUD_AWS;
	return begins(req->path, "/metadata/") ? GRANT_CLOUD_AZURE
					       : GRANT_CLOUD_NONE;
}

/* False, and refused: it lacks what each cloud wants to see first. */
static bool
may_ask(struct context *c, enum grant_cloud cloud)
{
	if (cloud == GRANT_CLOUD_AWS && !aws_may(c)) {
		refuse(c, 401, "Unauthorized");
		return false;
	}
	if (cloud == GRANT_CLOUD_GCP && !gcp_may(c)) {
		refuse(c, 403, "Forbidden");
		return false;
	}
	if (cloud == GRANT_CLOUD_AZURE && !azure_may(c)) {
		azure_refuse(c, "invalid_request",
		    "Required metadata header not specified");
		return false;
	}
	return true;
}

static void
find_and_write(struct context *c, enum grant_cloud cloud)
{
	bool is_path = false;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];

		if (row->cloud != cloud || !fits(c, row))
			continue;
		is_path = true;
		if (!span_is(c->req->method, row->method))
			continue;
		if (row->write != aws_token && !may_ask(c, cloud))
			return;
		if (row->write != NULL)
			row->write(c);
		else
			wr_text(&c->w, row->text);
		return;
	}
	if (is_path)
		refuse(c, 405, "Method Not Allowed");
	else
		refuse(c, 404, "Not Found");
}

/* What came through a proxy was not asked for by this machine. */
static bool
is_forwarded(const struct http_fields *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (http_name_aliases(f->at[i].name,
			span_of("x-forwarded-for")) ||
		    http_name_aliases(f->at[i].name, span_of("forwarded")))
			return true;
	return false;
}

void
metadata_answer(const struct grants *g, const uint8_t key[METADATA_KEY_BYTES],
    const struct metadata_request *req, struct metadata_answer *ret)
{
	const enum grant_cloud cloud = cloud_of(req);
	struct context c = { .req = req, .key = key, .out = ret };

	*ret = (struct metadata_answer){ .status = 200,
		.phrase = "OK",
		.type = TEXT };
	c.w = wr_init(ret->body, sizeof(ret->body));
	if (is_forwarded(req->fields))
		refuse(&c, 403, "Forbidden");
	else if (!grants_metadata(g, (uint8_t)cloud, &c.is))
		refuse(&c, 404, "Not Found");
	else
		find_and_write(&c, cloud);
	if (!wr_ok(&c.w))
		refuse(&c, 500, "Internal Server Error");
	ret->len = c.w.len;
	/* On each answer, or it is not taken for Google's. */
	if (cloud == GRANT_CLOUD_GCP) {
		ret->name = "Metadata-Flavor";
		memcpy(ret->value, "Google", sizeof("Google"));
	}
}

bool
metadata_is_asked(const struct grants *g, enum scheme scheme, const char *host,
    uint16_t port)
{
	return g != NULL && scheme == SCHEME_HTTP && port == PORT &&
	    (strcmp(host, METADATA_ADDRESS) == 0 ||
		strcmp(host, METADATA_GOOGLE) == 0) &&
	    grants_have_metadata(g);
}
