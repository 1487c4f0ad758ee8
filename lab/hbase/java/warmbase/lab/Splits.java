package warmbase.lab;

import java.util.Locale;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Keys that cut a table of YCSB's rows into regions of equal numbers of rows.
 *
 * <p>A row is {@code user} and a hash below 2^63 in decimal, not padded. Of such numbers 89 % have 19 digits and begin
 * with 1 to 9.22; the others, shorter, begin evenly with 1 to 10, and sort among them.
 */
final class Splits {
  private static final double END = 0x1p63;
  private static final double LONGEST = 1e18;
  private static final double SHORTER = (LONGEST - 1) / 9; // 1 + 10 + ... + 10^17
  private static final int DIGITS = 6;

  private Splits() {}

  static byte[][] of(int regions) {
    if (regions < 1) {
      throw new IllegalArgumentException("regions is " + regions + ": ask for 1 or more");
    }
    byte[][] keys = new byte[regions - 1][];
    for (int region = 1; region < regions; region++) {
      double leading = leading((double) region / regions);
      keys[region - 1] = Bytes.toBytes(String.format(Locale.ROOT, "user%d", (long) (leading * Math.pow(10, DIGITS))));
    }
    return keys;
  }

  /** The number from 1 to 10, read from a key's first digits, below which this fraction of all keys sorts. */
  private static double leading(double fraction) {
    double wanted = fraction * END;
    double bothEnd = END / LONGEST;
    double both = (bothEnd - 1) * (LONGEST + SHORTER);
    return wanted <= both ? 1 + wanted / (LONGEST + SHORTER) : bothEnd + (wanted - both) / SHORTER;
  }
}
