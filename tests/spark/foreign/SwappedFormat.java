package foreign;

import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.collection.immutable.Map;

/** Reads a file's column "a" as "b", and "b" as "a", as a table format may that maps columns. */
public final class SwappedFormat extends ParquetFileFormat {
    private static final long serialVersionUID = 1L;

    /** The signature that Spark calls before 4.0. */
    public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
            SparkSession session,
            StructType data,
            StructType partitions,
            StructType required,
            Seq<Filter> filters,
            Map<String, String> options,
            Configuration conf) {
        scala.collection.immutable.Seq<Filter> none =
                PythonUtils.toSeq(new ArrayList<Filter>()).toList();
        return super.buildReaderWithPartitionValues(
                session, swapped(data), partitions, swapped(required), none, options, conf);
    }

    public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
            SparkSession session,
            StructType data,
            StructType partitions,
            StructType required,
            scala.collection.immutable.Seq<Filter> filters,
            Map<String, String> options,
            Configuration conf) {
        Seq<Filter> none = PythonUtils.toSeq(new ArrayList<Filter>());
        return this.buildReaderWithPartitionValues(
                session, data, partitions, required, none, options, conf);
    }

    private static StructType swapped(StructType schema) {
        StructField[] fields = (StructField[]) schema.fields().clone();
        for (int i = 0; i < fields.length; i++) {
            StructField old = fields[i];
            String name = old.name().equals("a") ? "b" : old.name().equals("b") ? "a" : old.name();
            fields[i] = new StructField(name, old.dataType(), old.nullable(), old.metadata());
        }
        return new StructType(fields);
    }
}
