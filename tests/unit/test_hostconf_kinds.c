/*
 * The keys that only some kinds of credentials take: what they may say, which
 * are missing, and which are another kind's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf/hostconf.h"

#define HEAD                                                                   \
	"[ceiling]\npolicy = none\n[credential c]\nhost = a.example.org\n"     \
	"apply = bearer\ngrant = a\n"
#define VAULT                                                                  \
	HEAD "kind = vault\nauth = token\nvault-policy = ci\n"                 \
	     "mount = secret\nfield = token\n"
#define SECRET "secret = ci/npm\n"
#define URL "vault-url = https://vault.example.org:8200\n"

static const struct {
	const char *claim, *text, *want; /* NULL: it is taken */
} rows[] = {
	{ "all that vault needs", VAULT URL SECRET, NULL },
	{ "all that it may say",
	    VAULT URL SECRET
	    "namespace = a/b\nauth-mount = x/y\nauth-role = r\nrole-id = i\n"
	    "auth-token = file:/t\nsecret-id = env:S\njwt = credential:j\n"
	    "vault-policy = two, three\ntoken-role = r\nengine = dynamic\n"
	    "user-field = username\nduration = 15m\ncleartext = no\n",
	    NULL },
	{ "no secret", VAULT URL,
	    "h.ini:3: [credential c] needs `secret = PATH" },
	{ "no address", VAULT SECRET,
	    "h.ini:3: [credential c] needs `vault-url = https://HOST:8200" },
	{ "plain http", VAULT SECRET "vault-url = http://vault.example.org\n",
	    "h.ini:13: vault-url is plain http" },
	{ "a login that is none", HEAD "kind = vault\nauth = ldap\n",
	    "h.ini:8: auth = ldap: `token`, `approle`, `jwt` or `kubernetes`" },
	{ "an engine that is none", VAULT "engine = kv\n",
	    "h.ini:12: engine = kv: `kv1`, `kv2` or `dynamic`" },
	{ "a path that begins with a slash", VAULT "secret = /ci\n",
	    "h.ini:12: secret = /ci: a path without a slash at either end" },
	{ "one that ends with it", VAULT "secret = ci/\n",
	    "h.ini:12: secret = ci/: a path without a slash at either end" },
	{ "one that leads out", VAULT "secret = ci/../sys\n",
	    "h.ini:12: secret = ci/../sys: a path without" },
	{ "one that stays where it is", VAULT "secret = ci/./sys\n",
	    "h.ini:12: secret = ci/./sys: a path without" },
	{ "a name that begins with dots", VAULT URL "secret = ci/...x\n",
	    NULL },
	{ "one that holds an escape", VAULT "secret = ci%2fsys\n",
	    "h.ini:12: secret = ci%2fsys: a path of letters" },
	{ "one with a query", VAULT "secret = ci?version=1\n",
	    "h.ini:12: secret = ci?version=1: a path of letters" },
	{ "the policy that may do everything", VAULT "vault-policy = root\n",
	    "h.ini:12: vault-policy = root: root may do everything" },
	{ "a secret in the file", VAULT "auth-token = hvs.abc\n",
	    "h.ini:12: auth-token = hvs.abc: say where the secret lies" },
	{ "a key of another kind", VAULT URL SECRET "realm = https://x.org/\n",
	    "h.ini:14: realm is no key of kind vault" },
	{ "a key of vault in another kind",
	    HEAD "kind = exec\ncommand = /bin/x\nnamespace = a\n",
	    "h.ini:9: namespace is no key of kind exec" },
	{ "a value", VAULT URL SECRET "value = env:X\n",
	    "h.ini:3: [credential c] has a `value`" },
};

static void
a_kind_takes_its_own_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hostconf *c = NULL;
		struct err err = { "" };
		const char *want = rows[i].want;
		const int rc =
		    hostconf_parse("h.ini", span_of(rows[i].text), &c, &err);

		if (rc != (want == NULL ? 0 : -EINVAL) ||
		    (want != NULL &&
			strncmp(err.text, want, strlen(want)) != 0))
			fail_msg("%s: rc %d \"%s\"", rows[i].claim, rc,
			    err.text);
		hostconf_free(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kind_takes_its_own_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
