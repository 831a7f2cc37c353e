package bloomwriter;

import java.util.ArrayList;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructField;

/** Relations that indexes are about, and the same over other files. */
final class Relations {
    /** The code of `problem`. */
    static final String UNSUPPORTED = "UNSUPPORTED_RELATION";

    private Relations() {}

    /** Whether it reads columns of files by name, not as a stream, and is not pruned yet. */
    static boolean isIndexable(LogicalRelation leaf) {
        if (leaf.isStreaming() || !(leaf.relation() instanceof HadoopFsRelation)) {
            return false;
        }
        if (leaf.conf().parquetFieldIdReadEnabled()) { // columns have other names in files
            return false;
        }
        return !(((HadoopFsRelation) leaf.relation()).location() instanceof PrunedFileIndex);
    }

    /**
     * Why nothing is known of what a relation reads, or null.
     *
     * Table formats derive classes of their own from Spark's: they map columns to others, hide rows
     * of a file, or find their listing by its class. So only Spark's very own classes are touched.
     */
    static String problem(HadoopFsRelation relation) {
        Class format = relation.fileFormat().getClass();
        if (format != ParquetFileFormat.class) {
            return "its files are read by " + format.getName() + ", not by Spark's own Parquet reader";
        }
        FileIndex own = own(relation.location());
        Class location = own.getClass();
        boolean isKnown = location == InMemoryFileIndex.class || location == CatalogFileIndex.class;
        return isKnown
                ? null
                : "its files are listed by " + location.getName() + ", not by Spark's own listing";
    }

    private static FileIndex own(FileIndex location) {
        return location instanceof PrunedFileIndex ? ((PrunedFileIndex) location).all() : location;
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

    /** The files as they are listed now and stay, of a relation that has no problem. */
    static FileIndex pinned(FileIndex location) {
        return location instanceof CatalogFileIndex
                ? ((CatalogFileIndex) location).filterPartitions(Scala.seq(new ArrayList()))
                : location;
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
