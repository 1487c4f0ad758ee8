package warmbase.lab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/**
 * Writes new rows to every region at a fixed interval, each region on a thread of its own, and remembers those that
 * HBase acknowledged. A write that fails is not repeated.
 */
final class Writer implements AutoCloseable {
  private static final byte[] QUALIFIER = Bytes.toBytes("written");
  private static final int ROWS_OF_ONE_READ = 500;
  private static final long END_MS = 10_000;

  private final Connection connection;
  private final TableName table;
  private final byte[] family;
  private final long intervalMs;
  private final List<Thread> threads = new ArrayList<>();
  private final List<byte[]> acknowledged = new ArrayList<>();
  private volatile boolean ended;

  Writer(Configuration configuration, Request request) throws IOException {
    table = request.table();
    family = Bytes.toBytes(request.text("family"));
    intervalMs = (long) (request.number("interval", 1.0) * 1000);
    connection = ConnectionFactory.createConnection(Prober.impatient(configuration));
    // Rows of an earlier writer have other names.
    String mark = Long.toString(System.currentTimeMillis(), Character.MAX_RADIX);
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      for (HRegionLocation location : locator.getAllRegionLocations()) {
        byte[] start = location.getRegion().getStartKey();
        threads.add(new Thread(() -> write(start, mark), "writer"));
      }
    }
    threads.forEach(thread -> thread.setDaemon(true));
    threads.forEach(Thread::start);
  }

  /** Stops writing, and reads every acknowledged row; returns how many there are, and how many are lost. */
  JsonObject result(Connection reader) throws IOException, InterruptedException {
    ended = true;
    for (Thread thread : threads) {
      thread.join(END_MS);
    }
    int lost = 0;
    try (Table rows = reader.getTable(table)) {
      for (int from = 0; from < acknowledged.size(); from += ROWS_OF_ONE_READ) {
        int to = Math.min(acknowledged.size(), from + ROWS_OF_ONE_READ);
        for (boolean found : rows.exists(acknowledged.subList(from, to).stream().map(Get::new).toList())) {
          lost += found ? 0 : 1;
        }
      }
    }
    JsonObject answer = Admin.answer("acknowledged", acknowledged.size());
    answer.addProperty("lost", lost);
    return answer;
  }

  @Override
  public void close() throws IOException {
    ended = true;
    connection.close();
  }

  private void write(byte[] start, String mark) {
    try (Table writer = connection.getTable(table)) {
      for (int number = 0; !ended; number++) {
        // `!` sorts before every digit, so the row is in the region that begins with the key.
        byte[] row = Bytes.add(start, Bytes.toBytes(String.format(Locale.ROOT, "!%s-%d", mark, number)));
        if (isAcknowledged(writer, row)) {
          synchronized (acknowledged) {
            acknowledged.add(row);
          }
        }
        TimeUnit.MILLISECONDS.sleep(intervalMs);
      }
    } catch (IOException | InterruptedException error) {
      error.printStackTrace();
    }
  }

  private boolean isAcknowledged(Table writer, byte[] row) {
    try {
      writer.put(new Put(row).addColumn(family, QUALIFIER, row));
      return true;
    } catch (IOException error) {
      return false;
    }
  }
}
