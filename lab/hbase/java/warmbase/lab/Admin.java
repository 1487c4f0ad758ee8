package warmbase.lab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hbase.thirdparty.com.google.gson.Gson;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;

/**
 * HBase's administration as a process that stays: one JSON request on each line of stdin, one answer on each line of
 * stdout, until stdin ends. Stays, because a JVM and a connection take 2 to 3 seconds to start.
 *
 * <p>A request is {@code {"call": ..., "id": ..., "seconds": ...}} and what the call needs; an answer repeats the id
 * and is {@code {"ok": true, ...}} or {@code {"ok": false, "error": ...}}. Anything else goes to stderr.
 */
public final class Admin implements AutoCloseable {
  private static final int OPERATION_MS = 45_000;
  private static final int RETRIES = 8;
  private static final int PROCEDURE_MS = 120_000;

  private final Configuration configuration;
  private Connection connection;
  private Prober prober;
  private Writer writer;

  private Admin(Configuration configuration) {
    this.configuration = configuration;
  }

  /** Answers until stdin ends. */
  public static void main(String[] arguments) throws IOException {
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    Configuration bounded = bounded(HBaseConfiguration.create());
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (Admin admin = new Admin(bounded)) {
      for (String line = requests.readLine(); line != null; line = requests.readLine()) {
        answers.println(new Gson().toJson(admin.answer(line)));
      }
    }
  }

  static JsonObject answer(String name, JsonElement value) {
    JsonObject answer = new JsonObject();
    answer.add(name, value);
    return answer;
  }

  static JsonObject answer(String name, Object value) {
    return answer(name, new Gson().toJsonTree(value));
  }

  /** A pair of numbers; null for one that is not known. */
  static JsonArray pair(Double first, Double second) {
    JsonArray pair = new JsonArray();
    pair.add(first);
    pair.add(second);
    return pair;
  }

  @Override
  public void close() throws IOException {
    if (prober != null) {
      prober.close();
    }
    if (writer != null) {
      writer.close();
    }
    if (connection != null) {
      connection.close();
    }
  }

  private JsonObject answer(String line) {
    JsonElement id = null;
    JsonObject answer;
    try {
      JsonObject request = JsonParser.parseString(line).getAsJsonObject();
      id = request.get("id");
      answer = call(new Request(request));
      answer.addProperty("ok", true);
    } catch (Exception error) {
      if (error instanceof InterruptedException) {
        Thread.currentThread().interrupt();
      }
      error.printStackTrace();
      answer = answer("error", message(error));
      answer.addProperty("ok", false);
    }
    if (id != null) {
      answer.add("id", id);
    }
    return answer;
  }

  private JsonObject call(Request request) throws Exception {
    String name = request.text("call");
    return switch (name) {
      case "create" -> tables().create(request);
      case "checked_table" -> tables().checked(request);
      case "drop" -> tables().drop(request);
      case "flush" -> tables().flush(request.table());
      case "reopen" -> tables().reopen(request);
      case "major_compact" -> tables().majorCompact(request);
      case "smoke" -> tables().smoke(request);
      case "scan" -> tables().scan(request);
      case "blocks" -> new StoreFiles(configuration).blocks(request);
      case "servers" -> cluster().servers();
      case "regions" -> cluster().regions(request.table());
      case "await_regions" -> cluster().awaitRegions(request);
      case "move" -> cluster().move(request);
      case "state" -> topology().state();
      case "stored" -> topology().stored();
      case "files" -> topology().files();
      case "unload" -> topology().mover(request, true);
      case "load" -> topology().mover(request, false);
      case "probe" -> probe(request);
      case "probed" -> probed();
      case "write" -> write(request);
      case "written" -> written();
      case "hdfs_write" ->
          new HdfsLog(configuration, request).write((int) request.number("copies", 1), request.flag("fan_out", true));
      case "hdfs_read" -> new HdfsLog(configuration, request).read(request.text("socket", ""));
      case "balance" -> cluster().balance();
      case "balancer" -> cluster().balancer(request.flag("on", true));
      default -> throw new IllegalArgumentException("there is no call " + name);
    };
  }

  private JsonObject probe(Request request) throws IOException {
    if (prober != null) {
      prober.close();
    }
    prober = new Prober(configuration, request.table(), request.number("interval", 1.0));
    return new JsonObject();
  }

  private JsonObject probed() throws Exception {
    if (prober == null) {
      throw new IllegalArgumentException("no table is probed");
    }
    try (Prober ending = prober) {
      prober = null;
      return ending.result();
    }
  }

  private JsonObject write(Request request) throws IOException {
    if (writer != null) {
      writer.close();
    }
    writer = new Writer(configuration, request);
    return new JsonObject();
  }

  private JsonObject written() throws Exception {
    if (writer == null) {
      throw new IllegalArgumentException("no table is written");
    }
    try (Writer ending = writer) {
      writer = null;
      return ending.result(connection());
    }
  }

  private Tables tables() throws IOException {
    return new Tables(connection());
  }

  private Cluster cluster() throws IOException {
    return new Cluster(configuration, connection());
  }

  private Topology topology() throws IOException {
    return new Topology(configuration, connection());
  }

  private Connection connection() throws IOException {
    if (connection == null || connection.isClosed()) {
      connection = ConnectionFactory.createConnection(configuration);
    }
    return connection;
  }

  private static Configuration bounded(Configuration configuration) {
    Configuration bounded = new Configuration(configuration);
    bounded.setInt("hbase.client.retries.number", RETRIES);
    bounded.setInt("hbase.client.operation.timeout", OPERATION_MS);
    bounded.setInt("hbase.client.meta.operation.timeout", OPERATION_MS);
    bounded.setInt("hbase.rpc.timeout", OPERATION_MS);
    bounded.setInt("hbase.client.sync.wait.timeout.msec", PROCEDURE_MS);
    return bounded;
  }

  /** The error with its causes, each said once, without the stack that servers send along. */
  private static String message(Throwable error) {
    StringBuilder message = new StringBuilder();
    for (Throwable each = error; each != null; each = each.getCause()) {
      String said = String.valueOf(each.getMessage()).split("\n", 2)[0];
      if (message.length() == 0) {
        String kind = each.getClass().getName();
        message.append(said.startsWith(kind) ? said : each.getClass().getSimpleName() + ": " + said);
      } else if (message.indexOf(said) < 0) {
        message.append("; because ").append(said);
      }
    }
    return message.toString();
  }
}
