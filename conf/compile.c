/*
 * The steps of a compile, in order; the first that leaves an error is the
 * last.
 */
#include "conf/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "conf/agree.h"
#include "conf/build.h"
#include "conf/finding.h"
#include "conf/model.h"
#include "conf/parse.h"
#include "conf/waiver.h"

/* "file:line" fits RULE_AT_SIZE with a line of ten digits. */
#define DISPLAY_NAME_SIZE (RULE_AT_SIZE - 11)

/* The end of a long name tells more than its start. */
static void
fit_display_name(const char *name, char ret[DISPLAY_NAME_SIZE])
{
	size_t len = strlen(name), max = DISPLAY_NAME_SIZE - 1;

	if (len <= max)
		(void)snprintf(ret, DISPLAY_NAME_SIZE, "%s", name);
	else
		(void)snprintf(ret, DISPLAY_NAME_SIZE, "...%s",
		    name + (len - max + 3));
	for (char *c = ret; *c != '\0'; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	if (ret[0] == '\0')
		(void)snprintf(ret, DISPLAY_NAME_SIZE, "-");
}

static int
add_digest(struct model *m, struct span text)
{
	uint8_t digest[DIGEST_BYTES];
	char hex[DIGEST_HEX_SIZE];
	int rc = digest_sha256(text.ptr, text.len, digest);

	if (rc != 0)
		return rc;
	digest_hex(digest, hex);
	return model_add_string(m, span_of(hex), &m->digest);
}

static int
build_checked(const struct compile_input *in, const struct model *m,
    struct compile_result *ret)
{
	struct policy *image;
	struct err err = { "" };
	int rc = build_image(m, &ret->image, &ret->image_len, &err);

	if (rc == -EINVAL)
		finding_error(ret, (struct place){ in->display_name, 0 }, "%s",
		    err.text);
	if (rc != 0)
		return rc;
	rc = policy_map_bytes(ret->image, ret->image_len, &image);
	if (rc != 0)
		return rc;
	rc = agree_check(m, image, ret);
	if (rc == 0 && ret->error_count == 0 && in->review != NULL)
		rc = in->review(m, image, ret);
	policy_unref(image);
	return rc;
}

static int
compile(const struct compile_input *in, struct model *m,
    struct compile_result *ret)
{
	int rc = parse_policy(in, m, ret);

	if (rc == 0 && ret->error_count == 0)
		rc = add_digest(m, in->text);
	if (rc == 0 && ret->error_count == 0)
		rc = build_checked(in, m, ret);
	if (rc == 0 && ret->error_count > 0)
		rc = -EINVAL;
	return rc;
}

static bool
is_empty(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] > ' ')
			return false;
	}
	return true;
}

int
compile_policy(const struct compile_input *in, struct compile_result *ret)
{
	char name[DISPLAY_NAME_SIZE];
	struct compile_input fitted = *in;
	size_t max =
	    in->is_ceiling ? POLICY_IMAGE_MAX_BYTES : POLICY_TEXT_MAX_BYTES;
	struct model m;
	int rc;

	memset(ret, 0, sizeof(*ret));
	fit_display_name(in->display_name, name);
	fitted.display_name = name;
	if (in->text.len > max)
		finding_error(ret, (struct place){ name, 0 },
		    "%zu bytes, at most %zu are taken: split or shorten it",
		    in->text.len, max);
	else if (is_empty(in->text))
		finding_error(ret, (struct place){ name, 0 },
		    "the file is empty, so everything is denied: start it "
		    "with `[policy]` and `version = 1`");
	if (ret->error_count > 0)
		return -EINVAL;
	rc = model_init(&m);
	if (rc == 0)
		rc = compile(&fitted, &m, ret);
	if (rc == 0 || rc == -EINVAL)
		waiver_apply(&fitted, ret);
	model_done(&m);
	if (rc != 0)
		compile_result_done(ret);
	return rc;
}

void
compile_result_done(struct compile_result *r)
{
	free(r->image);
	r->image = NULL;
	r->image_len = 0;
}
