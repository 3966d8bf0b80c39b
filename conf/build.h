/*
 * From a model to its image. Private to the compiler.
 */
#ifndef TAPWARD_CONF_BUILD_H
#define TAPWARD_CONF_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/model.h"

/*
 * The image is the caller's to free. -EINVAL and err set when the model does
 * not fit an image, -ENOMEM, or the -errno of getrandom(2).
 */
int build_image(const struct model *m, uint8_t **ret_image, size_t *ret_len,
    struct err *err);

#endif
