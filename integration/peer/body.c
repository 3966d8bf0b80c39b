/*
 * Bodies of a fixed pattern, their digests, and how fast they go.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t
peer_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
peer_now_ms(void)
{
	return peer_now_ns() / 1000000u;
}

void
pace_start(struct pace *p)
{
	p->next_ms = peer_now_ms() + p->hold_ms;
	p->left = 0;
}

size_t
pace_room(const struct pace *p)
{
	bool is_time = peer_now_ms() >= p->next_ms;

	if (p->hold_ms > 0 && !is_time)
		return 0;
	if (p->ms == 0)
		return SIZE_MAX;
	if (p->left > 0)
		return (size_t)p->left;
	return is_time ? (size_t)p->bytes : 0;
}

void
pace_spend(struct pace *p, size_t len)
{
	/* What came with a head is taken with it. */
	if (peer_now_ms() < p->next_ms && p->hold_ms > 0)
		return;
	p->hold_ms = 0;
	if (p->ms == 0)
		return;
	if (p->left == 0) {
		p->left = p->bytes;
		p->next_ms = peer_now_ms() + p->ms;
	}
	p->left -= len < p->left ? len : p->left;
}

void
flow_init(struct flow *f, const struct pace *pace)
{
	*f = (struct flow){ .pace = *pace, .digest = EVP_MD_CTX_new() };
	if (f->digest == NULL ||
	    EVP_DigestInit_ex(f->digest, EVP_sha256(), NULL) != 1)
		abort();
}

void
flow_done(struct flow *f)
{
	EVP_MD_CTX_free(f->digest);
	f->digest = NULL;
}

void
flow_add(struct flow *f, const uint8_t *ptr, size_t len)
{
	f->bytes += len;
	if (EVP_DigestUpdate(f->digest, ptr, len) != 1)
		abort();
}

void
flow_digest(const struct flow *f, char ret[65])
{
	EVP_MD_CTX *copy = EVP_MD_CTX_new();
	uint8_t sum[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	if (copy == NULL || EVP_MD_CTX_copy_ex(copy, f->digest) != 1 ||
	    EVP_DigestFinal_ex(copy, sum, &len) != 1)
		abort();
	EVP_MD_CTX_free(copy);
	for (unsigned int i = 0; i < 32 && i < len; i++)
		(void)snprintf(ret + (size_t)2 * i, 3, "%02x", sum[i]);
}
