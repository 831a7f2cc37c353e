package bloomwriter;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.collection.mutable.ListBuffer;

/**
 * Calls that differ between the lines of Spark, from 3.5 (Scala 2.12) to 4.3 (Scala 2.13).
 *
 * The sources are compiled against the Spark that runs, so whatever all lines spell alike needs no
 * shim. Spark's `Seq` is `scala.collection.Seq` before 4.0 and `scala.collection.immutable.Seq` since:
 * sources take the former, which both are, and hand over the latter, which both take.
 */
final class Shims {
    private Shims() {}

    /** Return an immutable sequence; the converters between collections moved in Scala 2.13. */
    static scala.collection.immutable.Seq seq(java.util.List list) {
        ListBuffer items = new ListBuffer();
        for (int i = 0; i < list.size(); i++) {
            items.$plus$eq(list.get(i));
        }
        return items.toList();
    }

    /** Return an immutable sequence of the same items. */
    static scala.collection.immutable.Seq immutable(scala.collection.Seq seq) {
        return seq.toList();
    }

    /** Return the same leaf over another relation: since 4.0, leaves have a fifth argument. */
    static LogicalRelation with(LogicalRelation leaf, HadoopFsRelation relation) {
        Object[] arguments = new Object[leaf.productArity()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = leaf.productElement(i);
        }
        arguments[0] = relation;
        return (LogicalRelation) leaf.makeCopy(arguments);
    }

    /** Whether an index lists the files of an earlier version of its table; known since 4.3. */
    static boolean isTimeTravel(FileIndex location) {
        Method method;
        try {
            method = FileIndex.class.getMethod("isTimeTravel", new Class[0]);
        } catch (NoSuchMethodException error) {
            return false;
        }
        try {
            return ((Boolean) method.invoke(location, new Object[0])).booleanValue();
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        } catch (InvocationTargetException error) {
            throw new IllegalStateException(error.getCause());
        }
    }
}
