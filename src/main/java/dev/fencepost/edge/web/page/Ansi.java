package dev.fencepost.edge.web.page;

import dev.fencepost.host.Printable;

/**
 * Makes HTML of lines that a program wrote for a terminal. Colours and weight (SGR) become classes; they hold from line to line, as on a
 * terminal, until they are reset. Everything else that would steer a terminal is shown as text, so that nothing is hidden. All that it
 * emits besides escaped text are {@code span} elements with classes of its own, closed within the line.
 *
 * <p>Of 256 and 16 million colours the nearest of the 16 is taken. Grounds and inverse video become one neutral marking, on which all
 * 16 can be read: a program's own pairs of colours are made for a terminal of unknown ground. Concealed text is shown. For one thread.
 */
final class Ansi {

    /** Longer ones are no sequences, but text. */
    private static final int LONGEST_SEQUENCE = 64;

    private static final char ESCAPE = '\u001b';
    private static final int NONE = -1;

    /** Of xterm, which most others resemble. */
    private static final int[] PALETTE = {
        0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
        0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff
    };

    private static final int[] CUBE = {0, 95, 135, 175, 215, 255};

    private int colour = NONE;
    private boolean bold;
    private boolean underlined;
    private boolean marked;

    /** @param line without its newline */
    String html(String line) {
        StringBuilder out = new StringBuilder(line.length() + 32);
        boolean open = begin(out);
        for (int i = 0; i < line.length(); ) {
            int c = line.codePointAt(i);
            int end = c == ESCAPE ? endOfSequence(line, i) : NONE;
            if (end != NONE && isSgr(line, i, end)) {
                close(open, out);
                apply(line.substring(i + 2, end - 1));
                open = begin(out);
                i = end;
            } else if (end != NONE) {
                out.append("<span class=\"ctl\">\\x1b");
                escape(line.substring(i + 1, end), out);
                out.append("</span>");
                i = end;
            } else if (ShownText.isHidden(c)) {
                out.append("<span class=\"ctl\">").append(Printable.named(c)).append("</span>");
                i += Character.charCount(c);
            } else {
                escape(c, out);
                i += Character.charCount(c);
            }
        }
        close(open, out);
        return out.toString();
    }

    static String escaped(String text) {
        StringBuilder out = new StringBuilder(text.length() + 16);
        escape(text, out);
        return out.toString();
    }

    private static void escape(String text, StringBuilder out) {
        text.codePoints().forEach(c -> escape(c, out));
    }

    private static void escape(int c, StringBuilder out) {
        switch (c) {
            case '<' -> out.append("&lt;");
            case '>' -> out.append("&gt;");
            case '&' -> out.append("&amp;");
            case '"' -> out.append("&quot;");
            case '\'' -> out.append("&#39;");
            default -> out.appendCodePoint(c);
        }
    }

    /** Behind a whole control sequence (ECMA-48, 5.4) that begins here; {@link #NONE} if none does, or it is cut off or too long. */
    private static int endOfSequence(String line, int start) {
        int limit = Math.min(line.length(), start + LONGEST_SEQUENCE);
        if (start + 1 >= limit || line.charAt(start + 1) != '[') {
            return NONE;
        }
        int at = start + 2;
        while (at < limit && line.charAt(at) >= 0x30 && line.charAt(at) <= 0x3f) {
            at++;
        }
        while (at < limit && line.charAt(at) >= 0x20 && line.charAt(at) <= 0x2f) {
            at++;
        }
        return at < limit && line.charAt(at) >= 0x40 && line.charAt(at) <= 0x7e ? at + 1 : NONE;
    }

    private static boolean isSgr(String line, int start, int end) {
        if (line.charAt(end - 1) != 'm') {
            return false;
        }
        for (int i = start + 2; i < end - 1; i++) {
            char c = line.charAt(i);
            if ((c < '0' || c > '9') && c != ';' && c != ':') {
                return false;
            }
        }
        return true;
    }

