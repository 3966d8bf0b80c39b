/* See report_policy.h. */
#include "cli/report_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/policy_file.h"
#include "conf/describe.h"
#include "conf/policy.h"
#include "conf/presets.h"

static const char *
text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "" : text;
}

static json_t *
find(const json_t *report, const char *hex)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(report, "policies"), i, row)
	{
		if (strcmp(text_of(row, "digest"), hex) == 0)
			return row;
	}
	return NULL;
}

static int
attach(json_t *report, const struct policy_file *file, struct err *err)
{
	uint8_t digest[DIGEST_BYTES];
	char hex[DIGEST_HEX_SIZE];
	json_t *row, *text;

	if (digest_sha256(file->text, file->len, digest) != 0)
		return err_at(err, NULL, 0, "the digest cannot be computed");
	digest_hex(digest, hex);
	row = find(report, hex);
	if (row == NULL)
		return err_at(err, NULL, 0,
		    "%s: no record was made under this text (%.12s)",
		    file->path, hex);
	text = json_stringn(file->text, file->len);
	if (text == NULL)
		return err_at(err, NULL, 0, "%s: it is not UTF-8", file->path);
	(void)json_object_set_new(row, "text", text);
	(void)json_object_set_new(row, "file",
	    json_string(policy_file_name(file)));
	return 0;
}

int
report_policy_add(json_t *report, const char *path, struct err *err)
{
	struct policy_file file = { .text = NULL };
	int rc = policy_file_read(path, POLICY_TEXT_MAX_BYTES, &file, err);

	if (rc == 0)
		rc = attach(report, &file, err);
	policy_file_done(&file);
	return rc;
}

/* What describe_policy() says of the text; NULL if it does not compile. */
static json_t *
describe(const json_t *row)
{
	const json_t *text = json_object_get(row, "text");
	const struct compile_input in = {
		.display_name = "policy",
		.text = { (const uint8_t *)json_string_value(text),
		    json_string_length(text) },
		.preset = presets_find,
	};
	AUTO_FREE char *buf = malloc(4 * (size_t)DESCRIBE_TEXT_MAX_BYTES);
	struct wr w =
	    wr_init(buf, buf == NULL ? 0 : 4 * (size_t)DESCRIBE_TEXT_MAX_BYTES);
	struct json j = json_init(&w);

	json_open_object(&j, NULL);
	if (in.text.ptr == NULL || describe_policy(&in, &j) != 0)
		return NULL;
	json_close_object(&j);
	return wr_ok(&w) ? json_loadb(buf, w.len, 0, NULL) : NULL;
}

void
report_policy_review(json_t *report)
{
	const json_t *policies = json_object_get(report, "policies");
	json_t *all =
	    describe(json_array_get(policies, json_array_size(policies) - 1));
	json_t *used = json_object(), *unused = json_array(), *row;
	size_t i;

	json_array_foreach(json_object_get(report, "rules"), i, row)
	    json_object_set(used, text_of(row, "rule"), row);
	json_array_foreach(json_object_get(all, "rules"), i, row)
	{
		if (json_object_get(used, text_of(row, "name")) == NULL)
			(void)json_array_append_new(unused,
			    json_string(text_of(row, "name")));
	}
	if (all != NULL)
		(void)json_object_set(report, "unused_rules", unused);
	json_decref(unused);
	json_decref(used);
	json_decref(all);
}
