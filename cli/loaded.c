/*
 * See loaded.h.
 */
#include "cli/loaded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "conf/presets.h"

void
loaded_free(struct loaded *l)
{
	if (l == NULL)
		return;
	policy_unref(l->policy);
	compile_result_done(&l->result);
	policy_file_done(&l->file);
	free(l);
}

static struct loaded *
read_as(const char *path, bool is_ceiling, bool learns)
{
	struct loaded *l = calloc(1, sizeof(*l));
	struct err err = { "" };
	int rc = -ENOMEM;

	if (l != NULL)
		rc = policy_file_read(path,
		    is_ceiling ? LOADED_CEILING_MAX_BYTES
			       : POLICY_TEXT_MAX_BYTES,
		    &l->file, &err);
	if (rc != 0) {
		(void)cli_fail(&err, CLI_FAILED);
		loaded_free(l);
		return NULL;
	}
	l->input = (struct compile_input){ .is_ceiling = is_ceiling,
		.learns = learns,
		.preset = presets_find,
		.display_name = policy_file_name(&l->file),
		.text = { (const uint8_t *)l->file.text, l->file.len } };
	rc = compile_policy(&l->input, &l->result);
	for (size_t i = 0; i < l->result.finding_count; i++)
		(void)fprintf(stderr, "%s\n", l->result.findings[i].text);
	if (rc == 0)
		rc = policy_map_bytes(l->result.image, l->result.image_len,
		    &l->policy);
	if (rc == 0)
		return l;
	if (rc != -EINVAL)
		(void)fprintf(stderr, "tapward: %s: %s\n", l->file.path,
		    strerror(-rc));
	loaded_free(l);
	return NULL;
}

struct loaded *
loaded_read(const char *path, bool is_ceiling)
{
	return read_as(path, is_ceiling, false);
}

struct loaded *
loaded_read_learning(const char *path, bool is_ceiling)
{
	return read_as(path, is_ceiling, true);
}
