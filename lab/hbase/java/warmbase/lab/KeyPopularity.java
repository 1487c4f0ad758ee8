package warmbase.lab;

import java.util.Arrays;
import java.util.Properties;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.hadoop.hbase.util.Bytes;
import site.ycsb.Utils;

/**
 * The frequency with which each key number is read: YCSB 0.17's distributions, drawn from a given stream.
 *
 * <p>Key names are hashes of key numbers, so the rows of a hot set are scattered over the table.
 */
@FunctionalInterface
interface KeyPopularity {
  /** Returns the next key number. If it is past the newest row, the caller draws again. */
  long next(SplittableRandom random);

  /** Returns the popularity that a workload's properties request. Throws IllegalArgumentException for any other. */
  static KeyPopularity of(Properties properties) {
    long first = Long.parseLong(properties.getProperty("insertstart", "0"));
    long records = Long.parseLong(properties.getProperty("recordcount", "0"));
    long count = Long.parseLong(properties.getProperty("insertcount", Long.toString(records - first)));
    if (count <= 0) {
      throw new IllegalArgumentException("recordcount=" + records + ": say how many rows there are");
    }
    // Not a requestdistribution of its own, because YCSB refuses a name that it does not know.
    if (properties.containsKey("regions")) {
      return byRegion(first, count, Integer.parseInt(properties.getProperty("regions")),
          Double.parseDouble(properties.getProperty("regionskew", "0")));
    }
    String name = properties.getProperty("requestdistribution", "uniform");
    return switch (name) {
      case "uniform" -> random -> random.nextLong(first, first + count);
      case "zipfian" -> scrambledZipfian(first, count + newKeys(properties));
      case "hotspot" -> hotspot(first, count, fraction(properties, "hotspotdatafraction", "0.2"),
          fraction(properties, "hotspotopnfraction", "0.8"));
      default -> throw new IllegalArgumentException(
          "requestdistribution=" + name + " is not seeded: use uniform, zipfian or hotspot");
    };
  }

  /** ScrambledZipfianGenerator: ranks among 10^10 items, whatever the table's size, hashed onto the key numbers. */
  private static KeyPopularity scrambledZipfian(long first, long count) {
    // ScrambledZipfianGenerator: ITEM_COUNT, USED_ZIPFIAN_CONSTANT, ZETAN; it gives its Zipfian 0 to ITEM_COUNT.
    final double items = 10_000_000_000L + 1;
    final double theta = 0.99;
    final double zetan = 26.46902820178302;
    // ZipfianGenerator, after Gray et al., "Quickly Generating Billion-Record Synthetic Databases".
    final double second = 1 + Math.pow(0.5, theta);
    final double alpha = 1 / (1 - theta);
    final double eta = (1 - Math.pow(2 / items, 1 - theta)) / (1 - second / zetan);
    return random -> {
      double drawn = random.nextDouble();
      double scaled = drawn * zetan;
      long rank = scaled < 1 ? 0 : scaled < second ? 1 : (long) (items * Math.pow(eta * drawn - eta + 1, alpha));
      // One number more than there are rows: YCSB's range includes its end.
      return first + Utils.fnvhash64(rank) % (count + 1);
    };
  }

  /** HotspotIntegerGenerator: a share of the operations on the first share of the numbers, evenly in each part. */
  private static KeyPopularity hotspot(long first, long count, double ofData, double ofOperations) {
    long hot = (long) (count * ofData);
    if (hot == 0 || hot == count) {
      throw new IllegalArgumentException("hotspotdatafraction=" + ofData + " leaves no hot or no cold row of " + count);
    }
    return random -> random.nextDouble() < ofOperations
        ? random.nextLong(first, first + hot) : random.nextLong(first + hot, first + count);
  }

  /**
   * Regions by Zipf's law with the exponent {@code skew}, the first in the order of keys most, and the rows of a region
   * evenly. The table has the regions that {@link Splits} makes.
   */
  private static KeyPopularity byRegion(long first, long count, int regions, double skew) {
    String[] splits = Stream.of(Splits.of(regions)).map(Bytes::toString).toArray(String[]::new);
    LongStream.Builder[] numbers = Stream.generate(LongStream::builder).limit(regions).toArray(LongStream.Builder[]::new);
    for (long number = first; number < first + count; number++) {
      int at = Arrays.binarySearch(splits, "user" + Utils.hash(number));
      numbers[at >= 0 ? at + 1 : -at - 1].add(number);
    }
    long[][] rows = Stream.of(numbers).map(builder -> builder.build().toArray()).toArray(long[][]::new);
    double[] upTo = new double[regions];
    double sum = 0;
    for (int region = 0; region < regions; region++) {
      sum += Math.pow(region + 1, -skew);
      upTo[region] = sum;
    }
    return random -> {
      int at = Arrays.binarySearch(upTo, random.nextDouble() * upTo[regions - 1]);
      long[] drawn = rows[at >= 0 ? at : -at - 1];
      return drawn[random.nextInt(drawn.length)];
    };
  }

  private static double fraction(Properties properties, String name, String byDefault) {
    double value = Double.parseDouble(properties.getProperty(name, byDefault));
    if (!(value >= 0 && value <= 1)) {
      throw new IllegalArgumentException(name + "=" + value + " is not a fraction from 0 to 1");
    }
    return value;
  }

  /** CoreWorkload.init: room for twice the expected inserts. */
  private static long newKeys(Properties properties) {
    double inserts = Double.parseDouble(properties.getProperty("insertproportion", "0"));
    return inserts == 0 ? 0 : (long) (Long.parseLong(properties.getProperty("operationcount")) * inserts * 2);
  }
}
