package warmbase.lab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.hbase.TableName;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** One request: its fields, and its deadline. */
final class Request {
  private static final double SECONDS = 120; // judgement: a table of the lab's size is compacted in less
  private static final long LOOK_MS = 200;

  private final JsonObject fields;
  private final long endNanos;

  Request(JsonObject fields) {
    this.fields = fields;
    this.endNanos = System.nanoTime() + (long) (number("seconds", SECONDS) * 1e9);
  }

  /** Throws IllegalArgumentException when the field is missing, as do all readers without a default. */
  String text(String name) {
    return given(name).getAsString();
  }

  String text(String name, String byDefault) {
    return fields.has(name) ? fields.get(name).getAsString() : byDefault;
  }

  double number(String name, double byDefault) {
    return fields.has(name) ? fields.get(name).getAsDouble() : byDefault;
  }

  boolean flag(String name, boolean byDefault) {
    return fields.has(name) ? fields.get(name).getAsBoolean() : byDefault;
  }

  TableName table() {
    return TableName.valueOf(text("table"));
  }

  List<String> texts(String name) {
    List<String> texts = new ArrayList<>();
    if (fields.has(name)) {
      fields.getAsJsonArray(name).forEach(each -> texts.add(each.getAsString()));
    }
    return texts;
  }

  List<JsonObject> objects(String name) {
    List<JsonObject> objects = new ArrayList<>();
    given(name).getAsJsonArray().forEach(each -> objects.add(each.getAsJsonObject()));
    return objects;
  }

  static Map<String, String> map(JsonObject from, String name) {
    Map<String, String> map = new LinkedHashMap<>();
    if (from.has(name)) {
      from.getAsJsonObject(name).entrySet().forEach(each -> map.put(each.getKey(), each.getValue().getAsString()));
    }
    return map;
  }

  Map<String, String> map(String name) {
    return map(fields, name);
  }

  /** Waits for a result; throws IOException if the deadline passes first. */
  <T> T await(Future<T> begun, String what) throws Exception {
    try {
      return begun.get(Math.max(0, endNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException error) {
      throw late(what, "it goes on in the cluster");
    } catch (java.util.concurrent.ExecutionException error) {
      throw error.getCause() instanceof Exception cause ? cause : error;
    }
  }

  /** Pauses before the next attempt; throws IOException if the deadline has passed. */
  void pause(String what, String state) throws IOException, InterruptedException {
    if (isLate()) {
      throw late(what, state);
    }
    Thread.sleep(LOOK_MS);
  }

  boolean isLate() {
    return System.nanoTime() > endNanos;
  }

  IOException late(String what, String state) {
    return new IOException(String.format("%s: not done in %.0f s; %s", what, number("seconds", SECONDS), state));
  }

  private JsonElement given(String name) {
    if (!fields.has(name)) {
      throw new IllegalArgumentException("the request has no " + name);
    }
    return fields.get(name);
  }
}
