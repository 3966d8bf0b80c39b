/*
 * See client_hello.h.
 */
#include "client_hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"

static void
put_sni(struct wr *w, const char *name)
{
	size_t len = strlen(name);

	wr_u16(w, 0);
	wr_u16(w, (uint16_t)(len + 5));
	wr_u16(w, (uint16_t)(len + 3));
	wr_u8(w, 0);
	wr_u16(w, (uint16_t)len);
	wr_text(w, name);
}

/* RFC 9849 5: outer, HKDF-SHA256 and AES-128-GCM, id, enc, payload. */
static void
put_ech(struct wr *w)
{
	static const uint8_t ech[] = { 0xfe, 0x0d, 0, 14, 0, 0, 1, 0, 1, 7, 0,
		2, 0xaa, 0xbb, 0, 2, 0xcc, 0xdd };

	wr_bytes(w, ech, sizeof(ech));
}

size_t
client_hello(const char *name, bool has_ech, uint8_t buf[512])
{
	static const uint8_t zeros[32];
	struct wr w = wr_init(buf, 512);
	size_t record, extensions;

	wr_u8(&w, 22);
	wr_u16(&w, 0x0301);
	record = w.len;
	wr_u16(&w, 0);
	wr_u8(&w, 1); /* ClientHello */
	wr_u24(&w, 0);
	wr_u16(&w, 0x0303);
	wr_bytes(&w, zeros, 32);
	wr_u8(&w, 0); /* no session */
	wr_u16(&w, 2);
	wr_u16(&w, 0x1301);
	wr_u8(&w, 1);
	wr_u8(&w, 0);
	extensions = w.len;
	wr_u16(&w, 0);
	if (name != NULL)
		put_sni(&w, name);
	if (has_ech)
		put_ech(&w);
	assert_true(wr_ok(&w));
	wr_patch_u16(&w, extensions, (uint16_t)(w.len - extensions - 2));
	/* The handshake's length is below 64 KiB: its last two bytes. */
	wr_patch_u16(&w, record + 4, (uint16_t)(w.len - record - 6));
	wr_patch_u16(&w, record, (uint16_t)(w.len - record - 2));
	return w.len;
}
