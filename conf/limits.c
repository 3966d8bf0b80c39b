/*
 * See limits.h. A new limit is a new row; its name is the key in [limits].
 */
#include "conf/limits.h"

#include <stddef.h>

#include "base/ascii.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

const struct limit_row limit_rows[LIMIT_COUNT] = {
	[LIMIT_CONNECTIONS] = { "connections", UNIT_COUNT, 256, 1, 65536,
	    "browsers and package managers open at most some dozens; one "
	    "guest must not fill the host's tables" },
	[LIMIT_HEAD_BYTES] = { "head-bytes", UNIT_BYTES, 64 * KIB, 4 * KIB,
	    256 * KIB,
	    "servers take 8 to 64 KiB; a token of 16 KiB and a cookie fit" },
	[LIMIT_HEAD_TIMEOUT] = { "head-timeout", UNIT_MS, 15000, 100, 3600000,
	    "a head is one or two packets; a slow one holds a connection" },
	[LIMIT_IDLE_TIMEOUT] = { "idle-timeout", UNIT_MS, 75000, 100, 3600000,
	    "what nginx keeps, so that a client's pool is not surprised" },
	[LIMIT_RELAY_IDLE_TIMEOUT] = { "relay-idle-timeout", UNIT_MS, 600000,
	    100, 86400000,
	    "database sessions and long polls are silent for minutes" },
	[LIMIT_CONNECT_TIMEOUT] = { "connect-timeout", UNIT_MS, 15000, 100,
	    300000, "the dialler's own two time-outs fit into it" },
	[LIMIT_TLS_TIMEOUT] = { "tls-timeout", UNIT_MS, 10000, 100, 300000,
	    "a handshake is two round trips" },
	[LIMIT_MINT_RATE] = { "mint-rate", UNIT_COUNT, 50, 1, 10000,
	    "certificates for new names a second: an install names a dozen, "
	    "a name costs a signature" },
	[LIMIT_LEAF_CACHE] = { "leaf-cache", UNIT_COUNT, 512, 1, 65536,
	    "names in use at once; 2 KiB each" },
	[LIMIT_DNS_RATE] = { "dns-rate", UNIT_COUNT, 1000, 1, 100000,
	    "questions a second: two for each connection of a client "
	    "without a cache; an answer costs 20 us" },
	[LIMIT_SYNTHETIC_ADDRESSES] = { "synthetic-addresses", UNIT_COUNT, 4096,
	    16, 65000,
	    "names with an address at once; the oldest is used again" },
	[LIMIT_STREAMS] = { "streams", UNIT_COUNT, 100, 1, 1000,
	    "of one connection of HTTP/2, by a guest or to an origin: no fewer "
	    "is what RFC 9113 6.5.2 wants" },
	[LIMIT_WAIT_BYTES] = { "wait-bytes", UNIT_BYTES, 64 * KIB, 16 * KIB,
	    16 * MIB,
	    "of an exchange, in each direction at either end, when one side "
	    "is slow: HTTP/2's first window" },
	[LIMIT_LARGE_BYTES] = { "large-bytes", UNIT_BYTES, 768 * KIB, 64 * KIB,
	    64 * MIB,
	    "beside wait-bytes for one large body that comes in on each "
	    "connection of HTTP/2: 64 KiB are 2 MB/s from 30 ms away" },
	[LIMIT_IDLE_ORIGINS] = { "idle-origins", UNIT_COUNT, 64, 1, 65536,
	    "connections to origins that are kept for another request; the "
	    "oldest goes first" },
	[LIMIT_DECODE_MEMORY] = { "decode-memory", UNIT_BYTES, 64 * MIB, MIB,
	    GIB,
	    "answers that are decoded to be searched for a credential: three "
	    "of the largest window, hundreds of gzip's" },
	[LIMIT_DECODE_RATIO] = { "decode-ratio", UNIT_COUNT, 1100, 10, 100000,
	    "bytes that one coded byte of an answer may make: deflate makes "
	    "at most 1,032, and more is a bomb; each costs 3 ns" },
	[LIMIT_SIGN_MEMORY] = { "sign-memory", UNIT_BYTES, 32 * MIB, 4 * MIB,
	    GIB,
	    "bodies that are held until they are signed for AWS: two of "
	    "DynamoDB's largest, five of Lambda's" },
	[LIMIT_PUSH_COMMANDS] = { "push-commands", UNIT_BYTES, 256 * KIB,
	    4 * KIB, 16 * MIB,
	    "of one push by git, held until they are whole: some 1,500 "
	    "references" },
	[LIMIT_PUSH_LOOK] = { "push-look", UNIT_BYTES, 4 * MIB, 64 * KIB,
	    64 * MIB,
	    "of a push's pack, held until its commits show that a reference "
	    "moves forward: some 10,000 of them" },
	[LIMIT_PUSH_REFUSED] = { "push-refused", UNIT_BYTES, GIB, MIB, 3 * GIB,
	    "of a push that is refused, read and dropped: git shows why only "
	    "when it could send all of it" },
	[LIMIT_LFS_BATCH] = { "lfs-batch", UNIT_BYTES, MIB, 16 * KIB, 16 * MIB,
	    "what git-lfs asks about objects, held until it is whole, and what "
	    "it is answered: 10 KiB for each of a hundred" },
	[LIMIT_LFS_OBJECTS] = { "lfs-objects", UNIT_COUNT, 100, 1, 500,
	    "of one such question: as many as git-lfs asks about at once" },
	[LIMIT_LFS_GRANT] = { "lfs-grant", UNIT_S, 3600, 1, 86400,
	    "how long an answer's URLs may be used where it does not say less: "
	    "what GitHub gives an upload, and one large object takes" },
	[LIMIT_ASKS] = { "asks", UNIT_COUNT, 16, 1, 256,
	    "requests held at once until somebody answers: as many as a person "
	    "reads" },
	[LIMIT_ASK_MEMORY] = { "ask-memory", UNIT_BYTES, MIB, 64 * KIB,
	    64 * MIB,
	    "heads of those requests; bodies are not read meanwhile" },
	[LIMIT_ASK_TIMEOUT] = { "ask-timeout", UNIT_MS, 300000, 1000, 86400000,
	    "for a person to look; most programs have given up by then" },
	[LIMIT_DIALS] = { "dials", UNIT_COUNT, 64, 1, 4096,
	    "dials at once of one sandbox, and names that are being asked for "
	    "it, so that one cannot hold up the dialler for others" },
	[LIMIT_DIAL_TIMEOUT] = { "dial-timeout", UNIT_MS, 8000, 100, 300000,
	    "a lost SYN is sent again after 1, 3 and 7 seconds" },
	[LIMIT_RESOLVE_TIMEOUT] = { "resolve-timeout", UNIT_MS, 5000, 100,
	    300000, "what resolv.conf(5) gives one try of a nameserver" },
	[LIMIT_RESOLVE_CACHE] = { "resolve-cache", UNIT_COUNT, 10000, 16,
	    1000000, "names of all sandboxes; 300 bytes each" },
	[LIMIT_RESOLVE_CACHE_MIN] = { "resolve-cache-min", UNIT_S, 1, 1, 3600,
	    "shorter TTLs would ask once for each connection" },
	[LIMIT_RESOLVE_CACHE_MAX] = { "resolve-cache-max", UNIT_S, 300, 1,
	    86400, "an origin that moved is found again within minutes" },
	[LIMIT_RESOLVE_CACHE_NEGATIVE] = { "resolve-cache-negative", UNIT_S, 5,
	    1, 3600, "a name that was just made works soon" },
	[LIMIT_LEASE] = { "lease", UNIT_S, 300, 1, 86400,
	    "how long a gate may hold a credential: a revoked grant ends "
	    "within it even when the broker is gone" },
	[LIMIT_GATE_FILES] = { "gate-files", UNIT_COUNT, 2048, 64, 1048576,
	    "two for each connection, and pipes while bytes move" },
	[LIMIT_GATE_MEMORY] = { "gate-memory", UNIT_BYTES, GIB, 128 * MIB,
	    64 * GIB,
	    "address space: libraries, a mapped ceiling of a million names, "
	    "connections" },
	[LIMIT_GATE_LOCKED_MEMORY] = { "gate-locked-memory", UNIT_BYTES,
	    4 * MIB, 64 * KIB, GIB,
	    "credentials in flight are kept out of swap" },
	[LIMIT_GATE_PROCESSES] = { "gate-processes", UNIT_COUNT, 4, 1, 64,
	    "of the gate's own uid; it starts none" },
	[LIMIT_SERVICE_FILES] = { "service-files", UNIT_COUNT, 65536, 1024,
	    1048576, "a few for each of thousands of sandboxes" },
	[LIMIT_SERVICE_MEMORY] = { "service-memory", UNIT_BYTES, 8 * GIB,
	    256 * MIB, 256 * GIB,
	    "address space: mapped policies of all sandboxes" },
	[LIMIT_SERVICE_LOCKED_MEMORY] = { "service-locked-memory", UNIT_BYTES,
	    64 * MIB, MIB, 4 * GIB,
	    "leases of all sandboxes, a page or more each" },
	[LIMIT_SERVICE_PROCESSES] = { "service-processes", UNIT_COUNT, 16, 1,
	    1024, "of one service, with room for threads of its libraries" },
	[LIMIT_SANDBOXES] = { "sandboxes", UNIT_COUNT, 4096, 1, 32768,
	    "of the host; each takes two uids at most, of 65,536" },
	[LIMIT_SANDBOXES_PER_OWNER] = { "sandboxes-per-owner", UNIT_COUNT, 1024,
	    1, 32768, "one user leaves room for others; root is not counted" },
	[LIMIT_VM_CPUS] = { "vm-cpus", UNIT_COUNT, 4, 1, 64,
	    "that one guest may ask for" },
	[LIMIT_VM_MEMORY] = { "vm-memory", UNIT_BYTES, 8 * GIB, 128 * MIB,
	    1024 * GIB, "that one guest may ask for; builds and browsers fit" },
	[LIMIT_VM_DISK] = { "vm-disk", UNIT_BYTES, 64 * GIB, MIB, 16384 * GIB,
	    "that one guest may ask for; taken as it is written" },
	[LIMIT_VM_IO_RATE] = { "vm-io-rate", UNIT_BYTES, 256 * MIB, MIB,
	    1024 * GIB,
	    "a second, of one guest's disks: an image is read in a second, and "
	    "a disk of the host has room for others" },
	[LIMIT_VM_IO_OPERATIONS] = { "vm-io-operations", UNIT_COUNT, 20000, 100,
	    10000000,
	    "a second, of one guest's disks: a fifth of what a disk "
	    "of flash does" },
	[LIMIT_VM_PROCESSES] = { "vm-processes", UNIT_COUNT, 512, 16, 32768,
	    "threads of one monitor: one for each CPU and up to 64 each for "
	    "the requests of its disks" },
	[LIMIT_VM_CONSOLE] = { "vm-console", UNIT_BYTES, 64 * KIB, 4 * KIB,
	    16 * MIB, "the last of what a guest prints while it boots" },
};

