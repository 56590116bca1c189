package dev.fencepost.browser;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A test is skipped, and says why, where there is no Chromium or no driver for it. */
final class NeedsChromium implements ExecutionCondition {

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        String missing = Browser.missing();
        return missing.isEmpty()
                ? ConditionEvaluationResult.enabled("Chromium and its driver are there")
                : ConditionEvaluationResult.disabled("no program " + missing
                        + " on the PATH; Debian's packages chromium and chromium-driver have what is needed");
    }
}
