package warmbase.lab;

import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/**
 * Values that compress as real ones do: words of a dictionary, with as many random letters between them as bring
 * ZSTD, on blocks of 64 KiB, to the requested ratio. The same key and field always have the same value.
 */
final class DictionaryValues {
  private static final int WORDS = 256;
  private static final int WORD_BYTES = 24;
  private static final String LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  /** The bytes that ZSTD writes for one byte of words, and of random letters. Measured: level 3, blocks of 64 KiB. */
  private static final double WORDS_SHRINK_TO = 0.156;
  private static final double LETTERS_SHRINK_TO = 0.815;

  private final byte[][] words = new byte[WORDS][WORD_BYTES];
  private final double lettersPerWord;

  /** Throws IllegalArgumentException for a ratio that these words do not reach. */
  DictionaryValues(double ratio) {
    double letters = (1 / ratio - WORDS_SHRINK_TO) / (LETTERS_SHRINK_TO - WORDS_SHRINK_TO);
    if (!(letters >= 0 && letters < 1)) {
      throw new IllegalArgumentException("compressible=" + ratio + ": use 1 for YCSB's values, or 1.3 to 6");
    }
    lettersPerWord = WORD_BYTES * letters / (1 - letters);
    SplittableRandom random = new SplittableRandom(WORDS);
    for (byte[] word : words) {
      letters(random, word, 0, WORD_BYTES);
    }
  }

  /** Returns the value of a field of a row, in this length. */
  byte[] value(String key, String field, int length) {
    byte[] value = new byte[length];
    SplittableRandom random = new SplittableRandom(seed(key, field));
    double owed = random.nextDouble() * lettersPerWord;
    int at = 0;
    while (at < length) {
      int plain = Math.min((int) owed, length - at);
      letters(random, value, at, plain);
      at += plain;
      owed += lettersPerWord - plain;
      int word = Math.min(WORD_BYTES, length - at);
      System.arraycopy(words[random.nextInt(WORDS)], 0, value, at, word);
      at += word;
    }
    return value;
  }

  private static void letters(SplittableRandom random, byte[] into, int from, int count) {
    long bits = 0;
    for (int letter = 0; letter < count; letter++) {
      // A long holds ten letters of six bits.
      bits = letter % 10 == 0 ? random.nextLong() : bits >>> 6;
      into[from + letter] = (byte) LETTERS.charAt((int) (bits & 63));
    }
  }

  private static long seed(String key, String field) {
    long hash = 0xCBF29CE484222325L;
    for (byte each : (key + '\n' + field).getBytes(StandardCharsets.UTF_8)) {
      hash = (hash ^ each) * 0x100000001B3L;
    }
    return hash;
  }
}
