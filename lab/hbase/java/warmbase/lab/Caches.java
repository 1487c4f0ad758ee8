package warmbase.lab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.io.hfile.BlockCache;
import org.apache.hadoop.hbase.io.hfile.BlockCacheFactory;
import org.apache.hadoop.hbase.io.util.MemorySizeUtil;
import org.apache.hbase.thirdparty.com.google.gson.Gson;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;

/**
 * What a RegionServer's start makes of its caches, for many configurations in one JVM.
 *
 * <p>Each line of stdin is a JSON map of properties, laid over the hbase-site.xml on the class path; each line of
 * stdout says the caches' classes and sizes, or the exception's class and message. The heap is this JVM's own.
 */
public final class Caches {
  /** As 2.6.2 calls it, and as 2.6.4 does. */
  private static final List<String> HEAP_CHECKS =
      List.of("checkForClusterFreeHeapMemoryLimit", "validateRegionServerHeapMemoryAllocation");

  private Caches() {}

  /** Answers until stdin ends. */
  public static void main(String[] arguments) throws IOException {
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      answers.println(new Gson().toJson(outcome(line)));
    }
    // Caches have threads of their own.
    Runtime.getRuntime().halt(0);
  }

  private static JsonObject outcome(String line) {
    try {
      Configuration configuration = HBaseConfiguration.create();
      for (Map.Entry<String, JsonElement> each : JsonParser.parseString(line).getAsJsonObject().entrySet()) {
        configuration.set(each.getKey(), each.getValue().getAsString());
      }
      checkHeap(configuration);
      return sizes(configuration);
    } catch (Throwable error) {
      JsonObject outcome = Admin.answer("ok", false);
      outcome.addProperty("exception", error.getClass().getName());
      outcome.addProperty("message", error.getMessage());
      return outcome;
    }
  }

  private static JsonObject sizes(Configuration configuration) {
    BlockCache cache = BlockCacheFactory.createBlockCache(configuration);
    JsonObject outcome = Admin.answer("ok", true);
    if (cache == null) {
      outcome.addProperty("cache", "none");
      return outcome;
    }
    outcome.addProperty("cache", cache.getClass().getSimpleName());
    outcome.addProperty("max_bytes", cache.getMaxSize());
    BlockCache[] parts = cache.getBlockCaches();
    for (int part = 0; parts != null && part < parts.length; part++) {
      outcome.addProperty("l" + (part + 1), parts[part].getClass().getSimpleName());
      outcome.addProperty("l" + (part + 1) + "_max_bytes", parts[part].getMaxSize());
    }
    cache.shutdown();
    return outcome;
  }

  private static void checkHeap(Configuration configuration) throws Throwable {
    for (Method method : MemorySizeUtil.class.getMethods()) {
      if (HEAP_CHECKS.contains(method.getName())) {
        try {
          method.invoke(null, configuration);
        } catch (InvocationTargetException error) {
          throw error.getCause();
        }
        return;
      }
    }
    throw new NoSuchMethodException("MemorySizeUtil has none of " + HEAP_CHECKS);
  }
}
