/** Each command and each endpoint of the program, and what breaks first in a native image: the same tests for the JVM's build and for a native one. */
@org.jspecify.annotations.NullMarked
package dev.fencepost.binary;
