/*
 * The rules of one stream, as scripts: frames of either side in order, each
 * with what it is found to be.
 */
#include "wire_rows.h"

#include <string.h>

#include "vmm/frame_stream.h"

#define STEPS_MAX 8

/* n: bytes of DATA, or the number that the body holds. */
struct step {
	enum frame_side side;
	uint8_t type;
	uint8_t channel;
	uint32_t n;
	enum frame_fault want;
};

struct script {
	const char *claim;
	uint8_t kind;
	bool tty;
	struct step steps[STEPS_MAX]; /* until type is 0 */
};

#define H(type, channel, n)                                                    \
	{                                                                      \
		FRAME_HOST, type, channel, n, FRAME_OK                         \
	}
#define G(type, channel, n)                                                    \
	{                                                                      \
		FRAME_GUEST, type, channel, n, FRAME_OK                        \
	}
#define NO(side, type, channel, n, fault)                                      \
	{                                                                      \
		FRAME_##side, type, channel, n, FRAME_BAD_##fault              \
	}
/* The ten bytes of arguments, and the guest's answer. */
#define ARGS H(FRAME_DATA, FRAME_ARGS, 10)
#define STARTED ARGS, G(FRAME_STARTED, 0, 1)

static const struct script scripts[] = {
	{ "a command from start to end", FRAME_EXEC, false,
	    { STARTED, H(FRAME_DATA, FRAME_INPUT, 5),
		G(FRAME_DATA, FRAME_OUTPUT, 5), G(FRAME_DATA, FRAME_ERROR, 5),
		H(FRAME_EOF, FRAME_INPUT, 0), G(FRAME_EOF, FRAME_OUTPUT, 0),
		G(FRAME_EXIT, 0, 0) } },
	{ "input may come before the arguments", FRAME_EXEC, false,
	    { H(FRAME_DATA, FRAME_INPUT, 5), STARTED } },
	{ "it does not start before they are whole", FRAME_EXEC, false,
	    { H(FRAME_DATA, FRAME_ARGS, 9),
		NO(GUEST, FRAME_STARTED, 0, 1, ORDER) } },
	{ "they are no longer than was said", FRAME_EXEC, false,
	    { H(FRAME_DATA, FRAME_ARGS, 9),
		NO(HOST, FRAME_DATA, FRAME_ARGS, 2, WINDOW) } },
	{ "no window for them", FRAME_EXEC, false,
	    { ARGS, NO(GUEST, FRAME_WINDOW_ADD, FRAME_ARGS, 1, CHANNEL) } },
	{ "no end of them but their length", FRAME_EXEC, false,
	    { ARGS, NO(HOST, FRAME_EOF, FRAME_ARGS, 0, CHANNEL) } },
	{ "it starts once", FRAME_EXEC, false,
	    { STARTED, NO(GUEST, FRAME_STARTED, 0, 1, ORDER) } },
	{ "no output before it starts", FRAME_EXEC, false,
	    { ARGS, NO(GUEST, FRAME_DATA, FRAME_OUTPUT, 1, ORDER) } },
	{ "no end of output either", FRAME_EXEC, false,
	    { ARGS, NO(GUEST, FRAME_EOF, FRAME_OUTPUT, 0, ORDER) } },
	{ "no exit code of what has not started", FRAME_EXEC, false,
	    { ARGS, NO(GUEST, FRAME_EXIT, 0, 0, ORDER) } },
	{ "nothing after the exit, of the guest", FRAME_EXEC, false,
	    { STARTED, G(FRAME_EXIT, 0, 0),
		NO(GUEST, FRAME_DATA, FRAME_OUTPUT, 1, ORDER) } },
	{ "nor of the host", FRAME_EXEC, false,
	    { STARTED, G(FRAME_EXIT, 0, 0),
		NO(HOST, FRAME_RESET, 0, 0, ORDER) } },
	{ "nor a second exit", FRAME_EXEC, false,
	    { STARTED, G(FRAME_EXIT, 0, 0),
		NO(GUEST, FRAME_EXIT, 0, 0, ORDER) } },
	{ "the guest answers a reset", FRAME_EXEC, false,
	    { STARTED, H(FRAME_RESET, 0, 0), G(FRAME_DATA, FRAME_OUTPUT, 1),
		G(FRAME_EXIT, 0, 0) } },
	{ "the host says nothing after it", FRAME_EXEC, false,
	    { STARTED, H(FRAME_RESET, 0, 0),
		NO(HOST, FRAME_WINDOW_ADD, FRAME_OUTPUT, 1, ORDER) } },
	{ "nor a second one", FRAME_EXEC, false,
	    { H(FRAME_RESET, 0, 0), NO(HOST, FRAME_RESET, 0, 0, ORDER) } },
	{ "no output after its end", FRAME_EXEC, false,
	    { STARTED, G(FRAME_EOF, FRAME_OUTPUT, 0),
		NO(GUEST, FRAME_DATA, FRAME_OUTPUT, 1, ORDER) } },
	{ "though errors go on", FRAME_EXEC, false,
	    { STARTED, G(FRAME_EOF, FRAME_OUTPUT, 0),
		G(FRAME_DATA, FRAME_ERROR, 1) } },
	{ "one end of input", FRAME_EXEC, false,
	    { H(FRAME_EOF, FRAME_INPUT, 0),
		NO(HOST, FRAME_EOF, FRAME_INPUT, 0, ORDER) } },
	{ "no input after it", FRAME_EXEC, false,
	    { H(FRAME_EOF, FRAME_INPUT, 0),
		NO(HOST, FRAME_DATA, FRAME_INPUT, 1, ORDER) } },
	{ "the guest sends no input", FRAME_EXEC, false,
	    { STARTED, NO(GUEST, FRAME_DATA, FRAME_INPUT, 1, CHANNEL) } },
	{ "nor arguments", FRAME_EXEC, false,
	    { NO(GUEST, FRAME_DATA, FRAME_ARGS, 1, CHANNEL) } },
	{ "the host sends no output", FRAME_EXEC, false,
	    { STARTED, NO(HOST, FRAME_DATA, FRAME_OUTPUT, 1, CHANNEL) } },
	{ "the guest does not start, signal, resize or reset", FRAME_EXEC, true,
	    { NO(GUEST, FRAME_EXEC, 0, 0, TYPE),
		NO(GUEST, FRAME_SIGNAL, 0, 9, TYPE),
		NO(GUEST, FRAME_RESIZE, 0, 1, TYPE),
		NO(GUEST, FRAME_RESET, 0, 0, TYPE) } },
	{ "the host does not say what the guest says", FRAME_EXEC, false,
	    { ARGS, NO(HOST, FRAME_STARTED, 0, 1, TYPE),
		NO(HOST, FRAME_EXIT, 0, 0, TYPE) } },
	{ "a stream is not opened twice", FRAME_EXEC, false,
	    { NO(HOST, FRAME_EXEC, 0, 0, STREAM),
		NO(HOST, FRAME_PUT, 0, 0, STREAM),
		NO(HOST, FRAME_GET, 0, 0, STREAM) } },
	{ "what has no stream is nothing for one", FRAME_EXEC, false,
	    { NO(HOST, FRAME_HELLO, 0, 0, TYPE),
		NO(GUEST, FRAME_HELLO, 0, 0, TYPE),
		NO(HOST, FRAME_POWEROFF, 0, 0, TYPE) } },
	{ "a terminal has no errors of its own", FRAME_EXEC, true,
	    { STARTED, NO(GUEST, FRAME_DATA, FRAME_ERROR, 1, CHANNEL) } },
	{ "it has a size", FRAME_EXEC, true,
	    { STARTED, H(FRAME_RESIZE, 0, 80) } },
	{ "a pipe has none", FRAME_EXEC, false,
	    { STARTED, NO(HOST, FRAME_RESIZE, 0, 80, TYPE) } },
	{ "signals 1 to 64", FRAME_EXEC, false,
	    { H(FRAME_SIGNAL, 0, 1), H(FRAME_SIGNAL, 0, 64),
		NO(HOST, FRAME_SIGNAL, 0, 65, BODY) } },
	{ "a PUT from start to end", FRAME_PUT, false,
	    { H(FRAME_DATA, FRAME_INPUT, 9), H(FRAME_EOF, FRAME_INPUT, 0),
		G(FRAME_EXIT, 0, 0) } },
	{ "it gives nothing back", FRAME_PUT, false,
	    { NO(GUEST, FRAME_DATA, FRAME_OUTPUT, 1, CHANNEL) } },
	{ "it has no start, signal, arguments", FRAME_PUT, false,
	    { NO(GUEST, FRAME_STARTED, 0, 1, TYPE),
		NO(HOST, FRAME_SIGNAL, 0, 9, TYPE),
		NO(HOST, FRAME_DATA, FRAME_ARGS, 1, CHANNEL) } },
	{ "a GET from start to end", FRAME_GET, false,
	    { G(FRAME_DATA, FRAME_OUTPUT, 9), G(FRAME_EOF, FRAME_OUTPUT, 0),
		G(FRAME_EXIT, 0, 0) } },
	{ "it takes nothing", FRAME_GET, false,
	    { NO(HOST, FRAME_DATA, FRAME_INPUT, 1, CHANNEL),
		NO(HOST, FRAME_EOF, FRAME_INPUT, 0, CHANNEL) } },
	{ "a copy has no exit code of its own", FRAME_GET, false,
	    { NO(GUEST, FRAME_EXIT, 0, 1, ORDER) } },
	{ "a window's last byte", FRAME_GET, false,
	    { G(FRAME_DATA, 1, 65536), G(FRAME_DATA, 1, 65536),
		G(FRAME_DATA, 1, 65536), G(FRAME_DATA, 1, 65536),
		NO(GUEST, FRAME_DATA, 1, 1, WINDOW),
		H(FRAME_WINDOW_ADD, 1, 65536), G(FRAME_DATA, 1, 65536),
		NO(GUEST, FRAME_DATA, 1, 1, WINDOW) } },
	{ "each channel has its own", FRAME_EXEC, false,
	    { STARTED, G(FRAME_DATA, 1, 65536), G(FRAME_DATA, 1, 65536),
		G(FRAME_DATA, 1, 65536), G(FRAME_DATA, 1, 65536),
		NO(GUEST, FRAME_DATA, 1, 1, WINDOW),
		G(FRAME_DATA, 2, 65536) } },
	{ "the host's input has one too", FRAME_PUT, false,
	    { H(FRAME_DATA, 0, 65536), H(FRAME_DATA, 0, 65536),
		H(FRAME_DATA, 0, 65536), H(FRAME_DATA, 0, 65536),
		NO(HOST, FRAME_DATA, 0, 1, WINDOW), G(FRAME_WINDOW_ADD, 0, 1),
		H(FRAME_DATA, 0, 1) } },
	{ "no more is given back than was sent", FRAME_GET, false,
	    { NO(HOST, FRAME_WINDOW_ADD, 1, 1, WINDOW), G(FRAME_DATA, 1, 100),
		NO(HOST, FRAME_WINDOW_ADD, 1, 101, WINDOW),
		H(FRAME_WINDOW_ADD, 1, 100),
		NO(HOST, FRAME_WINDOW_ADD, 1, 1, WINDOW) } },
	{ "nobody widens his own", FRAME_EXEC, false,
	    { H(FRAME_DATA, 0, 9),
		NO(HOST, FRAME_WINDOW_ADD, 0, 9, CHANNEL) } },
	{ "what came before the end of output is given back after it",
	    FRAME_GET, false,
	    { G(FRAME_DATA, 1, 9), G(FRAME_EOF, 1, 0),
		H(FRAME_WINDOW_ADD, 1, 9) } },
};

