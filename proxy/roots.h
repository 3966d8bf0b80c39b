/*
 * The roots that origins and issuers are verified against: one sealed memfd,
 * made once by tapward-ca and shared by all gates and the broker, indexed by
 * subject, because parsed roots cost 3 MB a process. It also says which hosts
 * have roots of their own ([ca NAME] of the host's configuration), so that
 * nobody asks that in a second way.
 */
#ifndef TAPWARD_PROXY_ROOTS_H
#define TAPWARD_PROXY_ROOTS_H

#include <openssl/types.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/message_ca.h"

struct roots;

/* The public ones: those of `[upstream] ca-file`. */
#define ROOTS_PUBLIC 0
/* With them, those of each [ca NAME]. */
#define ROOTS_SETS_MAX (1 + CA_SETS_MAX)

/* Maps and checks the image in a sealed memfd (borrowed). 0 or -errno. */
int roots_map(int fd, struct roots **ret);
void roots_unref(struct roots *r); /* NULL is fine */
/* The same over bytes in memory, which are borrowed. */
int roots_map_bytes(struct span image, struct roots **ret);
/*
 * The set that a host is verified by: of the patterns that fit it the one that
 * says most counts, a name before `*.x` before `**.x`, a longer x before a
 * shorter one. host is canonical; what is no name has the public ones. Costs
 * two hashes for each label, whatever the number of patterns.
 */
unsigned int roots_set_for(const struct roots *r, const char *host);
/*
 * Makes store look up issuers in a set on demand, and in the public ones where
 * the set says so; it keeps a reference. 0 or -errno.
 */
int roots_use(struct roots *r, unsigned int set, X509_STORE *store);
size_t roots_count(const struct roots *r); /* the public ones */
/* All that roots_use() would find, as PEM; *ret is the caller's to free(). */
int roots_write_pem(const struct roots *r, unsigned int set, char **ret,
    size_t *ret_len);

/*
 * The image of all certificates in a PEM bundle, for tapward-ca. What is no
 * certificate is passed over. The image is the caller's to free(). 0, -ENOENT
 * when the bundle holds none, or -ENOMEM.
 */
int roots_build(struct span pem, uint8_t **ret_image, size_t *ret_len,
    uint32_t *ret_count);

/* One [ca NAME] and the text of its file, borrowed; NULL: it was unreadable. */
struct roots_source {
	const struct message_ca_set *set;
	struct span pem;
};

/*
 * The same with private sets. These are read strictly: each must hold a CA,
 * and nothing that says it is a certificate and is none. -EINVAL and text when
 * one does not, "FILE:LINE: [ca NAME] ...".
 */
int roots_build_sets(struct span pem, const struct roots_source *sources,
    size_t source_count, uint8_t **ret_image, size_t *ret_len,
    uint32_t *ret_count, char *text, size_t text_size);

#endif
