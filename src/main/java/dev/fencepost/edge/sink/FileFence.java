package dev.fencepost.edge.sink;

import dev.fencepost.effect.Effect;
import dev.fencepost.effect.Fence;
import dev.fencepost.effect.Receipt;
import dev.fencepost.lease.FencingToken;
import dev.fencepost.lease.RunId;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a file sink has accepted for a resource: the highest token with its run, the newest keys with their receipts, and what it was about
 * to place when it was last heard of. Immutable; as text it is a line each, the words percent-encoded.
 *
 * @param placing written before the file gets its name: after a crash, the file itself tells whether it did
 */
record FileFence(
        Fence highest, List<Placed> placed, @Nullable Placed placing) {

    static final FileFence NONE = new FileFence(Fence.NONE, List.of(), null);

    private static final String FIRST_LINE = "fencepost-fence 1";
    private static final String LAST_LINE = "end";

    /** More keys than one run may announce, so that all of the highest token are here. */
    private static final int MAX_KEYS = 2_000;

    /** A file of an effect. */
    record Placed(String key, long fence, RunId runId, String path, String sha256, int bytes) {

        static Placed of(Effect effect, FileTarget target, String sha256) {
            return new Placed(
                    effect.key(),
                    effect.fence().value(),
                    effect.runId(),
                    target.text(),
                    sha256,
                    effect.content().bytes().length);
        }

        Receipt receipt() {
            return new Receipt("sha256:" + sha256 + " " + bytes + " bytes at " + path);
        }

        private boolean isOf(Effect effect) {
            return key.equals(effect.key()) && fence == effect.fence().value() && runId.equals(effect.runId());
        }

        private String line(String kind) {
            return String.join(
                    " ",
                    kind,
                    HttpText.forUrl(key),
                    Long.toString(fence),
                    runId.toString(),
                    HttpText.forUrl(path),
                    sha256,
                    Integer.toString(bytes));
        }

        private static Placed parse(String[] words) {
            return new Placed(
                    URLDecoder.decode(words[1], StandardCharsets.UTF_8),
                    Long.parseLong(words[2]),
                    RunId.parse(words[3]),
                    URLDecoder.decode(words[4], StandardCharsets.UTF_8),
                    words[5],
                    Integer.parseInt(words[6]));
        }
    }

    /** What was placed for this very effect, a twin's not counted. */
    @Nullable
    Placed of(Effect effect) {
        for (Placed one : placed) {
            if (one.isOf(effect)) {
                return one;
            }
        }
        return null;
    }

    /** About to place this. A token that is let in by a person's word does not lower the fence. */
    FileFence about(Placed next) {
        return new FileFence(highest.advancedBy(new FencingToken(next.fence), next.runId), placed, next);
    }

    /** What was about to be placed is there. */
    FileFence done(Placed one) {
        List<Placed> all = new ArrayList<>(placed);
        all.add(one);
        int tooMany = Math.max(0, all.size() - MAX_KEYS);
        return new FileFence(highest, List.copyOf(all.subList(tooMany, all.size())), null);
    }

    /** What was about to be placed is not there. */
    FileFence withoutPlacing() {
        return new FileFence(highest, placed, null);
    }

    byte[] bytes() {
        StringBuilder text = new StringBuilder(FIRST_LINE).append('\n');
        text.append("highest ").append(highest.fence());
        text.append(' ').append(highest.runId() == null ? "-" : highest.runId()).append('\n');
        for (Placed one : placed) {
            text.append(one.line("placed")).append('\n');
        }
        if (placing != null) {
            text.append(placing.line("placing")).append('\n');
        }
        return text.append(LAST_LINE).append('\n').toString().getBytes(StandardCharsets.US_ASCII);
    }

    /** @throws IOException if this is not what {@link #bytes} made: then nobody knows the highest token, and nothing may be placed */
    static FileFence parse(byte[] bytes) throws IOException {
        List<String> lines = StandardCharsets.US_ASCII
                .newDecoder()
                .decode(ByteBuffer.wrap(bytes))
                .toString()
                .lines()
                .toList();
        if (lines.size() < 3
                || !lines.getFirst().equals(FIRST_LINE)
                || !lines.getLast().equals(LAST_LINE)) {
            throw new IOException("it is not a fence file, or not a whole one");
        }
        try {
            Fence highest = Fence.NONE;
            List<Placed> placed = new ArrayList<>();
            Placed placing = null;
            for (String line : lines.subList(1, lines.size() - 1)) {
                String[] words = line.split(" ", -1);
                switch (words[0]) {
                    case "highest" ->
                        highest = new Fence(
                                Long.parseLong(words[1]), words[2].equals("-") ? null : RunId.parse(words[2]));
                    case "placed" -> placed.add(Placed.parse(words));
                    case "placing" -> placing = Placed.parse(words);
                    default -> throw new IOException("it has a line that nobody knows");
                }
            }
            return new FileFence(highest, List.copyOf(placed), placing);
        } catch (IllegalArgumentException | ArrayIndexOutOfBoundsException e) {
            throw new IOException("it has a line that cannot be read", e);
        }
    }
}
