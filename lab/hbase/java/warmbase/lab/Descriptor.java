package warmbase.lab;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/**
 * Table definitions, from JSON and back.
 *
 * <p>A family is {@code name}, optionally {@code compression}, {@code block_bytes}, {@code encoding}, {@code bloom} and
 * {@code configuration}, and any attribute by HBase's name for it ({@code PREFETCH_BLOCKS_ON_OPEN}). HBase stores any
 * attribute, even one that it does not know; here, as in its shell, an unknown one is an error.
 */
final class Descriptor {
  private static final Set<String> FAMILY_ATTRIBUTES = attributes(ColumnFamilyDescriptorBuilder.class);
  private static final Set<String> TABLE_ATTRIBUTES = attributes(TableDescriptorBuilder.class);

  private Descriptor() {}

  static TableDescriptor of(Request request) {
    TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(request.table());
    request.objects("families").forEach(family -> table.setColumnFamily(family(family)));
    request.map("attributes").forEach((name, value) -> table.setValue(known(name, TABLE_ATTRIBUTES), value));
    request.map("configuration").forEach(table::setValue);
    return table.build();
  }

  private static ColumnFamilyDescriptor family(JsonObject asked) {
    ColumnFamilyDescriptorBuilder family =
        ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(asked.get("name").getAsString()));
    for (Map.Entry<String, JsonElement> each : asked.entrySet()) {
      switch (each.getKey()) {
        case "name" -> { }
        case "compression" -> family.setCompressionType(Compression.Algorithm.valueOf(upper(each)));
        case "block_bytes" -> family.setBlocksize(each.getValue().getAsInt());
        case "encoding" -> family.setDataBlockEncoding(DataBlockEncoding.valueOf(upper(each)));
        case "bloom" -> family.setBloomFilterType(BloomType.valueOf(upper(each)));
        case "configuration" -> Request.map(asked, "configuration").forEach(family::setConfiguration);
        default -> family.setValue(known(each.getKey(), FAMILY_ATTRIBUTES), each.getValue().getAsString());
      }
    }
    try {
      return checked(family.build());
    } catch (IllegalArgumentException error) {
      throw new IllegalArgumentException("family " + asked + ": " + error.getMessage(), error);
    }
  }

  /** Reads what was set as text: HBase parses an attribute only when it is used. */
  private static ColumnFamilyDescriptor checked(ColumnFamilyDescriptor family) {
    family.getCompressionType();
    family.getBlocksize();
    family.getDataBlockEncoding();
    family.getBloomFilterType();
    family.getMaxVersions();
    family.getTimeToLive();
    for (String flag : new String[] {"BLOCKCACHE", "CACHE_DATA_ON_WRITE", "CACHE_INDEX_ON_WRITE",
        "CACHE_BLOOMS_ON_WRITE", "EVICT_BLOCKS_ON_CLOSE", "PREFETCH_BLOCKS_ON_OPEN", "IN_MEMORY"}) {
      byte[] value = family.getValue(Bytes.toBytes(flag));
      if (value != null && !Bytes.toString(value).matches("(?i)true|false")) {
        throw new IllegalArgumentException(flag + " is " + Bytes.toString(value) + ", neither true nor false");
      }
    }
    return family;
  }

  /** A definition as the cluster holds it: every attribute as text. */
  static JsonObject json(TableDescriptor table) {
    JsonArray families = new JsonArray();
    for (ColumnFamilyDescriptor family : table.getColumnFamilies()) {
      JsonObject described = texts(family.getValues());
      described.addProperty("name", family.getNameAsString());
      JsonObject configuration = new JsonObject();
      family.getConfiguration().forEach(configuration::addProperty);
      described.add("configuration", configuration);
      families.add(described);
    }
    JsonObject described = new JsonObject();
    described.addProperty("table", table.getTableName().getNameAsString());
    described.add("attributes", texts(table.getValues()));
    described.add("families", families);
    return described;
  }

  private static JsonObject texts(Map<Bytes, Bytes> values) {
    JsonObject texts = new JsonObject();
    values.forEach((name, value) -> texts.addProperty(Bytes.toString(name.get()), Bytes.toString(value.get())));
    return texts;
  }

  private static String upper(Map.Entry<String, JsonElement> field) {
    return field.getValue().getAsString().toUpperCase(java.util.Locale.ROOT);
  }

  private static String known(String name, Set<String> all) {
    if (!all.contains(name)) {
      throw new IllegalArgumentException(name + " is no attribute; there are " + String.join(", ", all));
    }
    return name;
  }

  /** The names that HBase's builder declares. */
  private static Set<String> attributes(Class<?> builder) {
    Set<String> names = new TreeSet<>();
    for (Field field : builder.getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers()) && Modifier.isPublic(field.getModifiers())
          && field.getType() == String.class) {
        try {
          names.add((String) field.get(null));
        } catch (IllegalAccessException error) {
          throw new IllegalStateException(error);
        }
      }
    }
    return names;
  }
}
