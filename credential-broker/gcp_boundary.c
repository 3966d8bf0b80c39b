/*
 * Credential access boundaries, see gcp_boundary.h. A rule for each bucket:
 * all of it, or the objects whose names begin with a prefix and the lists that
 * ask for no more.
 */
#include "credential-broker/gcp_boundary.h"

#include <string.h>

#include "base/ascii.h"

#define ROLE "roles/storage.objectViewer"
#define RESOURCE "//storage.googleapis.com/projects/_/buckets/"

/* Nothing that would end a text in JSON or in CEL. */
static bool
holds_only(struct span s, const char *more)
{
	for (size_t i = 0; i < s.len; i++)
		if (!ascii_is_alnum(s.ptr[i]) &&
		    (s.ptr[i] == '\0' || strchr(more, s.ptr[i]) == NULL))
			return false;
	return s.len > 0;
}

static bool
is_bucket(const char *text)
{
	const size_t n = strcspn(text, "/");

	if (!holds_only((struct span){ (const uint8_t *)text, n }, "-_.") ||
	    n > 222)
		return false;
	return text[n] == '\0' || text[n + 1] == '\0' ||
	    holds_only(span_of(text + n + 1), "-_./=+@~");
}

int
gcp_boundary_check(const struct credential *c, struct err *err)
{
	const char *item;
	unsigned int i;

	for (i = 0; (item = credential_item(c, "bucket", i)) != NULL; i++)
		if (!is_bucket(item))
			return err_at(err, NULL, 0,
			    "bucket = %s: write NAME, or NAME/PREFIX of "
			    "letters, digits and -_./=+@~",
			    item);
	if (i > GCP_BUCKETS_MAX)
		return err_at(err, NULL, 0, "more than %d buckets",
		    GCP_BUCKETS_MAX);
	if (i == 0 && credential_setting(c, "bucket-role") != NULL)
		return err_at(err, NULL, 0,
		    "bucket-role is of a bucket: add `bucket = NAME`");
	for (i = 0; (item = credential_item(c, "bucket-role", i)) != NULL; i++)
		if (strstr(item, "roles/") == NULL ||
		    !holds_only(span_of(item), "-_./"))
			return err_at(err, NULL, 0,
			    "bucket-role = %s: write roles/NAME, as " ROLE,
			    item);
	return 0;
}

static void
write_roles(const struct credential *c, struct form *f)
{
	const char *item = credential_setting(c, "bucket-role");

	if (item == NULL) {
		form_text(f, "\"inRole:" ROLE "\"");
		return;
	}
	for (unsigned int i = 0;
	     (item = credential_item(c, "bucket-role", i)) != NULL; i++) {
		form_text(f, i == 0 ? "\"inRole:" : ",\"inRole:");
		form_text(f, item);
		form_text(f, "\"");
	}
}

/* A list is of no object: it is judged by the prefix that it asks for. */
static void
write_condition(struct form *f, struct span bucket, const char *prefix)
{
	form_text(f,
	    ",\"availabilityCondition\":{\"expression\":"
	    "\"resource.name.startsWith('projects/_/buckets/");
	form_span(f, bucket);
	form_text(f, "/objects/");
	form_text(f, prefix);
	form_text(f,
	    "') || api.getAttribute("
	    "'storage.googleapis.com/objectListPrefix', '')"
	    ".startsWith('");
	form_text(f, prefix);
	form_text(f, "')\"}");
}

void
gcp_boundary_write(const struct credential *c, struct form *f)
{
	const char *item;

	form_text(f, "{\"accessBoundary\":{\"accessBoundaryRules\":[");
	for (unsigned int i = 0;
	     (item = credential_item(c, "bucket", i)) != NULL; i++) {
		const struct span name = { (const uint8_t *)item,
			strcspn(item, "/") };
		const char *rest = item + name.len;

		form_text(f, i == 0 ? "" : ",");
		form_text(f, "{\"availablePermissions\":[");
		write_roles(c, f);
		form_text(f, "],\"availableResource\":\"" RESOURCE);
		form_span(f, name);
		form_text(f, "\"");
		if (rest[0] != '\0' && rest[1] != '\0')
			write_condition(f, name, rest + 1);
		form_text(f, "}");
	}
	form_text(f, "]}}");
}
