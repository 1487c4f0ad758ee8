package warmbase.lab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonParser;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;

/**
 * Prints the hosts that S3A asks for an object, for each configuration on a line of the input: its properties as JSON.
 *
 * <p>Each request ends before it is sent, so no network is needed.
 */
public final class S3Hosts {
  private static final String BUCKET = "warmbase-root";
  private static final List<String> HOSTS = new ArrayList<>();

  private S3Hosts() {}

  /** Notes the host of each request, and sends none. */
  public static final class Interceptor implements ExecutionInterceptor {
    @Override
    public void beforeTransmission(Context.BeforeTransmission context, ExecutionAttributes attributes) {
      HOSTS.add(context.httpRequest().host());
      throw SdkClientException.create("not sent");
    }
  }

  /** Answers each line with one line. */
  public static void main(String[] arguments) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(String.join(" ", hosts(JsonParser.parseString(line).getAsJsonObject())));
    }
  }

  private static List<String> hosts(JsonObject properties) throws IOException {
    Configuration configuration = new Configuration();
    properties.entrySet().forEach(entry -> configuration.set(entry.getKey(), entry.getValue().getAsString()));
    configuration.set("fs.s3a.access.key", "lab");
    configuration.set("fs.s3a.secret.key", "lab-secret");
    configuration.set("fs.s3a.aws.credentials.provider", "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider");
    configuration.set("fs.s3a.audit.execution.interceptors", Interceptor.class.getName());
    configuration.set("fs.s3a.attempts.maximum", "0");
    configuration.set("fs.s3a.retry.limit", "0");
    HOSTS.clear();
    try (S3AFileSystem files = new S3AFileSystem()) {
      files.initialize(URI.create("s3a://" + BUCKET), configuration);
      files.getFileStatus(new Path("s3a://" + BUCKET + "/hbase/hbase.id"));
    } catch (IOException notSent) {
      return new ArrayList<>(HOSTS);
    }
    throw new IllegalStateException("S3A asked nobody");
  }
}