static uint8_t buf[FRAME_BYTES_MAX];
static const uint8_t zeros[FRAME_PAYLOAD_MAX];

static void
put_opening(struct wr *w, uint8_t kind, bool tty)
{
	const struct frame_copy copy = { .path = span_of("/x") };
	const struct frame_exec exec = { .flags = tty ? FRAME_EXEC_TTY : 0,
		.argc = 1,
		.args_bytes = 10 };

	if (kind == FRAME_EXEC)
		frame_exec_encode(w, 1, &exec);
	else
		frame_copy_encode(w, kind, 1, &copy);
}

static void
put_step(struct wr *w, const struct step *s)
{
	const struct frame_exit code = { .end = FRAME_END_CODE, .value = s->n };

	switch (s->type) {
	case FRAME_EXEC:
	case FRAME_PUT:
	case FRAME_GET:
		put_opening(w, s->type, false);
		break;
	case FRAME_HELLO:
		frame_hello_encode(w,
		    &(struct frame_hello){ FRAME_VERSION, 0 });
		break;
	case FRAME_DATA:
		frame_data_encode(w, 1, s->channel,
		    (struct span){ zeros, s->n });
		break;
	case FRAME_WINDOW_ADD:
		frame_window_encode(w, 1, s->channel, s->n);
		break;
	case FRAME_STARTED:
		frame_started_encode(w, 1, s->n);
		break;
	case FRAME_EXIT:
		frame_exit_encode(w, 1, &code);
		break;
	case FRAME_SIGNAL:
		frame_signal_encode(w, 1, (uint8_t)s->n);
		break;
	case FRAME_RESIZE:
		frame_resize_encode(w, 1, 25, (uint16_t)s->n);
		break;
	default:
		frame_bare_encode(w, s->type, 1, s->channel);
		break;
	}
}

