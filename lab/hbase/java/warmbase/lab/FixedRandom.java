package warmbase.lab;

import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.SplittableRandom;

/** Random numbers that are the same for each file, in place of the JVM's secure ones: for test data, which is no secret. */
public final class FixedRandom extends SecureRandomSpi {
  private static final String NAME = "warmbase-fixed-random";
  private static SplittableRandom random = new SplittableRandom(0);

  /** Replaces every SecureRandom that is created from now on. */
  static void install() {
    Provider provider = new Provider(NAME, "1", NAME) {};
    provider.put("SecureRandom." + NAME, FixedRandom.class.getName());
    Security.insertProviderAt(provider, 1);
  }

  /** Restarts the numbers from that seed. */
  static synchronized void restart(long seed) {
    random = new SplittableRandom(seed);
  }

  @Override
  protected void engineSetSeed(byte[] seed) {}

  @Override
  protected void engineNextBytes(byte[] bytes) {
    synchronized (FixedRandom.class) {
      random.nextBytes(bytes);
    }
  }

  @Override
  protected byte[] engineGenerateSeed(int count) {
    byte[] seed = new byte[count];
    engineNextBytes(seed);
    return seed;
  }
}
