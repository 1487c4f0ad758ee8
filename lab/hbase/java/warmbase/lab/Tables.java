package warmbase.lab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.TableNotFoundException;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** What is asked of tables. */
final class Tables {
  private static final int ROWS_AT_A_TIME = 1_000;

  private final Connection connection;
  private final org.apache.hadoop.hbase.client.Admin admin;

  Tables(Connection connection) throws IOException {
    this.connection = connection;
    this.admin = connection.getAdmin();
  }

  JsonObject create(Request request) throws Exception {
    TableDescriptor descriptor = Descriptor.of(request);
    List<String> given = request.texts("split_keys");
    byte[][] splits = given.isEmpty() ? Splits.of((int) request.number("regions", 1))
        : given.stream().map(Bytes::toBytesBinary).toArray(byte[][]::new);
    request.await(admin.createTableAsync(descriptor, splits.length == 0 ? null : splits), "creating " + request.table());
    JsonObject answer = describe(request.table());
    answer.addProperty("regions", splits.length + 1);
    return answer;
  }

  /** Creates a table only to see what HBase makes of its definition. */
  JsonObject checked(Request request) throws Exception {
    JsonObject described = create(request);
    drop(request);
    return described;
  }

  JsonObject drop(Request request) throws Exception {
    TableName table = request.table();
    if (admin.isTableEnabled(table)) {
      request.await(admin.disableTableAsync(table), "disabling " + table);
    }
    request.await(admin.deleteTableAsync(table), "deleting " + table);
    return new JsonObject();
  }

  /** Modifies the table without a change, for which the master opens every region anew where it is. */
  JsonObject reopen(Request request) throws Exception {
    request.await(admin.modifyTableAsync(admin.getDescriptor(request.table())), "reopening " + request.table());
    return new JsonObject();
  }

  private JsonObject describe(TableName table) throws IOException {
    return Descriptor.json(admin.getDescriptor(table));
  }

  JsonObject flush(TableName table) throws IOException {
    admin.flush(table);
    return new JsonObject();
  }

  /**
   * Compacts a table, or those of its regions that the request names, and waits until it is done.
   *
   * <p>"No compaction" is also said before one begins: a region is done when it holds a file of a later compaction
   * than before. An empty region has none to show.
   */
  JsonObject majorCompact(Request request) throws Exception {
    TableName table = request.table();
    List<String> named = request.texts("regions");
    Map<String, Long> before = majorCompactions(table);
    long began = System.nanoTime();
    if (named.isEmpty()) {
      admin.majorCompact(table);
    }
    for (String region : named) {
      admin.majorCompactRegion(Bytes.toBytes(region));
    }
    while (true) {
      Map<String, Long> now = majorCompactions(table);
      if (!named.isEmpty()) {
        now.keySet().retainAll(named);
      }
      List<String> open = new ArrayList<>();
      now.forEach((region, timestamp) -> {
        if (timestamp <= before.getOrDefault(region, 0L)) {
          open.add(region);
        }
      });
      CompactionState state = admin.getCompactionState(table);
      if (open.isEmpty() && state == CompactionState.NONE) {
        JsonObject answer = Admin.answer("regions", now.size());
        answer.addProperty("waited_seconds", (System.nanoTime() - began) / 1e9);
        return answer;
      }
      request.pause("major compaction of " + table, "state " + state + ", regions still to do: " + open.size());
    }
  }

  /** When each region with data was last compacted whole; 0 when never. */
  private Map<String, Long> majorCompactions(TableName table) throws IOException {
    Map<String, Long> timestamps = new HashMap<>();
    for (var server : admin.getRegionServers()) {
      admin.getRegionMetrics(server, table).forEach(region -> {
        if (region.getStoreFileCount() > 0) {
          timestamps.put(RegionInfo.encodeRegionName(region.getRegionName()), region.getLastMajorCompactionTimestamp());
        }
      });
    }
    return timestamps;
  }

  /** Reads and counts all rows without filling the cache with them. */
  JsonObject scan(Request request) throws IOException {
    Scan scan = new Scan().setFilter(new FirstKeyOnlyFilter()).setCaching(ROWS_AT_A_TIME).setCacheBlocks(false);
    long rows = 0;
    try (Table table = table(request.table()); ResultScanner scanner = table.getScanner(scan)) {
      for (Result row = scanner.next(); row != null; row = scanner.next()) {
        rows++;
        if (rows % ROWS_AT_A_TIME == 0 && request.isLate()) {
          throw request.late("counting " + request.table(), rows + " rows so far");
        }
      }
    }
    return Admin.answer("rows", rows);
  }

  /** Writes rows, flushes and counts them all. */
  JsonObject smoke(Request request) throws IOException {
    int rows = (int) request.number("rows", ROWS_AT_A_TIME);
    byte[] value = new byte[(int) request.number("value_bytes", 500)];
    byte[] family = Bytes.toBytes(request.text("family"));
    List<Put> puts = new ArrayList<>();
    for (int row = 0; row < rows; row++) {
      puts.add(new Put(Bytes.toBytes("smoke" + row)).addColumn(family, Bytes.toBytes("q"), value));
    }
    try (Table table = table(request.table())) {
      for (int from = 0; from < rows; from += ROWS_AT_A_TIME) {
        table.put(puts.subList(from, Math.min(rows, from + ROWS_AT_A_TIME)));
      }
    }
    admin.flush(request.table());
    return scan(request);
  }

  private Table table(TableName name) throws IOException {
    if (!admin.tableExists(name)) {
      throw new TableNotFoundException(name);
    }
    return connection.getTable(name);
  }
}
