package dev.fencepost.edge.web.page;

import static dev.fencepost.fuzz.Shape.isForPeople;
import static dev.fencepost.fuzz.Shape.require;

import dev.fencepost.edge.web.Problem;
import dev.fencepost.fuzz.Shape;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Pattern;

/** What runs write and addresses hold, as it is shown on a page. */
public final class FuzzedPage {

    private static final Pattern ELEMENTS = Pattern.compile(
            "<p>|</p>|<code>|</code>|</span>|<span class=\"(?:ctl|cut|f?[a-z0-9 ]*)\">|&(?:lt|gt|amp|quot|#39);");

    private FuzzedPage() {}

    /** The first byte chooses: the end of an output, a result, a place in the history, a filter. */
    public static void output(byte[] input, Path folder) {
        String text = Shape.text(input, 1);
        try {
            switch (Shape.choice(input, 4)) {
                case 0 -> isHarmless(OutputText.ofTail(text).html());
                case 1 -> {
                    byte[] result = input.length == 0 ? input : Arrays.copyOfRange(input, 1, input.length);
                    ResultText shown = ResultText.of(result);
                    require(
                            shown.text().codePoints().noneMatch(c -> ShownText.isHidden(c) && c != '\n'),
                            "a hidden character in a result");
                    require(
                            shown.text().length() <= 8 * ResultText.MOST_BYTES,
                            shown.text().length() + " characters");
                }
                case 2 -> Before.parse(text);
                default -> Filter.of(text, text);
            }
        } catch (Problem problem) {
            require(problem.status() == 400, "status " + problem.status());
            isForPeople("detail", problem.detail());
        }
    }

    /** Only our own elements, each closed; and nothing hidden. */
    private static void isHarmless(String html) {
        String rest = ELEMENTS.matcher(html).replaceAll("");
        require(rest.indexOf('<') < 0 && rest.indexOf('>') < 0 && rest.indexOf('&') < 0, "markup in " + rest);
        require(
                rest.codePoints().noneMatch(c -> ShownText.isHidden(c) && c != '\n'),
                "a hidden character in an output");
        long opened = count(html, "<span");
        require(opened == count(html, "</span>"), "elements that are not closed");
    }

    private static long count(String html, String part) {
        return Pattern.compile(part, Pattern.LITERAL).matcher(html).results().count();
    }
}
