#include "wire_rows.h"

#include <string.h>

#include "wire/host.h"

#define LABEL63                                                                \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct name_row {
	const char *claim;
	struct span in;
	enum host_status want;
	const char *name; /* NULL: none is written */
};

static const struct name_row names[] = {
	{ "a plain name", BYTES("api.github.com"), HOST_NAME,
	    "api.github.com" },
	{ "row 1: one final dot is taken off", BYTES("evil.example."),
	    HOST_NAME, "evil.example" },
	{ "row 1: two final dots are no name", BYTES("a.example.."),
	    HOST_LABEL_EMPTY, NULL },
	{ "row 2: letters are lowered", BYTES("EVIL.Example"), HOST_NAME,
	    "evil.example" },
	{ "row 3: brackets", BYTES("[evil.example]"), HOST_BAD_BYTE, NULL },
	{ "row 3: double brackets", BYTES("[[evil.example]]"), HOST_BAD_BYTE,
	    NULL },
	{ "row 4: a NUL in the name", BYTES("attacker.example\0.google.com"),
	    HOST_BAD_BYTE, NULL },
	{ "row 4: a NUL at the end", BYTES("google.com\0"), HOST_BAD_BYTE,
	    NULL },
	{ "row 5: a zone id", BYTES("::1%25.example.com"), HOST_BAD_BYTE,
	    NULL },
	{ "row 5: a zone id on a mapped address",
	    BYTES("::ffff:1.2.3.4%x.allowed.com"), HOST_BAD_BYTE, NULL },
	{ "row 9: a port in the name", BYTES("evil.com:443.allowed.com"),
	    HOST_BAD_BYTE, NULL },
	{ "row 11: a Cyrillic letter", BYTES("g\xd1\x96thub.com"),
	    HOST_NOT_ASCII, NULL },
	{ "row 11: a full-width letter", BYTES("\xef\xbd\x87ithub.com"),
	    HOST_NOT_ASCII, NULL },
	{ "row 11: an ideographic dot",
	    BYTES("github\xe3\x80\x82"
		  "com"),
	    HOST_NOT_ASCII, NULL },
	{ "row 11: a soft hyphen", BYTES("git\xc2\xadhub.com"), HOST_NOT_ASCII,
	    NULL },
	{ "row 11: an A-label is a label like others",
	    BYTES("xn--gthub-n4a.com"), HOST_NAME, "xn--gthub-n4a.com" },
	{ "row 12: a percent-encoded letter", BYTES("%65vil.example"),
	    HOST_BAD_BYTE, NULL },
	{ "row 12: a percent-encoded dot", BYTES("github.com%2eevil.example"),
	    HOST_BAD_BYTE, NULL },
	{ "row 12: a percent-encoded NUL", BYTES("github.com%00.evil"),
	    HOST_BAD_BYTE, NULL },
	{ "row 16: a label of 63 bytes", BYTES(LABEL63 ".example"), HOST_NAME,
	    LABEL63 ".example" },
	{ "row 16: a label of 64 bytes", BYTES(LABEL63 "a.example"),
	    HOST_LABEL_TOO_LONG, NULL },
	{ "row 16: a hyphen first", BYTES("-x.example"), HOST_LABEL_HYPHEN,
	    NULL },
	{ "row 16: a hyphen last", BYTES("x-.example"), HOST_LABEL_HYPHEN,
	    NULL },
	{ "row 16: a blank", BYTES("a b.example"), HOST_BAD_BYTE, NULL },
	{ "row 16: an underscore", BYTES("_dmarc.example.com"), HOST_BAD_BYTE,
	    NULL },
	{ "row 16: an empty label", BYTES("a..example"), HOST_LABEL_EMPTY,
	    NULL },
	{ "row 16: an empty first label", BYTES(".example"), HOST_LABEL_EMPTY,
	    NULL },
	{ "row 17: a dotted quad is an address", BYTES("1.2.3.4"), HOST_ADDRESS,
	    NULL },
	{ "row 17: IPv6 is an address", BYTES("2606:4700::1111"), HOST_ADDRESS,
	    NULL },
	{ "row 18: two parts", BYTES("127.1"), HOST_ADDRESS_ODD, NULL },
	{ "row 18: one number", BYTES("2130706433"), HOST_ADDRESS_ODD, NULL },
	{ "row 18: a hexadecimal part", BYTES("0x7f.0.0.1"), HOST_ADDRESS_ODD,
	    NULL },
	{ "row 18: one hexadecimal number", BYTES("0x7f000001"),
	    HOST_ADDRESS_ODD, NULL },
	{ "row 18: an upper-case X", BYTES("0X7F000001"), HOST_ADDRESS_ODD,
	    NULL },
	{ "row 18: an octal part", BYTES("0177.0.0.1"), HOST_ADDRESS_ODD,
	    NULL },
	{ "row 18: a final dot", BYTES("127.0.0.1."), HOST_ADDRESS_ODD, NULL },
	{ "row 18: zero", BYTES("0"), HOST_ADDRESS_ODD, NULL },
	{ "row 18: many zeros", BYTES("00000177.1"), HOST_ADDRESS_ODD, NULL },
	{ "row 18: a last label 0x alone", BYTES("a.0x"), HOST_ADDRESS_ODD,
	    NULL },
	{ "row 18: a name that ends in a number", BYTES("foo.example.09"),
	    HOST_ADDRESS_ODD, NULL },
	{ "row 18: five parts", BYTES("1.2.3.4.5"), HOST_ADDRESS_ODD, NULL },
	{ "row 18: a part over 255", BYTES("1.2.3.256"), HOST_ADDRESS_ODD,
	    NULL },
	{ "a number in front is a label", BYTES("127.example"), HOST_NAME,
	    "127.example" },
	{ "0x with other letters is a label", BYTES("a.0xyz"), HOST_NAME,
	    "a.0xyz" },
	{ "row 34: localhost", BYTES("LOCALHOST"), HOST_LOCALHOST,
	    "localhost" },
	{ "row 34: below localhost", BYTES("foo.localhost."), HOST_LOCALHOST,
	    "foo.localhost" },
	{ "row 34: localhost in front is a name", BYTES("localhost.example"),
	    HOST_NAME, "localhost.example" },
	{ "row 35: a single label", BYTES("metadata"), HOST_SINGLE_LABEL,
	    "metadata" },
	{ "row 35: a single label with a dot", BYTES("Metadata."),
	    HOST_SINGLE_LABEL, "metadata" },
	{ "row 64: userinfo", BYTES("allowed.com@evil.com"), HOST_BAD_BYTE,
	    NULL },
	{ "row 64: a slash", BYTES("allowed.com/evil"), HOST_BAD_BYTE, NULL },
	{ "an empty name", BYTES(""), HOST_EMPTY, NULL },
	{ "the root", BYTES("."), HOST_LABEL_EMPTY, NULL },
	{ "a line end", BYTES("a.example\r\n"), HOST_BAD_BYTE, NULL },
};

