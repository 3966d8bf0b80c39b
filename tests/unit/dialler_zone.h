/*
 * What the nameserver of the dialler's tests knows.
 */
#ifndef TAPWARD_TESTS_UNIT_DIALLER_ZONE_H
#define TAPWARD_TESTS_UNIT_DIALLER_ZONE_H

#include "tests/unit/dialler_support.h"

#define RECORD(owner, type, value)                                             \
	{                                                                      \
		owner, type, value, 60, 0, NAMESERVER_PLAIN                    \
	}
#define A(owner, value) RECORD(owner, "A", value)
#define AAAA(owner, value) RECORD(owner, "AAAA", value)
#define CNAME(owner, value) RECORD(owner, "CNAME", value)
#define ODD(owner, quirk)                                                      \
	{                                                                      \
		owner, NULL, NULL, 0, 0, quirk                                 \
	}

static const struct nameserver_row zone[] = {
	A("good.origin.example", ORIGIN),
	A("other.origin.example", ORIGIN),
	A("raw.other.example", FORBIDDEN),
	A("denied.example", ORIGIN),
	A("proxy.corp.example", "127.0.0.4"),
	/* a chain of four */
	CNAME("chain.origin.example", "b.cdn.example"),
	CNAME("b.cdn.example", "c_1.cdn.example"),
	CNAME("c_1.cdn.example", "d.cdn.example"),
	A("d.cdn.example", ORIGIN),
	CNAME("inward.origin.example", "x.evil.example"),
	A("x.evil.example", "10.0.0.5"),
	CNAME("loop.origin.example", "loop2.example"),
	CNAME("loop2.example", "loop.origin.example"),
	CNAME("long.origin.example", "1.example"),
	CNAME("1.example", "2.example"),
	CNAME("2.example", "3.example"),
	CNAME("3.example", "4.example"),
	CNAME("4.example", "5.example"),
	CNAME("5.example", "6.example"),
	CNAME("6.example", "7.example"),
	CNAME("7.example", "8.example"),
	CNAME("8.example", "9.example"),
	A("9.example", ORIGIN),
	/* rebinding */
	{ "twice.origin.example", "A", ORIGIN, 0, 1, NAMESERVER_PLAIN },
	{ "twice.origin.example", "A", FORBIDDEN, 0, 2, NAMESERVER_PLAIN },
	/* mixed answers */
	A("mixed.origin.example", ORIGIN),
	A("mixed.origin.example", "169.254.169.254"),
	A("mixed6.origin.example", ORIGIN),
	AAAA("mixed6.origin.example", "fe80::1"),
	/* refused addresses */
	A("v10.origin.example", "10.0.0.1"),
	A("v127.origin.example", FORBIDDEN),
	A("v0.origin.example", "0.0.0.0"),
	A("v169.origin.example", "169.254.7.7"),
	A("v224.origin.example", "224.0.0.1"),
	A("cgnat.origin.example", "100.100.1.1"),
	A("guest.origin.example", "100.64.0.2"),
	A("synthetic.origin.example", "198.18.0.9"),
	A("meta.origin.example", "169.254.169.254"),
	AAAA("meta6.origin.example", "fd00:ec2::254"),
	A("own.origin.example", "192.0.2.10"),
	A("resolver.origin.example", NAMESERVER),
	AAAA("mapped.origin.example", "::ffff:127.0.0.2"),
	AAAA("compat.origin.example", "::127.0.0.2"),
	AAAA("translated.origin.example", "::ffff:0:127.0.0.2"),
	AAAA("nat64.origin.example", "64:ff9b::a9fe:a9fe"),
	AAAA("local64.origin.example", "64:ff9b:1::a00:1"),
	AAAA("6to4.origin.example", "2002:7f00:1::1"),
	AAAA("teredo.origin.example", "2001:0:1::1"),
	AAAA("fc00.origin.example", "fc00::1"),
	/* odd nameservers */
	ODD("silent.origin.example", NAMESERVER_SILENT),
	A("half.origin.example", ORIGIN),
	ODD("half.origin.example", NAMESERVER_SILENT_AAAA),
	A("tc.origin.example", ORIGIN),
	ODD("tc.origin.example", NAMESERVER_TRUNCATES),
	ODD("fail.origin.example", NAMESERVER_SERVFAIL),
	A("empty.origin.example", ORIGIN),
	ODD("empty.origin.example", NAMESERVER_EMPTY_FIRST),
	A("poison.origin.example", ORIGIN),
	ODD("poison.origin.example", NAMESERVER_OTHER_FIRST),
	A("two.origin.example", ORIGIN),
	ODD("two.origin.example", NAMESERVER_TWO_QUESTIONS),
	A("both.origin.example", ORIGIN),
	AAAA("both.origin.example", "::1"),
	{ NULL, NULL, NULL, 0, 0, NAMESERVER_PLAIN },
};

#endif
