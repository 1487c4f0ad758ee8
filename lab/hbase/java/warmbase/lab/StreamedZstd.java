package warmbase.lab;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec;
import org.apache.hadoop.io.compress.CompressionInputStream;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;

/**
 * ZSTD in the format of Hadoop's ZStandardCodec, which needs a native library and is HBase's default: a
 * block is one frame without a content length. HBase's own codec puts lengths before frames.
 */
public final class StreamedZstd extends ZstdCodec {
  @Override
  public CompressionOutputStream createOutputStream(OutputStream out, Compressor unused) throws IOException {
    return new Output(out);
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in, Decompressor unused) throws IOException {
    return new Input(in);
  }

  private static final class Output extends CompressionOutputStream {
    private ZstdOutputStreamNoFinalizer frame;

    Output(OutputStream out) {
      super(out);
    }

    @Override
    public void write(int single) throws IOException {
      write(new byte[] {(byte) single}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      if (frame == null) {
        frame = new ZstdOutputStreamNoFinalizer(out);
      }
      frame.write(bytes, offset, length);
    }

    @Override
    public void finish() throws IOException {
      if (frame != null) {
        frame.close();
        frame = null;
      }
    }

    @Override
    public void resetState() {}
  }

  private static final class Input extends CompressionInputStream {
    private final ZstdInputStreamNoFinalizer frame;

    Input(InputStream in) throws IOException {
      super(in);
      frame = new ZstdInputStreamNoFinalizer(in);
    }

    @Override
    public int read() throws IOException {
      return frame.read();
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
      return frame.read(into, offset, length);
    }

    @Override
    public void resetState() {}

    @Override
    public void close() throws IOException {
      frame.close();
    }
  }
}
