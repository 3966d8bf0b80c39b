/*
 * A host whose rules name a credential, and what a guest and an origin say
 * to each other there.
 */
#ifndef TAPWARD_KEY_HOST_H
#define TAPWARD_KEY_HOST_H

#define KEY_RULES                                                              \
	"[allow key]\nhost = key.example.org\n"                                \
	"path = /k/**\ncredential = canary\n"                                  \
	"[allow open]\nhost = key.example.org\nmethod = GET\npath = /o/**\n"

#define KEY_HOST "Host: key.example.org\r\n"
#define KEY_GET "GET /k/x HTTP/1.1\r\n" KEY_HOST "\r\n"
#define OK2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define SECRET "s3cr3t-canary-0123456789abcdef"
/* base64 of "bot:" and the secret */
#define BASIC "Ym90OnMzY3IzdC1jYW5hcnktMDEyMzQ1Njc4OWFiY2RlZg=="

#endif /* TAPWARD_KEY_HOST_H */
