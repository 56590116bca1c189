package dev.fencepost.work;

import org.jspecify.annotations.Nullable;

/**
 * The result of one item, with what its worker shows, where several are handed in at once.
 *
 * @param result null for none
 */
public record ItemResult(Grant grant, @Nullable Body result) {}
