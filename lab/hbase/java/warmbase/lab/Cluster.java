package warmbase.lab;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** What is asked of servers and of the places of regions. */
final class Cluster {
  private static final int PROBE_MS = 3_000;
  private static final int PROBE_RETRIES = 1;
  private static final int LOOKS_FOR_ONE_MOVE = 50; // some 10 seconds
  private static final List<TableName> SYSTEM = List.of(TableName.META_TABLE_NAME, TableName.valueOf("hbase:namespace"));

  private final Configuration configuration;
  private final Connection connection;
  private final org.apache.hadoop.hbase.client.Admin admin;

  Cluster(Configuration configuration, Connection connection) throws IOException {
    this.configuration = configuration;
    this.connection = connection;
    this.admin = connection.getAdmin();
  }

  JsonObject servers() throws IOException {
    JsonArray servers = new JsonArray();
    admin.getRegionServers().forEach(name -> servers.add(name.getServerName()));
    return Admin.answer("servers", servers);
  }

  JsonObject regions(TableName table) throws IOException {
    JsonArray regions = new JsonArray();
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      locator.clearRegionLocationCache();
      for (HRegionLocation location : locator.getAllRegionLocations()) {
        JsonObject region = new JsonObject();
        region.addProperty("region", location.getRegion().getEncodedName());
        region.addProperty("server", String.valueOf(location.getServerName()));
        region.addProperty("first_key", Bytes.toStringBinary(location.getRegion().getStartKey()));
        regions.add(region);
      }
    }
    return Admin.answer("regions", regions);
  }

  /** Waits until every region of the table, of hbase:meta and of hbase:namespace answers a read where it is said to be. */
  JsonObject awaitRegions(Request request) throws Exception {
    TableName table = request.table();
    long began = System.nanoTime();
    Configuration impatient = new Configuration(configuration);
    impatient.setInt("hbase.client.retries.number", PROBE_RETRIES);
    for (String timeout : List.of("hbase.client.operation.timeout", "hbase.client.meta.operation.timeout",
        "hbase.rpc.timeout", "hbase.client.scanner.timeout.period", "hbase.rpc.read.timeout")) {
      impatient.setInt(timeout, PROBE_MS);
    }
    while (true) {
      String state;
      try (Connection probe = ConnectionFactory.createConnection(impatient)) {
        for (TableName each : SYSTEM) {
          answering(probe, each);
        }
        int regions = answering(probe, table);
        JsonObject answer = Admin.answer("regions", regions);
        answer.addProperty("waited_seconds", (System.nanoTime() - began) / 1e9);
        return answer;
      } catch (IOException error) {
        state = "the last look said: " + error;
      }
      request.pause("all regions of " + table + " open", state);
    }
  }

  private static int answering(Connection probe, TableName name) throws IOException {
    try (RegionLocator locator = probe.getRegionLocator(name); Table table = probe.getTable(name)) {
      List<HRegionLocation> locations = locator.getAllRegionLocations();
      if (locations.isEmpty()) {
        throw new IOException(name + " has no regions");
      }
      for (HRegionLocation location : locations) {
        if (location == null || location.getServerName() == null) {
          throw new IOException("a region of " + name + " is on no server");
        }
        byte[] first = location.getRegion().getStartKey();
        table.exists(new Get(first.length == 0 ? new byte[1] : first));
      }
      return locations.size();
    }
  }

  JsonObject move(Request request) throws Exception {
    String region = request.text("region");
    ServerName server = server(request.text("server"));
    long began = System.nanoTime();
    admin.move(Bytes.toBytes(region), server);
    for (int looks = 1; admin.getRegions(server).stream().map(RegionInfo::getEncodedName).noneMatch(region::equals); looks++) {
      request.pause("region " + region + " on " + server, "it is elsewhere, or between two servers");
      if (looks % LOOKS_FOR_ONE_MOVE == 0) {
        // A server that has just joined is not yet known to the master's balancer, which then picks another.
        admin.move(Bytes.toBytes(region), server);
      }
    }
    JsonObject answer = Admin.answer("server", server.getServerName());
    answer.addProperty("waited_seconds", (System.nanoTime() - began) / 1e9);
    return answer;
  }

  /** Runs the balancer once and waits for its moves; it does nothing while it is switched off. */
  JsonObject balance() throws IOException {
    return Admin.answer("ran", admin.balance());
  }

  JsonObject balancer(boolean on) throws IOException {
    return Admin.answer("was", admin.balancerSwitch(on, true));
  }

  /** The live server of this name, whole or only `host,port`: what comes third changes with every start. */
  private ServerName server(String name) throws IOException {
    for (ServerName live : admin.getRegionServers()) {
      if (live.getServerName().equals(name) || live.getServerName().startsWith(name + ",")) {
        return live;
      }
    }
    throw new IllegalArgumentException("no live server " + name + "; there are " + admin.getRegionServers());
  }
}
