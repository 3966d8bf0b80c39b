/*
 * Doubles when full, so that a million appends copy each item about once.
 */
#include "conf/vec.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VEC_FIRST_ITEMS 64

static int
grow(struct vec *v, size_t want)
{
	size_t size = v->size > 0 ? v->size : VEC_FIRST_ITEMS;
	void *ptr;

	while (size < want) {
		if (size > SIZE_MAX / 2)
			return -ENOMEM;
		size *= 2;
	}
	ptr = reallocarray(v->ptr, size, v->item);
	if (ptr == NULL)
		return -ENOMEM;
	v->ptr = ptr;
	v->size = size;
	return 0;
}

void *
vec_add(struct vec *v, size_t n)
{
	uint8_t *at;

	if (n > SIZE_MAX - v->count)
		return NULL;
	if (v->count + n > v->size && grow(v, v->count + n) != 0)
		return NULL;
	at = (uint8_t *)v->ptr + v->count * v->item;
	memset(at, 0, n * v->item);
	v->count += n;
	return at;
}

int
vec_push(struct vec *v, const void *item)
{
	void *at = vec_add(v, 1);

	if (at == NULL)
		return -ENOMEM;
	memcpy(at, item, v->item);
	return 0;
}

void *
vec_at(const struct vec *v, size_t i)
{
	assert(i < v->count);
	return (uint8_t *)v->ptr + i * v->item;
}

void
vec_done(struct vec *v)
{
	free(v->ptr);
	v->ptr = NULL;
	v->count = v->size = 0;
}
