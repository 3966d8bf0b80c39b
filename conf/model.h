/*
 * A policy between its text and its image: rules in the order of the files,
 * with their strings in one pool. Private to the compiler.
 */
#ifndef TAPWARD_CONF_MODEL_H
#define TAPWARD_CONF_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "conf/image.h"
#include "conf/vec.h"
#include "conf/verdict.h"

struct model_rule {
	uint32_t name; /* strings: offsets into model.strings, 0 is "" */
	uint32_t say;
	uint32_t credential;
	uint32_t file; /* index of model.files */
	uint32_t line;
	enum action action;
	enum scheme scheme;
	enum tls_mode tls;
	uint32_t widen;
	struct image_run ports; /* of model.ports, and so on */
	struct image_run methods;
	struct image_run paths;
	struct image_run queries;
	bool is_git; /* its paths are repositories */
	struct image_git git;
	uint32_t hosts;  /* how many patterns it names */
	uint32_t budget; /* of model.budgets, counted from 1; 0: none */
};

/* "rule names this pattern of hosts". */
struct model_host {
	uint32_t name; /* canonical, without the stars */
	uint32_t rule;
	enum pattern_kind kind;
};

struct model {
	struct vec strings; /* char, each string with its NUL */
	struct vec files;   /* uint32_t string; 0 is the text's */
	struct vec rules;   /* struct model_rule */
	struct vec hosts;   /* struct model_host */
	struct vec ports;   /* uint16_t */
	struct vec methods; /* uint32_t string */
	struct vec paths;
	struct vec queries;
	struct vec refs;
	struct vec budgets;   /* struct image_budget */
	struct vec redirects; /* struct image_redirect */
	uint32_t budget;      /* of the text as a whole, as a rule's */
	uint32_t line;        /* of [policy] in the text */
	uint32_t digest;      /* string */
	bool is_ceiling;
	bool learns;
};

/* 0 or -ENOMEM; model_done() either way. */
int model_init(struct model *m);
void model_done(struct model *m);
/* Adds a string to the pool. 0 or -ENOMEM. */
int model_add_string(struct model *m, struct span s, uint32_t *ret_off);
const char *model_string(const struct model *m, uint32_t off);
struct model_rule *model_rule_at(const struct model *m, size_t i);

#endif