struct suffix {
	const char *text;
	uint64_t factor;
};

static const struct suffix byte_suffixes[] = {
	{ "", 1 },
	/* as systemd.syntax(7) has them */
	{ "K", KIB },
	{ "M", MIB },
	{ "G", GIB },
	{ "KiB", KIB },
	{ "MiB", MIB },
	{ "GiB", GIB },
	{ "KB", 1000 },
	{ "MB", 1000000 },
	{ "GB", 1000000000 },
};

static const struct suffix time_suffixes[] = {
	{ "ms", 1 },
	{ "s", 1000 },
	{ "m", 60000 },
	{ "h", 3600000 },
	{ "d", 86400000 },
};

/* Decimal digits at the start of *s, which are taken off it. */
static bool
take_number(struct span *s, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i = 0;

	while (i < s->len && i < 15 && ascii_is_digit(s->ptr[i]))
		n = n * 10 + (uint64_t)(s->ptr[i++] - '0');
	if (i == 0 || (i < s->len && ascii_is_digit(s->ptr[i])) ||
	    (i > 1 && s->ptr[0] == '0'))
		return false;
	s->ptr += i;
	s->len -= i;
	*ret = n;
	return true;
}

static bool
scale(const struct suffix *all, size_t count, struct span suffix, uint64_t n,
    uint64_t *ret)
{
	for (size_t i = 0; i < count; i++) {
		if (span_is(suffix, all[i].text))
			return !__builtin_mul_overflow(n, all[i].factor, ret);
	}
	return false;
}

bool
limit_parse(enum limit_unit unit, struct span in, uint64_t *ret)
{
	uint64_t n, ms;

	if (!take_number(&in, &n))
		return false;
	switch (unit) {
	case UNIT_COUNT:
		*ret = n;
		return in.len == 0;
	case UNIT_BYTES:
		return scale(byte_suffixes,
		    sizeof(byte_suffixes) / sizeof(byte_suffixes[0]), in, n,
		    ret);
	case UNIT_MS:
	case UNIT_S:
		if (!scale(time_suffixes,
			sizeof(time_suffixes) / sizeof(time_suffixes[0]), in, n,
			&ms))
			return false;
		*ret = unit == UNIT_MS ? ms : ms / 1000;
		return unit == UNIT_MS || ms % 1000 == 0;
	}
	return false;
}

const char *
limit_unit_text(enum limit_unit unit)
{
	switch (unit) {
	case UNIT_COUNT:
		return "a number";
	case UNIT_BYTES:
		return "bytes, as 65536, 64KiB or 1MiB";
	case UNIT_MS:
		return "a time, as 500ms, 10s, 5m or 1h";
	case UNIT_S:
		return "a time in whole seconds, as 10s, 5m or 1h";
	}
	return "";
}
