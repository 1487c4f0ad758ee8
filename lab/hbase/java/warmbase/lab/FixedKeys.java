package warmbase.lab;

import java.security.Key;
import java.util.Arrays;
import javax.crypto.spec.SecretKeySpec;
import org.apache.hadoop.hbase.io.crypto.KeyProvider;
import org.apache.hadoop.hbase.util.Bytes;

/** The same AES key under every name: for test data, which is no secret. */
public final class FixedKeys implements KeyProvider {
  static final Key KEY = new SecretKeySpec(Bytes.toBytes("0123456789abcdef"), "AES");

  @Override
  public void init(String parameters) {}

  @Override
  public Key getKey(String alias) {
    return KEY;
  }

  @Override
  public Key[] getKeys(String[] aliases) {
    Key[] keys = new Key[aliases.length];
    Arrays.fill(keys, KEY);
    return keys;
  }
}
