/*
 * See env.h.
 */
#include "vmm/agent/env.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "vmm/agent/lines.h"

/* var is that of name, of len bytes. */
static bool
is_of(const char *var, const void *name, size_t len)
{
	return strncmp(var, name, len) == 0 && var[len] == '=';
}

static int
grow(struct env *e)
{
	const size_t size = e->size == 0 ? 32 : e->size * 2;
	char **vars;

	if (e->count + 1 < e->size)
		return 0;
	vars = realloc(e->vars, size * sizeof(*vars));
	if (vars == NULL)
		return -ENOMEM;
	e->vars = vars;
	e->size = size;
	return 0;
}

int
env_put(struct env *e, struct span var)
{
	const uint8_t *sign =
	    var.len == 0 ? NULL : memchr(var.ptr, '=', var.len);
	char *copy;

	if (sign == NULL || sign == var.ptr ||
	    memchr(var.ptr, '\0', var.len) != NULL)
		return -EINVAL;
	if (grow(e) != 0)
		return -ENOMEM;
	copy = malloc(var.len + 1);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, var.ptr, var.len);
	copy[var.len] = '\0';
	for (size_t i = 0; i < e->count; i++) {
		if (!is_of(e->vars[i], copy, (size_t)(sign - var.ptr)))
			continue;
		free(e->vars[i]);
		e->vars[i] = copy;
		return 0;
	}
	e->vars[e->count++] = copy;
	e->vars[e->count] = NULL;
	return 0;
}

int
env_set(struct env *e, const char *name, const char *value)
{
	const size_t size = strlen(name) + 1 + strlen(value);
	AUTO_FREE char *var = malloc(size);
	struct wr w = wr_init(var, size);

	if (var == NULL)
		return -ENOMEM;
	wr_text(&w, name);
	wr_u8(&w, '=');
	wr_text(&w, value);
	return env_put(e, (struct span){ w.buf, w.len });
}

int
env_put_lines(struct env *e, struct span text)
{
	struct span line;

	while (lines_take(&text, '\n', &line))
		if (env_put(e, line) == -ENOMEM)
			return -ENOMEM;
	return 0;
}

int
env_put_all(struct env *e, const struct env *from)
{
	int rc = 0;

	for (size_t i = 0; i < from->count && rc == 0; i++)
		rc = env_put(e, span_of(from->vars[i]));
	return rc;
}

const char *
env_get(const struct env *e, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < e->count; i++)
		if (is_of(e->vars[i], name, len))
			return e->vars[i] + len + 1;
	return NULL;
}

void
env_done(struct env *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->vars[i]);
	free(e->vars);
	*e = (struct env){ .vars = NULL };
}
