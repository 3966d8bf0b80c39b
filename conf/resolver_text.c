#include "conf/resolver_text.h"

#include <stdio.h>
#include <string.h>

#include "wire/address.h"

const char *
resolver_text(const struct message_resolver *r, char buf[RESOLVER_NAME_SIZE])
{
	struct address a = {
		.family = r->address.family == 4 ? ADDRESS_IPV4 : ADDRESS_IPV6,
	};
	const bool is_v4 = a.family == ADDRESS_IPV4;
	const bool is_tls = r->tls_name[0] != '\0';
	char text[ADDRESS_TEXT_SIZE];

	memcpy(a.bytes, r->address.bytes, sizeof(a.bytes));
	(void)snprintf(buf, RESOLVER_NAME_SIZE, "%s%s%s:%u%s%s",
	    is_v4 ? "" : "[", address_format(&a, text), is_v4 ? "" : "]",
	    (unsigned int)r->port, is_tls ? "#" : "", r->tls_name);
	return buf;
}
