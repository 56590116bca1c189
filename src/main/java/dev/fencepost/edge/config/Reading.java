package dev.fencepost.edge.config;

import java.util.List;

/** What came of reading a jobs file. A broken file is refused whole. */
public sealed interface Reading {

    /** Errors in the order of the file; empty when the file is accepted. */
    List<Finding> errors();

    /** Doubtful things; they do not refuse the file. */
    List<Finding> warnings();

    /** The file is good. */
    record Accepted(JobsFile file) implements Reading {
        @Override
        public List<Finding> errors() {
            return List.of();
        }

        @Override
        public List<Finding> warnings() {
            return file.warnings();
        }
    }

    /** The file is refused, for all these reasons at once. */
    record Refused(List<Finding> errors, List<Finding> warnings) implements Reading {
        public Refused {
            if (errors.isEmpty()) {
                throw new IllegalArgumentException("a refusal needs a reason");
            }
            errors = List.copyOf(errors);
            warnings = List.copyOf(warnings);
        }
    }
}
