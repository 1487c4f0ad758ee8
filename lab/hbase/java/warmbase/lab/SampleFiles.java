package warmbase.lab;

import static java.util.stream.Collectors.joining;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.io.compress.Compression.Algorithm;
import org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter;
import org.apache.hadoop.util.GenericOptionsParser;
import org.apache.hbase.thirdparty.com.google.common.base.Throwables;

/**
 * Writes store files to test a reader with, and prints them with HBase's own tool. Subcommands:
 *
 * <ul>
 *   <li>{@code write FILE key=value...} writes a file; {@link Sample} has the keys
 *   <li>{@code write-all LIST} writes one for each line of a list, a line being what follows {@code write}
 *   <li>{@code print FILE...} writes the output of HFilePrettyPrinter for each file to {@code FILE.txt} beside it
 *   <li>{@code loop PASSES FILE...} prints how long HFilePrettyPrinter takes over all of them, a line for each pass
 * </ul>
 *
 * <p>Before the subcommand, {@code -D key=value} and {@code -conf FILE} set properties of HBase and of Hadoop.
 */
public final class SampleFiles {
  private static final double NANOS = 1e9;
  /** The text that Java prints for an object without its own toString(); it differs in each JVM. */
  private static final Pattern IDENTITY = Pattern.compile("(?<=Comparator)@[0-9a-f]+");
  private static final List<Algorithm> CODECS = List.of(Algorithm.SNAPPY, Algorithm.LZ4, Algorithm.ZSTD);

  private final Configuration configuration;

  private SampleFiles(Configuration configuration) {
    this.configuration = configuration;
  }

  /** Runs one subcommand. */
  public static void main(String[] arguments) throws Exception {
    GenericOptionsParser parser = new GenericOptionsParser(arguments);
    List<String> words = List.of(parser.getRemainingArgs());
    if (words.get(0).startsWith("write")) {
      // This must precede HBase's own random numbers, which an encrypted file contains.
      FixedRandom.install();
    }
    Configuration configuration = HBaseConfiguration.create(parser.getConfiguration());
    Sample.DEFAULTS.forEach(configuration::setIfUnset);
    // On their own, both read only the configuration files.
    CODECS.forEach(codec -> codec.reload(configuration));
    new SampleFiles(configuration).call(words);
  }

  private void call(List<String> words) throws Exception {
    List<String> rest = words.subList(1, words.size());
    switch (words.get(0)) {
      case "write" -> write(rest);
      case "write-all" -> {
        for (String line : Files.readAllLines(java.nio.file.Path.of(rest.get(0)))) {
          write(List.of(line.split(" ")));
        }
      }
      case "print" -> {
        for (String file : rest) {
          print(file);
        }
      }
      case "loop" -> loop(Integer.parseInt(rest.get(0)), rest.subList(1, rest.size()));
      default -> throw new IllegalArgumentException("there is no " + words.get(0));
    }
  }

  private void write(List<String> words) throws IOException {
    try {
      new Sample(configuration, words.subList(1, words.size())).write(new Path(words.get(0)));
    } catch (IOException | RuntimeException error) {
      throw new IOException(String.join(" ", words), error);
    }
  }

  /** Prints an error in place of a part that cannot be printed: an empty file has no first block, for example. */
  private void print(String file) throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    try (PrintStream text = new PrintStream(printed, false, StandardCharsets.UTF_8)) {
      printer(text, "-m", "-b", "-h").processFile(new Path(file), false);
    } catch (IOException | RuntimeException error) {
      String causes = Throwables.getCausalChain(error).stream().map(String::valueOf).collect(joining("; because "));
      printed.writeBytes(("HFilePrettyPrinter ended here: " + causes + "\n").getBytes(StandardCharsets.UTF_8));
    }
    String text = IDENTITY.matcher(printed.toString(StandardCharsets.UTF_8)).replaceAll("");
    Files.writeString(java.nio.file.Path.of(file + ".txt"), text);
  }

  private void loop(int passes, List<String> files) throws Exception {
    HFilePrettyPrinter printer = printer(new PrintStream(OutputStream.nullOutputStream()), "-m");
    for (int pass = 1; pass <= passes; pass++) {
      long begin = System.nanoTime();
      for (String file : files) {
        if (printer.processFile(new Path(file), false) != 0) {
          throw new IOException(file + ": not there");
        }
      }
      double seconds = (System.nanoTime() - begin) / NANOS;
      System.out.printf(
          Locale.ROOT, "{\"pass\": %d, \"files\": %d, \"seconds\": %.3f}%n", pass, files.size(), seconds);
    }
  }

  private HFilePrettyPrinter printer(PrintStream out, String... options) throws Exception {
    HFilePrettyPrinter printer = new HFilePrettyPrinter(configuration);
    printer.setPrintStreams(out, out);
    printer.parseOptions(options);
    return printer;
  }
}