    private void apply(String parameters) {
        String[] parts = parameters.split(";", -1);
        for (int i = 0; i < parts.length; i++) {
            if (parts[i].indexOf(':') >= 0) {
                applyWithColons(parts[i].split(":", -1));
                continue;
            }
            int code = number(parts[i], 0);
            if (code == 38 || code == 48) {
                int kind = i + 1 < parts.length ? number(parts[i + 1], NONE) : NONE;
                int used = kind == 5 ? 2 : kind == 2 ? 4 : 0;
                if (used == 0 || i + used >= parts.length) {
                    return; // nobody can say where it ends
                }
                extended(
                        code,
                        kind == 5
                                ? indexed(number(parts[i + 2], NONE))
                                : nearest(number(parts[i + 2], 0), number(parts[i + 3], 0), number(parts[i + 4], 0)));
                i += used;
            } else {
                apply(code);
            }
        }
    }

    /** {@code 38:5:n}, {@code 38:2::r:g:b}, and {@code 4:3} for a kind of underline. */
    private void applyWithColons(String[] parts) {
        int code = number(parts[0], NONE);
        if (code == 4) {
            underlined = number(parts[1], 1) != 0;
        } else if ((code == 38 || code == 48) && parts.length >= 3) {
            int last = parts.length - 1;
            if (number(parts[1], NONE) == 5) {
                extended(code, indexed(number(parts[2], NONE)));
            } else if (number(parts[1], NONE) == 2 && parts.length >= 5) {
                extended(code, nearest(number(parts[last - 2], 0), number(parts[last - 1], 0), number(parts[last], 0)));
            }
        }
    }

    private void extended(int code, int nearest) {
        if (nearest == NONE) {
            return;
        }
        if (code == 38) {
            colour = nearest;
        } else {
            marked = true;
        }
    }

    private void apply(int code) {
        switch (code) {
            case 0 -> {
                colour = NONE;
                bold = false;
                underlined = false;
                marked = false;
            }
            case 1 -> bold = true;
            case 22 -> bold = false;
            case 4, 21 -> underlined = true;
            case 24 -> underlined = false;
            case 7 -> marked = true;
            case 27, 49 -> marked = false;
            case 39 -> colour = NONE;
            default -> {
                if (code >= 30 && code <= 37) {
                    colour = code - 30;
                } else if (code >= 90 && code <= 97) {
                    colour = code - 90 + 8;
                } else if (code >= 40 && code <= 47 || code >= 100 && code <= 107) {
                    marked = true;
                }
            }
        }
    }

    /** @return the default for an empty one, and {@link #NONE} for one that is too big for anything, or has parts of its own */
    private static int number(String digits, int byDefault) {
        if (digits.isEmpty()) {
            return byDefault;
        }
        return digits.length() > 3 || digits.indexOf(':') >= 0 ? NONE : Integer.parseInt(digits);
    }

    private static int indexed(int index) {
        if (index < 0 || index > 255) {
            return NONE;
        }
        if (index < 16) {
            return index;
        }
        if (index >= 232) {
            int grey = 8 + (index - 232) * 10;
            return nearest(grey, grey, grey);
        }
        int cube = index - 16;
        return nearest(CUBE[cube / 36], CUBE[cube / 6 % 6], CUBE[cube % 6]);
    }

    private static int nearest(int red, int green, int blue) {
        int best = NONE;
        int bestDistance = Integer.MAX_VALUE;
        for (int i = 0; i < PALETTE.length; i++) {
            int r = (PALETTE[i] >> 16) - Math.clamp(red, 0, 255);
            int g = (PALETTE[i] >> 8 & 0xff) - Math.clamp(green, 0, 255);
            int b = (PALETTE[i] & 0xff) - Math.clamp(blue, 0, 255);
            int distance = r * r + g * g + b * b;
            if (distance < bestDistance) {
                best = i;
                bestDistance = distance;
            }
        }
        return best;
    }

    private boolean begin(StringBuilder out) {
        if (colour == NONE && !bold && !underlined && !marked) {
            return false;
        }
        StringBuilder classes = new StringBuilder();
        if (colour != NONE) {
            classes.append(" f").append(colour);
        }
        classes.append(bold ? " sb" : "").append(underlined ? " su" : "").append(marked ? " sm" : "");
        out.append("<span class=\"").append(classes, 1, classes.length()).append("\">");
        return true;
    }

    private static void close(boolean open, StringBuilder out) {
        if (open) {
            out.append("</span>");
        }
    }
}
