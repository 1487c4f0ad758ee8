package warmbase.lab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/**
 * Reads the first row of every region at a fixed interval, each region on a thread of its own, and records when a
 * region does not answer: from the start of the first read that fails to the end of the first that succeeds again.
 *
 * <p>A client with few threads cannot measure that: its threads all wait for the first region that is missing.
 */
final class Prober implements AutoCloseable {
  private static final int TIMEOUT_MS = 1_000;
  private static final int RETRIES = 1;
  private static final int FAILED_SERVER_MS = 100;
  private static final long END_MS = 10_000;

  private final Connection connection;
  private final List<Region> regions = new ArrayList<>();
  private final long began = System.nanoTime();
  private final long intervalNanos;
  private volatile boolean ended;

  Prober(Configuration configuration, TableName table, double intervalSeconds) throws IOException {
    intervalNanos = (long) (intervalSeconds * 1e9);
    connection = ConnectionFactory.createConnection(impatient(configuration));
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      for (HRegionLocation location : locator.getAllRegionLocations()) {
        regions.add(new Region(table, location));
      }
    }
    regions.forEach(region -> region.thread.start());
  }

  /** Returns the configuration of a client that gives up soon if a region does not answer. */
  static Configuration impatient(Configuration configuration) {
    Configuration impatient = new Configuration(configuration);
    impatient.setInt("hbase.client.retries.number", RETRIES);
    impatient.setInt("hbase.ipc.client.failed.servers.expiry", FAILED_SERVER_MS);
    for (String timeout : List.of("hbase.client.operation.timeout", "hbase.client.meta.operation.timeout",
        "hbase.rpc.timeout", "hbase.client.scanner.timeout.period", "hbase.rpc.read.timeout")) {
      impatient.setInt(timeout, TIMEOUT_MS);
    }
    return impatient;
  }

  /** Ends the probing; the answer has each region's server at the start, its reads, and its outages in seconds. */
  JsonObject result() throws IOException, InterruptedException {
    ended = true;
    for (Region region : regions) {
      region.thread.join(END_MS);
    }
    JsonArray answers = new JsonArray();
    regions.forEach(region -> answers.add(region.json()));
    JsonObject answer = Admin.answer("regions", answers);
    answer.addProperty("seconds", seconds());
    return answer;
  }

  @Override
  public void close() throws IOException {
    ended = true;
    connection.close();
  }

  private double seconds() {
    return (System.nanoTime() - began) / 1e9;
  }

  /** One region: its reads, and the pairs of moments between which it did not answer. */
  private final class Region implements Runnable {
    private final TableName table;
    private final HRegionLocation location;
    private final byte[] row;
    private final Thread thread = new Thread(this, "probe");
    private final List<double[]> outages = new ArrayList<>();
    private int reads;
    private double failing = Double.NaN;

    Region(TableName table, HRegionLocation location) {
      this.table = table;
      this.location = location;
      byte[] first = location.getRegion().getStartKey();
      this.row = first.length == 0 ? new byte[1] : first;
      thread.setDaemon(true);
    }

    @Override
    public void run() {
      try (Table reader = connection.getTable(table)) {
        while (!ended) {
          long begins = System.nanoTime();
          read(reader);
          TimeUnit.NANOSECONDS.sleep(Math.max(0, intervalNanos - (System.nanoTime() - begins)));
        }
      } catch (IOException | InterruptedException error) {
        error.printStackTrace();
      }
    }

    private synchronized void read(Table reader) {
      double from = seconds();
      reads++;
      try {
        reader.exists(new Get(row));
        if (!Double.isNaN(failing)) {
          outages.add(new double[] {failing, seconds()});
          failing = Double.NaN;
        }
      } catch (IOException error) {
        failing = Double.isNaN(failing) ? from : failing;
      }
    }

    synchronized JsonObject json() {
      JsonArray pairs = new JsonArray();
      for (double[] outage : outages) {
        pairs.add(Admin.pair(outage[0], outage[1]));
      }
      if (!Double.isNaN(failing)) {
        pairs.add(Admin.pair(failing, null));
      }
      JsonObject answer = Admin.answer("outages", pairs);
      answer.addProperty("region", location.getRegion().getEncodedName());
      answer.addProperty("server", String.valueOf(location.getServerName()));
      answer.addProperty("reads", reads);
      return answer;
    }
  }
}
