/**
 * WORK OVER HTTP: {@code /api/v1/work}, for workers on other machines. Its description is {@code META-INF/openapi.yaml}, served at {@code
 * /q/openapi}.
 *
 * <p>In: requests with a bearer token, each about one item under its owner, fencing token and run id. Out: the item as the store has it,
 * or a problem document (RFC 9457). The one invariant: what is refused leaves nothing behind, neither in the store nor on the disk; who may
 * write is decided by the {@link dev.fencepost.work.WorkQueue} alone.
 */
@NullMarked
package dev.fencepost.edge.web;

import org.jspecify.annotations.NullMarked;
