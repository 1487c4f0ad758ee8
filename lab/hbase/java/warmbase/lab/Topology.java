package warmbase.lab;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.Size;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ClusterConnection;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.shaded.protobuf.ProtobufUtil;
import org.apache.hadoop.hbase.shaded.protobuf.generated.AdminProtos.AdminService;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.RegionMover;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** The servers and regions as {@code operations/steps/regions.rb} reads them, and HBase's own way to empty a server. */
final class Topology {
  private static final byte[] INFO = Bytes.toBytes("info");
  private static final int ROWS_AT_A_TIME = 1_000;

  private final Configuration configuration;
  private final Connection connection;
  private final org.apache.hadoop.hbase.client.Admin admin;

  Topology(Configuration configuration, Connection connection) throws IOException {
    this.configuration = configuration;
    this.connection = connection;
    this.admin = connection.getAdmin();
  }

  /** The live servers by address with their start times, and each region of the enabled tables. */
  JsonObject state() throws IOException {
    ClusterMetrics metrics = admin.getClusterMetrics();
    JsonObject servers = new JsonObject();
    for (ServerName server : metrics.getLiveServerMetrics().keySet()) {
      servers.addProperty(server.getAddress().toString(), server.getStartcode());
    }
    JsonObject answer = Admin.answer("servers", servers);
    answer.add("regions", regions());
    answer.addProperty("in_transition", metrics.getRegionStatesInTransition().size());
    answer.addProperty("balancer_is_on", admin.isBalancerEnabled());
    return answer;
  }

  private JsonObject regions() throws IOException {
    JsonObject regions = meta();
    Scan scan = new Scan().addFamily(INFO).readVersions(2).setCaching(ROWS_AT_A_TIME);
    try (Table table = connection.getTable(TableName.META_TABLE_NAME); ResultScanner rows = table.getScanner(scan)) {
      for (Result row : rows) {
        byte[] bytes = row.getValue(INFO, Bytes.toBytes("regioninfo"));
        RegionInfo info = bytes == null ? null : RegionInfo.parseFromOrNull(bytes);
        if (info != null && !info.isSplitParent() && admin.isTableEnabled(info.getTable())) {
          regions.add(info.getEncodedName(), region(row, info.getTable()));
        }
      }
    }
    return regions;
  }

  /** A region that was opened on two servers in a row would return to the first when the second restarts. */
  private static JsonObject region(Result row, TableName table) {
    List<Cell> servers = row.getColumnCells(INFO, Bytes.toBytes("server"));
    boolean open = "OPEN".equals(Bytes.toString(row.getValue(INFO, Bytes.toBytes("state"))));
    boolean moved = servers.size() > 1 && !CellUtil.matchingValue(servers.get(0), servers.get(1));
    JsonObject region = Admin.answer("table", table.getNameAsString());
    region.addProperty("server", open && !servers.isEmpty() ? Bytes.toString(CellUtil.cloneValue(servers.get(0))) : null);
    region.addProperty("moved", moved);
    return region;
  }

  private JsonObject meta() throws IOException {
    JsonObject regions = new JsonObject();
    try (RegionLocator locator = connection.getRegionLocator(TableName.META_TABLE_NAME)) {
      HRegionLocation place = locator.getRegionLocation(new byte[0], true);
      JsonObject region = Admin.answer("table", TableName.META_TABLE_NAME.getNameAsString());
      ServerName server = place.getServerName();
      region.addProperty("server", server == null ? null : server.getAddress().toString());
      region.addProperty("moved", false);
      regions.add(place.getRegion().getEncodedName(), region);
    }
    return regions;
  }

  /** The store files of each region of a user table, as {@code operations/steps/compactions.rb} reads them. */
  JsonObject stored() throws IOException {
    JsonObject regions = new JsonObject();
    for (var server : admin.getClusterMetrics().getLiveServerMetrics().entrySet()) {
      server.getValue().getRegionMetrics().forEach((name, region) -> {
        TableName table = RegionInfo.getTable(name);
        if (!table.isSystemTable()) {
          JsonObject stored = Admin.answer("table", table.getNameAsString());
          stored.addProperty("server", server.getKey().getAddress().toString());
          stored.addProperty("files", region.getStoreFileCount());
          stored.addProperty("stored_bytes", (long) region.getStoreFileSize().get(Size.Unit.BYTE));
          stored.addProperty("compacted_at", region.getLastMajorCompactionTimestamp() / 1000.0);
          regions.add(RegionInfo.encodeRegionName(name), stored);
        }
      });
    }
    return Admin.answer("regions", regions);
  }

  /** The names of the store files of each region of a user table, as {@code operations/steps/regions.rb} reads them. */
  JsonObject files() throws IOException {
    JsonObject regions = new JsonObject();
    for (ServerName server : admin.getRegionServers()) {
      AdminService.BlockingInterface there = ((ClusterConnection) connection).getAdmin(server);
      for (RegionInfo region : admin.getRegions(server)) {
        if (!region.getTable().isSystemTable()) {
          JsonArray names = new JsonArray();
          for (byte[] family : admin.getDescriptor(region.getTable()).getColumnFamilyNames()) {
            for (String path : ProtobufUtil.getStoreFiles(there, region.getRegionName(), family)) {
              names.add(path.substring(path.lastIndexOf('/') + 1));
            }
          }
          regions.add(region.getEncodedName(), names);
        }
      }
    }
    return Admin.answer("regions", regions);
  }

  /** Moves all regions off a server into a file that lists them, or back, as graceful_stop.sh does. */
  JsonObject mover(Request request, boolean unloads) throws Exception {
    RegionMover.RegionMoverBuilder builder = new RegionMover.RegionMoverBuilder(request.text("server"), configuration)
        .filename(request.text("file")).timeout((int) request.number("seconds", 0));
    try (RegionMover mover = builder.build()) {
      long began = System.nanoTime();
      if (!(unloads ? mover.unload() : mover.load())) {
        throw new IOException("RegionMover left regions of " + request.text("server") + " where they were");
      }
      return Admin.answer("waited_seconds", (System.nanoTime() - began) / 1e9);
    }
  }
}