static void
gives_each_spelling_its_outcome(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		const struct name_row *r = &names[i];
		char name[HOST_SIZE] = "untouched";
		enum host_status s = host_parse(r->in, name);

		row_equal(r->claim, s, r->want);
		row_equal(r->claim, host_is_written(s), r->name != NULL);
		row_span(r->claim, span_of(name),
		    r->name != NULL ? r->name : "untouched");
		assert_true(strlen(host_status_text(s)) > 0);
	}
}

/* Row 16: labels of 60 bytes and dots up to exactly len bytes. */
static struct span
long_name(char *buf, size_t len)
{
	memset(buf, 'a', len);
	for (size_t i = 60; i < len - 1; i += 61)
		buf[i] = '.';
	return (struct span){ (const uint8_t *)buf, len };
}

static void
takes_253_bytes_and_no_more(void **state)
{
	char buf[300], name[HOST_SIZE];

	(void)state;
	assert_int_equal(host_parse(long_name(buf, 253), name), HOST_NAME);
	assert_int_equal(strlen(name), 253);
	assert_int_equal(host_parse(long_name(buf, 254), name), HOST_TOO_LONG);
	(void)long_name(buf, 253);
	buf[253] = '.';
	assert_int_equal(host_parse((struct span){ (const uint8_t *)buf, 254 },
			     name),
	    HOST_NAME);
}

static const struct {
	const char *claim, *name, *suffix;
	size_t want;
} under[] = {
	{ "one label", "a.github.com", "github.com", 1 },
	{ "two labels", "a.b.github.com", "github.com", 2 },
	{ "row 8: the name itself is not below", "github.com", "github.com",
	    0 },
	{ "row 6: a suffix without a dot", "evilgithub.com", "github.com", 0 },
	{ "row 6: below a name that ends alike", "a.evilgithub.com",
	    "github.com", 0 },
	{ "row 6: a suffix with a hyphen", "evil-github.com", "github.com", 0 },
	{ "row 6: the name in front", "github.com.evil.example", "github.com",
	    0 },
	{ "row 7: a dot is a dot", "accountszgoogle.com", "accounts.google.com",
	    0 },
	{ "row 7: a dot is a dot below too", "a.googlezcom", "google.com", 0 },
	{ "a longer suffix", "com", "github.com", 0 },
	{ "an empty suffix", "github.com", "", 0 },
	{ "only a dot in front", ".github.com", "github.com", 0 },
};

static void
matches_suffixes_by_whole_labels(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(under); i++) {
		row_equal(under[i].claim,
		    host_depth_under(under[i].name, under[i].suffix),
		    under[i].want);
		row_equal(under[i].claim,
		    host_is_under(under[i].name, under[i].suffix),
		    under[i].want > 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_each_spelling_its_outcome),
		cmocka_unit_test(takes_253_bytes_and_no_more),
		cmocka_unit_test(matches_suffixes_by_whole_labels),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
