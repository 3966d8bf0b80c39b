#include "wire/tls_extensions.h"

enum {
	EXTENSION_SERVER_NAME = 0,         /* RFC 6066 3 */
	EXTENSION_ALPN = 16,               /* RFC 7301 */
	EXTENSION_RECORD_SIZE_LIMIT = 28,  /* RFC 8449 */
	EXTENSION_SESSION_TICKET = 35,     /* RFC 5077 */
	EXTENSION_PSK = 41,                /* RFC 8446 4.2.11 */
	EXTENSION_EARLY_DATA = 42,         /* RFC 8446 4.2.10 */
	EXTENSION_SUPPORTED_VERSIONS = 43, /* RFC 8446 4.2.1 */
	EXTENSION_ECH = 0xfe0d,            /* RFC 9849 */
};

/* What is being read, and the first thing found wrong with its name. */
struct reading {
	struct tls_hello hello;
	enum tls_hello_status sni; /* TLS_HELLO_NO_SNI until it is read */
	bool is_malformed;
	uint64_t seen[65536 / 64]; /* extension types, a bit each */
};

static enum tls_hello_status
judge_name(struct span name, struct tls_hello *hello)
{
	if (name.len == 0)
		return TLS_HELLO_SNI_EMPTY;
	/* RFC 6066 3: "without a trailing dot". */
	if (name.ptr[name.len - 1] == '.')
		return TLS_HELLO_SNI_NAME;
	hello->sni_status = host_parse(name, hello->sni);
	if (hello->sni_status == HOST_ADDRESS ||
	    hello->sni_status == HOST_ADDRESS_ODD)
		return TLS_HELLO_SNI_ADDRESS;
	return host_is_written(hello->sni_status) ? TLS_HELLO_OK
						  : TLS_HELLO_SNI_NAME;
}

static void
read_server_name(struct rd *data, struct reading *g)
{
	struct rd list;
	uint8_t type;
	struct span name;

	if (g->sni != TLS_HELLO_NO_SNI) {
		g->sni = TLS_HELLO_SNI_TWICE;
		return;
	}
	g->sni = TLS_HELLO_SNI_EMPTY;
	if (rd_left(data) == 0)
		return;
	list = rd_sub(data, rd_u16(data));
	if (rd_left(&list) == 0)
		return;
	type = rd_u8(&list);
	name = rd_take(&list, rd_u16(&list));
	if (!rd_ok(&list))
		rd_fail(data);
	else if (type != 0)
		g->sni = TLS_HELLO_SNI_TYPE;
	else if (rd_left(&list) > 0)
		g->sni = TLS_HELLO_SNI_NAMES;
	else
		g->sni = judge_name(name, &g->hello);
}

static void
read_alpn(struct rd *data, struct reading *g)
{
	struct rd list = rd_sub(data, rd_u16(data));

	g->hello.has_alpn = true;
	while (rd_left(&list) > 0) {
		struct span name = rd_take(&list, rd_u8(&list));

		if (name.len == 0)
			rd_fail(&list);
		if (span_is(name, "h2"))
			g->hello.has_h2 = true;
		else if (span_is(name, "http/1.1"))
			g->hello.has_http11 = true;
	}
	if (!rd_ok(&list))
		rd_fail(data);
}

/* Versions of TLS have 3 in the high byte; GREASE and drafts have not. */
static void
read_versions(struct rd *data, struct reading *g)
{
	struct rd list = rd_sub(data, rd_u8(data));

	g->hello.max_version = 0;
	while (rd_left(&list) > 0) {
		uint16_t version = rd_u16(&list);

		if (version >> 8 == 3 && version > g->hello.max_version)
			g->hello.max_version = version;
	}
	if (!rd_ok(&list))
		rd_fail(data);
}

static void
read_record_size_limit(struct rd *data, struct reading *g)
{
	g->hello.has_record_size_limit = true;
	rd_skip(data, rd_left(data)); /* the TLS library holds it to its form */
}

