package bloomwriter;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructField;

/** Relations that read files: whether indexes are about them, their files, and copies over others. */
final class Relations {
    /** The code of `problem`. */
    static final String UNSUPPORTED = "UNSUPPORTED_RELATION";

    private static final int MAX_ROOTS = 64;

    private Relations() {}

    /** Return whether a relation reads columns of files by name, is no stream and is not pruned. */
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
     * Return why the rules must leave a relation as it is, or null.
     *
     * Table formats derive classes of their own from Spark's: they map columns to others, hide rows
     * of a file, or find their listing by its class. So only Spark's own classes are touched.
     */
    static String problem(HadoopFsRelation relation) {
        Class<?> format = relation.fileFormat().getClass();
        if (format != ParquetFileFormat.class) {
            return "its files are read by " + format.getName() + ", not by Spark's own Parquet reader";
        }
        FileIndex own = own(relation.location());
        Class<?> location = own.getClass();
        boolean isKnown = location == InMemoryFileIndex.class || location == CatalogFileIndex.class;
        return isKnown
                ? null
                : "its files are listed by " + location.getName() + ", not by Spark's own listing";
    }

    private static FileIndex own(FileIndex location) {
        return location instanceof PrunedFileIndex ? ((PrunedFileIndex) location).all() : location;
    }

    /** Return whether a column comes from files: a partition's column hides theirs of that name. */
    static boolean isStored(HadoopFsRelation relation, String name) {
        for (StructField field : relation.partitionSchema().fields()) {
            if (field.name().equalsIgnoreCase(name)) {
                return false;
            }
        }
        return true;
    }

    /** Return a listing of the present files that does not change, if a relation has no problem. */
    static FileIndex pinned(FileIndex location) {
        return location instanceof CatalogFileIndex
                ? ((CatalogFileIndex) location).filterPartitions(Scala.<Expression>empty())
                : location;
    }

    /** List the files of all partitions. */
    static List<FileStatusWithMetadata> files(FileIndex location) {
        return filesIn(
                Scala.list(location.listFiles(Scala.<Expression>empty(), Scala.<Expression>empty())));
    }

    /** Return the files of some partitions, in their order. */
    static List<FileStatusWithMetadata> filesIn(List<PartitionDirectory> directories) {
        List<FileStatusWithMetadata> files = new ArrayList<FileStatusWithMetadata>();
        for (PartitionDirectory directory : directories) {
            files.addAll(Scala.list(directory.files()));
        }
        return files;
    }

    /** Return the names of the root folders and files; if they are many, of their folders. */
    static List<String> rootsOf(FileIndex location) {
        List<Path> paths = Scala.list(location.rootPaths());
        Set<String> roots = new LinkedHashSet<String>();
        boolean areMany = paths.size() > MAX_ROOTS;
        for (Path path : paths) {
            Path root = areMany && path.getParent() != null ? path.getParent() : path;
            String name = nameOf(root);
            if (name != null) {
                roots.add(name);
            }
        }
        return new ArrayList<String>(roots);
    }

    static boolean isLocal(Path path) {
        String scheme = path.toUri().getScheme();
        return scheme == null || scheme.equals("file");
    }

    /** Return an absolute local path, or a URL as spark/store_urls.py has it; null for others. */
    static String nameOf(Path path) {
        String name = path.toUri().getPath();
        if (isLocal(path)) {
            return name;
        }
        String bucket = path.toUri().getAuthority();
        String scheme = schemeOf(path.toUri().getScheme(), bucket);
        return scheme == null ? null : scheme + "://" + bucket + (name.equals("/") ? "" : name);
    }

    private static String schemeOf(String scheme, String bucket) {
        if (bucket == null) {
            return null;
        }
        if (scheme.matches("s3[an]?")) {
            return "s3";
        }
        if (scheme.matches("abfss?")) {
            return bucket.contains("@") ? "abfss" : null;
        }
        return scheme.matches("gs|hdfs") ? scheme : null;
    }

    static boolean isOnStore(String name) {
        return name.matches("(?s)(s3|gs|abfss|hdfs)://.*");
    }

    /** Return a relation with the same attributes over other files. */
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
