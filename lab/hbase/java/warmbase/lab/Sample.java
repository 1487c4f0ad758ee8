package warmbase.lab;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.crypto.Encryption;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.encoding.IndexBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.ChecksumType;

/** The definition of one store file: {@code key=value} for each setting that differs from {@link #BY_DEFAULT}. */
final class Sample {
  /** Properties without which not every file can be written or read. */
  static final Map<String, String> DEFAULTS =
      Map.of(
          "hbase.io.compress.snappy.codec", "org.apache.hadoop.hbase.io.compress.xerial.SnappyCodec",
          "hbase.io.compress.lz4.codec", "org.apache.hadoop.hbase.io.compress.lz4.Lz4Codec",
          "hbase.io.compress.zstd.codec", "org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec",
          "hbase.crypto.keyprovider", FixedKeys.class.getName(),
          "hbase.crypto.master.key.name", "master",
          "RowPrefixBloomFilter.prefix_length", "8");

  private static final long CREATED = 1_700_000_001_000L;
  private static final long SEQUENCE_ID = 4711;
  private static final Map<String, String> BY_DEFAULT =
      Map.ofEntries(
          Map.entry("codec", "NONE"),
          Map.entry("encoding", "NONE"),
          Map.entry("indexencoding", "NONE"),
          Map.entry("bloom", "ROW"),
          Map.entry("checksum", "CRC32C"),
          Map.entry("bytesperchecksum", "16384"),
          Map.entry("blocksize", "65536"),
          Map.entry("indexblock", "131072"),
          Map.entry("indexentries", "16"),
          Map.entry("bloomblock", "131072"),
          Map.entry("cells", "1000"),
          Map.entry("columns", "1"),
          Map.entry("valuebytes", "100"),
          Map.entry("compressible", "0.5"),
          Map.entry("deletes", "0"),
          Map.entry("tags", "0"),
          Map.entry("bulk", "0"),
          Map.entry("encrypted", "0"),
          Map.entry("seed", "1"));

  private final Map<String, String> asked = new HashMap<>(BY_DEFAULT);
  private final Configuration configuration;

  /** Throws IllegalArgumentException for an unknown key. */
  Sample(Configuration configuration, List<String> pairs) {
    for (String pair : pairs) {
      String[] parts = pair.split("=", 2);
      if (parts.length < 2 || asked.put(parts[0], parts[1]) == null) {
        throw new IllegalArgumentException(pair + ": not key=value, or not a key");
      }
    }
    this.configuration = new Configuration(configuration);
    this.configuration.set("hfile.index.block.max.size", text("indexblock"));
    this.configuration.set("hfile.index.block.min.entries", text("indexentries"));
    this.configuration.set("io.storefile.bloom.block.size", text("bloomblock"));
  }

  String text(String key) {
    return asked.get(key);
  }

  long number(String key) {
    return Long.parseLong(text(key));
  }

  double share(String key) {
    return Double.parseDouble(text(key));
  }

  boolean flag(String key) {
    return number(key) != 0;
  }

  /** Writes the file as a flush or a bulk load does, with the same bytes each time. */
  void write(Path file) throws IOException {
    FixedRandom.restart(number("seed"));
    FileSystem files = FileSystem.getLocal(configuration).getRaw();
    StoreFileWriter writer =
        new StoreFileWriter.Builder(configuration, files)
            .withFilePath(files.makeQualified(file))
            .withBloomType(BloomType.valueOf(text("bloom")))
            .withMaxKeyCount(number("cells"))
            .withFileContext(context())
            .build();
    new SampleCells(this).appendTo(writer);
    if (flag("bulk")) {
      appendLoaded(writer);
    } else {
      writer.appendMetadata(SEQUENCE_ID, false);
    }
    writer.close();
  }

  /** Appends the same fields as HFileOutputFormat2. */
  private static void appendLoaded(StoreFileWriter writer) throws IOException {
    writer.appendFileInfo(HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(CREATED));
    writer.appendFileInfo(HStoreFile.BULKLOAD_TASK_KEY, Bytes.toBytes("attempt_1700000000000_0001_r_000000_0"));
    writer.appendFileInfo(HStoreFile.MAJOR_COMPACTION_KEY, Bytes.toBytes(true));
    writer.appendFileInfo(HStoreFile.EXCLUDE_FROM_MINOR_COMPACTION_KEY, Bytes.toBytes(false));
    writer.appendTrackedTimestampsToMetadata();
  }

  private HFileContext context() {
    return new HFileContextBuilder()
        .withCompression(Compression.Algorithm.valueOf(text("codec")))
        .withDataBlockEncoding(DataBlockEncoding.valueOf(text("encoding")))
        .withIndexBlockEncoding(IndexBlockEncoding.valueOf(text("indexencoding")))
        .withChecksumType(ChecksumType.valueOf(text("checksum")))
        .withBytesPerCheckSum((int) number("bytesperchecksum"))
        .withBlockSize((int) number("blocksize"))
        .withHBaseCheckSum(true)
        .withIncludesMvcc(!flag("bulk"))
        .withIncludesTags(flag("tags"))
        .withCompressTags(true)
        .withCreateTime(CREATED)
        .withEncryptionContext(flag("encrypted") ? encryption() : Encryption.Context.NONE)
        .build();
  }

  private Encryption.Context encryption() {
    Encryption.Context context = Encryption.newContext(configuration);
    context.setCipher(Encryption.getCipher(configuration, "AES"));
    context.setKey(FixedKeys.KEY);
    return context;
  }
}
