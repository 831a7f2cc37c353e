package foreign;

import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** Lists files of which `HidingRule` hides rows: it finds relations by this class. */
public final class HidingIndex implements FileIndex {
    private final FileIndex all;

    public HidingIndex(Object all) {
        this.all = (FileIndex) all;
    }

    public Seq rootPaths() {
        return this.all.rootPaths();
    }

    public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        return this.all.listFiles(partitionFilters, dataFilters);
    }

    public String[] inputFiles() {
        return this.all.inputFiles();
    }

    public void refresh() {
        this.all.refresh();
    }

    public long sizeInBytes() {
        return this.all.sizeInBytes();
    }

    public StructType partitionSchema() {
        return this.all.partitionSchema();
    }
}