static void
to_frame(struct frame *f, const struct wr *w)
{
	struct rd r = rd_init(w->buf, w->len);

	assert_true(wr_ok(w));
	f->head.len = rd_u32(&r);
	f->head.type = rd_u8(&r);
	f->head.channel = rd_u8(&r);
	rd_skip(&r, 2);
	f->head.stream = rd_u32(&r);
	f->body = rd_take(&r, f->head.len);
	assert_true(rd_done(&r));
}

static void
play(const struct script *script)
{
	struct frame_stream s, before;
	struct wr w = wr_init(buf, sizeof(buf));
	struct frame f;

	put_opening(&w, script->kind, script->tty);
	to_frame(&f, &w);
	row_equal(script->claim, frame_stream_open(&s, &f), FRAME_OK);
	for (size_t i = 0; i < STEPS_MAX && script->steps[i].type != 0; i++) {
		const struct step *step = &script->steps[i];

		w = wr_init(buf, sizeof(buf));
		put_step(&w, step);
		to_frame(&f, &w);
		before = s;
		row_equal(script->claim, frame_stream_pass(&s, step->side, &f),
		    step->want);
		if (step->want != FRAME_OK)
			assert_memory_equal(&s, &before, sizeof(s));
	}
}

static void
holds_each_stream_to_its_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(scripts); i++)
		play(&scripts[i]);
}

static void
is_opened_by_three_types_only(void **state)
{
	struct wr w = wr_init(buf, sizeof(buf));
	struct frame_stream s;
	struct frame f;

	(void)state;
	frame_data_encode(&w, 1, FRAME_INPUT, span_of("x"));
	to_frame(&f, &w);
	assert_int_equal(frame_stream_open(&s, &f), FRAME_BAD_STREAM);
	w = wr_init(buf, sizeof(buf));
	frame_exec_encode(&w, 1, &(struct frame_exec){ .argc = 0 });
	to_frame(&f, &w);
	assert_int_equal(frame_stream_open(&s, &f), FRAME_BAD_BODY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_each_stream_to_its_order),
		cmocka_unit_test(is_opened_by_three_types_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
