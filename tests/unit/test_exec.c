/*
 * Helper programs: what each protocol is told and says, and what becomes of
 * output that is none. The test runs them in place of the supervisor.
 */
#include "tests/unit/mint_support.h"

#include <cmocka.h>

#include "base/message_helper.h"
#include "credential-broker/kind.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

static const char *output;
static struct message_helper_ran ending;
static bool stays_open; /* something it left behind holds the pipe */
static unsigned int run_count;
static char told[512];
static int held = -1;

static int
run(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_helper_run m;
	uint8_t buf[16];
	struct wr w = wr_init(buf, sizeof(buf));
	ssize_t n;

	(void)arg;
	assert_int_equal(message_helper_run_decode(&msg->body, &m), 0);
	assert_string_equal(m.credential, "free");
	run_count++;
	n = read(msg->fds[HELPER_FD_STDIN], told, sizeof(told) - 1);
	assert_true(n >= 0);
	told[n] = '\0';
	/* It is closed after what is told: a helper may read to the end. */
	assert_int_equal(read(msg->fds[HELPER_FD_STDIN], buf, 1), 0);
	for (size_t done = 0, len = strlen(output); done < len; done += 4096)
		assert_true(write(msg->fds[HELPER_FD_STDOUT], output + done,
				len - done < 4096 ? len - done : 4096) > 0);
	if (stays_open)
		held = dup(msg->fds[HELPER_FD_STDOUT]);
	message_helper_ran_encode(&w, &ending);
	assert_int_equal(chan_send(c, MSG_BROKER_RAN, msg->id, &w, NULL, 0), 0);
	return 0;
}

static struct world *
world_of(const char *protocol)
{
	static struct message_broker_credential m;
	struct world *w = world_new();

	w->run = run;
	run_count = 0;
	bind_to_host(&m, "free", "free.acme.example");
	m.kind = BROKER_KIND_EXEC;
	m.source[0] = '\0';
	m.apply = LEASE_APPLY_BASIC;
	(void)snprintf(m.user, sizeof(m.user), "as-defined");
	set(&m, "command", "/usr/bin/helper", false);
	set(&m, "protocol", protocol, false);
	if (strcmp(protocol, "json") == 0) {
		set(&m, "json-key", "key", false);
		set(&m, "expires-key", "end", false);
	}
	if (strcmp(protocol, "cargo") == 0)
		set(&m, "index-url", "sparse+https://free.acme.example/",
		    false);
	send_definition_from(w, &m, -1);
	begin_sandbox(w);
	return w;
}

struct row {
	const char *claim, *protocol, *output;
	uint8_t outcome, status;
	const char *value, *user; /* value NULL: it fails with fault */
	enum mint_fault fault;
};

#define HELLO "{\"v\":[1]}\n"
#define FAR "2100-01-01T00:00:00Z"

static const struct row rows[] = {
	{ "raw", "raw", "gh-token-0001\n", HELPER_RAN, 0, "gh-token-0001", "",
	    MINT_OK },
	{ "raw with another line", "raw", "gh-token-0001\nmore\n", HELPER_RAN,
	    0, NULL, "", MINT_ANSWER },
	{ "raw of nothing", "raw", "\n", HELPER_RAN, 0, NULL, "", MINT_ANSWER },
	{ "another status", "raw", "gh-token-0001\n", HELPER_RAN, 4, NULL, "",
	    MINT_REFUSED },
	{ "killed", "raw", "gh-token-0001\n", HELPER_KILLED, 0, NULL, "",
	    MINT_ISSUER },
	{ "late", "raw", "gh-tok", HELPER_LATE, 0, NULL, "", MINT_TIMEOUT },
	{ "not there", "raw", "", HELPER_NOT_STARTED, 0, NULL, "", MINT_LOCAL },
	{ "json", "json", "{\"key\":\"gh-token-0001\",\"end\":\"" FAR "\"}",
	    HELPER_RAN, 0, "gh-token-0001", "", MINT_OK },
	{ "json that has ended", "json",
	    "{\"key\":\"gh-token-0001\",\"end\":1000}", HELPER_RAN, 0, NULL, "",
	    MINT_EXPIRED },
	{ "json with a time that is none", "json",
	    "{\"key\":\"gh-token-0001\",\"end\":\"soon\"}", HELPER_RAN, 0, NULL,
	    "", MINT_ANSWER },
	{ "no json", "json", "gh-token-0001", HELPER_RAN, 0, NULL, "",
	    MINT_ANSWER },
	{ "git", "git",
	    "capability[]=x\nusername=oct\npassword=gh-token-0001\n"
	    "password_expiry_utc=4102444800\n\nrest=x\n",
	    HELPER_RAN, 0, "gh-token-0001", "oct", MINT_OK },
	{ "git that has none", "git", "quit=1\n", HELPER_RAN, 0, NULL, "",
	    MINT_REFUSED },
	{ "git whose password has ended", "git",
	    "password=gh-token-0001\npassword_expiry_utc=1000\n", HELPER_RAN, 0,
	    NULL, "", MINT_EXPIRED },
	{ "git with a CR in its password", "git", "password=gh-token\r-1\n",
	    HELPER_RAN, 0, NULL, "", MINT_ANSWER },
	{ "git with a user that is two", "git",
	    "username=a:b\npassword=gh-token-0001\n", HELPER_RAN, 0, NULL, "",
	    MINT_ANSWER },
	{ "not git", "git", "Username for host: \n", HELPER_RAN, 0, NULL, "",
	    MINT_ANSWER },
	{ "docker", "docker",
	    "{\"ServerURL\":\"x\",\"Username\":\"oct\",\"Secret\":"
	    "\"gh-token-0001\"}\n",
	    HELPER_RAN, 0, "gh-token-0001", "oct", MINT_OK },
	{ "docker that has none", "docker",
	    "credentials not found in native keychain\n", HELPER_RAN, 1, NULL,
	    "", MINT_REFUSED },
	{ "docker with an identity token", "docker",
	    "{\"Username\":\"<token>\",\"Secret\":\"gh-token-0001\"}",
	    HELPER_RAN, 0, NULL, "", MINT_ANSWER },
	{ "cargo", "cargo",
	    HELLO "{\"Ok\":{\"kind\":\"get\",\"token\":\"gh-token-0001\","
		  "\"cache\":\"expires\",\"expiration\":4102444800}}\n",
	    HELPER_RAN, 0, "gh-token-0001", "", MINT_OK },
	{ "cargo of another version", "cargo",
	    "{\"v\":[2]}\n{\"Ok\":{\"token\":\"gh-token-0001\"}}\n", HELPER_RAN,
	    0, NULL, "", MINT_ANSWER },
	{ "cargo that has none", "cargo",
	    HELLO "{\"Err\":{\"kind\":\"not-found\"}}\n", HELPER_RAN, 0, NULL,
	    "", MINT_REFUSED },
	{ "cargo that only says hello", "cargo", HELLO, HELPER_RAN, 0, NULL, "",
	    MINT_ANSWER },
};