static void
read_ticket(struct rd *data, struct reading *g)
{
	g->hello.has_session_ticket = rd_left(data) > 0;
	rd_skip(data, rd_left(data));
}

static void
read_psk(struct rd *data, struct reading *g)
{
	g->hello.has_psk = true;
	rd_skip(data, rd_left(data));
}

static void
read_early_data(struct rd *data, struct reading *g)
{
	(void)data; /* is empty, or the caller finds what is left */
	g->hello.has_early_data = true;
}

static void
read_ech(struct rd *data, struct reading *g)
{
	int type = rd_peek(data);

	g->hello.ech = TLS_ECH_MALFORMED;
	if (type == 0)
		g->hello.ech = TLS_ECH_OUTER;
	else if (type == 1)
		g->hello.ech = TLS_ECH_INNER;
	rd_skip(data, rd_left(data));
}

static const struct {
	uint16_t type;
	void (*read)(struct rd *data, struct reading *g);
} extension_rows[] = {
	{ EXTENSION_SERVER_NAME, read_server_name },
	{ EXTENSION_ALPN, read_alpn },
	{ EXTENSION_RECORD_SIZE_LIMIT, read_record_size_limit },
	{ EXTENSION_SESSION_TICKET, read_ticket },
	{ EXTENSION_PSK, read_psk },
	{ EXTENSION_EARLY_DATA, read_early_data },
	{ EXTENSION_SUPPORTED_VERSIONS, read_versions },
	{ EXTENSION_ECH, read_ech },
};

/* RFC 8446 4.2: no type twice. server_name says so itself. */
static void
note_type(struct reading *g, uint16_t type)
{
	uint64_t bit = UINT64_C(1) << type % 64;

	if ((g->seen[type / 64] & bit) != 0 && type != EXTENSION_SERVER_NAME)
		g->is_malformed = true;
	g->seen[type / 64] |= bit;
}

static void
read_extension(struct rd *r, struct reading *g)
{
	uint16_t type = rd_u16(r);
	struct rd data = rd_sub(r, rd_u16(r));

	if (!rd_ok(r))
		return;
	note_type(g, type);
	for (size_t i = 0;
	     i < sizeof(extension_rows) / sizeof(extension_rows[0]); i++) {
		if (extension_rows[i].type != type)
			continue;
		extension_rows[i].read(&data, g);
		if (!rd_done(&data) && g->sni != TLS_HELLO_SNI_TWICE)
			g->is_malformed = true;
	}
}

/* RFC 8446 4.1.2, up to the extensions. */
static void
read_fixed(struct rd *r, struct reading *g)
{
	size_t len;

	rd_skip(r, 4);
	g->hello.legacy_version = rd_u16(r);
	g->hello.max_version = g->hello.legacy_version;
	rd_skip(r, 32);
	len = rd_u8(r);
	if (len > 32)
		rd_fail(r);
	rd_skip(r, len);
	len = rd_u16(r);
	if (len < 2 || len % 2 != 0)
		rd_fail(r);
	rd_skip(r, len);
	len = rd_u8(r);
	if (len == 0)
		rd_fail(r);
	rd_skip(r, len);
}

enum tls_hello_status
tls_extensions_parse(struct span message, struct tls_hello *ret)
{
	struct reading g = { .sni = TLS_HELLO_NO_SNI };
	struct rd r = rd_span(message);

	read_fixed(&r, &g);
	/* A hello may end here (RFC 5246 7.4.1.2). */
	if (rd_left(&r) > 0) {
		struct rd list = rd_sub(&r, rd_u16(&r));

		while (rd_left(&list) > 0)
			read_extension(&list, &g);
		if (!rd_ok(&list))
			g.is_malformed = true;
	}
	if (!rd_done(&r) || g.is_malformed)
		return TLS_HELLO_MALFORMED;
	if (g.sni == TLS_HELLO_OK)
		*ret = g.hello;
	return g.sni;
}
