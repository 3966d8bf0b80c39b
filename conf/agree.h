/*
 * What must hold between the rules of one file and its presets. Private to
 * the compiler.
 */
#ifndef TAPWARD_CONF_AGREE_H
#define TAPWARD_CONF_AGREE_H

#include "conf/compile.h"
#include "conf/model.h"

/*
 * Rules that can match one host:port agree on scheme and tls; rules that can
 * match one request name one credential or none; a deny rule that needs to
 * see a request covers no connection that is not looked into. image is what
 * build_image() made of m: hosts are found in it as the gate finds them.
 * Errors are findings; 0, or -ENOMEM.
 */
int agree_check(const struct model *m, const struct policy *image,
    struct compile_result *ret);

#endif
