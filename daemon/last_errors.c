/* The last lines, see last_errors.h. */
#include "daemon/last_errors.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"

static struct {
	struct message_api_error rows[API_ERRORS_MAX];
	uint64_t count; /* ever */
} ring;

static void
on_line(const char *line, size_t len)
{
	struct message_api_error *e = &ring.rows[ring.count % API_ERRORS_MAX];

	if (len >= sizeof(e->text))
		len = sizeof(e->text) - 1;
	memcpy(e->text, line, len);
	e->text[len] = '\0';
	e->wall_ms = clock_wall_ms();
	ring.count++;
}

void
last_errors_keep(void)
{
	log_watch(on_line);
}

uint32_t
last_errors_copy(struct message_api_error ret[API_ERRORS_MAX])
{
	uint64_t first =
	    ring.count > API_ERRORS_MAX ? ring.count - API_ERRORS_MAX : 0;
	uint32_t n = 0;

	for (uint64_t i = first; i < ring.count; i++)
		ret[n++] = ring.rows[i % API_ERRORS_MAX];
	return n;
}
