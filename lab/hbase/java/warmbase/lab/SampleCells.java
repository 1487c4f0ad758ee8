package warmbase.lab;

import java.io.IOException;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.hadoop.hbase.ArrayBackedTag;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.Tag;
import org.apache.hadoop.hbase.TagType;
import org.apache.hadoop.hbase.regionserver.CellSink;
import org.apache.hadoop.hbase.util.Bytes;

/** Cells in HBase's order, the same for the same seed: rows with equal numbers of columns and random ascending keys. */
final class SampleCells {
  private static final byte[] FAMILY = Bytes.toBytes("f");
  private static final long FIRST_TIMESTAMP = 1_700_000_000_000L;
  private static final int MAX_STEP = 1000;
  private static final int LETTERS = 26;

  private final Sample sample;
  private final SplittableRandom random;
  private long row;
  private long written;

  SampleCells(Sample sample) {
    this.sample = sample;
    this.random = new SplittableRandom(sample.number("seed"));
  }

  /** Appends all cells; the requested number of first rows also have a delete of their family. */
  void appendTo(CellSink sink) throws IOException {
    long cells = sample.number("cells");
    long columns = sample.number("columns");
    long deletes = sample.number("deletes");
    for (long cell = 0; cell < cells; cell++) {
      long column = cell % columns;
      if (column == 0) {
        row += 1 + random.nextInt(MAX_STEP);
        if (cell / columns < deletes) {
          append(sink, "", KeyValue.Type.DeleteFamily, new byte[0]);
        }
      }
      append(sink, String.format("column%03d", column), KeyValue.Type.Put, value());
    }
  }

  private void append(CellSink sink, String qualifier, KeyValue.Type type, byte[] value) throws IOException {
    byte[] key = Bytes.toBytes(String.format("user%010d", row));
    long timestamp = FIRST_TIMESTAMP + random.nextInt(MAX_STEP);
    KeyValue cell = new KeyValue(key, FAMILY, Bytes.toBytes(qualifier), timestamp, type, value, tags());
    written++;
    if (!sample.flag("bulk")) {
      cell.setSequenceId(written);
    }
    sink.append(cell);
  }

  private List<Tag> tags() {
    if (!sample.flag("tags")) {
      return List.of();
    }
    byte[] lifeMs = Bytes.toBytes(random.nextLong(Long.MAX_VALUE));
    return List.of(new ArrayBackedTag(TagType.TTL_TAG_TYPE, lifeMs));
  }

  /** Returns random letters, after a share of one repeated letter. */
  private byte[] value() {
    byte[] value = new byte[(int) sample.number("valuebytes")];
    int same = (int) (value.length * sample.share("compressible"));
    for (int at = 0; at < value.length; at++) {
      value[at] = (byte) (at < same ? 'v' : 'a' + random.nextInt(LETTERS));
    }
    return value;
  }
}
