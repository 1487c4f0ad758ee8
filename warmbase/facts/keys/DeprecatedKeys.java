/** Prints the names that Hadoop and HBase have deprecated but still read, each with the names that replace it. */
import org.apache.hadoop.conf.Configuration;

public class DeprecatedKeys {
    public static void main(String[] classes) throws Exception {
        for (String name : classes) {
            Class.forName(name); // each registers its deprecated names as it is initialised
        }
        Configuration.dumpDeprecatedKeys();
    }
}
