/*
 * A growing array of items of one size, for the compiler only: what decides
 * at run time allocates nothing.
 */
#ifndef TAPWARD_CONF_VEC_H
#define TAPWARD_CONF_VEC_H

#include <stddef.h>
#include <stdint.h>

struct vec {
	void *ptr;
	size_t count;
	size_t size; /* items that fit */
	size_t item; /* bytes of one */
};

#define VEC_OF(type) ((struct vec){ NULL, 0, 0, sizeof(type) })

/*
 * Room for n more zeroed items at the end, which count from now on: a pointer
 * to the first, valid until the next call; NULL when memory is short.
 */
void *vec_add(struct vec *v, size_t n);
/* Appends a copy of one item. 0 or -ENOMEM. */
int vec_push(struct vec *v, const void *item);
/* The i-th; i is in range. */
void *vec_at(const struct vec *v, size_t i);
void vec_done(struct vec *v);

#endif
