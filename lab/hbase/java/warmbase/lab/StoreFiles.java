package warmbase.lab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileBlock;
import org.apache.hadoop.hbase.regionserver.StoreFileInfo;
import org.apache.hbase.thirdparty.com.google.gson.Gson;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** Reads store files with HBase's own reader, from the directory of the S3 server. */
final class StoreFiles {
  private final Configuration configuration;

  StoreFiles(Configuration configuration) {
    this.configuration = configuration;
  }

  /** Counts the data blocks of a family by payload size, decompressed and on disk, below a table's directory. */
  JsonObject blocks(Request request) throws IOException {
    Map<Integer, Integer> payloads = new TreeMap<>();
    Map<Integer, Integer> onDisk = new TreeMap<>();
    FileSystem files = FileSystem.getLocal(configuration).getRaw();
    List<Path> found = storeFiles(files, new Path(request.text("directory")), request.text("family"));
    for (Path file : found) {
      count(files, file, payloads, onDisk);
    }
    JsonObject answer = Admin.answer("payloads", pairs(payloads));
    answer.add("on_disk", pairs(onDisk));
    answer.addProperty("files", found.size());
    return answer;
  }

  private static List<Path> storeFiles(FileSystem files, Path directory, String family) throws IOException {
    List<Path> found = new ArrayList<>();
    RemoteIterator<LocatedFileStatus> each = files.listFiles(directory, true);
    while (each.hasNext()) {
      Path file = each.next().getPath();
      if (file.getParent().getName().equals(family) && StoreFileInfo.isHFile(file)) {
        found.add(file);
      }
    }
    return found;
  }

  private static JsonElement pairs(Map<Integer, Integer> counted) {
    List<int[]> pairs = new ArrayList<>();
    counted.forEach((payload, blocks) -> pairs.add(new int[] {payload, blocks}));
    return new Gson().toJsonTree(pairs);
  }

  private void count(FileSystem files, Path file, Map<Integer, Integer> payloads, Map<Integer, Integer> onDisk)
      throws IOException {
    try (HFile.Reader reader = HFile.createReader(files, file, CacheConfig.DISABLED, true, configuration)) {
      long end = reader.getTrailer().getLoadOnOpenDataOffset();
      for (long offset = 0; offset < end; ) {
        HFileBlock block = reader.readBlock(offset, -1, false, true, false, false, null, null);
        if (block.getBlockType().isData()) {
          payloads.merge(block.getUncompressedSizeWithoutHeader(), 1, Integer::sum);
          onDisk.merge(payloadOnDisk(block), 1, Integer::sum);
        }
        offset += block.getOnDiskSizeWithHeader();
        block.release();
      }
    }
  }
  /** Returns the size without header and checksums; each chunk of header and payload has one checksum. */
  private static int payloadOnDisk(HFileBlock block) {
    int chunk = HFile.DEFAULT_BYTES_PER_CHECKSUM + Integer.BYTES;
    int chunks = (block.getOnDiskSizeWithHeader() + chunk - 1) / chunk;
    return block.getOnDiskSizeWithHeader() - block.headerSize() - chunks * Integer.BYTES;
  }
}
