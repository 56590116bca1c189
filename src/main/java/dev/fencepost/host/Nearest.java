package dev.fencepost.host;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Finds the known word that a person most likely meant. */
public final class Nearest {

    private static final int LONGEST = 70;

    private Nearest() {}

    /**
     * The known word with the fewest changed, missing, additional or swapped characters; none when more than a third of the word would
     * have to change. Upper case and underscores count as no difference.
     */
    public static Optional<String> to(String word, Collection<String> known) {
        return among(word, known, 1).stream().findFirst();
    }

    /** The same, for several words that may have been meant: the nearest first, so many at most. */
    public static List<String> among(String word, Collection<String> known, int most) {
        String plain = plain(word);
        if (plain.isEmpty() || plain.length() > LONGEST) {
            return List.of();
        }
        return known.stream()
                .map(candidate -> new Candidate(candidate, distance(plain, plain(candidate))))
                .filter(c -> c.distance <= Math.max(1, Math.max(plain.length(), c.word.length()) / 3))
                .sorted(Comparator.comparingInt(Candidate::distance).thenComparing(Candidate::word))
                .limit(most)
                .map(Candidate::word)
                .toList();
    }

    public static String plain(String word) {
        return word.strip().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private record Candidate(String word, int distance) {}

    private static int distance(String a, String b) {
        int[][] d = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                if (i == 0 || j == 0) {
                    d[i][j] = i + j;
                    continue;
                }
                int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                d[i][j] = Math.min(d[i - 1][j - 1] + change, Math.min(d[i - 1][j], d[i][j - 1]) + 1);
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
                }
            }
        }
        return d[a.length()][b.length()];
    }
}
