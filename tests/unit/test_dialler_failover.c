/*
 * Several resolvers, of which the first is dead, silent or lies.
 */
#include "tests/unit/dialler_support.h"

#include "base/clock.h"
#include "tests/unit/dialler_zone.h"

#define FIRST "127.0.0.5"
/* How long c-ares waits for one that says nothing. */
#define TRY_MS 1000

/* Puts a resolver in front of the one that knows. */
static void
put_first(struct world *w, uint16_t port)
{
	struct message_dialler_config *c = w->config;

	c->resolvers[1] = c->resolvers[0];
	c->resolvers[0].address = range(FIRST).address;
	c->resolvers[0].port = port;
	c->resolver_count = 2;
	send_config(w);
}

/* Takes questions, and says nothing. */
static int
silent_resolver(uint16_t *ret_port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	const int fd =
	    socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd != -1);
	assert_int_equal(inet_pton(AF_INET, FIRST, &sa.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	*ret_port = port_of(fd);
	return fd;
}

static unsigned int
questions_to(int fd)
{
	char packet[512];
	unsigned int n = 0;

	/* Not those for the root, which no guest asks. */
	while (recv(fd, packet, sizeof(packet), 0) > 0)
		n += packet[12] != 0;
	return n;
}

static uint64_t
ms_of_dial(struct world *w, const char *host)
{
	const uint64_t begin = clock_mono_ms();

	assert_origin_reached(w, dial_and_wait(w, host));
	return clock_mono_ms() - begin;
}

static void
asks_a_silent_one_once_and_then_last(void **state)
{
	struct world *w = world_ready(zone);
	uint16_t port;
	const int fd = silent_resolver(&port);

	(void)state;
	put_first(w, port);
	assert_true(ms_of_dial(w, "good.origin.example") >= TRY_MS - 50);
	assert_int_equal(questions_to(fd), 2);
	/* The next names do not wait for it. */
	(void)ms_of_dial(w, "other.origin.example");
	(void)ms_of_dial(w, "chain.origin.example");
	assert_int_equal(questions_to(fd), 0);
	(void)close(fd);
	world_free(w);
}

#define FIRST_SAYS(owner, value)                                               \
	{                                                                      \
		owner, "A", value, 60, 0, NAMESERVER_PLAIN                     \
	}

static const struct nameserver_row lies[] = {
	FIRST_SAYS("other.origin.example", "10.0.0.1"),
	{ "good.origin.example", NULL, NULL, 0, 0, NAMESERVER_SERVFAIL },
	{ NULL, NULL, NULL, 0, 0, NAMESERVER_PLAIN },
};

/* What it cannot say the next one is asked; what it says is taken for true. */
static void
believes_the_first_that_answers(void **state)
{
	struct world *w = world_ready(zone);
	struct nameserver *first = nameserver_new(w->base, FIRST, lies);

	(void)state;
	put_first(w, nameserver_port(first));
	assert_true(ms_of_dial(w, "good.origin.example") < TRY_MS);
	assert_int_equal(nameserver_count(w->ns), 2);
	/* A lie that leads inwards is refused, whoever tells it. */
	assert_int_equal(dial_and_wait(w, "other.origin.example")->m.reason,
	    REASON_PRIVATE_ADDRESS);
	/* And that there is no such name is an answer. */
	assert_int_equal(dial_and_wait(w, "chain.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_int_equal(nameserver_count(w->ns), 2);
	nameserver_free(first);
	world_free(w);
}

static void
gives_up_when_all_are_dead(void **state)
{
	struct world *w = world_ready(zone);
	const uint64_t begin = clock_mono_ms();

	(void)state;
	w->config->limits.resolve_timeout_ms = 150;
	w->config->resolvers[0].port = 1;
	put_first(w, 1);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_int_equal(dial_and_wait(w, "other.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_true(clock_mono_ms() - begin < 5000);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_a_silent_one_once_and_then_last),
		cmocka_unit_test(believes_the_first_that_answers),
		cmocka_unit_test(gives_up_when_all_are_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
