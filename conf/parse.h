/*
 * From the text of a policy and its presets to a model. Private to the
 * compiler: parse.c knows sections, parse_keys.c the keys, parse_git.c those
 * of [git], parse_rule.c what must hold within one rule.
 */
#ifndef TAPWARD_CONF_PARSE_H
#define TAPWARD_CONF_PARSE_H

#include "conf/compile.h"
#include "conf/finding.h"
#include "conf/host_pattern.h"
#include "conf/ini.h"
#include "conf/model.h"

/* Most of one policy; a ceiling may hold more. */
#define PARSE_RULES_MAX 4096
/* Enough for a ceiling that names all there are. */
#define PARSE_PRESETS_MAX 128
/* Longest text for whoever is refused: it shares one line of 200 bytes. */
#define PARSE_SAY_MAX 120

enum parse_key {
	KEY_VERSION,
	KEY_PRESET,
	KEY_HOST,
	KEY_PORT,
	KEY_METHOD,
	KEY_PATH,
	KEY_QUERY,
	KEY_CREDENTIAL,
	KEY_TLS,
	KEY_SCHEME,
	KEY_ENCODED_SLASH,
	KEY_SAY,
	KEY_WEBSOCKET,
	KEY_REDIRECT,
	KEY_UNTIL,
	KEY_MAX_REQUESTS,
	KEY_MAX_UPLOAD,
	KEY_MAX_DOWNLOAD,
	KEY_RATE,
	KEY_REPO,
	KEY_PUSH,
	KEY_DELETE,
	KEY_FORCE,
	KEY_PUSH_OPTIONS,
	KEY_MAX_PUSH,
	KEY_LFS,
	KEY_LFS_HOST,
	KEY_MAX_CONNECTIONS,
	KEYS
};

enum parse_section {
	SECTION_NONE, /* one that was refused: its keys are not read */
	SECTION_POLICY,
	SECTION_RULE,
	SECTION_GIT,
	SECTION_EXPECT, /* its keys are for conf/expect.h */
};

struct parse {
	const struct compile_input *in;
	struct compile_result *ret;
	struct model *m;
	int rc; /* -ENOMEM */
	/* the file being read */
	const char *file;
	uint32_t file_index;
	bool is_preset;
	uint32_t policy_line; /* of its [policy], 0 so far */
	uint32_t version_line;
	/* the section being read */
	enum parse_section section;
	uint32_t line;           /* of its heading */
	uint32_t key_line[KEYS]; /* where each key stood first, 0: absent */
	uint32_t wildcard_line;  /* of the first host with a star */
	uint32_t any_depth_line; /* ... with two */
	/* of [git]: where its repositories are, port 0 so far */
	struct host_pattern repo_host;
	uint16_t repo_port;
	/* what [policy] asks for: struct preset_use */
	struct vec presets;
};

struct preset_use {
	uint32_t name; /* string */
	uint32_t line;
};

/* Everything of in; errors are findings. 0, or -ENOMEM. */
int parse_policy(const struct compile_input *in, struct model *m,
    struct compile_result *ret);

/* One key below the present section (parse_keys.c). */
void parse_take_key(struct parse *p, const struct ini_entry *e);
/*
 * Keys of budgets (parse_budget.c), as the takers of parse_keys.c: NULL, or
 * what is wrong with the value.
 */
const char *parse_take_until(struct parse *p, struct span v, uint32_t line);
const char *parse_take_max_requests(struct parse *p, struct span v,
    uint32_t line);
const char *parse_take_max_upload(struct parse *p, struct span v,
    uint32_t line);
const char *parse_take_max_download(struct parse *p, struct span v,
    uint32_t line);
const char *parse_take_max_connections(struct parse *p, struct span v,
    uint32_t line);
const char *parse_take_rate(struct parse *p, struct span v, uint32_t line);
/* The same of `redirect` (parse_redirect.c). */
const char *parse_take_redirect(struct parse *p, struct span v, uint32_t line);
/* Answers to what the rule allows may point there. NULL, or what is wrong. */
const char *parse_add_redirect(struct parse *p, struct span host,
    uint32_t seconds);
/* The rule whose section has ended (parse_rule.c). */
void parse_finish_rule(struct parse *p);
/* The [git] rule whose section has ended (parse_git.c). */
void parse_finish_git(struct parse *p);
/* What must hold of the rule's credential (parse_rule.c). */
void parse_check_credential(struct parse *p);
/* An error at the key's line if the key is there. */
void parse_refuse_if(struct parse *p, enum parse_key key, const char *why);
/* A host of the rule. NULL, or what is wrong with it. */
const char *parse_add_host(struct parse *p, const struct host_pattern *pattern,
    uint32_t line);
/* A string of the rule: into the pool and its vector, one more in run. */
const char *parse_add_item(struct parse *p, struct image_run *run,
    struct vec *to, struct span v);
/* Keys of [git] (parse_git.c); NULL, or what is wrong with v. */
const char *parse_take_repo(struct parse *p, struct span v, uint32_t line);
const char *parse_take_push(struct parse *p, struct span v, uint32_t line);
const char *parse_take_delete(struct parse *p, struct span v, uint32_t line);
const char *parse_take_force(struct parse *p, struct span v, uint32_t line);
const char *parse_take_push_options(struct parse *p, struct span v,
    uint32_t line);
const char *parse_take_max_push(struct parse *p, struct span v, uint32_t line);
const char *parse_take_lfs(struct parse *p, struct span v, uint32_t line);
const char *parse_take_lfs_host(struct parse *p, struct span v, uint32_t line);
/* The rule being read. */
struct model_rule *parse_rule(const struct parse *p);
/* A line of the file being read. */
struct place parse_at(const struct parse *p, uint32_t line);

#endif
