package bloomwriter;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Seq;

/**
 * The files of a relation without those that indexes rule out.
 *
 * Every listing is asked of the relation's own FileIndex, so that a refreshed listing counts. Files are
 * looked at before they are left out, unless the index is `immutable`. Files that no index knows stay.
 */
public final class PrunedFileIndex implements FileIndex {
    private final FileIndex all;
    private final List<Exclusion> exclusions;
    private final long sizeInBytes;

    PrunedFileIndex(FileIndex all, List<Exclusion> exclusions, long sizeInBytes) {
        this.all = all;
        this.exclusions = exclusions;
        this.sizeInBytes = sizeInBytes;
    }

    /** Return the relation's own FileIndex. */
    FileIndex all() {
        return this.all;
    }

    public scala.collection.immutable.Seq<Path> rootPaths() {
        return Shims.immutable(this.all.rootPaths());
    }

    /** The signature that Spark calls before 4.0. */
    public scala.collection.immutable.Seq<PartitionDirectory> listFiles(
            Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
        return this.listFiles(Shims.immutable(partitionFilters), Shims.immutable(dataFilters));
    }

    public scala.collection.immutable.Seq<PartitionDirectory> listFiles(
            scala.collection.immutable.Seq<Expression> partitionFilters,
            scala.collection.immutable.Seq<Expression> dataFilters) {
        List<PartitionDirectory> directories =
                Scala.list(this.all.listFiles(partitionFilters, dataFilters));
        boolean[] ruledOut =
                Exclusion.ruledOut(this.exclusions, Relations.filesIn(directories), true);
        List<PartitionDirectory> kept = new ArrayList<PartitionDirectory>();
        int number = 0;
        for (PartitionDirectory directory : directories) {
            List<FileStatusWithMetadata> files = new ArrayList<FileStatusWithMetadata>();
            for (FileStatusWithMetadata file : Scala.list(directory.files())) {
                if (!ruledOut[number++]) {
                    files.add(file);
                }
            }
            if (!files.isEmpty()) {
                kept.add(new PartitionDirectory(directory.values(), Scala.seq(files)));
            }
        }
        return Scala.seq(kept);
    }

    static boolean isKnown(List<Exclusion> exclusions, FileStatusWithMetadata file) {
        for (Exclusion exclusion : exclusions) {
            if (exclusion.knows(file)) {
                return true;
            }
        }
        return false;
    }

    public String[] inputFiles() {
        return this.all.inputFiles();
    }

    public void refresh() {
        this.all.refresh();
    }

    public long sizeInBytes() {
        return this.sizeInBytes;
    }

    public StructType partitionSchema() {
        return this.all.partitionSchema();
    }

    public Option<Object> metadataOpsTimeNs() {
        return this.all.metadataOpsTimeNs();
    }

    public boolean isTimeTravel() {
        return Shims.isTimeTravel(this.all);
    }

    public boolean equals(Object other) {
        if (!(other instanceof PrunedFileIndex)) {
            return false;
        }
        PrunedFileIndex that = (PrunedFileIndex) other;
        return this.all.equals(that.all) && this.exclusions.equals(that.exclusions);
    }

    public int hashCode() {
        return 31 * this.all.hashCode() + this.exclusions.hashCode();
    }

    /** Return the text that explain() shows. */
    public String toString() {
        List<String> names = new ArrayList<String>();
        for (Exclusion exclusion : this.exclusions) {
            names.add(exclusion.index());
        }
        return this.all + " pruned by " + String.join(", ", names);
    }
}
