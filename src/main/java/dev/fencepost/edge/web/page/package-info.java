/**
 * THE PAGE: {@code /}, for people at a browser. Server-rendered; {@code page.js} keeps it live and {@code page.css} makes it readable, and
 * without either it still is.
 *
 * <p>In: what the store and the jobs file say, read for one visit or shared by all visitors for a second. Out: HTML, and regions of it by
 * server-sent events. The one invariant: every text is escaped by the templates or by {@link dev.fencepost.edge.web.page.Ansi}, and nothing is changed but by a form with its token from
 * a visitor whose token has the scope {@code operate}.
 */
@NullMarked
package dev.fencepost.edge.web.page;

import org.jspecify.annotations.NullMarked;
