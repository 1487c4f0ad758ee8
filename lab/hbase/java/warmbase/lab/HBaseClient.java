package warmbase.lab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.BufferedMutatorParams;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * YCSB's view of an HBase table: one connection for the JVM, one Table for each client thread.
 *
 * <p>Properties: {@code table}, {@code columnfamily}; {@code clientbuffering=true} gathers writes, for loads;
 * {@code multiget=n} turns each read into one multi-get of the asked key and n-1 further ones, and needs
 * {@link SeededWorkload}; {@code compressible=r} writes {@link DictionaryValues} in place of YCSB's values, which
 * shrink only to about 0.8. Properties that begin with {@code hbase.} go to HBase's client.
 */
public final class HBaseClient extends DB {
  private static final int ERRORS_SHOWN = 10;
  private static final int LOST_WRITES_EXIT = 3;
  private static final long WRITE_BUFFER_BYTES = 4L << 20; // judgement: a hundred Puts of a few KB in each request

  private static final AtomicInteger ERRORS = new AtomicInteger();
  private static Connection connection;
  private static int threads;

  private Table table;
  private BufferedMutator buffer;
  private byte[] family;
  private int keysPerRead;
  private DictionaryValues values;

  @Override
  public void init() throws DBException {
    family = Bytes.toBytes(property("columnfamily", "cf"));
    keysPerRead = Integer.parseInt(property("multiget", "1"));
    if (keysPerRead > 1 && SeededWorkload.current() == null) {
      throw new DBException("multiget=" + keysPerRead + " needs workload=" + SeededWorkload.class.getName());
    }
    double ratio = Double.parseDouble(property("compressible", "1"));
    values = ratio == 1 ? null : new DictionaryValues(ratio);
    TableName name = TableName.valueOf(property("table", "usertable"));
    try {
      Connection shared = connect();
      table = shared.getTable(name);
      if (Boolean.parseBoolean(property("clientbuffering", "false"))) {
        buffer = shared.getBufferedMutator(new BufferedMutatorParams(name).writeBufferSize(WRITE_BUFFER_BYTES));
      }
    } catch (IOException error) {
      throw new DBException(error);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      flush();
      table.close();
    } catch (IOException error) {
      throw new DBException(error);
    } finally {
      disconnect();
    }
  }

  @Override
  public Status read(String ignored, String key, Set<String> fields, Map<String, ByteIterator> into) {
    return status("read", key, () -> {
      Result[] rows = keysPerRead > 1 ? table.get(gets(key, fields)) : new Result[] {table.get(get(key, fields))};
      for (Result row : rows) {
        if (row.isEmpty()) {
          return Status.NOT_FOUND;
        }
      }
      copy(rows[0], into);
      return Status.OK;
    });
  }

  @Override
  public Status scan(
      String ignored, String first, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> into) {
    Scan scan = new Scan().withStartRow(Bytes.toBytes(first)).setLimit(count).setCaching(count);
    if (fields == null) {
      scan.addFamily(family);
    } else {
      fields.forEach(field -> scan.addColumn(family, Bytes.toBytes(field)));
    }
    return status("scan", first, () -> {
      try (ResultScanner scanner = table.getScanner(scan)) {
        for (Result row : scanner) {
          HashMap<String, ByteIterator> copied = new HashMap<>();
          copy(row, copied);
          into.add(copied);
        }
      }
      return Status.OK;
    });
  }

  @Override
  public Status update(String ignored, String key, Map<String, ByteIterator> fields) {
    Put put = new Put(Bytes.toBytes(key));
    fields.forEach((field, given) -> put.addColumn(family, Bytes.toBytes(field), value(key, field, given)));
    return status("write", key, () -> {
      if (buffer == null) {
        table.put(put);
        return Status.OK;
      }
      buffer.mutate(put);
      return Status.BATCHED_OK;
    });
  }

  @Override
  public Status insert(String ignored, String key, Map<String, ByteIterator> fields) {
    return update(ignored, key, fields);
  }

  @Override
  public Status delete(String ignored, String key) {
    return status("delete", key, () -> {
      table.delete(new Delete(Bytes.toBytes(key)));
      return Status.OK;
    });
  }

  private String property(String name, String byDefault) {
    return getProperties().getProperty(name, byDefault);
  }

  private Connection connect() throws IOException {
    synchronized (HBaseClient.class) {
      if (connection == null) {
        Configuration configuration = HBaseConfiguration.create();
        for (String name : getProperties().stringPropertyNames()) {
          if (name.startsWith("hbase.")) {
            configuration.set(name, getProperties().getProperty(name));
          }
        }
        connection = ConnectionFactory.createConnection(configuration);
      }
      threads++;
      return connection;
    }
  }

  private static void disconnect() throws DBException {
    synchronized (HBaseClient.class) {
      if (--threads > 0) {
        return;
      }
      try {
        connection.close();
      } catch (IOException error) {
        throw new DBException(error);
      } finally {
        connection = null;
      }
    }
  }

  /** Sends what is gathered. YCSB counted those writes as done and ends with 0 whatever happens here, so end it. */
  private void flush() {
    if (buffer == null) {
      return;
    }
    try {
      buffer.close();
    } catch (IOException error) {
      System.err.println("writes were lost: " + error);
      System.err.flush();
      Runtime.getRuntime().halt(LOST_WRITES_EXIT);
    }
  }

  private Get get(String key, Set<String> fields) {
    Get get = new Get(Bytes.toBytes(key));
    if (fields == null) {
      return get.addFamily(family);
    }
    fields.forEach(field -> get.addColumn(family, Bytes.toBytes(field)));
    return get;
  }

  private List<Get> gets(String key, Set<String> fields) {
    List<Get> gets = new ArrayList<>(keysPerRead);
    gets.add(get(key, fields));
    while (gets.size() < keysPerRead) {
      gets.add(get(SeededWorkload.current().furtherKey(), fields));
    }
    return gets;
  }

  private byte[] value(String key, String field, ByteIterator given) {
    return values == null ? given.toArray() : values.value(key, field, (int) given.bytesLeft());
  }

  private static void copy(Result row, Map<String, ByteIterator> into) {
    for (Cell cell : row.rawCells()) {
      into.put(Bytes.toString(CellUtil.cloneQualifier(cell)), new ByteArrayByteIterator(CellUtil.cloneValue(cell)));
    }
  }

  private static Status status(String what, String key, Operation operation) {
    try {
      return operation.run();
    } catch (IOException | RuntimeException error) {
      int count = ERRORS.incrementAndGet();
      if (count <= ERRORS_SHOWN) {
        System.err.println(what + " of " + key + " failed: " + error);
      }
      if (count == ERRORS_SHOWN) {
        System.err.println("further failures are only counted");
      }
      return Status.ERROR;
    }
  }

  @FunctionalInterface
  private interface Operation {
    Status run() throws IOException;
  }
}
