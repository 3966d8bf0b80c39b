/*
 * Any head of a request as one of a metadata service: whatever it asks, a
 * placeholder is handed out only to who sent the field that its cloud wants,
 * and nothing that says it was forwarded.
 */
#include "fuzz_head.h"

#include <string.h>

#include "base/message_lease.h"
#include "proxy/metadata.h"

static const struct message_grant all[] = {
	{ .port = 443,
	    .host_count = 1,
	    .hosts = { "a.example.org" },
	    .placeholder = "AKIAPLACEHOLDER00000",
	    .metadata = { GRANT_CLOUD_AWS, "agent", "eu-west-1" } },
	{ .port = 443,
	    .host_count = 1,
	    .hosts = { "b.example.org" },
	    .placeholder = "placeholder-of-gcp",
	    .metadata = { GRANT_CLOUD_GCP, "a@b.c", "acme" } },
	{ .port = 443,
	    .host_count = 1,
	    .hosts = { "c.example.org" },
	    .placeholder = "placeholder-of-azure",
	    .metadata = { GRANT_CLOUD_AZURE, "1", "https://x/" } },
};

static struct grants *
make_grants(void)
{
	static uint8_t buf[GRANT_BODY_MAX_BYTES];
	const struct message_grants_whole whole = { 3 };
	struct grants *g = grants_new();
	struct wr w;
	struct rd r;

	HOLDS(g != NULL);
	for (size_t i = 0; i < 3; i++) {
		w = wr_init(buf, sizeof(buf));
		message_grant_encode(&w, &all[i]);
		r = rd_init(buf, w.len);
		HOLDS(grants_on_grant(g, &r) == 0);
	}
	w = wr_init(buf, sizeof(buf));
	message_grants_whole_encode(&w, &whole);
	r = rd_init(buf, w.len);
	HOLDS(grants_on_whole(g, &r) == 0);
	return g;
}

static bool
has(const struct http_fields *f, const char *name)
{
	return http_field_find(f, name, 0) != NULL;
}

static bool
holds(const struct metadata_answer *a, const char *text)
{
	return memmem(a->body, a->len, text, strlen(text)) != NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[METADATA_KEY_BYTES] = { 7 };
	static struct grants *g;
	struct metadata_request ask = { .wall_ms = 1, .boot_ms = 1 };
	struct metadata_answer a;
	struct http_request req;

	if (g == NULL)
		g = make_grants();
	if (http_request_parse_at((struct span){ data, size }, METADATA_ADDRESS,
		&req) != HTTP_OK)
		return 0;
	HOLDS(req.authority.host_status != HOST_ADDRESS ||
	    strcmp(req.authority.host, METADATA_ADDRESS) == 0);
	ask.method = req.method;
	ask.is_google_name = strcmp(req.authority.host, METADATA_GOOGLE) == 0;
	ask.path = req.path;
	if (req.has_query)
		ask.query = req.query;
	ask.fields = &req.fields;
	metadata_answer(g, key, &ask, &a);
	HOLDS(a.status >= 200 && a.status < 600 && a.len <= sizeof(a.body));
	HOLDS(a.status == 200 || !holds(&a, "placeholder"));
	if (a.status == 200)
		HOLDS(!has(&req.fields, "X-Forwarded-For"));
	if (holds(&a, "AKIAPLACEHOLDER00000"))
		HOLDS(has(&req.fields, "X-aws-ec2-metadata-token"));
	if (holds(&a, "placeholder-of-gcp"))
		HOLDS(has(&req.fields, "Metadata-Flavor"));
	if (holds(&a, "placeholder-of-azure"))
		HOLDS(has(&req.fields, "Metadata"));
	return 0;
}
