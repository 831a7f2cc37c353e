package foreign;

import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Reads a file's column "a" as "b", and "b" as "a", as a table format may that maps columns. */
public final class SwappedFormat extends ParquetFileFormat {
    public scala.Function1 buildReaderWithPartitionValues(
            SparkSession session,
            StructType data,
            StructType partitions,
            StructType required,
            Seq filters,
            Map options,
            Configuration conf) {
        Seq none = CollectionConverters.asScala(new ArrayList()).toSeq();
        StructType stored = swapped(required);
        return super.buildReaderWithPartitionValues(
                session, swapped(data), partitions, stored, none, options, conf);
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
