package warmbase.lab;

import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.io.asyncfs.AsyncFSOutput;
import org.apache.hadoop.hbase.io.asyncfs.AsyncFSOutputHelper;
import org.apache.hadoop.hbase.io.asyncfs.monitor.StreamSlowMonitor;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.io.netty.channel.nio.NioEventLoopGroup;
import org.apache.hbase.thirdparty.io.netty.channel.socket.nio.NioSocketChannel;

/** A file in HDFS, written as HBase writes its log, with a sync after each edit, and read at random places. */
final class HdfsLog {
  private static final NioEventLoopGroup GROUP = new NioEventLoopGroup(1);

  private final Configuration configuration;
  private final Path file;
  private final byte[] edit;
  private final long[] nanos = new long[1 << 20];
  private final long windowNanos;

  HdfsLog(Configuration configuration, Request request) {
    this.configuration = new Configuration(configuration);
    file = new Path(request.text("file"));
    edit = new byte[(int) request.number("bytes", 0)];
    windowNanos = (long) (request.number("window", 0) * 1e9);
    new Random(file.getName().hashCode()).nextBytes(edit);
  }

  /** Writes to every DataNode at once, as HBase does by default, or through HDFS's own pipeline. */
  JsonObject write(int copies, boolean fanOut) throws Exception {
    try (FileSystem hdfs = FileSystem.newInstance(file.toUri(), configuration)) {
      short replicas = (short) copies;
      long block = hdfs.getDefaultBlockSize(file);
      if (!fanOut) {
        try (FSDataOutputStream output = hdfs.create(file, true, 4096, replicas, block)) {
          return repeated(() -> { output.write(edit); output.hflush(); return null; });
        }
      }
      StreamSlowMonitor monitor = StreamSlowMonitor.create(configuration, "lab");
      try (AsyncFSOutput output = AsyncFSOutputHelper.createOutput(
          hdfs, file, true, true, replicas, block, GROUP, NioSocketChannel.class, monitor, false)) {
        return repeated(() -> { output.write(edit); return output.flush(false).get(); });
      }
    }
  }

  /** Reads, with a socket, past the DataNode; `short_circuit` is the number of bytes that came so. */
  JsonObject read(String socket) throws Exception {
    configuration.setBoolean("dfs.client.read.shortcircuit", !socket.isEmpty());
    configuration.set("dfs.domain.socket.path", socket);
    configuration.set("dfs.client.context", "socket " + socket);
    try (FileSystem hdfs = FileSystem.newInstance(file.toUri(), configuration);
        FSDataInputStream input = hdfs.open(file)) {
      long places = hdfs.getFileStatus(file).getLen() / edit.length;
      Random random = new Random(1);
      JsonObject answer =
          repeated(() -> { input.readFully(random.nextLong(places) * edit.length, edit); return null; });
      answer.addProperty(
          "short_circuit", ((HdfsDataInputStream) input).getReadStatistics().getTotalShortCircuitBytesRead());
      return answer;
    }
  }

  private JsonObject repeated(Callable<?> step) throws Exception {
    int steps = 0;
    long began = System.nanoTime();
    for (long now = began; now - began < windowNanos && steps < nanos.length; steps++) {
      step.call();
      nanos[steps] = System.nanoTime() - now;
      now += nanos[steps];
    }
    double seconds = (System.nanoTime() - began) / 1e9;
    Arrays.sort(nanos, 0, steps);
    JsonObject answer = Admin.answer("steps", steps);
    answer.addProperty("seconds_used", seconds);
    answer.addProperty("median_ms", nanos[steps / 2] / 1e6);
    return answer;
  }
}
