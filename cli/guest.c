/* See guest.h. */
#include "cli/guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/duration.h"
#include "cli/guest_env.h"
#include "conf/limits.h"
#include "vmm/vm_image.h"

/* Behind the last one a NULL. */
static void
add_env(struct command_options *o, const char *text)
{
	const char **more =
	    realloc(o->env, (o->env_count + 2) * sizeof(o->env[0]));

	if (more == NULL)
		abort();
	o->env = more;
	o->env[o->env_count++] = text;
	o->env[o->env_count] = NULL;
}

bool
command_take_option(struct command_options *o, int opt, const char *arg)
{
	switch (opt) {
	case COMMAND_WORKDIR:
		o->cwd = arg;
		return true;
	case COMMAND_USER:
		o->user = arg;
		return true;
	case COMMAND_TIMEOUT:
		o->timeout = arg;
		return true;
	case COMMAND_MAX_OUTPUT:
		o->max_output = arg;
		return true;
	case COMMAND_ENV:
		add_env(o, arg);
		return true;
	case COMMAND_TTY:
		o->has_tty = true;
		return true;
	case COMMAND_NO_INPUT:
		o->no_input = true;
		return true;
	default:
		return false;
	}
}

void
command_options_done(struct command_options *o)
{
	free(o->env);
	o->env = NULL;
}

/* A list of texts that grows. */
struct list {
	char **v;
	size_t count;
	bool failed;
};

static void
append(struct list *l, const char *name, const char *value)
{
	char **more = realloc(l->v, (l->count + 2) * sizeof(l->v[0]));

	if (more == NULL) {
		l->failed = true;
		return;
	}
	l->v = more;
	l->v[l->count] = NULL;
	if (asprintf(&l->v[l->count], "%s=%s", name, value) == -1) {
		l->v[l->count] = NULL;
		l->failed = true;
		return;
	}
	l->v[++l->count] = NULL;
}

static void
take(const char *variable, const char *value, void *arg)
{
	append(arg, variable, value);
}

static void
list_free(char **v)
{
	for (char **p = v; p != NULL && *p != NULL; p++)
		free(*p);
	free(v);
}

void
command_done(struct guest_command *c)
{
	list_free(c->env);
	free(c->cwd);
	*c = (struct guest_command){ .env = NULL };
}

/* NAME=VALUE, or NAME for our own value of it, as docker(1) has it. */
static int
add_own(struct list *l, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	const char *value = equals == NULL ? getenv(text) : equals + 1;
	size_t len = equals == NULL ? strlen(text) : (size_t)(equals - text);
	char *name;

	if (len == 0)
		return err_at(err, NULL, 0, "--env takes NAME=VALUE, or NAME");
	if (value == NULL)
		return err_at(err, NULL, 0,
		    "--env %s: there is no such variable here", text);
	name = strndup(text, len);
	if (name == NULL)
		return err_os(err, -ENOMEM, "the environment");
	append(l, name, value);
	free(name);
	return 0;
}

/* What the image says of commands; of the guest's, the later one counts. */
static void
add_image(struct list *l, const json_t *manifest)
{
	const json_t *env = json_object_get(manifest, "env");
	json_t *one;
	size_t i;

	json_array_foreach(env, i, one)
	{
		char *text = strdup(json_string_value(one) == NULL
			? ""
			: json_string_value(one));
		char *equals = text == NULL ? NULL : strchr(text, '=');

		if (equals != NULL) {
			*equals = '\0';
			append(l, text, equals + 1);
		}
		free(text);
	}
}

/* Of the image that it was started from, if the caller still has it. */
static json_t *
manifest_of(const json_t *s)
{
	const char *digest = json_string_value(
	    json_object_get(json_object_get(s, "vm"), "image"));
	json_t *manifest = NULL;

	if (digest != NULL && *digest != '\0')
		(void)vm_image_load(digest, &manifest, NULL);
	return manifest;
}

