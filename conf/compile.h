/*
 * From the text of a policy file to its image. Pure: text and presets come
 * in as bytes, nothing is opened here.
 */
#ifndef TAPWARD_CONF_COMPILE_H
#define TAPWARD_CONF_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "conf/verdict.h"

/* Findings kept from one compile; more are counted. */
#define COMPILE_FINDINGS_MAX 64

enum finding_level {
	FINDING_ERROR,   /* the file is not used */
	FINDING_WARNING, /* a reviewer would ask */
};

/* "file:line: what, and how to mend it" */
struct finding {
	enum finding_level level;
	const char *code; /* of a warning that can be waived, else NULL */
	uint32_t line;    /* 0: of the whole file */
	uint32_t message; /* where in text the place ends and the words begin */
	char text[512];
};

struct compile_result {
	uint8_t *image; /* NULL when there was an error; owned by the caller */
	size_t image_len;
	struct finding findings[COMPILE_FINDINGS_MAX];
	size_t finding_count;
	size_t error_count; /* all, kept or not */
};

/* A preset by its name: its text, or an empty span when there is none. */
typedef struct span compile_preset(const char *name, void *arg);

struct model;
struct policy;

/*
 * Called once there is an image and no error: may add warnings. m and image
 * are borrowed for the call. 0 or -ENOMEM.
 */
typedef int compile_review(const struct model *m, const struct policy *image,
    struct compile_result *ret);

struct compile_input {
	const char *display_name; /* printable; shown as the file of findings */
	struct span text;
	bool is_ceiling; /* larger limits, no [policy] credential checks */
	bool learns;     /* see policy_learns() */
	compile_preset *preset; /* NULL: none is known */
	void *preset_arg;
	compile_review *review; /* NULL: what the daemon tells is enough */
};

/*
 * Returns 0 and an image, or -EINVAL and at least one error finding, or
 * -ENOMEM. Bytes are judged before inih sees them (NUL, other controls, lines
 * it would cut, indented lines: facts of inih 55).
 */
int compile_policy(const struct compile_input *in, struct compile_result *ret);
/* Frees the image; the findings stay readable. */
void compile_result_done(struct compile_result *r);

#endif
