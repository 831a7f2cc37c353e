package bloomwriter;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Seq;

/**
 * The files of a relation but for those that indexes rule out.
 *
 * It asks the relation's own FileIndex every time, so that a refreshed listing counts, and looks at
 * the files that it leaves out, unless their index says that they never change. Files that no index
 * knows stay.
 */
public final class PrunedFileIndex implements FileIndex {
    private final FileIndex all;
    private final List exclusions;
    private final long sizeInBytes;

    PrunedFileIndex(FileIndex all, List exclusions, long sizeInBytes) {
        this.all = all;
        this.exclusions = exclusions;
        this.sizeInBytes = sizeInBytes;
    }

    /** The relation's own. */
    FileIndex all() {
        return this.all;
    }

    public scala.collection.immutable.Seq rootPaths() {
        return Shims.immutable(this.all.rootPaths());
    }

    /** What Spark calls before 4.0. */
    public scala.collection.immutable.Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        return this.listFiles(Shims.immutable(partitionFilters), Shims.immutable(dataFilters));
    }

    public scala.collection.immutable.Seq listFiles(
            scala.collection.immutable.Seq partitionFilters,
            scala.collection.immutable.Seq dataFilters) {
        List kept = new ArrayList();
        Seq directories = this.all.listFiles(partitionFilters, dataFilters);
        for (scala.collection.Iterator i = directories.iterator(); i.hasNext();) {
            PartitionDirectory directory = (PartitionDirectory) i.next();
            List files = new ArrayList();
            for (scala.collection.Iterator j = directory.files().iterator(); j.hasNext();) {
                FileStatusWithMetadata file = (FileStatusWithMetadata) j.next();
                if (!rulesOut(this.exclusions, file, true)) {
                    files.add(file);
                }
            }
            if (!files.isEmpty()) {
                kept.add(new PartitionDirectory(directory.values(), Scala.seq(files)));
            }
        }
        return Scala.seq(kept);
    }

    static boolean rulesOut(List exclusions, FileStatusWithMetadata file, boolean looks) {
        for (int i = 0; i < exclusions.size(); i++) {
            Exclusion exclusion = (Exclusion) exclusions.get(i);
            long modified = file.getModificationTime();
            if (exclusion.rulesOut(file.getPath(), file.getLen(), modified, looks)) {
                return true;
            }
        }
        return false;
    }

    static boolean isKnown(List exclusions, FileStatusWithMetadata file) {
        for (int i = 0; i < exclusions.size(); i++) {
            Exclusion exclusion = (Exclusion) exclusions.get(i);
            if (exclusion.knows(file.getPath(), file.getLen(), file.getModificationTime())) {
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

    public Option metadataOpsTimeNs() {
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

    /** Shown by explain(). */
    public String toString() {
        StringBuilder names = new StringBuilder();
        for (int i = 0; i < this.exclusions.size(); i++) {
            names.append(i == 0 ? "" : ", ").append(((Exclusion) this.exclusions.get(i)).index);
        }
        return this.all + " pruned by " + names;
    }
}
