package warmbase.lab;

import java.util.Properties;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import site.ycsb.WorkloadException;
import site.ycsb.generator.DiscreteGenerator;
import site.ycsb.generator.NumberGenerator;
import site.ycsb.workloads.CoreWorkload;

/**
 * YCSB's core workload with every choice drawn from the property {@code seed}: two runs read the same keys.
 *
 * <p>YCSB draws from {@code ThreadLocalRandom}, which takes no seed. Here client thread n has streams of its own for
 * keys, for kinds of operation and for the further keys of a multi-get, so that none affects another. The frequency of each
 * key is that of YCSB's own generators; see {@link KeyPopularity}.
 */
public final class SeededWorkload extends CoreWorkload {
  private static final ThreadLocal<Streams> STREAMS = new ThreadLocal<>();
  private static volatile SeededWorkload current;

  private long seed;
  private KeyPopularity popularity;

  /** The workload of this JVM; null if it runs another class. */
  static SeededWorkload current() {
    return current;
  }

  @Override
  public void init(Properties properties) throws WorkloadException {
    super.init(properties);
    String given = properties.getProperty("seed");
    if (given == null) {
      throw new WorkloadException("SeededWorkload needs a property: seed");
    }
    try {
      seed = Long.parseLong(given);
      popularity = KeyPopularity.of(properties);
    } catch (IllegalArgumentException error) {
      throw new WorkloadException(error.getMessage(), error);
    }
    keychooser = new Chosen(streams -> popularity.next(streams.keys));
    fieldchooser = new Chosen(streams -> streams.operations.nextLong(fieldcount));
    operationchooser = new SeededOperations(properties);
    if (properties.getProperty(SCAN_LENGTH_DISTRIBUTION_PROPERTY, "uniform").equals("uniform")) {
      long least = Long.parseLong(properties.getProperty(MIN_SCAN_LENGTH_PROPERTY, MIN_SCAN_LENGTH_PROPERTY_DEFAULT));
      long most = Long.parseLong(properties.getProperty(MAX_SCAN_LENGTH_PROPERTY, MAX_SCAN_LENGTH_PROPERTY_DEFAULT));
      scanlength = new Chosen(streams -> streams.operations.nextLong(least, most + 1));
    }
    current = this;
  }

  @Override
  public Object initThread(Properties properties, int thread, int threads) throws WorkloadException {
    STREAMS.set(new Streams(seed, thread));
    return super.initThread(properties, thread, threads);
  }

  /** Returns another key for a multi-get, drawn independently from the same popularity; it may repeat a key. */
  String furtherKey() {
    SplittableRandom random = STREAMS.get().further;
    return buildKeyName(existing(() -> popularity.next(random)));
  }

  /** Draws again while the number is past the newest row, as YCSB does. */
  private long existing(LongSupplier draw) {
    long number = draw.getAsLong();
    while (number > transactioninsertkeysequence.lastValue()) {
      number = draw.getAsLong();
    }
    return number;
  }

  /** The random streams of one client thread. */
  private static final class Streams {
    private final SplittableRandom keys;
    private final SplittableRandom operations;
    private final SplittableRandom further;

    Streams(long seed, int thread) {
      // Mixed first, so that thread 1 of seed 7 differs from thread 0 of seed 8.
      SplittableRandom all = new SplittableRandom(new SplittableRandom(seed).nextLong() + thread);
      keys = all.split();
      operations = all.split();
      further = all.split();
    }
  }

  /** A YCSB generator that draws from the calling thread's streams. */
  private static final class Chosen extends NumberGenerator {
    private final ToLongFunction<Streams> draw;

    Chosen(ToLongFunction<Streams> draw) {
      this.draw = draw;
    }

    @Override
    public Number nextValue() {
      return draw.applyAsLong(STREAMS.get());
    }

    @Override
    public double mean() {
      throw new UnsupportedOperationException("nothing asks for a mean");
    }
  }

  /** Kinds of operation by their proportions, which need not sum to 1. */
  private static final class SeededOperations extends DiscreteGenerator {
    private static final String[] KINDS = {"READ", "UPDATE", "INSERT", "SCAN", "READMODIFYWRITE"};
    private final double[] upTo = new double[KINDS.length];

    SeededOperations(Properties properties) {
      double sum = 0;
      for (int kind = 0; kind < KINDS.length; kind++) {
        sum += proportion(properties, KINDS[kind]);
        upTo[kind] = sum;
      }
    }

    private static double proportion(Properties properties, String kind) {
      String byDefault = kind.equals("READ") ? READ_PROPORTION_PROPERTY_DEFAULT
          : kind.equals("UPDATE") ? UPDATE_PROPORTION_PROPERTY_DEFAULT : "0";
      return Double.parseDouble(properties.getProperty(kind.toLowerCase(java.util.Locale.ROOT) + "proportion", byDefault));
    }

    @Override
    public String nextValue() {
      double drawn = STREAMS.get().operations.nextDouble() * upTo[KINDS.length - 1];
      int kind = 0;
      while (drawn >= upTo[kind]) {
        kind++;
      }
      return KINDS[kind];
    }
  }
}
