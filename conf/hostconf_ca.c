/*
 * [ca NAME]: the roots by which some hosts are verified.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf/hostconf_parse.h"
#include "conf/words.h"
#include "wire/host.h"

static struct hostconf_ca *
present(const struct hostconf_parse *p)
{
	return vec_at(&p->cas, p->cas.count - 1);
}

int
hostconf_open_ca(struct hostconf_parse *p, const char *name)
{
	struct hostconf_ca *a;

	if (p->cas.count >= CA_SETS_MAX)
		return err_at(p->err, p->file, p->line,
		    "more than %d [ca] sections: join some", CA_SETS_MAX);
	for (size_t i = 0; i < p->cas.count; i++) {
		const struct hostconf_ca *other = vec_at(&p->cas, i);

		if (strcmp(other->set.name, name) == 0)
			return err_at(p->err, p->file, p->line,
			    "a second [ca %s] (first on line %u): rename or "
			    "join them",
			    name, other->line);
	}
	a = vec_add(&p->cas, 1);
	if (a == NULL)
		return -ENOMEM;
	(void)hostconf_copy(a->set.name, sizeof(a->set.name), span_of(name));
	if (snprintf(a->set.at, sizeof(a->set.at), "%s:%u", p->file, p->line) >=
	    (int)sizeof(a->set.at))
		(void)snprintf(a->set.at, sizeof(a->set.at), "line %u",
		    p->line);
	a->set.is_only = true;
	a->line = p->line;
	return 0;
}

/* A host that two sections name would have two answers. */
static const struct hostconf_ca *
find_pattern(const struct hostconf_parse *p, const char *pattern)
{
	for (size_t i = 0; i < p->cas.count; i++) {
		const struct hostconf_ca *a = vec_at(&p->cas, i);

		for (unsigned int k = 0; k < a->set.host_count; k++)
			if (strcmp(a->set.hosts[k], pattern) == 0)
				return a;
	}
	return NULL;
}

const char *
hostconf_take_ca_host(struct hostconf_parse *p, struct span v)
{
	struct message_ca_set *s = &present(p)->set;
	char pattern[DIALLER_PATTERN_SIZE];
	const char *fault = hostconf_parse_pattern(v, pattern);

	if (fault != NULL)
		return fault;
	if (find_pattern(p, pattern) != NULL)
		return "it is named by a [ca] section already: a host has one "
		       "answer to who signs for it";
	if (s->host_count >= CA_SET_HOSTS_MAX)
		return "too many hosts in one section: write a second one";
	memcpy(s->hosts[s->host_count++], pattern, sizeof(pattern));
	return NULL;
}

const char *
hostconf_take_ca_set_file(struct hostconf_parse *p, struct span v)
{
	struct hostconf_ca *a = present(p);

	a->file_line = p->key;
	return hostconf_copy_path(a->set.file, HOSTCONF_PATH_SIZE, v);
}

const char *
hostconf_take_only(struct hostconf_parse *p, struct span v)
{
	return words_parse_yes(v, &present(p)->set.is_only)
	    ? NULL
	    : "`yes` (this CA alone counts there) or `no` (the public ones "
	      "count, too)";
}

int
hostconf_finish_ca(struct hostconf_parse *p)
{
	const struct hostconf_ca *a = present(p);

	if (a->set.host_count > 0 && a->set.file[0] != '\0')
		return 0;
	return err_at(p->err, p->file, a->line,
	    "[ca %s] needs `host = NAME` and `file = /PATH`, the CA's "
	    "certificate as PEM",
	    a->set.name);
}

/* How much a pattern says of a host that it fits; 0: it does not fit. */
static size_t
fit_of(const char *pattern, const char *host)
{
	const bool is_deep = strncmp(pattern, "**.", 3) == 0;
	const bool is_star = !is_deep && strncmp(pattern, "*.", 2) == 0;
	const char *suffix = pattern + (is_deep ? 3 : is_star ? 2 : 0);
	const size_t depth = host_depth_under(host, suffix);

	if (is_deep)
		return depth > 0 ? strlen(suffix) : 0;
	if (is_star)
		return depth == 1 ? HOST_SIZE : 0;
	return strcmp(host, suffix) == 0 ? HOST_SIZE + 1 : 0;
}

static size_t
best_fit(const struct hostconf_ca *a, const char *host)
{
	size_t best = 0;

	for (unsigned int i = 0; i < a->set.host_count; i++) {
		const size_t fit = fit_of(a->set.hosts[i], host);

		if (fit > best)
			best = fit;
	}
	return best;
}

const struct hostconf_ca *
hostconf_ca_for(const struct hostconf *c, const char *host)
{
	const struct hostconf_ca *found = NULL;
	size_t best = 0;

	for (size_t i = 0; i < c->ca_count; i++) {
		const size_t fit = best_fit(&c->cas[i], host);

		if (fit > best) {
			best = fit;
			found = &c->cas[i];
		}
	}
	return found;
}
