package foreign;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.Seq;

/** Lists files of which `HidingRule` hides rows: it finds relations by this class. */
public final class HidingIndex implements FileIndex {
    private final FileIndex all;

    public HidingIndex(Object all) {
        this.all = (FileIndex) all;
    }

    public scala.collection.immutable.Seq<Path> rootPaths() {
        return this.all.rootPaths().toList();
    }

    /** The signature that Spark calls before 4.0. */
    public scala.collection.immutable.Seq<PartitionDirectory> listFiles(
            Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
        return this.listFiles(partitionFilters.toList(), dataFilters.toList());
    }

    public scala.collection.immutable.Seq<PartitionDirectory> listFiles(
            scala.collection.immutable.Seq<Expression> partitionFilters,
            scala.collection.immutable.Seq<Expression> dataFilters) {
        return this.all.listFiles(partitionFilters, dataFilters).toList();
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