static void
reads_what_each_protocol_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct world *w = world_of(row->protocol);
		const struct answer *a;

		output = row->output;
		ending =
		    (struct message_helper_ran){ row->outcome, row->status };
		a = ask_free(w);
		if (strcmp(a->value, row->value == NULL ? "" : row->value) !=
			0 ||
		    (row->value == NULL &&
			strcmp(a->detail, mint_faults[row->fault].word) != 0))
			fail_msg("%s: \"%s\" %s", row->claim, a->value,
			    a->detail);
		if (row->value != NULL)
			assert_string_equal(a->user,
			    *row->user == '\0' ? "as-defined" : row->user);
		assert_int_equal(run_count, 1);
		world_free(w);
	}
}

static void
tells_each_what_it_wants_to_hear(void **state)
{
	static const char *const want[][2] = { { "raw", "" }, { "json", "" },
		{ "git", "protocol=https\nhost=free.acme.example\n\n" },
		{ "docker", "free.acme.example" },
		{ "cargo",
		    "{\"v\":1,\"registry\":{\"index-url\":"
		    "\"sparse+https://free.acme.example/\"},\"kind\":\"get\","
		    "\"operation\":\"read\",\"args\":[]}\n" } };

	(void)state;
	output = "";
	ending = (struct message_helper_ran){ HELPER_RAN, 1 };
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct world *w = world_of(want[i][0]);

		(void)ask_free(w);
		assert_string_equal(told, want[i][1]);
		world_free(w);
	}
}

static char large[80000];

static void
takes_no_more_than_it_has_room_for(void **state)
{
	struct world *w = world_of("raw");

	(void)state;
	/* More than a pipe holds would stop us, who are in one process. */
	memset(large, 'x', sizeof(large) - 1);
	large[60000] = '\0';
	output = large;
	ending = (struct message_helper_ran){ HELPER_RAN, 0 };
	assert_string_equal(ask_free(w)->detail, "issuer-bad-answer");
	world_free(w);
}

/* It was killed, and something it has started holds the pipe. */
static void
waits_for_nobody_who_is_late(void **state)
{
	struct world *w = world_of("raw");

	(void)state;
	output = "gh-token-0001";
	ending = (struct message_helper_ran){ HELPER_LATE, 0 };
	stays_open = true;
	assert_string_equal(ask_free(w)->detail, "issuer-slow");
	stays_open = false;
	(void)close(held);
	world_free(w);
}

static void
fails_without_a_supervisor(void **state)
{
	struct world *w = world_of("raw");

	(void)state;
	broker_meet(w->broker, NULL);
	assert_string_equal(ask_free(w)->detail, "not-ready");
	assert_int_equal(run_count, 0);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_each_protocol_says),
		cmocka_unit_test(tells_each_what_it_wants_to_hear),
		cmocka_unit_test(takes_no_more_than_it_has_room_for),
		cmocka_unit_test(waits_for_nobody_who_is_late),
		cmocka_unit_test(fails_without_a_supervisor),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
