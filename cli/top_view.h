/*
 * How `tapward top` looks: lines of text for a terminal of some size, or for a
 * file. Pure. Whatever the daemon says comes out as printable ASCII, so that
 * no byte of a guest is an order to the terminal.
 */
#ifndef TAPWARD_CLI_TOP_VIEW_H
#define TAPWARD_CLI_TOP_VIEW_H

#include "base/bytes.h"
#include "cli/top_ui.h"

/* Of one screen: 1000 by 1000 cells at most are drawn. */
#define TOP_SIDE_MAX 1000
#define TOP_SCREEN_BYTES ((size_t)TOP_SIDE_MAX * (TOP_SIDE_MAX + 32))

/* A whole screen, from its upper left corner; says ui->page. */
void top_view_screen(struct wr *w, const struct top_model *m,
    struct top_ui *ui);
/* All of it as plain text, in lines of at most 200 bytes. */
void top_view_text(struct wr *w, const struct top_model *m,
    const struct top_ui *ui);
#define TOP_NUMBER_SIZE 32
/* Numbers as they are shown: "12345", "1.2M". */
const char *top_view_count(char buf[TOP_NUMBER_SIZE], uint64_t v);
/* "12 s", "3 d 4 h" ...: two units at most. */
void top_view_span(char *buf, size_t size, uint64_t seconds);
/* The column of that name, as it is in the head, without case. */
bool top_view_find_column(const char *name, enum top_column *ret);

#endif