static int
make_env(const struct command_options *o, const json_t *s,
    const json_t *manifest, char ***ret, struct err *err)
{
	const char *term = getenv("TERM");
	struct list l = { NULL, 0, false };
	int rc = 0;

	add_image(&l, manifest);
	guest_env_each(s, GUEST_CA_BUNDLE, GUEST_CA, false, take, &l);
	if (o->has_tty && term != NULL)
		append(&l, "TERM", term);
	for (size_t i = 0; rc == 0 && i < o->env_count; i++)
		rc = add_own(&l, o->env[i], err);
	if (rc == 0 && l.failed)
		rc = err_os(err, -ENOMEM, "the environment");
	if (rc != 0) {
		list_free(l.v);
		return rc;
	}
	*ret = l.v;
	return 0;
}

static int
take_limits(const struct command_options *o, struct session_command *c,
    struct err *err)
{
	uint32_t seconds;

	if (o->timeout != NULL) {
		if (!duration_parse(o->timeout, &seconds) ||
		    seconds > UINT32_MAX / 1000)
			return err_at(err, NULL, 0,
			    "--timeout takes a duration: 90s, 30m, 12h");
		c->timeout_ms = seconds * 1000;
	}
	if (o->max_output != NULL &&
	    (!limit_parse(UNIT_BYTES, span_of(o->max_output), &c->output_max) ||
		c->output_max == 0))
		return err_at(err, NULL, 0,
		    "--max-output takes a size: 64K, 16M");
	return 0;
}

/* What the image says, where the caller says nothing. */
static int
take_image(const struct command_options *o, const json_t *s,
    struct guest_command *g, struct err *err)
{
	json_t *manifest = manifest_of(s);
	const char *cwd =
	    json_string_value(json_object_get(manifest, "workdir"));
	int rc = make_env(o, s, manifest, &g->env, err);

	if (rc == 0 && o->cwd == NULL && cwd != NULL) {
		g->cwd = strdup(cwd);
		rc = g->cwd == NULL ? err_os(err, -ENOMEM, "a path") : 0;
	}
	json_decref(manifest);
	return rc;
}

int
command_make(const struct command_options *o, const json_t *s,
    const char *const *argv, struct guest_command *ret, struct err *err)
{
	struct guest_command g = {
		.c = { .argv = argv,
		    .user = o->user,
		    .has_tty = o->has_tty,
		    .in_fd = o->no_input ? -1 : STDIN_FILENO,
		    .out_fd = STDOUT_FILENO,
		    .err_fd = STDERR_FILENO },
	};
	int rc = take_limits(o, &g.c, err);

	if (rc == 0 && o->has_tty && !isatty(STDIN_FILENO))
		rc = err_at(err, NULL, 0,
		    "--tty needs a terminal, and standard input is none");
	if (rc == 0)
		rc = take_image(o, s, &g, err);
	if (rc != 0) {
		command_done(&g);
		return rc;
	}
	g.c.cwd = o->cwd != NULL ? o->cwd : g.cwd;
	/* Not char **: it says that nobody changes them. */
	g.c.env = (const char *const *)g.env;
	*ret = g;
	return 0;
}

const char *
command_reason(const struct session_end *end)
{
	static const char *const limits[] = {
		[FRAME_LIMIT_NONE] = NULL,
		[FRAME_LIMIT_TIMEOUT] = "it ran longer than --timeout",
		[FRAME_LIMIT_OUTPUT] = "it wrote more than --max-output",
		[FRAME_LIMIT_MEMORY] =
		    "the guest ran out of memory; give it more with --memory",
		[FRAME_LIMIT_DURATION] =
		    "the guest lived as long as --max-duration allows",
	};

	if ((unsigned int)end->limit <= FRAME_LIMIT_DURATION &&
	    limits[end->limit] != NULL)
		return limits[end->limit];
	return end->text[0] == '\0' ? NULL : end->text;
}

int
command_tell(const struct session_end *end, const char *what)
{
	const char *why = command_reason(end);

	if (why != NULL)
		(void)fprintf(stderr, "tapward: %s: %s\n", what, why);
	return session_status(end);
}
