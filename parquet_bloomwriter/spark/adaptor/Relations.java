package bloomwriter;

import java.util.ArrayList;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructField;

/** Relations that indexes are about, and the same over other files. */
final class Relations {
    private Relations() {}

    /** Whether it reads columns of Parquet files by name, not as a stream, and is not pruned yet. */
    static boolean isIndexable(LogicalRelation leaf) {
        if (leaf.isStreaming() || !Bridge.isParquet(leaf.relation())) {
            return false;
        }
        if (leaf.conf().parquetFieldIdReadEnabled()) { // columns have other names in files
            return false;
        }
        return !(((HadoopFsRelation) leaf.relation()).location() instanceof PrunedFileIndex);
    }

    /** Whether a column comes from the files: one of a partition hides theirs of the same name. */
    static boolean isStored(HadoopFsRelation relation, String name) {
        StructField[] partitions = relation.partitionSchema().fields();
        for (int i = 0; i < partitions.length; i++) {
            if (partitions[i].name().equalsIgnoreCase(name)) {
                return false;
            }
        }
        return true;
    }

    /** The files as they are listed now and stay, or null if such a listing is not to be had. */
    static FileIndex pinned(FileIndex location) {
        if (location instanceof CatalogFileIndex) {
            return ((CatalogFileIndex) location).filterPartitions(Scala.seq(new ArrayList()));
        }
        boolean isPruned = location instanceof PrunedFileIndex;
        FileIndex all = isPruned ? ((PrunedFileIndex) location).all() : location;
        return all instanceof InMemoryFileIndex ? location : null;
    }

    /** The relation with the same attributes, but over other files. */
    static LogicalRelation with(LogicalRelation leaf, FileIndex location) {
        HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
        HadoopFsRelation other =
                new HadoopFsRelation(
                        location,
                        relation.partitionSchema(),
                        relation.dataSchema(),
                        relation.bucketSpec(),
                        relation.fileFormat(),
                        relation.options(),
                        relation.sparkSession());
        return Shims.with(leaf, other);
    }
}
